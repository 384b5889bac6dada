"""Files that are odd, damaged or made to do harm: a sentence with file and place, never a hang."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, read, unpacked_pieces
from dialens.corpus.readers import READERS
from dialens.corpus.readers._archive import opened
from tests.corpus.mutations import outcome
from tests.corpus.text_samples import corpus_folder
from tests.corpus.trace_samples import FILES

LOG_LINE = "2024-05-01 12:00 server restarted"
DEEP = "[" * 5000 + "]" * 5000
TURNS = {"dialog": ["d1", "d1"], "role": ["partner", "agent"], "text": ["hi", "ho"]}


def record(name: str) -> str:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    return json.dumps({"id": name, "messages": messages}) + "\n"


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(DialensError) as refused:
        read(path, intake=Intake(), **options).turns.collect()
    return str(refused.value)


@pytest.mark.parametrize(
    "stray",
    [LOG_LINE, '"hello" there', "[INFO] saved", "true", f'{{"id": "x", "more": {DEEP}}}'],
    ids=["log", "quote", "bracket", "word", "deep"],
)
@pytest.mark.parametrize("line", [1, 2])
def test_a_line_that_is_no_record(tmp_path: Path, stray: str, line: int) -> None:
    path = tmp_path / "log.jsonl"
    lines = [record("d1"), record("d2")]
    lines.insert(line - 1, f"{stray}\n")
    path.write_text("".join(lines))
    assert refusal(path).startswith(f"{path}, line {line}: ")
    intake = Intake(OnError.SKIP)
    assert read(path, intake=intake).turns.collect().height == 4
    assert [reject.line for reject in intake.rejects] == [line]


def test_wrong_types_before_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(record("d1").encode() + b'{"id": 5.5, "messages": 7, "z": "\xff\xfe"}\n')
    assert refusal(path).startswith(f"{path}, line 2: holds bytes that are not UTF-8")


@pytest.mark.parametrize("name", ["talk.txt", "talk.csv", "talk.jsonl"])
def test_carriage_returns_alone_end_lines(tmp_path: Path, name: str) -> None:
    texts = {
        "talk.txt": "User: hi\nBot: ho\n",
        "talk.csv": "dialog,role,text\nd1,partner,hi\nd1,agent,ho\n",
        "talk.jsonl": record("d1") + record("d2"),
    }
    path = tmp_path / name
    path.write_text(texts[name])
    wanted = read(path).turns.collect()
    path.write_bytes(texts[name].replace("\n", "\r").encode())
    assert read(path).turns.collect().equals(wanted)


def convokit(root: Path, **files: str | bytes) -> Path:
    folder = root / "talks"
    folder.mkdir()
    rows = [{"id": f"u{n}", "conversation_id": "u0", "text": "hi", "meta": None} for n in range(2)]
    rows[0]["speaker"], rows[1]["speaker"] = "ann", "bot"
    (folder / "utterances.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / f"{name}.json").write_bytes(data)
    return folder


@pytest.mark.parametrize("meta", ["null", "[1]", '"x"', "7", '{"dialens": [1]}'])
def test_odd_metadata_of_a_conversation_is_none(tmp_path: Path, meta: str) -> None:
    folder = convokit(tmp_path, conversations=f'{{"u0": {{"meta": {meta}}}}}')
    assert read(folder).turns.collect()["text"].to_list() == ["hi", "hi"]


@pytest.mark.parametrize("content", [b"[]", b'{"u0": "\xff"}', f'{{"u0": {DEEP}}}'.encode(), b"{"])
def test_a_file_beside_the_utterances_that_cannot_be_read(tmp_path: Path, content: bytes) -> None:
    folder = convokit(tmp_path, conversations=content)
    said = refusal(folder)
    assert said.startswith(f"{folder / 'conversations.json'}: ")
    assert "Mend the file, or take it away" in said


@pytest.mark.parametrize("odd", [{"turn": "x"}, {"turn": 2**70}, {"role": [1]}, {"reply_to": 5}])
def test_odd_values_where_our_writer_puts_its_own(tmp_path: Path, odd: dict[str, object]) -> None:
    folder = convokit(tmp_path, corpus='{"dialens": 1}')
    ours = {"turn": 0, "role": "agent", **odd}
    row = {"id": "u0", "conversation_id": "u0", "speaker": "bot", "text": "hi"}
    row_text = json.dumps({**row, "meta": {"dialens": ours}})
    (folder / "utterances.jsonl").write_text(row_text + "\n")
    said = refusal(folder)
    assert said.startswith(f"{folder / 'utterances.jsonl'}, line 1: field `meta.dialens.")


def test_a_header_of_outputs_with_an_open_quote(tmp_path: Path) -> None:
    """The first line looks like promptfoo's, and cannot be taken apart into cells."""
    path = tmp_path / "results.csv"
    whole = (FILES / "promptfoo.csv").read_text()
    path.write_text(f'{whole[:180]},"[\n  {{{whole[180:]}')
    for mode in (OnError.STOP, OnError.SKIP):
        with pytest.raises(DialensError, match=r"results\.csv, line 1: .* into cells"):
            read(path, intake=Intake(mode))


@pytest.mark.parametrize("column", ["dialog", "role", "text", "turn", "created_at", "meta"])
@pytest.mark.parametrize("values", [[["a"], ["b"]], [b"a", b"\xff"]], ids=["list", "binary"])
def test_columns_of_which_no_value_can_be_made(
    tmp_path: Path, column: str, values: list[object]
) -> None:
    path = tmp_path / "talks.parquet"
    pl.DataFrame({**TURNS, column: values}).write_parquet(path)
    said = refusal(path)
    assert said.startswith(f"{path}: field `{column}` is not ")
    assert "seen: a column of type " in said


def test_pictures_beside_a_conversation_are_left(tmp_path: Path) -> None:
    path = tmp_path / "talks.parquet"
    images = [{"bytes": b"\xff\xd8", "path": None}] * 2
    pl.DataFrame({**TURNS, "raw": [b"\x00", b"\xff"], "image": images, "n": 1}).write_parquet(path)
    assert read(path).turns.collect()["meta"].to_list() == ['{"n":1}'] * 2


def test_damaged_pages_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "talks.parquet"
    rows = {name: values * 2000 for name, values in TURNS.items()}
    rows["dialog"] = [f"d{n // 2}" for n in range(4000)]
    pl.DataFrame(rows).write_parquet(path, compression="uncompressed")
    whole = path.read_bytes()
    for at in range(4, len(whole) // 2, len(whole) // 20):
        path.write_bytes(
            whole[:at] + bytes(byte ^ 0x5A for byte in whole[at : at + 40]) + whole[at + 40 :]
        )
        assert outcome(path, path, tmp_path / "out", skip=True, writes=False)


def test_a_header_longer_than_the_first_piece(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    names = [f"another column {n}" for n in range(4_000)]
    rows = [[*TURNS, *names], *([*row, *names] for row in zip(*TURNS.values(), strict=True))]
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    assert read(path).turns.collect()["text"].to_list() == ["hi", "ho"]


def test_quotes_in_a_header(tmp_path: Path) -> None:
    path = tmp_path / "talks.csv"
    path.write_text('dialog,role,"a ""quoted""\nname",text\nd1,partner,x,hi\nd1,agent,y,ho\n')
    assert read(path).turns.collect()["text"].to_list() == ["hi", "ho"]
    path.write_text('dialog,role,"text\nd1,partner,hi\nd1,agent,ho\n')
    assert refusal(path).startswith(f"{path}, line 1: cannot be taken apart into cells")


@pytest.mark.parametrize(
    "change",
    [
        {"files": None},
        {"files": []},
        {"files": {"turns.parquet": 5}},
        {"files": {"turns.parquet": {}}},
        {"counts": 5},
        {"counts": {"turns": "many"}},
        {"source": []},
        {"notes": 7},
    ],
    ids=str,
)
def test_odd_manifests_of_our_own(tmp_path: Path, change: dict[str, object]) -> None:
    folder = corpus_folder(tmp_path)
    path = folder / "manifest.json"
    manifest = {**json.loads(path.read_text()), **change}
    path.write_text(
        json.dumps({key: value for key, value in manifest.items() if value is not None})
    )
    said = refusal(folder)
    assert said.startswith(f"{path} is not whole: ")
    assert "Convert the source again" in said


def test_a_link_in_a_circle_counts_nothing_twice(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_text(record("d1"))
    for name in ("loop", "again"):
        (folder / name).symlink_to(".")
    (folder / "itself").symlink_to("itself")
    (folder / "b.jsonl").symlink_to("a.jsonl")
    intake = Intake()
    assert read(folder, intake=intake).turns.collect().height == 2
    assert [note for note in intake.notes if "counts once: again, b.jsonl, loop" in note]
    assert "does not exist" in refusal(folder / "itself")


def test_files_with_ratings_beside_them_are_listed_once(tmp_path: Path) -> None:
    """Each of 1,500 pairs used to list the folder again, which took a minute."""
    text = "dialog,role,text\nd{0},partner,hi\nd{0},agent,ho\n"
    for number in range(60):
        (tmp_path / f"{number:04}.csv").write_text(text.format(number))
        ratings = f"dialog,quality,value\nd{number},fun,3\n"
        (tmp_path / f"{number:04}.ratings.csv").write_text(ratings)
    listed = 0
    plain = os.scandir

    def counted(path: Any = ".") -> Any:
        nonlocal listed
        listed += 1
        return plain(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", counted)
        patch.setattr(os, "listdir", lambda path: [entry.name for entry in counted(path)])
        corpus = read(tmp_path)
    assert (corpus.turns.collect().height, corpus.ratings.collect().height) == (120, 60)
    assert listed < 60


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_bomb_is_refused(tmp_path: Path, packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on size is lowered, since packing 256 MiB takes longest here."""
    monkeypatch.setattr("dialens.corpus._unpacking.ANY_RATIO", 2**22)
    path = tmp_path / "bomb.txt"
    path.write_bytes(PACKINGS[packing](b"User: hi\nBot: " + b"0" * 2**24))
    said = refusal(path)
    assert said.startswith(f"{path} is damaged after ")
    assert "it unpacks to more than 500 times its size" in said
    assert "unpack it and read what comes out" in said


READ_BOMB = """
import resource, sys
from dialens.base import DialensError
from dialens.corpus import read
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read(sys.argv[1])
except DialensError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_a_bomb_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl"
    path.write_bytes(zstandard.ZstdCompressor().compress(b'{"id": "' + b"0" * 700 * 2**20))
    assert path.stat().st_size < 2**17
    done = subprocess.run(
        [sys.executable, "-c", READ_BOMB, str(path)], capture_output=True, text=True, check=True
    )
    said, grown = done.stdout.strip().rsplit("\n", 1)
    assert said.startswith(f"{path} is damaged after ")
    assert int(grown) < 450  # MiB; all of it would be 700


def test_pieces_stay_small_however_well_they_are_packed(tmp_path: Path) -> None:
    path = tmp_path / "zeros.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(bytes(200 * 2**20)))
    with path.open("rb") as file:
        sizes = list(map(len, unpacked_pieces(file, "zstandard")))
    assert sum(sizes) == 200 * 2**20
    assert max(sizes) <= 2**26 + 2**20


def test_a_battle_in_a_year_that_no_calendar_has(tmp_path: Path) -> None:
    path = tmp_path / "battles.jsonl"
    battle = {**json.loads(READERS["arena"].example), "tstamp": 1.6e15}
    path.write_text(json.dumps(battle) + "\n")
    assert read(path).ratings.collect()["answered_at"].to_list() == [None, None]


def test_a_zip_of_a_version_to_come(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", "[]")
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 202  # the version that is needed to extract
    path.write_bytes(data)
    assert "(zip file version 20.2)" in refusal(path)
    with (
        pytest.raises(DialensError, match=r"is not a whole zip file .zip file version"),
        opened(path),
    ):
        pass


def test_a_zip_whose_members_are_far_larger_than_it(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w") as member,
    ):
        for _ in range(300):
            member.write(bytes(2**20))
    said = refusal(path)
    assert said.startswith(f"{path} is not read: it unpacks to more than 500 times its size")


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_of_anything_is_not_taken_for_what_it_holds(
    tmp_path: Path, packing: int
) -> None:
    path = tmp_path / "chats.zip"
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("a.jsonl", record("d1") + record("d2") + record("d3"))
    assert "unpack an archive, and name the folder" in refusal(path)


def test_lengths_in_an_arrow_stream_are_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "chats.arrow"
    pl.DataFrame({"conversation": [[{"role": "user", "content": "hi"}]]}).write_ipc_stream(path)
    data = bytearray(path.read_bytes())
    for at in range(4, len(data) - 8, 8):
        changed = data[:at] + (2**62).to_bytes(8, "little") + data[at + 8 :]
        path.write_bytes(changed)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert outcome(path, path, tmp_path / "out", skip=False, writes=False)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
