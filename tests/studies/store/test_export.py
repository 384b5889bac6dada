"""The export: right by hand, readable by what exists, and without anybody's id."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.analysis.bias import read_study
from dialens.base import DialensError
from dialens.cli._app import app
from dialens.corpus import RATINGS
from dialens.statistics import load_ratings
from dialens.studies import TEA, Field, Screen, Study, study_of
from dialens.studies.export import export, tables
from dialens.studies.instruments import simulate, validate
from dialens.studies.plan import plan
from dialens.studies.store import Session, Store, Submission
from tests.studies.store.people import NOON, SECOND, seeds

WORKER = "A3SECRETWORKER"
DESIGN: dict[str, Any] = TEA | {
    "questionnaires": {
        "before": [
            {
                "questions": {
                    "done_before": {"kind": "yes_no", "prompt": "Have you done this before?"}
                }
            }
        ],
        "after": [
            {
                "questions": {
                    "age": {"kind": "number", "prompt": "Age?", "whole": True},
                    "comment": {"kind": "free_text", "prompt": "Anything?", "required": False},
                }
            }
        ],
    },
    "practice": {"lines": [10, 20]},
    "checks": {
        "attention": {
            "sum": {
                "question": {"kind": "number", "prompt": "2 + 2?", "whole": True},
                "correct": 4,
                "after": [2],
            }
        }
    },
    "targets": 2,
    "resume": "restart",
}
WORTH = {"plain": 40.0, "warm": 60.0, "odd": 20.0}


def answer(session: Session, screen: Screen, field: Field) -> Any:
    """Anchored people give 30 more, coherence 5 less; everything else is known as well."""
    if field.quality is not None:
        (target,) = field.targets.values()
        shift = 30 if "anchor=both" in session.cell else 0
        return WORTH[target["response"]] + shift - (5 if field.quality == "coherence" else 0)
    known = {"consent": "yes", "done_before": "no", "age": 41, "comment": None, "length": 200.0}
    known["standard_length"] = 100.0
    return known.get(field.name, 5 if session.seed else 4)


def take(
    store: Store,
    study: Study,
    worker: str,
    give: Callable[[Session, Screen, Field], Any] = answer,
    *,
    screens: int | None = None,
) -> Session:
    """Take a study, ten seconds a screen, four of them with the tab hidden."""
    came = store.begin(study.hash, recruiter="mturk", worker=worker, now=NOON, seed_source=seeds())
    came = store.admit(came.token, now=NOON, seed_source=seeds())
    shown = [screen for screen in plan(study, came.cell, came.seed) if screen.kind != "end"]
    for index, screen in enumerate(shown[:screens]):
        start = NOON + index * 10 * SECOND
        answers = {one.name: validate(one, give(came, screen, one)) for one in screen.fields}
        sent = Submission(screen, index, answers, f"k{index}", start, start + 10 * SECOND)
        store.submit(came.token, sent, now=start + 10 * SECOND)
    if screens is None:
        end = NOON + len(shown) * 10 * SECOND
        store.complete(came.token, screens=len(shown), now=end)
    return came


@pytest.fixture
def study() -> Study:
    return study_of(DESIGN)


@pytest.fixture
def full(store: Store, study: Study) -> Store:
    """Everybody completed: two people in each of four cells."""
    store.register(study, now=NOON)
    for number in range(8):
        take(store, study, f"{WORKER}{number}")
    return store


def test_ratings_by_hand(full: Store, study: Study, tmp_path: Path) -> None:
    made = export(full, study.hash, tmp_path / "export")
    # 8 people, 6 items, 3 responses, 2 qualities.
    assert (made.participants, made.ratings) == (8, 8 * 6 * 3 * 2)
    ratings = pl.read_parquet(tmp_path / "export" / "ratings.parquet")
    assert pl.Schema(list(ratings.schema.items())[: len(RATINGS)]) == RATINGS
    assert ratings["rater_kind"].unique().to_list() == ["human"]
    assert ratings["study"].unique().to_list() == ["tea"]
    worth = pl.col("agent").replace_strict(WORTH)
    level = pl.col("factors").str.json_path_match("$.anchor")
    expected = (
        worth
        + pl.when(level == "both").then(30.0).otherwise(0.0)
        - pl.when(pl.col("quality") == "coherence").then(5.0).otherwise(0.0)
    )
    assert ratings.filter(pl.col("value") != expected).height == 0
    assert ratings.filter((level == "both") != (pl.col("anchor") == "100")).height == 0
    per_item = ratings.group_by("rater", "dialog").agg(
        pl.col("position").n_unique(), pl.col("order").n_unique().alias("orders")
    )
    assert set(per_item["position"]) == {3}
    assert set(per_item["orders"]) == {1}
    assert set(ratings["order"]) == set(range(6))
    assert set(ratings["layout"]) == {"together", "separate"}


def test_times_add_up_whatever_the_layout(full: Store, study: Study, tmp_path: Path) -> None:
    export(full, study.hash, tmp_path / "export")
    ratings = pl.read_parquet(tmp_path / "export" / "ratings.parquet")
    spent = ratings.group_by("rater", "layout").agg(
        pl.col("active_ms").sum(), pl.col("screen").n_unique()
    )
    # Six screens with six ratings each, or twelve with three: ten seconds a screen.
    told = set(spent.select("layout", "screen", "active_ms").iter_rows())
    assert told == {("together", 6, 60_000), ("separate", 12, 120_000)}
    assert set(ratings["screen_active_ms"]) == {10_000}
    assert set(ratings["answered_at"] - ratings["shown_at"]) == {timedelta(seconds=10)}


def test_questionnaires_by_hand(full: Store, study: Study, tmp_path: Path) -> None:
    made = export(full, study.hash, tmp_path / "export")
    table = pl.read_parquet(tmp_path / "export" / "questionnaires.parquet")
    one = table.filter(pl.col("rater") == table["rater"][0])
    assert dict(one.select("question", "answer").iter_rows()) == {
        "consent": "yes",
        "done_before": "no",
        "check_sum_1": "passed",
        "age": "41",
        "comment": None,
    }
    # Everybody but the first in a cell failed the check (see `answer`).
    checks = table.filter(pl.col("question") == "check_sum_1")["answer"].value_counts(sort=True)
    assert dict(checks.iter_rows()) == {"passed": 4, "failed": 4}
    # Per person: consent, one, two questions; one line, two without a number; one check.
    assert made.left_out == {
        "screens of kind `consent`": 8,
        "screens of kind `questions`": 24,
        "screens of kind `practice`": 12,
        "screens of kind `check`": 8,
    }


def test_what_exists_reads_it_unchanged(full: Store, study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    export(full, study.hash, folder)
    read = load_ratings(folder)
    written = pl.read_parquet(folder / "ratings.parquet")
    assert read.select(RATINGS.names()).equals(written.select(RATINGS.names()))
    data = read_study(folder)
    assert data.factors == ("anchor", "layout")
    assert data.levels("anchor") == ["none", "both"]
    assert set(data.normalise.values()) == {"log"}
    means = data.ratings.group_by("anchor").agg(pl.col("value").mean()).sort("anchor")
    # (40 + 60 + 20) / 3 = 40, less 2.5 for half of the qualities; 30 more with an anchor.
    assert dict(means.iter_rows()) == {"both": 67.5, "none": 37.5}
    assert data.raters["n_failed_checks"].sum() == 4
    minutes = dict(data.raters.group_by("layout").agg(pl.col("minutes").mean()).iter_rows())
    assert minutes == {"together": 1.0, "separate": 2.0}


@pytest.mark.slow
def test_the_command_analyses_it(full: Store, study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    export(full, study.hash, folder)
    arguments = ["study", "analyze", str(folder), "-o", str(tmp_path / "a"), "--resamples", "200"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "a" / "report.html").exists()


def test_no_id_is_in_any_file(full: Store, study: Study, tmp_path: Path) -> None:
    export(full, study.hash, tmp_path / "export")
    files = [path for path in (tmp_path / "export").rglob("*") if path.is_file()]
    for path in files:
        content = path.read_bytes()
        if path.suffix == ".parquet":
            content = pl.read_parquet(path).write_json().encode()
        assert WORKER.encode() not in content
        assert b"worker" not in content or path.name == "card.md"


def test_card_and_codebook(full: Store, study: Study, tmp_path: Path) -> None:
    export(full, study.hash, tmp_path / "export")
    card = (tmp_path / "export" / "card.md").read_text("utf-8")
    assert "8 participants (8 human), 288 ratings" in card
    assert "| `anchor=both,layout=together` | 2 | 2 | 0 | 0 | 0 |" in card
    told = json.loads((tmp_path / "export" / "codebook.json").read_text("utf-8"))
    assert told["hash"] == study.hash
    assert set(told["qualities"]) == {"readability", "coherence"}


def test_who_stopped_half_way_is_there_as_far_as_they_got(store: Store, study: Study) -> None:
    store.register(study, now=NOON)
    came = take(store, study, "w", screens=7)
    ratings, _, _ = tables(store.answers_frame(study.hash))
    assert 0 < ratings.height < 36
    assert ratings["session_state"].unique().to_list() == ["live"]
    # They begin again: the first attempt is on record, and not among the ratings.
    back = take(store, study, "w")
    assert (back.attempt, back.participant) == (2, came.participant)
    answers = store.answers_frame(study.hash)
    ratings, questions, left_out = tables(answers)
    assert ratings.height == 36
    assert ratings["attempt"].unique().to_list() == [2]
    assert questions["question"].is_unique().all()
    first = answers.filter(pl.col("attempt") == 1)
    assert left_out["given before the person began again"] == first.height > 0


def test_a_rating_left_empty_is_counted(store: Store) -> None:
    quality = {"definition": "x", "instrument": "magnitude", "required": False}
    study = study_of(TEA | {"qualities": {"readability": quality}})
    store.register(study, now=NOON)

    def give(session: Session, screen: Screen, field: Field) -> Any:
        return None if field.name.endswith("1") else answer(session, screen, field)

    take(store, study, "w", give)
    ratings, _, left_out = tables(store.answers_frame(study.hash))
    assert left_out["left empty"] == 6
    assert ratings.height == 12


@pytest.mark.parametrize(
    ("instrument", "rows", "values"),
    [
        ("likert", 18, {1.0, 2.0, 3.0, 4.0, 5.0}),
        ("best_worst", 18, {-1.0, 0.0, 1.0}),
        ("pairwise", 36, {0.0, 1.0}),
        ("ranking", 18, {1.0, 2.0, 3.0}),
    ],
)
def test_other_instruments(
    store: Store, tmp_path: Path, instrument: str, rows: int, values: set[float]
) -> None:
    import numpy as np

    quality = {"definition": "x", "instrument": instrument}
    study = study_of(TEA | {"qualities": {"coherence": quality}, "factors": {}})
    store.register(study, now=NOON)
    draw = np.random.default_rng(3)

    def give(session: Session, screen: Screen, field: Field) -> Any:
        return "yes" if field.name == "consent" else simulate(draw, field)

    take(store, study, "w", give)
    made = export(store, study.hash, tmp_path / "export")
    ratings = load_ratings(tmp_path / "export")
    assert made.ratings == ratings.height == rows
    assert set(ratings["value"]) <= values
    assert set(ratings["agent"]) == set(WORTH)


def test_forgotten_people_are_not_exported(full: Store, study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    export(full, study.hash, folder)
    gone = pl.read_parquet(folder / "ratings.parquet")["rater"][0]
    full.forget(gone)
    made = export(full, study.hash, folder)
    assert made.participants == 7
    for path in folder.glob("*.parquet"):
        assert gone not in pl.read_parquet(path).write_csv()


def test_odd_words_are_exported(store: Store, study: Study, tmp_path: Path) -> None:
    store.register(study, now=NOON)
    odd = "'; DROP TABLE answers; -- <b> \ud83d 🤖"

    def give(session: Session, screen: Screen, field: Field) -> Any:
        return odd if field.name == "comment" else answer(session, screen, field)

    take(store, study, "w", give)
    export(store, study.hash, tmp_path / "export")
    table = pl.read_parquet(tmp_path / "export" / "questionnaires.parquet")
    said = table.filter(pl.col("question") == "comment")["answer"][0]
    assert said == odd.replace("\ud83d", "?")


def test_other_peoples_files_are_left_alone(store: Store, study: Study, tmp_path: Path) -> None:
    store.register(study, now=NOON)
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(DialensError, match="not written by dialens"):
        export(store, study.hash, tmp_path)
    assert (tmp_path / "mine.txt").exists()
