"""Drift: whether a judge says the same of the same screens on a later occasion."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from dialens.analysis.people import choice_kinds
from dialens.base import Estimate
from dialens.statistics import corrected
from dialens.statistics.choices import clustered_share
from dialens.statistics.judges import paired_shift

DRIFT = pl.Schema(
    {
        "judge": pl.String,
        "quality": pl.String,
        "occasion": pl.Int64,
        "date_before": pl.String,
        "date_after": pl.String,
        "fingerprint_before": pl.String,
        "fingerprint_after": pl.String,
        "n": pl.Int64,
        "n_answers": pl.Int64,
        "before": pl.Float64,
        "after": pl.Float64,
        "shift": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "changed": pl.Float64,
        "changed_low": pl.Float64,
        "changed_high": pl.Float64,
        "changed_usual": pl.Float64,
        "reason": pl.String,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
    }
)
"""A row a judge, quality and later occasion. `n` counts items, `n_answers` answers to the same
screens on both occasions; `shift` is later − first, `changed` the share of answers that are others,
`changed_usual` the same from one repeat to the next on the first occasion."""

_FIRST = 1
_SITTING = (
    "judge", "prompt", "temperature", "memory", "think", "answer_mode", "language", "condition",
    "attempt",
)  # fmt: skip
_ANSWER = ("screen", "quality", "system", "agent", "dialog", "turn")
_CHOICE = "no mean of choices can move: `changed` says how many are others"
_HALF = 0.5
_ROUNDING = 1e-9


def judge_drift(ratings: pl.DataFrame, *, confidence: float = 0.95, seed: int = 0) -> pl.DataFrame:
    """How far each judge moved from its first occasion to each later one, quality by quality.

    Only answers to the same screen, in the same cell, by the same prompt, settings and repeat are
    held against each other; items weigh the same, whatever the number of answers to them. Interval
    and p are those of `paired_shift`, over items; over conversations where a judge remembers
    earlier screens (`memory: session`).

    Args:
        ratings: Rows of a study with `judge`, `occasion`, `repeat` and what the screen was.
        confidence: Of the intervals.
        seed: Of the intervals.

    Returns:
        In the columns of `DRIFT`; empty if everything was judged once.
    """
    if "occasion" not in ratings.columns or not {*_SITTING, *_ANSWER} <= set(ratings.columns):
        return DRIFT.to_frame()
    table = ratings.filter(pl.col("occasion").is_not_null(), pl.col("value").is_not_null())
    if table["occasion"].n_unique() < 2:
        return DRIFT.to_frame()
    table = table.with_columns(_items(table), choice=choice_kinds(table).is_not_null())
    rows = []
    for (judge, quality), part in table.group_by("judge", "quality", maintain_order=True):
        for occasion in sorted(set(part["occasion"]) - {_FIRST}):
            pairs = _paired(
                part.filter(pl.col("occasion") == _FIRST),
                part.filter(pl.col("occasion") == occasion),
            )
            both = part.join(pairs, on=[*_SITTING, "repeat"], how="semi", nulls_equal=True)
            row = {"judge": judge, "quality": quality, "occasion": occasion}
            when = _when(both if both.height else part, occasion)
            rows.append(row | when | _row(part, pairs, confidence, seed))
    first = {name: kind for name, kind in DRIFT.items() if name not in ("p_adjusted", "family")}
    return corrected(pl.DataFrame(rows, schema=first)).select(DRIFT.names())


def _items(table: pl.DataFrame) -> pl.Series:
    """What belongs together: dialogues whose responses stand on one screen are one item."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    screens = table.group_by("condition", "attempt", "screen").agg(pl.col("dialog").unique())
    for dialogs in screens["dialog"].to_list():
        for other in dialogs[1:]:
            one, two = sorted((root(str(dialogs[0])), root(str(other))))
            parent[two] = one
    return pl.Series("item", [root(str(name)) for name in table["dialog"]], pl.String)


def _paired(before: pl.DataFrame, after: pl.DataFrame, *, repeats: bool = False) -> pl.DataFrame:
    """The same answer twice: item, sitting, before, after."""
    keys = [*_SITTING, *_ANSWER, *(() if repeats else ("repeat",))]
    return (
        before.rename({"value": "before"})
        .join(
            after.select(*keys, after=pl.col("value")),
            on=keys,
            how="inner",
            nulls_equal=True,
            maintain_order="left",
        )
        .with_columns(gap=pl.col("after") - pl.col("before"))
    )


def _when(part: pl.DataFrame, occasion: int) -> dict[str, Any]:
    """When, and what the server said that it ran."""
    said: dict[str, Any] = {}
    for name, number in (("before", _FIRST), ("after", occasion)):
        rows = part.filter(pl.col("occasion") == number)
        days = rows["answered_at"].drop_nulls() if "answered_at" in rows.columns else pl.Series()
        said[f"date_{name}"] = f"{min(days):%Y-%m-%d}" if len(days) else None
        prints: set[str] = set()
        if "fingerprint" in rows.columns:
            prints = set(rows["fingerprint"].drop_nulls())
        said[f"fingerprint_{name}"] = ", ".join(sorted(prints)) or None
    return said


def _row(part: pl.DataFrame, pairs: pl.DataFrame, confidence: float, seed: int) -> dict[str, Any]:
    made: dict[str, Any] = {"n": pairs["item"].n_unique()}
    if not pairs.height:
        return made | {"n_answers": 0, "reason": "nothing was judged on both occasions"}
    others = _others(pairs)
    share = _share(others)
    made |= {
        "n_answers": others.height,
        "changed": share.value,
        "changed_low": share.low,
        "changed_high": share.high,
        "changed_usual": _usual(part.join(pairs, on=_SITTING, how="semi", nulls_equal=True)),
    }
    if pairs["choice"].any():
        return made | {"reason": _CHOICE}
    remembers = "session" in set(pairs["memory"])
    unit = [*_SITTING, "repeat"] if remembers else ["item"]
    means = pairs.group_by(unit, maintain_order=True).agg(pl.col("before", "after", "gap").mean())
    found = paired_shift(means["gap"].to_numpy(), confidence=confidence, seed=seed)
    return made | {
        "before": means["before"].mean(),
        "after": means["after"].mean(),
        "shift": found.value,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "reason": found.reason,
    }


def _others(pairs: pl.DataFrame) -> pl.DataFrame:
    """A row an answer: whether it is another one; a choice is one answer about several."""
    weighed = pl.col("answer_mode") == "probabilities"
    if not pairs["choice"].any():
        least = pl.when(weighed).then(_HALF).otherwise(_ROUNDING)
        return pairs.with_columns(other=(pl.col("gap").abs() >= least))
    keys = [*_SITTING, "repeat", "screen", "quality", "item"]
    best = [
        (pl.col(name) == pl.col(name).max()).cast(pl.String).str.join()
        for name in ("before", "after")
    ]
    return pairs.group_by(keys, maintain_order=True).agg(other=best[0] != best[1])


def _share(others: pl.DataFrame) -> Estimate:
    return clustered_share(
        others.select("item", share=pl.col("other").cast(pl.Float64), rater=pl.lit(None, pl.String))
    )


def _usual(part: pl.DataFrame) -> float | None:
    """How many answers are others from one repeat to the next, with nothing between them."""
    first = part.filter(pl.col("occasion") == _FIRST)
    repeats: Sequence[int] = sorted(set(first["repeat"].drop_nulls()))
    found = [
        _others(
            _paired(
                first.filter(pl.col("repeat") == one),
                first.filter(pl.col("repeat") == two),
                repeats=True,
            )
        )["other"]
        for one, two in pairwise(repeats)
    ]
    known = pl.concat([one for one in found if len(one)]) if any(map(len, found)) else None
    return None if known is None else float(known.sum()) / len(known)


def later_raters(ratings: pl.DataFrame) -> list[str]:
    """Judges' raters of later occasions, which are held against the first and else left aside."""
    if "occasion" not in ratings.columns:
        return []
    occasion = pl.col("occasion").cast(pl.Int64, strict=False)  # words, from a CSV
    later = ratings.filter(occasion.fill_null(_FIRST) != _FIRST)
    return later["rater"].unique(maintain_order=True).to_list()


def changed_behind(ratings: pl.DataFrame) -> dict[str, str]:
    """Judges of whom a server ran several things on one occasion, and what has to be said of it.

    Examples:
        >>> rows = [("mini", 1, "fp_a"), ("mini", 1, "fp_b"), ("other", 1, "fp_c")]
        >>> names = ["judge", "occasion", "fingerprint"]
        >>> changed_behind(pl.DataFrame(rows, schema=names, orient="row"))
        {'mini': 'what runs behind it changed while it judged: fingerprints fp_a (1), fp_b (1)'}
    """
    if not {"judge", "occasion", "fingerprint"} <= set(ratings.columns):
        return {}
    known = ratings.drop_nulls(["judge", "fingerprint"])
    found: dict[str, str] = {}
    for (judge, _), part in known.group_by("judge", "occasion", maintain_order=True):
        counts = part["fingerprint"].value_counts().sort("fingerprint")
        if counts.height > 1:
            said = ", ".join(f"{name} ({count:,})" for name, count in counts.iter_rows())
            found[str(judge)] = f"what runs behind it changed while it judged: fingerprints {said}"
    return found
