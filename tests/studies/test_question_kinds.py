"""Several answers, answers of one's own, matrices, and what is asked once an item."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from dialens.studies import (
    TEA,
    AnswerError,
    Field,
    codebook,
    codebook_markdown,
    rating_rows,
    study_of,
)
from dialens.studies.design import Questionnaire, question_field
from dialens.studies.export import export
from dialens.studies.instruments import instrument, simulate, validate
from dialens.studies.plan import plan
from dialens.studies.simulation import Population, simulate_study
from dialens.studies.store import Store
from dialens.studies.texts import Texts


def asked(**question: Any) -> Field:
    made = Questionnaire.model_validate({"questions": {"q": {"prompt": "Which?", **question}}})
    return question_field("q", made.questions["q"])


BOXES = {"kind": "check_boxes", "choices": {"r": "Rude", "w": "Wrong", "d": "Dull"}}
CHOICE = {"kind": "choice", "choices": ["tea", "coffee"], "other": "Something else, namely"}
MATRIX = {"kind": "matrix", "statements": {"loud": "I talk.", "calm": "I rest."}, "points": 5}


@pytest.mark.parametrize(
    ("question", "value", "stored"),
    [
        (BOXES, ["d", "r"], ["r", "d"]),
        (BOXES, {"d": "1", "r": "1"}, ["r", "d"]),
        (BOXES, {"d": "1", "r": ""}, ["d"]),
        (BOXES, "w", ["w"]),
        (BOXES | {"least": 0}, None, []),
        (BOXES | {"least": 0, "required": False}, {"d": ""}, []),
        (BOXES | {"least": 0, "other": "More"}, {"other": ""}, []),
        (BOXES | {"other": "More"}, {"d": "1", "other": " too\nlong "}, ["d", "other: too long"]),
        (BOXES | {"other": "More"}, {"other": "x"}, ["other: x"]),
        (BOXES | {"other": "More"}, ["w", "other: x"], ["w", "other: x"]),
        (CHOICE, {"choice": "tea", "other": ""}, "tea"),
        (CHOICE, {"choice": "tea", "other": "not meant"}, "tea"),
        (CHOICE, {"choice": "other", "other": "milk"}, "other: milk"),
        (CHOICE, {"other": "milk"}, "other: milk"),
        (CHOICE, "coffee", "coffee"),
        (CHOICE, "other: milk", "other: milk"),
        (MATRIX, {"loud": "5", "calm": 1}, {"loud": 5, "calm": 1}),
        (MATRIX | {"required": False}, {"calm": "2"}, {"calm": 2}),
        ({"kind": "slider"}, "30", 30.0),
    ],
)
def test_what_a_form_sends_is_understood(question: dict[str, Any], value: Any, stored: Any) -> None:
    field = asked(**question)
    assert validate(field, value) == stored
    assert validate(field, validate(field, value)) == stored


@pytest.mark.parametrize(
    ("question", "value", "said"),
    [
        (BOXES, ["x"], "one of the answers"),
        (BOXES, {"x": "1"}, "one of the answers"),
        (BOXES, ["other: x"], "one of the answers"),
        (BOXES | {"least": 2}, ["r"], "at least this many: 2"),
        (BOXES | {"most": 2}, ["r", "w", "d"], "at most this many: 2"),
        (BOXES, {"r": ""}, "at least this many: 1"),
        (BOXES | {"other": "More"}, {"other": "x" * 501}, "characters at most: 500"),
        (BOXES | {"other": "More"}, {"other": ["x"]}, "one of the answers"),
        (CHOICE, {"choice": "other", "other": " "}, "write what it is"),
        (CHOICE, {"choice": "milk", "other": ""}, "one of the answers"),
        (CHOICE, {"choice": ["tea"]}, "one of the answers"),
        (CHOICE | {"other": None}, "other: milk", "one of the answers"),
        (MATRIX, {"loud": 5}, "Lines left: 1"),
        (MATRIX, {"loud": 6, "calm": 1}, "points in each line"),
        (MATRIX, {"loud": 5, "wild": 1}, "points in each line"),
        (MATRIX, [5, 1], "points in each line"),
    ],
)
def test_what_is_wrong_is_said(question: dict[str, Any], value: Any, said: str) -> None:
    with pytest.raises(AnswerError, match=said):
        validate(asked(**question), value)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (BOXES | {"least": 4}, "least is 4: so many cannot be chosen"),
        (BOXES | {"least": 3, "most": 2}, "so many cannot be chosen"),
        (BOXES | {"choices": ["other", "x"], "other": "More"}, "cannot be told from"),
        (CHOICE | {"choices": ["other", "x"]}, "cannot be told from"),
        (MATRIX | {"labels": {6: "much"}}, "6 is not a point"),
        (MATRIX | {"statements": []}, "at least 1"),
        (MATRIX | {"statements": {"a.b": "x"}}, "match pattern"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(question: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        asked(**question)


def test_statements_in_a_list_are_numbered() -> None:
    field = asked(kind="matrix", statements=["I talk.", "I rest."])
    assert field.options["statements"] == {"1": "I talk.", "2": "I rest."}


def test_some_simulated_people_write_an_answer_of_their_own() -> None:
    field = asked(**CHOICE)
    drawn = [simulate(np.random.default_rng(seed), field) for seed in range(200)]
    assert {"tea", "coffee", "other: something else"} == set(drawn)


def test_a_matrix_judges_no_reply() -> None:
    quality = {"instrument": {"kind": "matrix", "statements": ["x"]}}
    with pytest.raises(ValidationError, match="Give each statement a quality of its own"):
        study_of(TEA | {"qualities": {"many": quality}, "factors": {}})
    scale = [
        {"name": "m", "instrument": quality["instrument"]},
        {"name": "l", "instrument": "likert"},
    ]
    with pytest.raises(ValidationError, match="matrix is for questionnaires"):
        study_of(TEA | {"factors": {"scale": scale}})


def test_nothing_ticked_is_an_answer_only_where_it_may_be_one_and_time_was_left() -> None:
    none = asked(**BOXES, least=0)
    assert validate(none, [], overdue=True) is None
    assert validate(asked(**BOXES, required=False), []) is None
    said = instrument("check_boxes").form(none, Texts.of("en")).help
    assert said == "Choose all that apply. If none applies, leave all boxes empty."


WHY = {
    "warmth": {"instrument": "likert"},
    "best": {"instrument": "ranking"},
    "why": {"instrument": "free_text", "level": "item", "question": "Why?"},
    "faults": {
        "level": "item",
        "required": False,
        "instrument": {"kind": "check_boxes", "choices": ["rude", "dull"]},
    },
}


@pytest.mark.parametrize("layout", ["together", "separate", "single"])
def test_why_is_asked_once_an_item_with_every_reply_in_sight(layout: str) -> None:
    data = TEA | {"qualities": WHY, "factors": {}, "presentation": {"layout": layout}}
    for item in study_of(data).items:
        screens = [s for s in plan(study_of(data), "all", 1) if s.state.get("item") == item.id]
        names = [field.name for screen in screens for field in screen.fields]
        assert names.count("why") == names.count("faults") == 1
        assert len([name for name in names if name.startswith("warmth-")]) == 3
        (own,) = [s for s in screens if "why" in [field.name for field in s.fields]]
        assert len([block for block in own.body if block["kind"] == "response"]) == 3
        field = next(field for field in own.fields if field.name == "why")
        assert (field.response, dict(field.targets)) == (None, {})
        assert not {"choices", "slot", "slot_label"} & set(field.options)
        assert rating_rows(own, field, "It was warm.") == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"qualities": {"q": {"instrument": "likert", "level": "turn"}}}, "with conversations"),
        ({"qualities": {"q": {"instrument": "ranking", "level": "item"}}}, "once an item already"),
        (
            {"qualities": WHY | {"best": {"instrument": "likert"}}, "unit": "turn"},
            "each item is asked about as it is",
        ),
    ],
)
def test_levels_that_do_not_fit_are_refused(changes: dict[str, Any], said: str) -> None:
    unit = changes.pop("unit", "response")
    data = TEA | {"factors": {}, "items": TEA["items"] | {"unit": unit}} | changes
    with pytest.raises(ValidationError, match=said):
        study_of(data)


QUESTIONS = {
    "faults": {"prompt": "Which faults?", **BOXES, "other": "More"},
    "drink": {"prompt": "What do you drink?", **CHOICE},
    "self": {"prompt": "How are you?", **MATRIX, "labels": {1: "no", 5: "yes"}},
    "sure": {"kind": "slider", "prompt": "How sure are you?"},
    "rest": {"prompt": "And now?", **MATRIX, "required": False},
}


def everything() -> dict[str, Any]:
    return TEA | {
        "qualities": WHY,
        "factors": {},
        "targets": 8,
        "questionnaires": {"after": [{"questions": QUESTIONS}]},
    }


def test_the_codebook_has_a_row_a_statement() -> None:
    book = codebook(study_of(everything()))["questions"]
    assert list(book) == [
        "faults", "drink", "self.loud", "self.calm", "sure", "rest.loud", "rest.calm"
    ]  # fmt: skip
    assert book["self.loud"]["prompt"] == "How are you? I talk."
    assert book["faults"]["inputs"]["other"]["value"] == "More"
    assert "| `self.calm` | How are you? I rest. | Matrix |" in codebook_markdown(
        study_of(everything())
    )


def test_simulated_answers_are_exported(tmp_path: Path) -> None:
    study = study_of(everything())
    with Store.open(f"sqlite:///{tmp_path}/study.db") as store:
        now = datetime(2026, 1, 8, tzinfo=UTC)
        simulate_study(store, study, Population(), participants=8, seed=3, now=now)
        done = export(store, study.hash, tmp_path / "out")
    table = pl.read_parquet(tmp_path / "out" / "questionnaires.parquet")
    by_question = {name: part["answer"].to_list() for (name,), part in table.group_by("question")}
    assert set(by_question["self.loud"]) <= set("12345")
    assert len(by_question["self.calm"]) == 8
    assert set(by_question) >= {"faults", "drink", "sure", "rest.loud"}
    assert all(answer.startswith("[") for answer in by_question["faults"])
    ratings = pl.read_parquet(tmp_path / "out" / "ratings.parquet")
    assert set(ratings["quality"]) == {"warmth", "best"}
    assert done.left_out["asked once an item"] > 0
