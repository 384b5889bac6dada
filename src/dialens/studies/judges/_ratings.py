"""What judges answered, as ratings: the same columns as people's, and what kind of judge it was."""

import json
from collections.abc import Mapping
from datetime import datetime

import polars as pl

from dialens.base import DialensError
from dialens.corpus import RATINGS
from dialens.studies._judgements import SWAPPED, rating_rows
from dialens.studies._raters import LLM
from dialens.studies._study import Study
from dialens.studies._types import JSON, Field, Screen
from dialens.studies.judges._ledger import ANSWERED, Ledger, stored_json
from dialens.studies.judges._model import expected_ratings
from dialens.studies.judges._schema import allowed_answers
from dialens.studies.plan import Planner
from dialens.studies.texts import Texts

_Columns = dict[str, pl.DataType | type[pl.DataType]]

FACETS: _Columns = {
    "judge": pl.String,
    "prompt": pl.String,
    "temperature": pl.Float64,
    "memory": pl.String,
    "think": pl.String,
    "answer_mode": pl.String,
    "repeat": pl.Int64,
    "ask": pl.String,
    "occasion": pl.Int64,
    "fingerprint": pl.String,
    "cost": pl.Float64,
}
"""Columns that judges' ratings have beside people's; `ask` is the same where one answer to the same
text stands in several cells, and `cost` is what that ask cost, once for all its rows."""

_SITTING = ("cell", "seed", "language")
_BESIDE: _Columns = {
    "length": pl.Int64,
    "screen": pl.String,
    "screen_active_ms": pl.Int64,
    "attempt": pl.Int64,
    "session_state": pl.String,
    "language": pl.String,
    "screen_words": pl.Int64,
    "version": pl.String,
    "excluded": pl.Boolean,
}


def judge_ratings(study: Study, ledger: Ledger) -> pl.DataFrame:
    """The ratings of all judges of one version of a study, as rows of `ratings.parquet`.

    Where answers were weighed, the rating is the mean over the allowed answers; what is missing
    has no row (`Ledger.frame` says why).

    Args:
        study: The version.
        ledger: What judges answered.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> with Ledger.open(Path(tempfile.mkdtemp()) / "judges.db") as ledger:
        ...     judge_ratings(study_of(TEA), ledger).height
        0
    """
    planner = Planner(study)
    rows: list[dict[str, JSON]] = []
    done = ledger.frame([study.hash]).filter(pl.col("state") == ANSWERED)
    for given in done.iter_rows(named=True):
        screens = planner.screens(given["cell"], given["seed"], given["language"])
        screen = next((one for one in screens if one.id == given["screen"]), None)
        if screen is None:
            raise DialensError(
                f"{ledger.path}: a judge answered the screen {given['screen']!r} in the cell "
                f"{given['cell']!r}, and this study has none. Set the file aside and judge again."
            )
        shared = _shared(study, screen, given)
        rows += [rating | shared for rating in _ratings(screen, given, study)]
    factors = dict.fromkeys(name for row in rows for name in json.loads(row["factors"] or "{}"))
    named = [name for name in factors if name not in RATINGS and name not in _BESIDE]
    for row in rows:
        levels = json.loads(row["factors"] or "{}")
        row |= {name: None if levels.get(name) is None else str(levels[name]) for name in named}
    swapped = SWAPPED if any("pair" in row for row in rows) else {}
    columns = {**RATINGS, **dict.fromkeys(named, pl.String), **swapped, **_BESIDE, **FACETS}
    return pl.DataFrame(rows, schema=columns)


def with_conditions(study: Study, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of a ledger with the condition of each screen, factors within participants included.

    Args:
        study: The version that they are of.
        rows: As `Ledger.frame` gives them; a screen without a condition has that of the cell.
    """
    planner = Planner(study)
    found = [
        (cell, seed, language, screen.id, str(screen.state.get("condition") or cell))
        for cell, seed, language in rows.select(_SITTING).unique(maintain_order=True).iter_rows()
        for screen in planner.screens(cell, seed, language)
    ]
    keys = [*_SITTING, "screen"]
    schema = {name: rows.schema[name] for name in keys} | {"condition": pl.String}
    named = pl.DataFrame(found, schema=schema, orient="row").unique(keys, keep="first")
    return rows.join(named, on=keys, how="left", maintain_order="left").with_columns(
        pl.col("condition").fill_null(pl.col("cell"))
    )


def _ratings(screen: Screen, given: Mapping[str, JSON], study: Study) -> list[dict[str, JSON]]:
    answers, weighed = stored_json(given["answers"]), stored_json(given["probabilities"])
    found = []
    for field in screen.fields:
        value = answers.get(field.name)
        rows = rating_rows(screen, field, value)
        if field.name in weighed and rows:
            texts = study.said_in(given["language"]).texts
            rows = _expected(rows, field, weighed[field.name]["probabilities"], texts)
        found += rows
    return found


def _expected(
    rows: list[dict[str, JSON]], field: Field, probabilities: Mapping[str, float], texts: Texts
) -> list[dict[str, JSON]]:
    """The rows of the likeliest answer, with the mean numbers in them."""
    means = expected_ratings(field, allowed_answers(field, texts) or [], probabilities)
    return [row | {"value": mean} for row, mean in zip(rows, means.values(), strict=True)]


def _shared(study: Study, screen: Screen, given: Mapping[str, JSON]) -> dict[str, JSON]:
    at = datetime.fromisoformat(given["asked_at"])
    return (
        {
            "study": study.name,
            "rater": given["rater"],
            "rater_kind": LLM,
            "normalised": None,
            "active_ms": None,
            "shown_at": None,  # how long a model computes is no time of reading
            "answered_at": at,
            "screen": screen.id,
            "screen_active_ms": None,
            "attempt": given["seed"],
            "session_state": "completed",
            "language": given["language"] or study.design.language,
            "screen_words": None,
            "version": given["version"],
            "excluded": False,
            "answer_mode": given["answer"],
            "ask": given["key"][:16],
        }
        | {name: given[name] for name in FACETS if name in given and name != "ask"}
    )
