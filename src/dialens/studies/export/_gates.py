"""What participants agreed to, and how they answered comprehension questions, as tables."""

import json
from typing import Any

import polars as pl

from dialens.studies._types import Field

_WHOSE: dict[str, Any] = {
    "study": pl.String,
    "version": pl.String,
    "rater": pl.String,
    "rater_kind": pl.String,
    "attempt": pl.Int64,
    "wave": pl.Int64,
    "session_state": pl.String,
}
_WHEN: dict[str, Any] = {"answered_at": pl.Datetime("us", "UTC")}
CONSENTS = pl.Schema(
    _WHOSE
    | {
        "statement": pl.String,
        "text": pl.String,
        "required": pl.Boolean,
        "agreed": pl.Boolean,
        "consent": pl.String,
    }
    | _WHEN
)
"""One row a statement that somebody was asked to agree to; `consent` is a hash of all of it."""

COMPREHENSION = pl.Schema(
    _WHOSE
    | {"try": pl.Int64, "question": pl.String, "answer": pl.String, "right": pl.Boolean}
    | _WHEN
)
"""One row an answer to a comprehension question, those of earlier tries among them."""


def consents(answers: pl.DataFrame) -> pl.DataFrame:
    """What participants agreed to (`CONSENTS`).

    Args:
        answers: In the columns of `store.ANSWERS`.
    """
    rows = []
    for row in answers.filter(pl.col("kind") == "consent").iter_rows(named=True):
        asked = Field(**json.loads(row["asked"]))
        labels = {one["value"]: one["label"] for one in asked.options["choices"]}
        rows.append(
            {name: row[name] for name in (*_WHOSE, *_WHEN)}
            | {
                "statement": asked.name,
                "text": asked.options["prompt"] if asked.options.get("tick") else labels["yes"],
                "required": asked.required,
                "agreed": json.loads(row["value"]) == "yes",
                "consent": json.loads(row["presented"]).get("consent"),
            }
        )
    return pl.DataFrame(rows, schema=CONSENTS)


def comprehension(answers: pl.DataFrame) -> pl.DataFrame:
    """Answers to comprehension questions (`COMPREHENSION`).

    Args:
        answers: In the columns of `store.ANSWERS`.
    """
    rows = []
    for row in answers.filter(pl.col("kind") == "comprehension").iter_rows(named=True):
        asked, value = Field(**json.loads(row["asked"])), json.loads(row["value"])
        rows.append(
            {name: row[name] for name in (*_WHOSE, *_WHEN)}
            | {
                "try": json.loads(row["presented"])["try"],
                "question": asked.name,
                "answer": value if isinstance(value, str) else json.dumps(value),
                "right": value in (asked.expected or {}).get("correct", ()),
            }
        )
    return pl.DataFrame(rows, schema=COMPREHENSION)
