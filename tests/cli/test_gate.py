"""Runs compared and gated as a build server does it: exit statuses, files, shell, pytest."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import textwrap
import time
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.cli import main
from dialens.testing import assert_gate

PROMPTS = [f"I want to tell you about {what}" for what in ["my dog", "our trip", "her book"]]
OPTIONS = ("--models", "none", "--no-cache")


def talk(case: int, reply: str) -> str:
    said = [("user", f"{PROMPTS[case % 3]}, part {case}"), ("assistant", reply)]
    messages = [{"role": role, "content": text} for role, text in said]
    return json.dumps({"id": f"case-{case}", "messages": messages}) + "\n"


def words(count: int, *, asks: bool) -> str:
    return " ".join(["well"] * count) + ("?" if asks else ".")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Runs of the same 18 cases: v2 writes four to six words less than v1, and asks as often."""
    sizes = [8 + case % 7 for case in range(18)]
    for name, less in (("v1", 0), ("v2", 4)):
        lines = [
            talk(case, words(size - (less and less + case % 3), asks=case % 3 == 0))
            for case, size in enumerate(sizes)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    return tmp_path


def dialens(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command as a shell would, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "dialens", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_files_are_compared_in_sentences(folder: Path) -> None:
    done = dialens(folder, "compare", "v1.jsonl", "v2.jsonl", "-m", "surface", *OPTIONS)
    assert done.returncode == 0, done.stderr
    first, *_ = done.stdout.splitlines()
    assert first.startswith("v1 writes longer turns than v2: 10.67 against 5.67, difference 5.00 (")
    assert first.endswith("; 18 shared prompts.")
    assert "…" not in done.stdout
    assert len(done.stdout.splitlines()) <= 24
    row = pl.read_parquet(folder / "comparison/comparison.parquet").filter(metric="length")
    assert row["difference"].item() == pytest.approx(-5)
    assert (folder / "comparison/comparison.html").exists()


def test_partly_shared_prompts_are_said_with_all_dialogues(folder: Path) -> None:
    old = (folder / "v1.jsonl").read_text().splitlines(keepends=True)
    other = [talk(case, words(20 + case % 3, asks=False)) for case in range(30, 37)]
    (folder / "part.jsonl").write_text("".join([*old[:11], *other]))
    done = dialens(folder, "compare", "v1.jsonl", "part.jsonl", "-m", "length", *OPTIONS)
    assert done.returncode == 0, done.stderr
    assert "18 and 18 dialogues with 11 shared prompts" in done.stdout
    assert "on 1 metric." in done.stderr
    judged = dialens(
        *(folder, "gate", "part.jsonl", "-b", "v1.jsonl", "-r", "length change > 1", *OPTIONS)
    )
    assert "18 and 18 dialogues with 11 shared prompts" in judged.stdout
    (folder / "other.jsonl").write_text("".join(talk(n + 40, "well " * 9) for n in range(18)))
    for command in (
        ("compare", "v1.jsonl", "other.jsonl", "-m", "length"),
        ("gate", "other.jsonl", "-b", "v1.jsonl", "-r", "length change > 1"),
    ):
        apart = dialens(folder, *command, *OPTIONS)
        assert "Not paired: the two sides share no prompts" in apart.stdout, apart.stderr


def test_a_missing_baseline_is_noticed_before_scoring(folder: Path) -> None:
    done = dialens(folder, "gate", "v1.jsonl", "-b", "no.jsonl", "-r", "length drop > 1", *OPTIONS)
    assert done.returncode == 2
    assert "no.jsonl does not exist" in done.stderr
    assert "scoring" not in done.stderr


def test_one_agent_is_told_what_to_do_next(folder: Path) -> None:
    done = dialens(folder, "score", "v1.jsonl", "-o", "v1", "-m", "length", "--no-report", "-q")
    assert (done.returncode, done.stdout) == (0, "")
    assert not (folder / "v1/report.html").exists()
    alone = dialens(folder, "compare", "v1")
    assert alone.returncode == 2
    assert "dialens compare v1 OTHER" in alone.stderr
    together = dialens(folder, "compare", "v1", "v2.jsonl", "-m", "length", "--no-report", "-q")
    assert (together.returncode, together.stdout) == (0, "")
    assert not (folder / "comparison/comparison.html").exists()


def test_a_shell_pipeline(folder: Path) -> None:
    """`score && gate || echo`: the shell goes on or stops by the exit status alone."""
    script = textwrap.dedent(
        """
        run() { "$PYTHON" -m dialens "$@"; }
        run score v1.jsonl -o main -m surface --no-report --quiet &&
        run score v2.jsonl -o branch -m surface --no-report --quiet &&
        run gate branch --baseline main --rule 'length drop > 2' \
            --junit gate.xml --json gate.json --markdown gate.md || echo "stopped: $?"
        run gate branch --baseline main --rule 'question drop > 0.5' --quiet && echo "went on"
        run gate branch --baseline main --rule 'length dorp > 2'; echo "misuse: $?"
        """
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "Gate failed: branch against main, 1 check: 1 failed (length drop > 2)."
    assert "length drop > 2: 5.67 against 10.67, a drop of 5.00 (" in lines[1]
    assert lines[-3:] == ["stopped: 1", "went on", "misuse: 2"]
    assert "^^^^ expected drop" in done.stderr

    suite = ElementTree.parse(folder / "gate.xml").getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures")) == ("testsuites", "1", "1")
    failure = suite.find("testsuite/testcase/failure")
    assert failure is not None
    assert "18 shared prompts" in str(failure.get("message"))
    written = json.loads((folder / "gate.json").read_text())
    assert written["passed"] is False
    assert written["checks"][0]["effect"] == pytest.approx(5)
    page = (folder / "gate.md").read_text()
    assert page.startswith("### ❌ dialens gate failed: branch against main")
    table = [line for line in page.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in table} == {6}


def test_rules_of_a_file_and_undecided_ones(folder: Path) -> None:
    (folder / "gate.toml").write_text('decide = "excluded"\nrules = ["length drop > 5"]\n')
    runs = ("gate", "v2.jsonl", "-b", "v1.jsonl", *OPTIONS)
    strict = dialens(folder, *runs, "--rules", "gate.toml", "--junit", "a.xml")
    assert strict.returncode == 1
    assert "1 undecided" in strict.stdout
    mild = dialens(folder, *runs, "--rules", "gate.toml", "--decide", "shown", "--junit", "b.xml")
    assert mild.returncode == 0
    skipped = [ElementTree.parse(folder / f"{n}.xml").getroot().get("skipped") for n in "ab"]
    assert skipped == ["0", "1"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("gate", "v2.jsonl"), "Name a rule"),
        (("gate", "v2.jsonl", "-r", "length drop > 2"), "--baseline"),
        (("gate", "v2.jsonl", "-r", "length > 2", "--decide", "x"), "shown or excluded"),
        (("gate", "nowhere", "-r", "length > 2"), "does not exist"),
        (("gate", "v2.jsonl", "-r", "lenght > 2"), "Did you mean length"),
    ],
)
def test_misuse_is_status_2(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    why: str,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["dialens", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert why in " ".join(capsys.readouterr().err.split())


def test_a_real_pytest_run(folder: Path) -> None:
    (folder / "test_agent.py").write_text(
        textwrap.dedent(
            """
            from dialens.testing import assert_gate

            def test_it_asks_as_often():
                rules = ["question drop > 0.5"]
                assert assert_gate("v2.jsonl", baseline="v1.jsonl", rules=rules, cache=False).passed

            def test_it_writes_as_much():
                assert_gate("v2.jsonl", baseline="v1.jsonl", rules=["length drop > 2"], cache=False)
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_agent.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "AssertionError: Gate failed: v2 against v1" in done.stdout
    assert "a drop of 5.00" in done.stdout


def test_the_helper_gives_back_the_result_and_passes_misuse_on(folder: Path) -> None:
    place = folder / "v1.jsonl"
    result = assert_gate(place, rules=["length < 3"], cache=False)
    assert result.checks[0].value == pytest.approx(32 / 3)
    with pytest.raises(DialensError, match="cannot be read"):
        assert_gate(place, rules=["length is 3"], cache=False)


def test_metrics_asked_for_are_shown_or_it_is_said_why_not(folder: Path) -> None:
    done = dialens(folder, "score", "v1.jsonl", "-m", "surface,bleu", "--no-report", *OPTIONS)
    assert done.returncode == 0, done.stderr
    assert "surface: a family of 5 metrics" in done.stdout
    heads = " ".join(done.stdout.split("agent")[0].split())
    table = done.stdout.replace("\n", " ")
    for name in ("specificity", "question", "length", "distinct", "bleu"):
        assert name in heads + table
    assert "bleu_1, bleu_2, bleu_3 and bleu_4: no values (no reference" in done.stdout
    nothing = dialens(folder, "score", "v1.jsonl", "-m", "bleurt", "-o", "other")
    assert nothing.returncode == 2
    assert "None of the metrics that were asked for can be computed here" in " ".join(
        nothing.stderr.split()
    )
    assert not (folder / "other").exists()


def test_sheets_are_read_as_the_options_say_and_kept_by_how_they_were_read(tmp_path: Path) -> None:
    header = "Fall,Wer,Inhalt\n"
    for name, count in (("v1", 9), ("v2", 4)):
        rows = [
            f"{case},{who},{words(size, asks=False)}\n"
            for case in range(8)
            for who, size in (("Kim", 20 + case), ("Lee", count + case % 3))
        ]
        (tmp_path / f"{name}.csv").write_text(header + "".join(rows))
    columns = ("--column", "dialog=Fall", "--column", "speaker=Wer", "--column", "text=Inhalt")
    kept = ("--models", "none", "--cache", str(tmp_path / "cache"))
    runs = ("v2.csv", "--baseline", "v1.csv", "--rule", "length drop > 1", *columns, *kept)
    assert dialens(tmp_path, "gate", *runs).returncode == 2
    done = dialens(tmp_path, "gate", *runs, "--role", "agent=Lee", "--agent", "shop")
    assert done.returncode == 1, done.stderr
    other = dialens(tmp_path, "gate", *runs, "--role", "agent=Kim")
    assert other.returncode == 0, other.stdout + other.stderr
    compared = ("compare", "v1.csv", "v2.csv", "-m", "length", *columns, *kept)
    done = dialens(tmp_path, *compared, "--role", "agent=Lee", "--agent", "shop")
    assert done.returncode == 0, done.stderr
    table = pl.read_parquet(tmp_path / "comparison" / "comparison.parquet")
    assert table.filter(metric="length")["difference"].item() == pytest.approx(-5, abs=0.01)


@pytest.mark.parametrize("place", ["file.txt/sub", "/proc/x"])
@pytest.mark.parametrize("command", [("score", "v1.jsonl", *OPTIONS), ("study", "schema")])
def test_a_place_that_cannot_be_written_is_a_sentence(
    folder: Path, command: tuple[str, ...], place: str
) -> None:
    if place.startswith("/") and not Path(place).parent.is_dir():
        pytest.skip("only where there is /proc")
    (folder / "file.txt").touch()
    done = dialens(folder, *command, "-o", place)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    assert "another place" in " ".join(done.stderr.split())


def started(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dialens", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command,
        cwd=folder,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        # A job in the background ignores Ctrl-C, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_until_read(writing: int) -> None:
    """Until the other end of a pipe has taken all that was written."""
    waiting = bytearray(4)
    for _ in range(600):
        fcntl.ioctl(writing, termios.FIONREAD, waiting)
        if int.from_bytes(waiting, sys.byteorder) == 0:
            return
        time.sleep(0.1)
    pytest.fail("Nothing was read within a minute.")


def test_whoever_stops_reading_ends_the_command(folder: Path) -> None:
    with started(folder, "metrics") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        said = running.stderr.read()
    assert (running.returncode, said) == (141, "")


def test_an_interruption_is_one_line(folder: Path) -> None:
    with started(folder, "score", "-", *OPTIONS, "-o", "out") as running:
        assert running.stdin is not None
        running.stdin.write(talk(0, "Tell me."))
        running.stdin.flush()
        wait_until_read(running.stdin.fileno())
        running.send_signal(signal.SIGINT)
        said = running.communicate()[1]
    assert running.returncode in (130, -signal.SIGINT)
    assert said.splitlines() == ["Interrupted. Nothing was left half written."]
