"""Logs of Inspect: samples, scores, members packed with Zstandard."""

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, Source, read
from dialens.corpus._reading import choose
from dialens.corpus.readers import readers
from dialens.corpus.readers._archive import opened
from tests.corpus.trace_samples import (
    FILES,
    agents,
    bot,
    spoken,
    user,
)

# --- Inspect


def zipped(path: Path, members: dict[str, bytes], *, frames: int = 1, crc: int = 0) -> Path:
    """A zip file whose members are packed with Zstandard, written byte by byte."""
    body, directory = b"", b""
    for name, content in members.items():
        size = len(content) // frames + 1
        pieces = [content[at : at + size] for at in range(0, len(content), size)]
        packed = b"".join(zstandard.compress(piece) for piece in pieces)
        check = zlib.crc32(content) ^ crc
        shared = (63, 0, 93, 0, 33, check, len(packed), len(content), len(name), 0)
        place = len(body)
        body += struct.pack("<4s5HIIIHH", b"PK\x03\x04", *shared) + name.encode() + packed
        directory += (
            struct.pack("<4sH5HIIIHHHHHII", b"PK\x01\x02", 63, *shared, 0, 0, 0, 0, place)
            + name.encode()
        )
    count = len(members)
    end = (0, 0, count, count, len(directory), len(body), 0)
    path.write_bytes(body + directory + struct.pack("<4s4HIIH", b"PK\x05\x06", *end))
    return path


def log(model: str = "bot-1", **sample: Any) -> dict[str, bytes]:
    content = {"id": "s1", "epoch": 1, "messages": [user("Hi"), bot("Hello!")], **sample}
    header = {"version": 2, "status": "success", "eval": {"task": "greet", "model": model}}
    return {
        "header.json": json.dumps(header).encode(),
        "samples/s1_epoch_1.json": json.dumps(content).encode(),
    }


def test_inspect_keeps_what_the_data_set_gave_apart_from_what_the_model_said() -> None:
    corpus = read(FILES / "inspect.eval")
    talks = spoken(corpus)
    answers = [("agent", "It is a dog."), ("partner", "Thank you"), ("agent", "You are welcome.")]
    assert talks["s1-1"] == talks["s1-2"] == [("partner", "What is it?"), *answers]
    given = [("partner", "Hello"), ("partner", "Hi!"), ("partner", "What?")]
    assert talks["s2-1"] == [*given, *answers]
    assert corpus.turns.collect()["system"].unique().to_list() == ["dogs"]


def test_inspect_scores_are_ratings_of_the_dialogue() -> None:
    """`includes` found none of the targets in the last message: I, which Inspect counts as 0."""
    rows = read(FILES / "inspect.eval").ratings.collect().filter(dialog="s1-1")
    assert rows.select("rater", "quality", "value", "level").rows() == [
        ("inspect:includes", "includes", 0.0, "dialog"),
        ("inspect:multi", "multi.warm", 0.5, "dialog"),
        ("inspect:multi", "multi.kind", 1.0, "dialog"),
    ]


def test_inspect_json_reads_as_eval_does(tmp_path: Path) -> None:
    with opened(FILES / "inspect.eval") as archive:
        whole = json.loads(archive.read("header.json"))
        samples = [name for name in archive.names if name.startswith("samples/")]
        whole["samples"] = [json.loads(archive.read(name)) for name in samples]
    path = tmp_path / "inspect.json"
    path.write_text(json.dumps(whole, indent=2))
    assert choose(Source(path), None, readers()).name == "inspect"
    assert spoken(read(path)) == spoken(read(FILES / "inspect.eval"))


def test_members_may_be_packed_in_several_frames(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.eval", log(), frames=3)
    assert spoken(read(path)) == {"s1": [("partner", "Hi"), ("agent", "Hello!")]}
    assert agents(read(path)) == ["bot-1"]


def test_a_log_that_is_not_finished_is_read_from_its_journal(tmp_path: Path) -> None:
    members = log()
    members["_journal/start.json"] = members.pop("header.json")
    assert agents(read(zipped(tmp_path / "a.eval", members))) == ["bot-1"]


def test_attachments_are_put_back(tmp_path: Path) -> None:
    long = "Hello, " + "dear " * 40
    members = log(messages=[user("Hi"), bot("attachment://abc")], attachments={"abc": long})
    assert spoken(read(zipped(tmp_path / "a.eval", members)))["s1"][1] == ("agent", long)


def test_a_sample_that_failed_at_once_is_left_out_and_counted(tmp_path: Path) -> None:
    failed = log(messages=[], input="Hi", error={"message": "timeout"})
    members = log()
    members["samples/s9_epoch_1.json"] = failed["samples/s1_epoch_1.json"].replace(b"s1", b"s9")
    intake = Intake()
    assert list(spoken(read(zipped(tmp_path / "a.eval", members), intake=intake))) == ["s1"]
    assert "a.eval: left out 1 failed sample (timeout)." in intake.notes


def test_a_log_of_failed_samples_says_that_the_run_failed(tmp_path: Path) -> None:
    members = log(messages=[], input="Hi", error={"message": "timeout"})
    with pytest.raises(DialensError, match=r"the run failed\. The only sample .* timeout"):
        read(zipped(tmp_path / "a.eval", members))


def test_a_folder_of_logs_has_one_task_and_two_models(tmp_path: Path) -> None:
    for model in ("bot-1", "bot-2"):
        zipped(tmp_path / f"{model}.eval", log(model))
    corpus = read(tmp_path)
    assert agents(corpus) == ["bot-1", "bot-2"]
    assert sorted(spoken(corpus)) == ["bot-1/s1", "bot-2/s1"]
    assert corpus.turns.collect()["system"].unique().to_list() == ["greet"]


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.eval", log(), crc=1)
    with pytest.raises(DialensError, match=r"a\.eval is damaged: its member header\.json"):
        read(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DialensError, match=r"a\.eval is not a whole zip file"):
        read(path)


def test_a_sample_that_cannot_be_read_is_named_and_others_are_read(tmp_path: Path) -> None:
    members = log()
    members["samples/s2_epoch_1.json"] = b'{"id": "s2", "messages": [{"role": "user"}]}'
    path = zipped(tmp_path / "a.eval", members)
    with pytest.raises(DialensError, match=r"field `samples/s2_epoch_1\.json: messages\[0\]"):
        read(path)
    intake = Intake(OnError.SKIP)
    assert list(spoken(read(path, intake=intake))) == ["s1"]
    assert intake.rejected == 1


def test_another_zip_is_no_log(tmp_path: Path) -> None:
    path = zipped(tmp_path / "photos.zip", {"cat.jpg": b"meow"})
    with pytest.raises(DialensError, match="which dialens does not read"):
        read(path)
