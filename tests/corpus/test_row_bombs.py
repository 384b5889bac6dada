"""Tables of a few kilobytes that would fill memory: refused in a sentence, before they do."""

from __future__ import annotations

import contextlib
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dialens.base import DialensError
from dialens.corpus import read
from dialens.corpus.readers._arrow_stream import arrow_sizes
from tests.corpus.test_hostile_files import READ_BOMB


def many_rows(path: Path) -> None:
    """Six million equal rows, which take a few kilobytes a row group."""
    duckdb.sql(
        f"COPY (SELECT 'd1' AS dialog, 'agent' AS role, 'hello' AS text FROM range(6_000_000)) "
        f"TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 1_000_000)"
    )


def claimed_rows(path: Path) -> None:
    """A file of a thousand rows whose description says that it has a thousand million."""
    rows = {"dialog": ["d1"] * 1000, "role": ["agent"] * 1000, "text": ["hi"] * 1000}
    pl.DataFrame(rows).write_parquet(path)
    data = path.read_bytes()
    (length,) = struct.unpack("<i", data[-8:-4])
    pages, description = data[: -8 - length], data[-8 - length : -8]
    claimed = description.replace(b"\x16\xd0\x0f", b"\x16\x80\xa8\xd6\xb9\x07")
    assert claimed != description  # Thrift's compact numbers: 2 x 1,000, and 2 x 10^9
    path.write_bytes(pages + claimed + struct.pack("<i", len(claimed)) + b"PAR1")


def long_texts(path: Path) -> None:
    """One long text in 6,000 rows, once in the dictionary."""
    rows = {"dialog": "'d' || n // 2", "role": "['partner', 'agent'][1 + n % 2]", "text": LONG}
    _copied(path, rows)


def long_nested_texts(path: Path) -> None:
    """The same within conversations."""
    talk = f"[{{'role': 'user', 'content': {LONG}}}, {{'role': 'assistant', 'content': 'I see'}}]"
    _copied(path, {"conversation": talk})


LONG = "repeat(md5('a') || md5('b'), 1_024)"
"""A text of 64 KiB, in SQL."""


def _copied(path: Path, columns: dict[str, str]) -> None:
    chosen = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    duckdb.sql(
        f"COPY (SELECT {chosen} FROM range(6_000) AS r(n)) TO '{path}' "
        "(FORMAT parquet, COMPRESSION uncompressed, STRING_DICTIONARY_PAGE_SIZE_LIMIT 1_000_000)"
    )


def packed_pages(path: Path) -> None:
    """Texts of zeros, which compress ten thousandfold."""
    text = ["0" * 2**20] * 300
    table = {"dialog": ["d1"] * 300, "role": ["agent"] * 300, "text": text}
    pq.write_table(
        pa.table(table), path, compression="zstd", use_dictionary=False, write_statistics=False
    )


def packed_batches(path: Path) -> None:
    """The same as an Arrow file with compressed buffers."""
    table = {"dialog": ["d1"] * 300, "role": ["agent"] * 300, "text": ["0" * 2**20] * 300}
    with pa.ipc.new_file(
        path, pa.table(table).schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as file:
        file.write_table(pa.table(table))


def packed_stream(path: Path) -> None:
    """The same as a stream."""
    table = pa.table({"conversation": ["0" * 2**20] * 300})
    with pa.ipc.new_stream(
        path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as file:
        file.write_table(table)


def rows_of_nothing(path: Path) -> None:
    """A thousand million rows of a column that has no bytes at all."""
    table = pa.table({"dialog": pa.nulls(10**9), "text": pa.nulls(10**9)})
    with pa.ipc.new_stream(path, table.schema) as file:
        file.write_table(table)


ROW_BOMBS = (
    many_rows,
    claimed_rows,
    long_texts,
    long_nested_texts,
    packed_pages,
    packed_batches,
    packed_stream,
    rows_of_nothing,
)


@pytest.mark.slow
@pytest.mark.parametrize("bomb", ROW_BOMBS, ids=lambda bomb: bomb.__name__)
def test_rows_that_a_small_file_only_claims_or_repeats(
    tmp_path: Path, bomb: Callable[[Path], None]
) -> None:
    path = tmp_path / "bomb.table"
    bomb(path)
    assert path.stat().st_size < 5 * 2**20
    done = subprocess.run(
        [sys.executable, "-c", READ_BOMB, str(path)], capture_output=True, text=True, check=True
    )
    said, grown = done.stdout.strip().rsplit("\n", 1)
    assert said.startswith(f"{path} is not read: it unpacks to more than 500 times its size. ")
    assert "write it as JSON lines" in said
    assert int(grown) < 800  # MiB, of bombs of 300 MiB to 48 GB; up to the bound rows are read


def test_a_message_that_ends_before_it_begins(tmp_path: Path) -> None:
    """A length of the body below zero would lead back to the same message for ever."""
    path = tmp_path / "talks.arrow"
    pl.DataFrame({"conversation": ["a", "b"]}).write_ipc_stream(path)
    data = path.read_bytes()
    for at in range(8, len(data) - 8, 8):
        path.write_bytes(data[:at] + struct.pack("<q", -at) + data[at + 8 :])
        with contextlib.suppress(ValueError, OSError, struct.error):
            assert len(list(arrow_sizes(path))) < 10
        with pytest.raises(DialensError):
            read(path)


def test_tables_that_repeat_themselves_as_tables_do(tmp_path: Path) -> None:
    """A hundred thousand short exchanges, of which many are the same, are no bomb."""
    rows = 100_000
    table = {
        "dialog": [f"d{n // 2}" for n in range(rows)],
        "role": ["partner", "agent"] * (rows // 2),
        "text": ["hi", "hello"] * (rows // 2),
    }
    for path in (tmp_path / "a.parquet", tmp_path / "a.arrow"):
        write = pl.DataFrame.write_parquet if path.suffix == ".parquet" else pl.DataFrame.write_ipc
        write(pl.DataFrame(table), path, compression="zstd")
        assert read(path).turns.select(pl.len()).collect().item() == rows
