"""Files of a folder that are cut off or damaged: what is kept of them, and what is said."""

import bz2
import gzip
import json
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, Source, convert, read
from tests.corpus.test_reading_apart import Outcome, chat, outcome, same_for_all, state_of, write

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstandard.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


def chats(name: str, count: int) -> bytes:
    return "".join(chat(f"{name}{k}", f"hi {k}", f"ho {k**5}") for k in range(count)).encode()


def logs_around(folder: Path, name: str, content: bytes) -> Path:
    """A folder with a file between two whole ones of two conversations each."""
    logs = folder / "logs"
    write(logs / "a.jsonl", chat("a", "hi", "ho"), chat("a2", "hi", "ho"))
    write(logs / "z.jsonl", chat("z", "hi", "ho"), chat("z2", "hi", "ho"))
    (logs / name).write_bytes(content)
    return logs


def dialogs(found: Outcome) -> list[str]:
    turns = pl.read_parquet(found.files["turns.parquet"])
    return turns["dialog"].unique(maintain_order=True).to_list()


def rejects(found: Outcome) -> list[tuple[str, int, str]]:
    return [(Path(one.file).name, one.line, one.reason) for one in found.said[2]]


@pytest.mark.parametrize("kept", [200, 700, 1500, -300, -8, -1])
def test_lines_before_the_cut_of_a_gzip_are_kept(tmp_path: Path, kept: int) -> None:
    """`zlib` says how many lines can be unpacked."""
    packed = gzip.compress(chats("m", 300))[:kept]
    whole = zlib.decompressobj(wbits=31).decompress(packed).count(b"\n")
    assert whole > 0
    logs = logs_around(tmp_path, "m.jsonl.gz", packed)
    found = same_for_all(logs, tmp_path, processes=1, on_error="skip")
    assert dialogs(found) == ["a", "a2", *(f"m{k}" for k in range(whole)), "z", "z2"]
    [(file, line, reason)] = rejects(found)
    assert (file, line) == ("m.jsonl.gz", whole)
    assert "is damaged after" in reason
    assert found.said[1][0].startswith(f"Read only in part: {logs / 'm.jsonl.gz'} is damaged after")
    stopped = same_for_all(logs, tmp_path, processes=1)
    assert stopped.error.startswith(f"{logs / 'm.jsonl.gz'}, line {whole}: ")
    assert "fetch it again, or read the records up to here with --on-error skip" in stopped.error


@pytest.mark.parametrize("damage", ["cut off", "damaged"])
@pytest.mark.parametrize("packing", PACKERS)
def test_the_second_of_two_members_is_damaged(tmp_path: Path, packing: str, damage: str) -> None:
    """Those of `bz2` and `lzma` would be passed over without a word."""
    first, second = PACKERS[packing](chats("m", 40)), PACKERS[packing](chats("n", 40))
    # Its header says what packing it is in, so it is not the header that is damaged here.
    second = second[:20] if damage == "cut off" else second[:6] + b"\xff" * 60 + second[66:]
    logs = logs_around(tmp_path, f"m.jsonl.{packing}", first + second)
    found = same_for_all(logs, tmp_path, processes=1, on_error="skip")
    assert dialogs(found) == ["a", "a2", *(f"m{k}" for k in range(40)), "z", "z2"]
    [(file, line, reason)] = rejects(found)
    assert (file, line) == (f"m.jsonl.{packing}", 40)
    assert ("may be wrong" in reason) == (damage == "damaged")
    assert "is damaged after" in same_for_all(logs, tmp_path, processes=1).error


@pytest.mark.parametrize("packing", PACKERS)
def test_whole_members_one_after_the_other(tmp_path: Path, packing: str) -> None:
    """As `cat` joins archives, and with the zeros at the end that tapes and `xz` have."""
    path = tmp_path / "two"
    members = [PACKERS[packing](text) for text in (b"one\n", b"two\n", b"")]
    path.write_bytes(b"".join(members) + bytes(8 if packing in ("gz", "xz") else 0))
    assert b"".join(Source(path).chunks()) == b"one\ntwo\n"


def test_a_checksum_that_does_not_fit_is_told(tmp_path: Path) -> None:
    """What was unpacked together with it is lost: 2 KiB of the archive."""
    packed = bytearray(gzip.compress(chats("m", 900)))
    packed[-6] ^= 1  # in the checksum
    least = zlib.decompressobj(wbits=31).decompress(packed[: -8 - 2**11]).count(b"\n")
    logs = logs_around(tmp_path, "m.jsonl.gz", bytes(packed))
    found = same_for_all(logs, tmp_path, processes=1, on_error="skip")
    kept = len(dialogs(found)) - 4
    assert 0 < least <= kept < 900
    assert f"What could be read up to line {kept} is kept" in found.said[1][0]
    assert "and what was read of it may be wrong" in found.said[1][0]


def parquet(rows: int) -> bytes:
    table = pa.table(
        {
            "dialog": [f"d{k // 2}" for k in range(rows)],
            "role": ["user", "agent"] * (rows // 2),
            "text": [f"words {k}" for k in range(rows)],
        }
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def turns_csv(rows: int) -> bytes:
    lines = [f"d{k // 4},{('user', 'agent')[k % 2]},words {k**5}\n" for k in range(rows)]
    return "".join(["dialog,role,text\n", *lines]).encode()


UNREADABLE = {
    "m.parquet": (parquet(400)[:-30], "is not a whole Parquet file"),
    "n.parquet": (parquet(400)[:6], "is not a whole Parquet file"),
    "m.jsonl.gz": (gzip.compress(chats("m", 9))[:14], "is damaged after 0 bytes of content"),
    "m.jsonl.zst": (zstandard.compress(chats("m", 9))[:7], "is damaged after 0 bytes of content"),
    "m.gz": (gzip.compress(b""), "is empty: there is no conversation in it"),
    "n.gz": (bytes(range(256)), "is a binary file in no format"),
    # Nobody knows which conversations went on after the cut.
    "turns.csv.gz": (gzip.compress(turns_csv(900))[:2000], "is damaged after"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_of_which_nothing_can_be_read(tmp_path: Path, name: str) -> None:
    content, wanted = UNREADABLE[name]
    logs = logs_around(tmp_path, name, content)
    found = same_for_all(logs, tmp_path, processes=1, on_error="skip")
    assert dialogs(found) == ["a", "a2", "z", "z2"]
    [(file, line, reason)] = rejects(found)
    assert (file, line) == (name, 0)
    assert reason.startswith(wanted)
    assert found.said[1][0].startswith(f"Not read: {logs / name}: {wanted}")
    assert json.loads(found.files["manifest.json"])["counts"]["rejected"] == 1
    assert f"{logs / name} {wanted}" in same_for_all(logs, tmp_path, processes=1).error


def test_a_single_file_is_read_up_to_its_damage(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl.gz"
    path.write_bytes(gzip.compress(chats("m", 20)) + gzip.compress(chats("n", 20))[:15])
    with pytest.raises(DialensError, match=r"m\.jsonl\.gz, line 20: .*\n.*on_error=\"skip\""):
        read(path)
    corpus = read(path, on_error="skip")
    assert corpus.turns.collect()["dialog"].n_unique() == 20
    assert corpus.manifest["notes"][0].startswith(f"Read only in part: {path}")


def test_exchanges_and_arrays_before_the_cut_are_kept(tmp_path: Path) -> None:
    rows = [{"prompt": f"what is {k}", "response": f"it is {k**7}"} for k in range(400)]
    table = "prompt,response\n" + "".join(f"{r['prompt']},{r['response']}\n" for r in rows)
    array = json.dumps([json.loads(line) for line in chats("m", 200).splitlines()], indent=1)
    logs = logs_around(tmp_path, "b.csv.gz", gzip.compress(table.encode())[:1500])
    (logs / "c.jsonl.gz").write_bytes(
        gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())[:1500]
    )
    (logs / "d.json.gz").write_bytes(gzip.compress(array.encode())[:1500])
    found = same_for_all(logs, tmp_path, processes=1, on_error="skip")
    unpacked = {
        path.name: zlib.decompressobj(wbits=31).decompress(path.read_bytes())
        for path in logs.glob("*.gz")
    }
    expected = {
        "b": unpacked["b.csv.gz"].count(b"\n") - 1,
        "c": unpacked["c.jsonl.gz"].count(b"\n"),
        "d": unpacked["d.json.gz"].count(b"\n }"),
    }
    turns = pl.read_parquet(found.files["turns.parquet"])
    counts = dict(turns.group_by("system").agg(pl.col("dialog").n_unique()).iter_rows())
    assert {name: counts[name] for name in expected} == expected
    assert len(rejects(found)) == 3


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("column", ["id", "other"])
def test_a_damaged_shard_of_a_data_set(tmp_path: Path, which: int, column: str) -> None:
    """Rows without an id are numbered as if the shard had none."""
    for number in range(3):
        talks = [
            [{"role": "user", "content": f"hi {number}"}, {"role": "assistant", "content": "ho"}]
        ] * 5
        path = tmp_path / "wild" / f"train-{number:05}-of-00003.parquet"
        path.parent.mkdir(exist_ok=True)
        names = [f"{number}-{k}" for k in range(5)]
        pl.DataFrame({column: names, "messages": talks}).write_parquet(path)
        if number == which:
            path.write_bytes(path.read_bytes()[:-20])
    found = same_for_all(tmp_path / "wild", tmp_path, processes=1, on_error="skip")
    whole = [f"{number}-{k}" for number in range(3) for k in range(5) if number != which]
    assert dialogs(found) == (whole if column == "id" else [f"wild-{k}" for k in range(1, 11)])
    assert rejects(found)[0][:2] == (f"train-{which:05}-of-00003.parquet", 0)
    stopped = same_for_all(tmp_path / "wild", tmp_path, processes=1)
    assert f"train-{which:05}-of-00003.parquet is not a whole Parquet file" in stopped.error


def damaged_folder(folder: Path) -> Path:
    """Of everything something, with ids that several files use."""
    logs = logs_around(folder, "m.jsonl.gz", gzip.compress(chats("m", 300))[:2500])
    (logs / "m.parquet").write_bytes(UNREADABLE["m.parquet"][0])
    (logs / "n.jsonl.zst").write_bytes(zstandard.compress(chats("m", 50)))
    (logs / "o.gz").write_bytes(UNREADABLE["m.jsonl.gz"][0])
    (logs / "p.jsonl").touch()
    return logs


@pytest.mark.slow
def test_in_processes(tmp_path: Path) -> None:
    found = same_for_all(damaged_folder(tmp_path), tmp_path, on_error="skip")
    assert [file for file, *_ in rejects(found)] == ["m.jsonl.gz", "m.parquet", "o.gz"]
    assert "50 conversations had an id that an earlier file uses" in found.said[1][-1]


class _Killed(BaseException):
    """As if the process was killed while files were joined."""


@contextmanager
def killed(label: str, *, total: int | None = None, unit: str = "turns") -> Iterator[Any]:
    if label == "Converting":
        raise _Killed
    yield lambda step: None


def test_a_resumed_run_says_and_writes_the_same(tmp_path: Path) -> None:
    logs, target = damaged_folder(tmp_path), tmp_path / "out"
    with pytest.raises(_Killed):
        convert(logs, target, threads=1, intake=Intake(OnError.SKIP), show=killed)
    assert state_of(target).exists()
    said: list[str] = []
    again = outcome(logs, target, 1, on_error="skip", say=said.append)
    assert said == ["4 of 6 files were read before."]
    assert again == outcome(logs, tmp_path / "undisturbed", None, on_error="skip")
    assert again.said[1] == [
        *again.said[1][:3],
        "logs holds a file without a byte: p.jsonl.",
        "50 conversations had an id that an earlier file uses; they are named after their file: "
        "n/m0.",
    ]


def test_many_damaged_files_are_told_in_a_few_lines(tmp_path: Path) -> None:
    logs = logs_around(tmp_path, "m0.gz", gzip.compress(b"x")[:12])
    for number in range(1, 9):
        (logs / f"m{number}.gz").write_bytes(gzip.compress(b"x")[:12])
    found = outcome(logs, tmp_path / "out", None, on_error="skip")
    assert [note.partition(":")[0] for note in found.said[1]] == [
        "Not read",
        "Not read",
        "Not read",
        "6 more files could not be read, or not to the end",
    ]


def test_a_folder_of_which_nothing_can_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in ("a.gz", "b.gz"):
        (tmp_path / "logs" / name).write_bytes(gzip.compress(chats("m", 9))[:12])
    found = same_for_all(tmp_path / "logs", tmp_path, processes=1, on_error="skip")
    assert "logs holds no conversation (2 files were left out). The first: " in found.error
    assert "a.gz: is damaged after 0 bytes" in found.error


def test_names_of_files_that_are_no_text(tmp_path: Path) -> None:
    logs = logs_around(tmp_path, "m.jsonl", chats("m", 2))
    for name, content in {b"\xff.jsonl": chats("m", 2), b"\xfe.gz": b"\x1f\x8b"}.items():
        (logs / os.fsdecode(name)).write_bytes(content)
    found = same_for_all(logs, tmp_path, processes=1, on_error="skip")
    assert dialogs(found)[-2:] == [r"\udcff/m0", r"\udcff/m1"]
    assert rejects(found)[0][0] == r"\udcfe.gz"
    assert r"\udcff.jsonl" in json.loads(found.files["manifest.json"])["source"]["files"]


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    logs = logs_around(tmp_path, "m.jsonl", chats("m", 2))
    (logs / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    os.mkfifo(logs / "pipe.jsonl")
    found = same_for_all(logs, tmp_path, processes=1)
    assert found.said[1] == [
        "logs: not read, since neither files nor folders, or links to nothing: gone.jsonl, "
        "pipe.jsonl."
    ]
