"""Who took part: how far people came, how long they took, and what they said of themselves."""

import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dialens.base import DialensError, did

QUESTIONS = pl.Schema(
    {
        "question": pl.String,
        "prompt": pl.String,
        "answer": pl.String,
        "n": pl.Int64,
        "share": pl.Float64,
    }
)
"""One row an answer that was given to a question: by how many."""

_STATES = {
    "completed": "completed it",
    "expired": "left on the way",
    "withdrawn": "withdrew",
    "failed_comprehension": "failed the comprehension questions",
    "screened_out": "were screened out",
    "live": "are still at it",
    "restarted": "began again",
}
_MOST_ANSWERS = 12
_NOT_ASKED = ("consent",)


@dataclass(frozen=True)
class Participants:
    """Who took part in a study.

    Attributes:
        began: How many people answered anything.
        flow: How many completed it, left, … in words.
        rated: How many gave ratings that count.
        failed_checks: How many failed a check; None if there was none.
        ratings: Median, least and most ratings of a person.
        minutes: Median, least and most minutes of those who completed it; None if unknown.
        questions: Answers as counts.
        remarks: Free text: question, prompt, rater, answer.
        left_out: How many gave ratings that do not count; None where that is not known.
    """

    began: int
    flow: dict[str, int]
    rated: int
    failed_checks: int | None
    ratings: tuple[float, int, int]
    minutes: tuple[float, float, float] | None
    questions: pl.DataFrame
    remarks: pl.DataFrame
    left_out: int | None = None


def who_took_part(ratings: pl.DataFrame, folder: Path | None = None) -> Participants:
    """Count people, their answers and their time.

    Args:
        ratings: The ratings that are analysed, with `rater`.
        folder: The export, for questionnaires and for those who left before they rated.

    Examples:
        >>> table = pl.DataFrame({"rater": ["r", "r", "s"], "value": [1.0, 2.0, 3.0]})
        >>> found = who_took_part(table)
        >>> found.began, found.ratings
        (2, (1.5, 1, 2))
    """
    counts = ratings.group_by("rater").len()["len"]
    if not len(counts):
        raise DialensError("No rating says who gave it, so nobody can be counted.")
    answers = _table(folder, "answers")
    asked = _table(folder, "questionnaires")
    book = folder / "codebook.json" if folder is not None else None
    prompts = json.loads(book.read_text()).get("questions", {}) if book and book.exists() else {}
    flow = how_far(answers if answers is not None else ratings)
    questions, remarks = _answers(asked, prompts)
    return Participants(
        sum(flow.values()) or len(counts),
        flow,
        len(counts),
        _failed(asked),
        (float(counts.median() or 0), int(counts.min() or 0), int(counts.max() or 0)),  # type: ignore[arg-type]
        _minutes(answers if answers is not None else ratings),
        questions,
        remarks,
        _left_out(ratings, _table(folder, "ratings")),
    )


def _left_out(ratings: pl.DataFrame, exported: pl.DataFrame | None) -> int | None:
    if exported is None:
        return None
    return len(set(exported["rater"].drop_nulls()) - set(ratings["rater"]))


def _table(folder: Path | None, name: str) -> pl.DataFrame | None:
    """A table of the export, without later waves: people are counted when they first come."""
    path = folder / f"{name}.parquet" if folder is not None and folder.is_dir() else None
    if path is None or not path.exists():
        return None
    table = pl.read_parquet(path)
    return table.filter(pl.col("wave") == 1) if "wave" in table.columns else table


def how_far(table: pl.DataFrame) -> dict[str, int]:
    """People by how far they came, in words; who began again counts by the last try.

    Examples:
        >>> how_far(pl.DataFrame({"rater": ["r", "s"], "session_state": ["completed", "live"]}))
        {'completed it': 1, 'is still at it': 1}
    """
    if "session_state" not in table.columns:
        return {}
    order = list(_STATES)
    last = table.group_by("rater").agg(
        pl.col("session_state")
        .replace_strict(dict(zip(order, range(len(order)), strict=True)), default=None)
        .min()
    )
    counts = dict(last.drop_nulls().group_by("session_state").len().iter_rows())
    return {
        did(counts[at], _STATES[name]): counts[at]
        for at, name in enumerate(order)
        if counts.get(at)
    }


def _minutes(table: pl.DataFrame) -> tuple[float, float, float] | None:
    if not {"shown_at", "answered_at"} <= set(table.columns):
        return None
    done = table
    if "session_state" in table.columns:
        done = table.filter(pl.col("session_state") == "completed")
    spans = (
        done.group_by("rater")
        .agg(span=(pl.col("answered_at").max() - pl.col("shown_at").min()).dt.total_seconds() / 60)
        .drop_nulls()["span"]
    )
    if not len(spans):
        return None
    return tuple(float(x) for x in (spans.median(), spans.min(), spans.max()))  # type: ignore[arg-type,return-value]


def _failed(asked: pl.DataFrame | None) -> int | None:
    if asked is None:
        return None
    checks = asked.filter(pl.col("question").str.starts_with("check_"))
    if not checks.height:
        return None
    return checks.filter(pl.col("answer") == "failed")["rater"].n_unique()


def _answers(
    asked: pl.DataFrame | None, prompts: dict[str, dict[str, str]]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Answers that can be counted, and those in people's own words."""
    schema = {"question": pl.String, "prompt": pl.String, "rater": pl.String, "answer": pl.String}
    empty = pl.DataFrame(schema=schema)
    if asked is None:
        return QUESTIONS.to_frame(), empty
    given = asked.filter(
        pl.col("answer").is_not_null() & (pl.col("answer").str.strip_chars() != ""),
        ~pl.col("question").is_in(_NOT_ASKED) & ~pl.col("question").str.starts_with("check_"),
    )
    names = {name: entry.get("prompt", name) for name, entry in prompts.items()}
    given = given.with_columns(prompt=pl.col("question").replace(names)).select(list(schema))
    counted, written = [QUESTIONS.to_frame()], [empty]
    for (question,), part in given.group_by(["question"], maintain_order=True):
        kind = prompts.get(str(question), {}).get("instrument")
        if kind == "free_text" or (kind is None and part["answer"].n_unique() > _MOST_ANSWERS):
            written.append(part)
            continue
        counts = part.group_by("question", "prompt", "answer").agg(n=pl.len().cast(pl.Int64))
        counts = counts.with_columns(share=pl.col("n") / pl.col("n").sum())
        counted.append(counts.sort("n", "answer", descending=[True, False]).head(_MOST_ANSWERS))
    return pl.concat(counted), pl.concat(written)
