"""Score the conversations behind the reference values, a file of values a source.

    python -m recipes.reference.score --data DATA --work WORK

Goes on where it was interrupted: a source whose file is there is left alone. Nothing of the text is
written, only values with the number of words behind them. `--metrics` scores some metrics alone,
into a folder of their own, for a metric that was added or changed.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import polars as pl

from dialens.base import atomic_file
from dialens.corpus import Corpus
from dialens.metrics import ModelChoice, Resources, ScorerContext, ScorerSet, score
from recipes.reference.sources import SOURCES, Source

WORDS = "length"
"""The metric that says how many words a turn of the agent has."""


def score_source(
    source: Source, data: Path, seed: int, metrics: list[str] | None, models: str
) -> pl.DataFrame:
    """One row a value of a turn or of a speaker in a dialogue: metric, words, turns, signature."""
    corpus = Corpus.of(source.dialogues(data, seed))
    wanted = None if metrics is None else [*metrics, WORDS]
    resources = Resources(scorers=ScorerSet(ScorerContext(models=ModelChoice(models))))
    made = score(corpus, metrics=wanted, levels=["turn", "dialog"], resources=resources)
    table = made.table.collect()
    unit = ["level", "dialog", "turn"]
    words = table.filter(pl.col("metric") == WORDS).select(
        *unit,
        turns=pl.col("n") + pl.col("n_missing"),
        words=(pl.col("value") * pl.col("n")).round().cast(pl.Int64),
    )
    rows = table.join(words, on=unit, how="left", nulls_equal=True, maintain_order="left")
    if metrics is not None and WORDS not in metrics:
        rows = rows.filter(pl.col("metric") != WORDS)
    return rows.select(
        "metric",
        "signature",
        "level",
        "system",
        "dialog",
        "value",
        "words",
        "turns",
        group=pl.lit(source.group),
        source=pl.lit(source.name),
    )


def main() -> None:
    """Score every source that has no file yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="folder with the conversations")
    parser.add_argument("--work", type=Path, required=True, help="folder for the values")
    parser.add_argument("--metrics", help="names with commas; the default ones if not given")
    parser.add_argument("--models", default="default", help="size of the models (default)")
    parser.add_argument("--seed", type=int, default=0, help="of the samples")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    metrics = given.metrics.split(",") if given.metrics else None
    for source in SOURCES:
        place = given.work / f"{source.name}.parquet"
        if place.exists():
            print(f"{source.name}: there already", flush=True)
            continue
        begun = time.monotonic()
        rows = score_source(source, given.data, given.seed, metrics, given.models)
        with atomic_file(place) as scratch:
            rows.write_parquet(scratch)
        speakers = rows.filter(pl.col("level") == "dialog")["dialog"].n_unique()
        turns = rows.filter(pl.col("level") == "turn", pl.col("metric") == rows["metric"][0]).height
        seconds = time.monotonic() - begun
        print(f"{source.name}: {speakers} speakers, {turns} turns, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
