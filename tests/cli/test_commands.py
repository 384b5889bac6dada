"""The commands as a user runs them: what they print, what they write, what they refuse."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.cli import _scorers as scorers
from dialens.cli import _scoring as score_command
from dialens.cli import main
from dialens.corpus import demo_path
from dialens.metrics import SCORES, select
from dialens.metrics import _registry as registry
from dialens.metrics import _scores as scores
from dialens.metrics import _scoring as scoring
from dialens.models import _card as model_card
from dialens.models import _store as model_store
from tests.metrics.tiny_models import make_model, tiny_folder


class Ran:
    """What a command left behind."""

    def __init__(self, status: int, out: str, error: str) -> None:
        self.status, self.out, self.error = status, out, error


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """Run `dialens` with arguments, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def command(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["dialens", *map(str, arguments)])
        try:
            main()
            status = 0
        except SystemExit as stop:
            status = int(stop.code or 0)
        got = capsys.readouterr()
        return Ran(status, got.out, got.err)

    return command


@pytest.fixture(autouse=True)
def tiny_models(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny models in the place of those that ship: what they say does not matter here."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(model_store, "shipped_places", lambda: (tiny_folder(),))


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def talk(identity: str, *said: tuple[str, Any]) -> dict[str, Any]:
    messages = [{"role": role, "content": text} for role, text in said]
    return {"id": identity, "model": "bot", "messages": messages}


GOOD = talk("d1", ("user", "How are you?"), ("assistant", "Happy, thanks! And you?"))


COMMANDS = (
    *("demo", "score", "compare", "gate", "validate", "agreement", "power"),
    *("convert", "metrics", "formats", "models"),
)


def test_help_reads_well(run) -> None:
    for command in COMMANDS:
        assert command in run("--help").out
        shown = run(command, "--help")
        assert shown.status == 0
        assert "Example" in shown.out
        assert f"dialens {command}" in shown.out


def test_score_then_compare(run, tmp_path: Path) -> None:
    done = run("score", demo_path(), "-o", "out")
    assert done.status == 0, done.error
    assert "report.html" in done.out
    table = pl.read_parquet(tmp_path / "out/scores.parquet")
    assert dict(table.schema) == dict(SCORES)
    spoken = sum(
        message["role"] == "assistant"
        for line in demo_path().read_text().splitlines()
        for message in json.loads(line)["messages"]
    )
    turn_level = [card.name for card in select() if "turn" in card.levels]
    rows = table.filter(level="turn").group_by("metric").len()
    assert dict(rows.iter_rows()) == dict.fromkeys(turn_level, spoken)
    assert set(table["level"].unique()) == {"turn", "dialog", "agent", "system"}
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["counts"]["dialogs"] == 42
    assert set(record["signatures"]) == {card.name for card in select()}
    assert [path.name for path in (tmp_path / "out").glob(".*")] == [".dialens.json"]

    compared = run("compare", "out", "--metrics", "surface", "--resamples", "200")
    assert compared.status == 0, compared.error
    assert "corrected over" in compared.out
    pairs = pl.read_parquet(tmp_path / "out/comparison.parquet")
    assert pairs.filter(metric="question")["paired"].to_list() == [True] * 3
    assert (tmp_path / "out/comparison.html").exists()
    apart = run("compare", "out", "--metrics", "surface", "-o", "apart")
    assert apart.status == 0, apart.error
    assert len(apart.out.splitlines()) <= 40
    assert "…" not in apart.out.split("… and")[0]
    kept = json.loads((tmp_path / "apart/run.json").read_text())
    assert kept["command"] == "compare"
    assert kept["arguments"]["metrics"] == ["surface"]
    assert json.loads((tmp_path / "out/run.json").read_text())["command"] == "score"


def test_a_stale_metric_does_not_keep_others_from_being_compared(run, tmp_path: Path) -> None:
    said = (("user", "How are you?"), ("assistant", "I am very happy today, and you?"))
    talks = [talk(f"{agent}{i}", *said) | {"model": agent} for agent in "ab" for i in range(6)]
    (tmp_path / "a.jsonl").write_text(lines(*talks))
    assert run("score", "a.jsonl", "-o", "out", "-m", "length,question").status == 0
    written = json.loads((tmp_path / "out/metrics.json").read_text())
    for entry in written["metrics"]:
        if entry["card"]["name"] == "question":
            entry["signature"] = entry["signature"].replace("|v1", "|v99")
    (tmp_path / "out/metrics.json").write_text(json.dumps(written))
    assert run("compare", "out", "-m", "length").status == 0
    refused = run("compare", "out")
    assert refused.status == 2
    assert "question was scored by another version of the metric (v99" in refused.error


def test_models_are_announced_and_all_metrics_have_values(run, tmp_path: Path) -> None:
    done = run("score", demo_path(), "-o", "out")
    assert done.status == 0, done.error
    assert (
        "Models: emotion, empathy and toxicity (small, int8), engagement and relevance (base"
        in done.error
    )
    assert "7 traits (linear); a few seconds for" in done.error
    assert "No values" not in done.error
    for column in ("empathy", "engagement", "agreeableness", "toxicity"):
        assert column in done.out
    table = pl.read_parquet(tmp_path / "out/scores.parquet")
    empty = table.filter(level="agent").group_by("metric").agg(pl.col("value").null_count() > 0)
    assert not empty["value"].any()
    compared = run("compare", "out", "--metrics", "engagement,empathy", "--resamples", "200")
    assert compared.status == 0, compared.error
    pairs = pl.read_parquet(tmp_path / "out/comparison.parquet")
    assert pairs.filter(metric="engagement").height == 3


def test_without_models(run, tmp_path: Path) -> None:
    done = run("score", demo_path(), "--models", "none")
    assert done.status == 0, done.error
    assert "Models" not in done.error
    record = json.loads((tmp_path / "out/run.json").read_text())
    wanted = [card.name for card in select() if "model" not in card.needs]
    assert record["arguments"]["metrics"] == wanted
    assert list(record["signatures"]) == wanted


def test_a_model_of_ones_own(run, tmp_path: Path) -> None:
    own = make_model(tmp_path / "mine", {"rudeness": ["polite", "rude"]}, {}, seed=3)
    (tmp_path / "a.jsonl").write_text(lines(GOOD))
    done = run("score", "a.jsonl", "-m", "toxicity", "--model", f"toxicity={own}")
    assert done.status == 0, done.error
    assert "Models: toxicity (mine, int8)" in done.error
    table = pl.read_parquet(tmp_path / "out/scores.parquet")
    assert table["signature"].str.contains("model:mine:", literal=True).all()
    assert table["value"].null_count() == 0


def test_the_same_command_writes_the_same_bytes(run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert run("score", demo_path(), "-o", name, "-m", "emotion,random").status == 0
    one, two = ((tmp_path / name / "scores.parquet").read_bytes() for name in ("one", "two"))
    assert one == two


def test_metrics_and_levels_are_chosen(run, tmp_path: Path) -> None:
    done = run("score", demo_path(), "-m", "length,question", "--levels", "agent")
    assert done.status == 0, done.error
    table = pl.read_parquet(tmp_path / "out/scores.parquet")
    assert set(table["metric"]) == {"length", "question"}
    assert set(table["level"]) == {"agent"}


def test_a_lexicon_of_ones_own(run, tmp_path: Path) -> None:
    eight = ["anger", "anticipation", "disgust", "fear", "joy", "sadness", "surprise", "trust"]
    rows = "".join(
        f"{emotion}\t{'happy' if emotion == 'joy' else emotion}\t1.0\n" for emotion in eight
    )
    (tmp_path / "NRC.txt").write_text(rows)
    (tmp_path / "a.jsonl").write_text(lines(GOOD))
    done = run("score", "a.jsonl", "--lexicon", "emotion=NRC.txt", "-m", "emotion")
    assert done.status == 0, done.error
    joy = pl.read_parquet(tmp_path / "out/scores.parquet").filter(metric="joy_share", level="turn")
    assert joy["value"].to_list() == [1.0]
    assert "NRC" in joy["signature"][0]


BAD: dict[str, tuple[str | bytes, str]] = {
    "malformed line": (lines(GOOD) + '{"messages": [', "a.jsonl, line 2"),
    "missing field": (lines(GOOD, {"id": "x"}), "a.jsonl, line 2"),
    "wrong type": (lines(GOOD, talk("x", ("user", 7))), "messages[0].content"),
    "unknown role": (lines(GOOD, talk("x", ("narrator", "hm"))), "narrator"),
    "duplicate id": (lines(GOOD, GOOD), "duplicate"),
    "invalid utf-8": (lines(GOOD).encode() + b'{"messages": "\xff\xfe"}\n', "UTF-8"),
    "empty file": ("", "a.jsonl is empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_and_leaves_nothing(run, tmp_path: Path, case: str) -> None:
    content, wanted = BAD[case]
    path = tmp_path / "a.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("score", "a.jsonl", "-o", "out")
    assert done.status == 2
    said = re.sub(r"\s+", " ", done.error)
    assert wanted in said
    assert "a.jsonl" in said
    assert "Traceback" not in done.error
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.mark.parametrize("case", [case for case in BAD if case != "empty file"])
def test_bad_records_can_be_left_out(run, tmp_path: Path, case: str) -> None:
    content, _ = BAD[case]
    path = tmp_path / "a.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("score", "a.jsonl", "-o", "out", "--on-error", "skip")
    assert done.status == 0, done.error
    assert "Left out 1 record:" in done.out
    (reject,) = (tmp_path / "out/rejects.jsonl").read_text().splitlines()
    assert json.loads(reject)["line"] == 2
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["counts"]["rejected"] == 1
    assert record["counts"]["dialogs"] == 1


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["score", "nowhere.jsonl"], "nowhere.jsonl does not exist"),
        (["score", "a.jsonl", "-m", "emotional_entropi"], "Did you mean emotional_entropy"),
        (["score", "a.jsonl", "--levels", "sentence"], "no level 'sentence'"),
        (["score", "a.jsonl", "--lexicon", "x.tsv"], "KIND=FILE"),
        (["score", "a.jsonl", "--prompt", "first"], "`context` or `last`"),
        (["score", "a.jsonl", "--models", "huge"], "default, small, base, none; seen: 'huge'"),
        (["score", "a.jsonl", "--models", "none", "-m", "toxicity"], "`--models none` leaves"),
        (["score", "a.jsonl", "--model", "x"], "TASK=FOLDER"),
        (["score", "a.jsonl", "--model", "toxic=x"], "Did you mean toxicity"),
        (["score", "a.jsonl", "--format", "word"], "no format 'word'"),
        (["compare", "nowhere"], "nowhere does not exist"),
        (["metrics", "beauty"], "no metric or family 'beauty'"),
        (["formats", "word"], "no format 'word'"),
    ],
)
def test_mistakes_on_the_command_line(run, tmp_path: Path, arguments, wanted: str) -> None:
    (tmp_path / "a.jsonl").write_text(lines(GOOD))
    done = run(*arguments)
    assert done.status == 2
    assert wanted in re.sub(r"\s+", " ", done.error)
    assert not (tmp_path / "out").exists()


def test_a_corpus_without_an_agent_says_so(run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(talk("d1", ("user", "Hello?"))))
    done = run("score", "a.jsonl")
    assert done.status == 0, done.error
    assert "No turn in this corpus is an agent's" in done.out
    values = pl.read_parquet(tmp_path / "out/scores.parquet")["value"]
    assert values.null_count() == len(values)


def test_somebody_elses_folder_is_not_replaced(run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.txt").write_text("three years")
    refused = run("score", demo_path(), "-o", "out", "-m", "length")
    assert refused.status == 2
    assert (tmp_path / "out/thesis.txt").read_text() == "three years"
    assert run("score", demo_path(), "-o", "out", "-m", "length", "--force").status == 0
    again = run("score", demo_path(), "-o", "out", "-m", "length")
    assert again.status == 0
    assert (tmp_path / "out/thesis.txt").read_text() == "three years"


def test_the_input_is_never_in_the_way_of_the_output(run, tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    source = tmp_path / "p/x.jsonl"
    source.write_bytes(demo_path().read_bytes())
    for force in ([], ["--force"]):
        done = run("score", "p/x.jsonl", "-o", "p", "-m", "length", *force)
        assert done.status == 2
        assert "The input p/x.jsonl lies in the output p. Name another" in done.error
    assert source.read_bytes() == demo_path().read_bytes()
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["x.jsonl"]


@pytest.mark.parametrize("name", ["llama[instruct]", "bot[/b]", "[red]bot", "bot :fire:"])
def test_agents_with_markup_in_their_names(run, tmp_path: Path, name: str) -> None:
    said = (("user", "How are you?"), ("assistant", "I am very happy today, and you?"))
    talks = [talk(f"{agent}{i}", *said) | {"model": agent} for agent in (name, "b") for i in "123"]
    (tmp_path / "a.jsonl").write_text(lines(*talks))
    scored = run("score", "a.jsonl", "-m", "length")
    assert scored.status == 0, scored.error
    assert name in scored.out
    compared = run("compare", "out", "--resamples", "100", "--baseline", name)
    assert compared.status == 0, compared.error


def test_convert_and_the_catalogues(run, tmp_path: Path) -> None:
    done = run("convert", demo_path(), "corpus")
    assert done.status == 0, done.error
    assert done.out.startswith("Wrote 42 dialogues with 379 turns to corpus")
    assert run("convert", "corpus", "back.jsonl").status == 0
    assert len((tmp_path / "back.jsonl").read_text().splitlines()) == 42
    assert "openai" in run("formats").out
    assert "messages" in run("formats", "openai").out
    assert "emotional_entropy" in run("metrics").out
    assert "nats" in run("metrics", "emotional_entropy").out


@pytest.mark.slow
def test_the_demo_with_the_models_that_ship(run, tmp_path: Path) -> None:
    done = run("demo", "-o", "out")
    assert done.status == 0, done.error
    assert "No values" not in done.error
    table = pl.read_parquet(tmp_path / "out/scores.parquet").filter(level="agent")
    by_agent = {
        metric: dict(table.filter(metric=metric).select("agent", "value").iter_rows())
        for metric in ("engagement", "emotion_caring", "toxicity")
    }
    assert by_agent["engagement"]["warm"] > by_agent["engagement"]["curt"]
    assert by_agent["emotion_caring"]["warm"] > by_agent["emotion_caring"]["curt"]
    assert max(by_agent["toxicity"].values()) < 0.3


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_debris(tmp_path: Path, number: signal.Signals) -> None:
    said = "we were happy to walk the dog and cook, but never very sad . " * 40
    with (tmp_path / "big.jsonl").open("w") as file:
        for i in range(20_000):
            file.write(lines(talk(f"d{i}", ("user", said), ("assistant", said))))
    command = [sys.executable, "-m", "dialens", "score", "big.jsonl", "-o", "out"]
    with subprocess.Popen(command, cwd=tmp_path, env=os.environ, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".out.*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert process.poll() is None, "it was over before it could be interrupted"
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"Traceback" not in error
    assert [p.name for p in tmp_path.iterdir()] == ["big.jsonl"]


def test_one_command_makes_one_plan_and_reads_each_model_card_once(
    run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: Counter[str] = Counter()

    def counting(name: str, real, key=lambda *_: ""):
        def counted(*arguments, **options):
            calls[f"{name} {key(*arguments)}".strip()] += 1
            return real(*arguments, **options)

        return counted

    plans = counting("make_plan", scoring.make_plan)
    for module in (scoring, score_command):
        monkeypatch.setattr(module, "make_plan", plans)
    registered = counting("metrics", registry.metrics)
    monkeypatch.setattr(registry, "metrics", registered)
    monkeypatch.setattr(scores, "installed_metrics", registered)
    monkeypatch.setattr(scorers, "all_metrics", registered)
    read = counting("read_card", model_card.read_card, key=lambda folder: Path(folder).name)
    monkeypatch.setattr(model_store, "read_card", read)
    source = tmp_path / "two.jsonl"
    source.write_text("\n".join(demo_path().read_text().splitlines()[:2]) + "\n")
    assert run("score", source, "-o", "out", "--models", "small").status == 0
    assert calls["make_plan"] == 1
    assert calls["metrics"] == 2, "for the names of options, and for the plan"
    cards = {name: count for name, count in calls.items() if name.startswith("read_card")}
    assert cards
    assert set(cards.values()) == {1}, cards
