"""`convert` and `score` on folders of logs: what they say of ids, damaged files and rejects."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli._app import app
from dialens.corpus import _reading_apart as reading_apart

RENAMED = "12 conversations had an id that an earlier file uses; they are named after their file: "


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "300"}).invoke(app, list(map(str, arguments)))


def chats(count: int, name: str = "case-") -> str:
    talks = (
        {
            "id": f"{name}{number}",
            "messages": [
                {"role": "user", "content": "How are you today?"},
                {"role": "assistant", "content": f"I am happy, thank you, and I was {number}."},
            ],
        }
        for number in range(count)
    )
    return "".join(json.dumps(talk) + "\n" for talk in talks)


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files with the same ids, one that was cut off, one of which nothing is left."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "v1.jsonl").write_text(chats(20))
    (folder / "v2.jsonl").write_text(chats(12))
    cut = gzip.compress(chats(7, "w").encode()) + gzip.compress(b"{}")[:12]
    (folder / "w.jsonl.gz").write_bytes(cut)
    (folder / "x.jsonl.gz").write_bytes(cut[:12])
    return folder


def said_of(folder: Path) -> list[str]:
    """What a command that skips has to say of the folder, in this order."""
    cut = folder / "w.jsonl.gz"
    return [
        f"Read only in part: {cut} is damaged after",
        f"Not read: {folder / 'x.jsonl.gz'}: is damaged after 0 bytes of content",
        f"{RENAMED}v2/case-0.",
    ]


def in_order(sentences: list[str], text: str) -> bool:
    places = [text.find(sentence) for sentence in sentences]
    return -1 not in places and places == sorted(places)


@pytest.mark.parametrize("threads", [None, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_convert_says_what_it_did(logs: Path, threads: int | None) -> None:
    options = [] if threads is None else ["--threads", threads]
    done = run("convert", "logs", "corpus", "--on-error", "skip", *options)
    assert done.exit_code == 0, done.output
    assert in_order(said_of(Path("logs")), done.output)
    assert "Left out 1 file and 1 record: see corpus/rejects.jsonl." in done.output
    assert sorted(path.name for path in logs.parent.iterdir()) == ["corpus", "logs"]
    listed = (logs.parent / "corpus" / "rejects.jsonl").read_text().splitlines()
    assert [(json.loads(line)["file"], json.loads(line)["line"]) for line in listed] == [
        ("logs/w.jsonl.gz", 7),
        ("logs/x.jsonl.gz", 0),
    ]


@pytest.mark.slow
def test_convert_of_a_large_folder_says_the_same(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read in processes by itself, since the bound for that is lowered."""
    monkeypatch.setattr(reading_apart, "_WORTH_PROCESSES", 1)
    done = run("convert", "logs", "corpus", "--on-error", "skip")
    assert in_order(said_of(Path("logs")), done.output)


@pytest.mark.parametrize("name", ["chats.jsonl", "chats.csv"])
def test_rejects_stand_beside_a_file(logs: Path, name: str) -> None:
    done = run("convert", "logs", name, "--on-error", "skip")
    assert f"see {name}.rejects.jsonl." in done.output
    assert len((logs.parent / f"{name}.rejects.jsonl").read_text().splitlines()) == 2
    for file in ("w.jsonl.gz", "x.jsonl.gz"):
        (logs / file).unlink()
    done = run("convert", "logs", name, "--on-error", "skip", "--force")
    assert "rejects" not in done.output
    assert sorted(path.name for path in logs.parent.iterdir()) == [name, "logs"]


def test_rejects_of_a_pipe_name_it_as_the_user_does(logs: Path) -> None:
    done = CliRunner().invoke(
        app,
        ["convert", "-", "corpus", "--on-error", "skip"],
        input=(logs / "v1.jsonl").read_bytes() + b"{no json\n",
    )
    assert done.exit_code == 0, done.output
    listed = json.loads((logs.parent / "corpus" / "rejects.jsonl").read_text())
    assert (listed["file"], listed["line"]) == ("standard input", 21)


def test_convert_stops_with_one_message(logs: Path) -> None:
    done = run("convert", "logs", "corpus")
    assert isinstance(done.exception, DialensError)  # of which `main` prints the message alone
    assert str(done.exception).startswith("logs/w.jsonl.gz, line 7: is the last record that can")
    assert not (logs.parent / "corpus").exists()


SCORE = ("score", "logs", "-o", "out", "--models", "none", "--no-report", "-m", "length")


def test_score_says_the_same_unless_it_is_to_be_quiet(logs: Path) -> None:
    done = run(*SCORE, "--on-error", "skip")
    assert done.exit_code == 0, done.output
    assert in_order(said_of(Path("logs")), done.output)
    assert "Left out 1 file and 1 record: see out/rejects.jsonl." in done.output
    quiet = run(*SCORE, "--on-error", "skip", "--quiet", "--force")
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_ids_of_several_inputs(logs: Path) -> None:
    inputs = [logs / "v1.jsonl", logs / "v2.jsonl"]
    unfinished = logs.parent / f".out.{'0' * 16}.staging"  # of a cluster, which has lost its use
    unfinished.mkdir()
    done = run("score", *inputs, *SCORE[2:])
    assert f"{RENAMED}v2/case-0." in done.output
    assert not unfinished.exists()
    done = run("score", *inputs, *SCORE[2:], "--agent", "bot")
    assert "Scored 2 agents in 32 dialogues on 1 metric." in done.output


def test_one_renamed_conversation(logs: Path) -> None:
    (logs / "v2.jsonl").write_text(chats(1))
    done = run("convert", "logs", "corpus", "--on-error", "skip")
    wanted = "1 conversation had an id that an earlier file uses; it is named after its file: "
    assert f"{wanted}v2/case-0." in done.output
