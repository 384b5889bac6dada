"""From answers to the ratings table, and from there into the analysis that is there already."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from dialens.analysis.bias import study_data
from dialens.corpus import RATINGS
from dialens.studies import TEA, Answer, Screen, Study, check_outcomes, rating_rows, study_of
from dialens.studies.instruments import simulate, validate
from dialens.studies.plan import plan


def ratings_of(study: Study, n_raters: int, pull: float) -> pl.DataFrame:
    """Everybody thinks 50 of everything; whoever sees an anchor moves a share towards 100."""
    rows: list[dict[str, Any]] = []
    generator = np.random.default_rng(3)
    for cell in study.cells:
        for rater in range(n_raters):
            own = float(generator.normal(50, 4))
            for screen in plan(study, cell, rater):
                anchored = screen.state.get("factor.anchor", "none") != "none"
                felt = own + (pull * (100 - own) if anchored else 0)
                for field in screen.fields:
                    latent = dict.fromkeys(field.targets, felt)
                    value = validate(field, simulate(generator, field, latent, noise=5))
                    rows += [
                        row
                        | {
                            "study": "tea",
                            "rater": f"{cell.name}-{rater}",
                            "rater_kind": "simulated",
                        }
                        for row in rating_rows(screen, field, value)
                    ]
    return pl.DataFrame(rows, schema=RATINGS)


def test_rows_feed_the_analysis_unchanged() -> None:
    table = ratings_of(study_of(TEA), n_raters=12, pull=0.4)
    assert table.height == 4 * 12 * 6 * 3 * 2
    data = study_data(table)
    assert data.factors == ("anchor", "layout")
    assert set(data.normalise.values()) == {"log"}
    assert data.levels("layout") == ["together", "separate"]
    assert not any("scales" in note.reason for note in data.notes)
    means = dict(data.ratings.group_by("anchor").agg(pl.col("value").mean()).iter_rows())
    # by hand: 50, and 50 + 0.4 · (100 − 50) = 70
    assert means["none"] == pytest.approx(50, abs=2)
    assert means["both"] == pytest.approx(70, abs=2)
    assert data.ratings["item"].n_unique() == 18
    assert data.ratings.filter(pl.col("anchor") == "both")["anchor_value"].unique().to_list() == [
        100
    ]
    assert data.ratings["position"].unique().sort().to_list() == [0, 1, 2]
    assert data.ratings["order"].unique().sort().to_list() == list(range(6))


def test_only_ratings_become_rows() -> None:
    study = study_of(TEA | {"practice": {"lines": [40, 80]}})
    for screen in plan(study, study.cells[0], 0):
        for field in screen.fields:
            value = simulate(np.random.default_rng(0), field)
            assert bool(rating_rows(screen, field, value)) == (screen.kind == "rating")
            assert rating_rows(screen, field, None) == []


@pytest.mark.parametrize(
    ("kind", "answer", "values"),
    [
        ("pairwise", "2", {"1": 0.0, "2": 1.0}),
        ("ranking", ["2", "1"], {"1": 2.0, "2": 1.0}),
    ],
)
def test_comparisons_give_a_row_for_each_response(
    kind: str, answer: Any, values: dict[str, float]
) -> None:
    items = {"inline": [{"id": "i", "context": ["Hi?"], "responses": {"a": "A.", "b": "B."}}]}
    study = study_of(
        TEA | {"items": items, "factors": {}, "qualities": {"overall": {"instrument": kind}}}
    )
    screen = next(s for s in plan(study, "all", 0) if s.kind == "rating")
    rows = rating_rows(screen, screen.fields[0], answer)
    for slot, row in zip(screen.fields[0].targets, rows, strict=True):
        assert row["value"] == values[slot]
        assert row["agent"] == screen.fields[0].targets[slot]["agent"]
        assert row["position"] == int(slot) - 1


def golden(kind: Any, rule: dict[str, Any]) -> Screen:
    gold = {
        "id": "g",
        "context": ["Hi?"],
        "responses": {"good": "Hello!", "bad": "hi hi the"},
        "expect": [{"quality": "coherence", "response": "good", **rule}],
    }
    two = {
        "inline": [
            {"id": f"i{n}", "context": ["?"], "responses": {"a": "A", "b": "B"}} for n in "12"
        ]
    }
    study = study_of(
        TEA
        | {"factors": {}, "items": two, "qualities": {"coherence": {"instrument": kind}}}
        | {"checks": {"gold": [gold]}}
    )
    return next(s for s in plan(study, "all", 0) if s.kind == "check")


def answers(screen: Screen, good: Any, bad: Any) -> Answer:
    by_key = {"good": good, "bad": bad}
    return {field.name: by_key[str(field.response)] for field in screen.fields}


@pytest.mark.parametrize(
    ("rule", "good", "bad", "outcome"),
    [
        ({"above": "bad"}, 60.0, 20.0, "passed"),
        ({"above": "bad"}, 20.0, 20.0, "failed"),
        ({"above": "bad"}, 60.0, None, "failed"),
        ({"at_least": 50}, 50.0, 90.0, "passed"),
        ({"at_least": 50}, 49.0, 1.0, "failed"),
        ({"at_least": 50, "at_most": 60}, 61.0, 1.0, "failed"),
    ],
)
def test_gold_items_are_judged_by_their_rules(
    rule: dict[str, Any], good: float, bad: float | None, outcome: str
) -> None:
    screen = golden("magnitude", rule)
    assert check_outcomes(screen, answers(screen, good, bad)) == {"check_gold_g": outcome}


def test_the_first_rank_is_the_better_one() -> None:
    screen = golden("ranking", {"above": "bad"})
    field = screen.fields[0]
    slot = {str(target["response"]): slot for slot, target in field.targets.items()}
    right, wrong = [slot["good"], slot["bad"]], [slot["bad"], slot["good"]]
    assert check_outcomes(screen, {field.name: right}) == {"check_gold_g": "passed"}
    assert check_outcomes(screen, {field.name: wrong}) == {"check_gold_g": "failed"}


@pytest.mark.parametrize(("correct", "given"), [("No", "no"), ("no", "NO"), (["no", "yes"], "yes")])
def test_the_right_answer_is_known_however_it_is_spelled(correct: Any, given: str) -> None:
    check = {"question": {"kind": "yes_no", "prompt": "No?"}, "correct": correct, "after": [1]}
    study = study_of(TEA | {"checks": {"attention": {"reading": check}}})
    screen = next(s for s in plan(study, study.cells[0], 0) if s.kind == "check")
    stored = validate(screen.fields[0], given)
    assert check_outcomes(screen, {"reading": stored}) == {"check_reading_1": "passed"}
    assert check_outcomes(screen, {}) == {"check_reading_1": "failed"}


def test_failed_checks_reach_the_analysis() -> None:
    table = ratings_of(study_of(TEA), n_raters=2, pull=0.0)
    raters = table["rater"].unique(maintain_order=True).to_list()
    told = pl.DataFrame(
        {"rater": raters, "question": "check_gold_g", "answer": ["failed"] + ["passed"] * 7}
    )
    counted = study_data(table, told).raters["n_failed_checks"].to_list()
    assert counted == [1] + [0] * 7


def test_a_quality_of_which_less_is_better_says_so_in_its_scale() -> None:
    rude = {"definition": "How rude it is.", "instrument": "magnitude", "lower_is_better": True}
    study = study_of({**TEA, "qualities": {**TEA["qualities"], "rude": rude}})
    screens = plan(study, "anchor=none,layout=together", seed=1)
    rated = [(screen, field) for screen in screens for field in screen.fields if field.quality]
    scales = {}
    for screen, field in rated:
        for row in rating_rows(screen, field, 80.0):
            scales[row["quality"]] = json.loads(str(row["scale"]))
    assert scales["rude"]["lower_is_better"] is True
    assert "lower_is_better" not in scales["coherence"]
    assert "lower_is_better" not in study_of(TEA).definition, "other studies keep their hash"
