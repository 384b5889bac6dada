"""From values of speakers to quantiles, by group, source and band of length."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dialens.metrics import REFERENCE

PROBABILITIES = np.array([0, 0.01, *np.arange(0.025, 0.99, 0.025), 0.99, 1]).round(4)
BANDS = {"turn": (1, 5, 9, 17, 33, 65), "dialog": (1, 20, 40, 80, 160, 320)}
"""Where bands of words begin. They double, since what changes with length does so with its
logarithm."""
FEWEST_UNITS = 60
FEWEST_TURNS = 2
"""Of a speaker in a dialogue: with one turn a dialogue is a turn."""
OWN_LENGTH = ("length", "specificity")
"""Metrics that count words themselves: among speakers with as many words they would say nothing."""
NOT_SHIPPED = ("random",)


def values_of(work: Path) -> pl.DataFrame:
    """All values, with the weight of their unit and the conversation it belongs to."""
    rows = pl.concat([pl.read_parquet(file) for file in sorted(work.glob("*.parquet"))])
    whole = (pl.col("level") == "turn") | (pl.col("turns") >= FEWEST_TURNS)
    rows = rows.filter(whole, pl.col("value").is_not_null(), pl.col("words") > 0)
    return rows.filter(~pl.col("metric").is_in(NOT_SHIPPED)).with_columns(
        weight=1 / pl.len().over("metric", "level", "source"),
        conversation=pl.col("dialog").str.replace(r"-\d+$", ""),
    )


def distributions(values: pl.DataFrame) -> pl.DataFrame:
    """The table of reference values; columns as `REFERENCE`."""
    rows: list[dict[str, Any]] = []
    order = ["metric", "signature", "level"]
    for (metric, signature, level), part in values.group_by(order, maintain_order=True):
        named = {"metric": metric, "signature": signature, "level": level}
        for (group,), units in part.group_by("group", maintain_order=True):
            rows += [named | {"group": group} | row for row in _of_group(units)]
        for (source,), units in part.group_by("source", maintain_order=True):
            rows.append(named | {"group": source} | _row(units, "all", None, None))
    return pl.DataFrame(rows, schema=REFERENCE)


def _of_group(units: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """All lengths, then each band that holds enough units; a thin one joins the one before it."""
    yield _row(units, "all", None, None)
    if units["metric"][0] in OWN_LENGTH:
        return
    starts = list(BANDS[units["level"][0]])
    edges: list[int] = []
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        inside = _within(units, start, end).height
        if inside >= FEWEST_UNITS or (not edges and start == starts[-1]):
            edges.append(start)
    if not edges:
        return
    edges[0] = 1
    for start, end in zip(edges, [*edges[1:], None], strict=True):
        part = _within(units, start, end)
        most = None if end is None else end - 1
        name = f"{start} words or more" if end is None else f"{start} to {most} words"
        yield _row(part, name, start, most)


def _within(units: pl.DataFrame, start: int, end: int | None) -> pl.DataFrame:
    low = pl.col("words") >= start
    return units.filter(low if end is None else low & (pl.col("words") < end))


def _row(units: pl.DataFrame, band: str, least: int | None, most: int | None) -> dict[str, Any]:
    values, weight = units["value"].to_numpy(), units["weight"].to_numpy()
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weight[order]) / weight.sum()
    # A hair below, so that sums of thirds that end a step early do not skip a value.
    places = np.minimum(np.searchsorted(upto, PROBABILITIES - 1e-9), len(order) - 1)
    return {
        "band": band,
        "least_words": least,
        "most_words": most,
        "n": units.height,
        "n_sources": units["source"].n_unique(),
        "mean": float(np.average(values, weights=weight)),
        "quantiles": [float(f"{value:.4g}") for value in values[order][places]],
    }
