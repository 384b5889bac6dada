"""Judges as metrics, and drift: from a file of chats to verdicts, by a stand-in endpoint."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.base import DialensError
from dialens.cli._app import app
from dialens.metrics import Scores
from dialens.studies.judges import Ledger
from tests.agents.endpoint import Endpoint

COUNT = 24
KEEN = {"warm": {0, 5, 9, 12, 15, 18}, "cold": {3, 5, 12, 20, 21, 22}}
"""Where a bot does not do what it usually does: to say an exclamation mark, or none."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as served:
        yield served


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: Endpoint) -> Path:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> str:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(
        app, [str(part) for part in arguments], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.output.replace("\n", " ")


def fails(*arguments: object) -> str:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(part) for part in arguments])
    assert isinstance(done.exception, DialensError), done.output
    return str(done.exception)


def chats(name: str = "chats.jsonl", count: int = COUNT, says: str = "") -> Path:
    """Conversations of two bots that were asked the same."""
    lines = []
    for number in range(count):
        for bot in ("warm", "cold"):
            loud = (bot == "warm") != (number in KEEN[bot])
            word = "fine" if bot == "warm" else "noted"
            reply = f"{says}Plan {number} is {word}{'!' if loud else '.'}"
            said = [("user", f"Here is plan {number}."), ("assistant", reply)]
            messages = [{"role": role, "content": text} for role, text in said]
            lines.append({"id": f"{bot}-{number}", "model": bot, "messages": messages})
    path = Path(name)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def judged(corpus: Path, template: str = "dialogue-level", model: str = "judge-keen") -> None:
    run("study", "new", "--template", template, "--corpus", corpus, "-o", "judged")
    run("study", "judge", "judged", "--agent", f"openai:{model}")


def dialogs(folder: str = "out") -> dict[str, float | None]:
    wide = Scores.open(folder).wide("dialog")
    return dict(wide.select("dialog", "judge_coherence").iter_rows())


FEW = ("-m", "length", "--models", "none")


def test_from_chats_to_the_agent_that_a_judge_prefers(endpoint: Endpoint) -> None:
    judged(chats())
    said = run("score", "chats.jsonl", "--judges", "judged", "-o", "out", *FEW, "--no-report")
    assert "coherence" in said  # in the table of agents
    values = dialogs()
    assert {name: value for name, value in values.items() if value == 2} == {
        **{f"warm-{n}": 2 for n in KEEN["warm"]},
        **{f"cold-{n}": 2 for n in set(range(COUNT)) - KEEN["cold"]},
    }
    assert set(values.values()) == {2.0, 4.0}
    scores = Scores.open("out")
    signature = scores.signatures["judge_coherence"]
    assert "|model:openai:judge-keen@" in signature
    assert "|fingerprint:fp_tests|prompts:plain@" in signature
    card = scores.cards["judge_coherence"]
    assert (card.range, card.higher_is_better, card.levels) == (
        (1.0, 5.0),
        True,
        ("dialog", "agent", "system"),
    )
    agents = dict(scores.wide("agent").select("agent", "judge_coherence").iter_rows())
    assert agents == pytest.approx({"warm": 3.5, "cold": 2.5})
    told = run("compare", "out")
    assert "warm is rated higher on coherence by judge-keen than cold" in told
    table = (
        pl.read_parquet("out/comparison.parquet")
        .filter(metric="judge_coherence")
        .row(0, named=True)
    )
    assert abs(table["difference"]) == pytest.approx(agents["warm"] - agents["cold"])
    assert (table["paired"], table["n_shared"]) == (True, COUNT)


def test_judges_stand_beside_other_metrics_where_people_rated() -> None:
    """Simulated people rated the same; the judge belongs to the automatic metrics."""
    judged(chats(count=20))
    run("study", "simulate", "judged", "-n", 4)
    database = f"sqlite:///{Path('judged').absolute()}/simulated.db"
    run("study", "export", "judged", "-o", "export", "--db", database)
    run("score", "chats.jsonl", "--judges", "judged", "-o", "out", *FEW, "--no-report")
    run(
        *("validate", "chats.jsonl", "out", "--ratings", "export/ratings.parquet"),
        *("--raters", "simulated", "--resamples", 100, "-o", "validation", "--level", "dialog"),
    )
    found = json.loads(Path("validation/validation.json").read_text())
    rows = [row for row in found["correlations"] if row["metric"] == "judge_coherence"]
    ratings = pl.read_parquet("export/ratings.parquet").filter(
        pl.col("rater_kind") == "simulated", pl.col("quality") == "coherence"
    )
    means = ratings.group_by("dialog").agg(pl.col("value").mean()).sort("dialog")
    judge = pl.Series([dialogs()[name] for name in means["dialog"]])
    pooled = next(row for row in rows if row["quality"] == "coherence" and row["scope"] == "pooled")
    both = pl.DataFrame({"people": means["value"], "judge": judge})
    assert pooled["pearson"] == pytest.approx(both.select(pl.corr("people", "judge")).item())
    assert pooled["n"] == 40


def test_what_is_not_in_the_corpus_is_told(endpoint: Endpoint) -> None:
    judged(chats())
    others = chats("others.jsonl", says="Well. ")
    said = fails("score", others, "--judges", "judged", "-o", "out", *FEW)
    assert "48 are in other words in the corpus (cold-0; cold-1; cold-10 …)" in said
    assert "--on-error skip" in said
    few = chats("few.jsonl", count=20)
    said = fails("score", few, "--judges", "judged", "-o", "out", *FEW)
    assert "8 are not in the corpus (cold-20; cold-21; cold-22 …)" in said
    told = run("score", few, "--judges", "judged", "-o", "out", "--on-error", "skip", *FEW)
    assert "8 are not in the corpus" in told
    assert len(dialogs()) == 40
    more = chats("more.jsonl", count=26)  # what was not judged has no value, and says so
    run("score", more, "--judges", "judged", "-o", "more", *FEW, "--no-report")
    table = Scores.open("more").table.filter(metric="judge_coherence", level="dialog").collect()
    missing = table.filter(pl.col("value").is_null())
    assert missing.select("reason").unique().rows() == [("not judged",)]
    assert missing.height == 4
    run("study", "new", "--template", "likert", "-o", "own")
    run("study", "judge", "own", "--agent", "openai:judge")
    said = fails("score", few, "--judges", "own", "-o", "x", *FEW)
    assert "stand in the study file, not in a corpus" in said
    run("study", "new", "--template", "likert", "-o", "new")
    assert "no language model has taken this study" in fails(
        "score", few, "--judges", "new", "-o", "x", *FEW
    )


def test_a_judge_that_declines_leaves_the_reason() -> None:
    judged(chats(count=3), model="judge-sorry")
    run("score", "chats.jsonl", "--judges", "judged", "-o", "out", *FEW, "--no-report")
    table = Scores.open("out").table.filter(metric="judge_coherence", level="dialog").collect()
    assert table["value"].null_count() == table.height == 6
    assert table["reason"].unique().to_list() == ["the judge refused"]


def test_turns_and_several_judges(endpoint: Endpoint) -> None:
    corpus = chats()
    run("study", "new", "--template", "likert", "--corpus", corpus, "-o", "judged")
    reach = {"endpoint": endpoint.url}
    names = {"Keen one": "judge-keen", "b": "judge"}
    entries = [{"name": n, "agent": f"openai:{m}", "set": reach} for n, m in names.items()]
    file = Path("judged/judges.yaml")
    file.write_text(json.dumps({"judges": entries[1:]}))
    run("study", "judge", "judged")
    told = run("score", corpus, "--judges", "judged", "-o", "once", *FEW, "--no-report")
    assert "48 of 48 were judged under some of the 2 combinations of position only" in told
    file.write_text(json.dumps({"judges": entries, "participations": 2}))
    run("study", "judge", "judged")
    told = run("score", corpus, "--judges", "judged", "-o", "out", *FEW, "--no-report")
    assert "combinations of position only" not in told  # two orders show every place
    scores = Scores.open("out")
    assert {"judge_relevance_keen_one", "judge_relevance_b"} <= set(scores.names)
    turns = scores.table.filter(metric="judge_relevance_b", level="turn").collect()
    assert turns["value"].null_count() == 0
    with Ledger.open(Path("judged/judges.db")) as ledger:
        assert ledger.frame().height == 2 * 2 * (COUNT + 1)


def test_asked_again_nothing_moved_then_something_did(endpoint: Endpoint) -> None:
    assert "nothing to ask again" in _first_again(chats())
    run("study", "judge", "judged", "--agent", "openai:judge-keen")
    told = run("study", "judge", "judged", "--again")
    assert "48 of 48 screens answered" in told
    assert "the same fingerprint, fp_tests" in told
    assert "coherence: moved by 0.00 points (nothing changed), 0 % of 48 answers" in told
    endpoint.fingerprint, endpoint.shift = "fp_later", 1
    assert "Occasion 3:" in run("study", "judge", "judged", "--again", "--dry-run")
    told = run("study", "judge", "judged", "--again")
    assert "! judge-keen, occasion 3" in told
    assert "another fingerprint fp_later instead of fp_tests" in told
    assert "coherence: moved by 1.00 points (95 % interval 1.00 to 1.00" in told
    assert "100 % of 48 answers are others" in told
    run("study", "export", "judged", "-o", "export")
    ratings = pl.read_parquet("export/ratings.parquet")
    counts = ratings.group_by("occasion", "fingerprint").len().sort("occasion")
    per = 2 * COUNT * 4
    assert counts.rows() == [(1, "fp_tests", per), (2, "fp_tests", per), (3, "fp_later", per)]
    told = run("score", "chats.jsonl", "--judges", "judged", "-o", "out", *FEW, "--no-report")
    assert "Occasions 2 and 3: for drift alone, left aside" in told
    assert set(dialogs().values()) == {2.0, 4.0}
    assert "fp_later" not in Scores.open("out").signatures["judge_coherence"]


def _first_again(corpus: Path) -> str:
    run("study", "new", "--template", "dialogue-level", "--corpus", corpus, "-o", "judged")
    said = fails("study", "judge", "judged", "--agent", "openai:judge-keen", "--again")
    Path("judged/judges.yaml").unlink()
    return said


def test_an_occasion_that_stopped_is_gone_on_with(endpoint: Endpoint) -> None:
    judged(chats(count=4))
    file = Path("judged/judges.yaml")
    entry: dict[str, Any] = {"judges": [{"name": "judge-keen", "agent": "openai:judge-keen"}]}
    file.write_text(json.dumps({**entry, "budget": {"requests": 13}}))
    assert "5 of 8 screens answered" in run("study", "judge", "judged", "--again")
    file.write_text(json.dumps(entry))
    before = len(endpoint.requests)
    told = run("study", "judge", "judged", "--again")
    assert "Occasion 2:" in told
    assert "8 of 8 screens answered" in told
    assert len(endpoint.requests) - before == 3
    other = {"judges": [{**entry["judges"][0], "set": {"max_tokens": 99}}]}
    prompts = {"plain": "Be strict. {instructions} {screen} {answer}"}
    file.write_text(json.dumps({**other, "prompts": prompts}))
    told = run("study", "judge", "judged", "--again", "--dry-run")
    assert "! judge-keen is another model than before" in told
    assert "! The prompt plain reads otherwise than on the first occasion" in told


def test_a_fingerprint_that_changes_meanwhile_is_told(endpoint: Endpoint) -> None:
    judged(chats(count=2))
    corpus = chats(count=2)
    with sqlite3.connect("judged/judges.db") as connection:
        connection.execute(
            "UPDATE asks SET fingerprint = 'fp_other' WHERE key = (SELECT min(key) FROM asks)"
        )
    told = run("score", corpus, "--judges", "judged", "-o", "out", *FEW, "--no-report")
    assert "What runs behind judge-keen changed while it judged" in told
    assert "fp_other+fp_tests" in Scores.open("out").signatures["judge_coherence"]


def test_answers_from_before_there_were_occasions_are_kept() -> None:
    judged(chats(count=2))
    with sqlite3.connect("judged/judges.db") as connection:
        for name in ("language", "occasion", "prompt_hash"):
            connection.execute(f"ALTER TABLE places DROP COLUMN {name}")
        connection.execute("PRAGMA user_version = 1")
    assert "an earlier run had 4 answered." in run("study", "judge", "judged")


@pytest.mark.slow
def test_the_analysis_is_of_the_first_occasion(endpoint: Endpoint) -> None:
    judged(chats())
    endpoint.fingerprint, endpoint.shift = "fp_later", 1
    run("study", "judge", "judged", "--again")
    run("study", "analyze", "judged", "-o", "out", "--resamples", 100)
    found = json.loads(Path("out/analysis.json").read_text())
    assert {row["shift"] for row in found["drift"]} == {1.0}
    assert found["study"]["ratings"] == 2 * COUNT * 4
    page = Path("out/report.html").read_text()
    assert "another fingerprint fp_later instead of fp_tests" in page


def test_other_settings_have_no_first_occasion_and_are_not_paid_again(endpoint: Endpoint) -> None:
    judged(chats(count=4))
    file = Path("judged/judges.yaml")
    entry: dict[str, Any] = {"judges": [{"name": "lo", "agent": "openai:judge-keen"}]}
    file.write_text(json.dumps({**entry, "temperatures": [0.7]}))
    run("study", "judge", "judged")
    endpoint.fingerprint = "fp_later"
    told = run("study", "judge", "judged", "--again")
    assert "another fingerprint fp_later instead of fp_tests" in told
    assert "changed while it judged" not in told  # but between occasions
    file.write_text(json.dumps({**entry, "temperatures": [0.8]}))
    before = len(endpoint.requests)
    said = fails("study", "judge", "judged", "--again")
    assert "None of these raters has a first occasion: lo/plain/t=0.8#1" in said
    file.write_text(json.dumps({**entry, "temperatures": [0.7, 0.8], "repeats": 2}))
    told = run("study", "judge", "judged", "--again", "--dry-run")
    assert "! Not asked again, since 3 raters have no first occasion" in told
    assert "Occasion 3: lo (1 rater by" in told
    assert "8 screens to answer, for which 8 requests" in told
    assert len(endpoint.requests) == before
    changed = {"name": "lo", "agent": "openai:judge-keen", "set": {"max_tokens": 99}}
    file.write_text(json.dumps({"judges": [changed], "temperatures": [0.7]}))
    told = run("study", "judge", "judged", "--again")
    assert "! lo is another model than before" in told
    assert "Occasion 3:" in told  # the second one stays as it was
    assert "coherence: moved by" in told
