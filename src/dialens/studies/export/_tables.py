"""Ratings and questionnaires, made from answers."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import polars as pl

from dialens.corpus import RATINGS
from dialens.studies._judgements import SWAPPED, check_outcomes, rating_rows
from dialens.studies._study import Study
from dialens.studies._types import Field, Screen
from dialens.studies.design import LANGUAGE
from dialens.studies.export._reading import Reading
from dialens.studies.export._talks import dialog_name
from dialens.studies.store import RESTARTED

_BESIDE: dict[str, pl.DataType | type[pl.DataType]] = {
    "length": pl.Int64,
    "screen": pl.String,
    "screen_active_ms": pl.Int64,
    "late": pl.Float64,
    "attempt": pl.Int64,
    "wave": pl.Int64,
    "session_state": pl.String,
    LANGUAGE: pl.String,
    "screen_words": pl.Int64,
    "version": pl.String,
    "excluded": pl.Boolean,
}
_QUESTIONNAIRES: dict[str, pl.DataType | type[pl.DataType]] = {
    "study": pl.String,
    "rater": pl.String,
    "rater_kind": pl.String,
    "question": pl.String,
    "answer": pl.String,
    "screen": pl.String,
    "wave": pl.Int64,
    "answered_at": pl.Datetime("us", "UTC"),
    "session_state": pl.String,
    LANGUAGE: pl.String,
    "version": pl.String,
    "excluded": pl.Boolean,
}
QUESTIONNAIRES = pl.Schema(_QUESTIONNAIRES)
"""One row an answer to a question; checks are there by whether they were passed."""

_ASKED = ("consent", "screening", "questions")


@dataclass(frozen=True)
class _Given:
    """One submitted screen, put together again from its answers."""

    screen: Screen
    answers: dict[str, Any]
    row: dict[str, Any]


@dataclass
class _Tables:
    reading: Reading
    ratings: list[dict[str, Any]] = field(default_factory=list)
    questionnaires: list[dict[str, Any]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def tables(
    answers: pl.DataFrame, studies: Mapping[str, Study] | Reading = MappingProxyType({})
) -> tuple[pl.DataFrame, pl.DataFrame, Counter[str]]:
    """Ratings and questionnaires from answers, and how many answers are no ratings, by reason.

    The time a screen was visible is shared out among its ratings, so that the times of a person
    add up whatever the layout; `screen_active_ms` has the whole of it.

    Args:
        answers: In the columns of `store.ANSWERS`, those of a screen beside each other.
        studies: What was shown, by version, from which the words on a screen are counted; they
            are null without it. A `Reading` of them goes on from the answers that it saw before.
    """
    made = _Tables(studies if isinstance(studies, Reading) else Reading(studies))
    for given in _screens(answers):
        _add_ratings(made, given)
        _add_questions(made, given)
    factors = dict.fromkeys(
        name
        for row in made.ratings
        for name in json.loads(row["factors"] or "{}")
        if name not in RATINGS and name not in _BESIDE
    )
    for row in made.ratings:
        levels = json.loads(row["factors"] or "{}")
        row |= {name: _text(levels.get(name)) for name in factors}
    swapped = SWAPPED if any("pair" in row for row in made.ratings) else {}
    columns = {**RATINGS, **dict.fromkeys(factors, pl.String), **swapped, **_BESIDE}
    return (
        pl.DataFrame(made.ratings, schema=columns),
        pl.DataFrame(made.questionnaires, schema=QUESTIONNAIRES),
        made.left_out,
    )


def _screens(answers: pl.DataFrame) -> Iterator[_Given]:
    """The screens of answers that come screen by screen, as the store gives them."""
    key = itemgetter("rater", "attempt", "screen")
    for _, part in groupby(answers.iter_rows(named=True), key):
        rows = list(part)
        first = rows[0]
        fields = tuple(Field(**json.loads(row["asked"])) for row in rows)
        state = json.loads(first["presented"])
        screen = Screen(first["screen"], first["kind"], "", fields=fields, state=state)
        values = {row["field"]: json.loads(row["value"]) for row in rows}
        yield _Given(screen, values, first)


def _add_ratings(made: _Tables, given: _Given) -> None:
    row, screen = given.row, given.screen
    if row["session_state"] == RESTARTED:
        made.left_out["given before the person began again"] += len(given.answers)
        return
    found = []
    talk = screen.state.get("talk")
    for one in screen.fields:
        rows = rating_rows(screen, one, given.answers[one.name])
        if talk is not None:  # the plan knows the conversation, not whose it is
            rows = [
                rating | {"dialog": dialog_name(row["rater"], str(rating["dialog"]), row["wave"])}
                for rating in rows
            ]
        if not rows:
            made.left_out[_why_not(screen, one, given.answers[one.name])] += 1
        found += rows
    shared = {name: row[name] for name in ("study", "rater", "rater_kind")} | {
        "shown_at": row["shown_at"],
        "answered_at": row["answered_at"],
        "screen": screen.id,
        "screen_active_ms": row["active_ms"],
        "late": row["late"],
        "attempt": row["attempt"],
        "wave": row["wave"],
        "session_state": row["session_state"],
        LANGUAGE: row[LANGUAGE],
        "screen_words": made.reading.new_words(
            row["version"], row["rater"], row["attempt"], screen
        ),
        "version": row["version"],
        "excluded": row["excluded"],
    }
    for rating, share in zip(found, _shares(row["active_ms"], len(found)), strict=True):
        made.ratings.append(rating | shared | {"active_ms": share, "normalised": None})


def _why_not(screen: Screen, one: Field, value: Any) -> str:
    if screen.kind != "rating":
        return f"screens of kind `{screen.kind}`"
    if value is not None and not one.targets:
        return "asked once an item"
    return "left empty" if value is None else f"instrument `{one.instrument}` gives no number"


def _shares(whole: int | None, parts: int) -> Iterable[int | None]:
    """A number of milliseconds in nearly equal parts that add up to it.

    Examples:
        >>> _shares(1000, 3)
        [334, 333, 333]
    """
    if whole is None:
        return [None] * parts
    return [whole // parts + (place < whole % parts) for place in range(parts)]


def _add_questions(made: _Tables, given: _Given) -> None:
    row = given.row
    if row["session_state"] == RESTARTED:
        return
    told: dict[str, Any] = dict(check_outcomes(given.screen, given.answers))
    if given.screen.kind in _ASKED:
        told = _by_statement(given) | told
    shared = {name: row[name] for name in ("study", "rater", "rater_kind", "screen", "wave")} | {
        "answered_at": row["answered_at"],
        "session_state": row["session_state"],
        LANGUAGE: row[LANGUAGE],
        "version": row["version"],
        "excluded": row["excluded"],
    }
    made.questionnaires += [
        shared | {"question": question, "answer": _text(answer)}
        for question, answer in told.items()
    ]


def _by_statement(given: _Given) -> dict[str, Any]:
    """Answers by question; those of a matrix by `question.statement`."""
    told: dict[str, Any] = {}
    for one in given.screen.fields:
        answer, statements = given.answers[one.name], one.options.get("statements")
        if statements is None:
            told[one.name] = answer
        else:
            told |= {f"{one.name}.{line}": (answer or {}).get(line) for line in statements}
    return told


def _text(value: Any) -> str | None:
    """A value as text that any file can hold; half a surrogate pair becomes a question mark.

    Examples:
        >>> _text(3), _text(["a", "b"]), _text("x"), _text(None)
        ('3', '["a", "b"]', 'x', None)
    """
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode("utf-8")
