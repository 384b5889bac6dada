"""Declare a metric of your own and score with it.

    python examples/own_metric.py [FILE]

`echoing` is the share of the longer words in a turn that the agent's answer takes up again.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import dialens
from dialens.corpus import demo_path
from dialens.metrics import Definition, Resources, TurnBatch, metric, turn_mean

LONGER_WORDS = pl.col("text").str.to_lowercase().str.extract_all(r"\w{4,}").list.unique()


@metric("echoing", meaning="Longer words taken up from the turn before", family="own", range=(0, 1))
def echoing(resources: Resources) -> Definition:
    def value(batch: TurnBatch) -> NDArray[np.float64]:
        heard = LONGER_WORDS.shift().over("dialog")
        share = LONGER_WORDS.list.set_intersection(heard).list.len() / heard.list.len()
        return batch.turns.select(share.cast(pl.Float64)).to_series().to_numpy()  # null is NaN

    return turn_mean("echoing", value, missing="no longer word before it")


def main(path: Path) -> None:
    scores = dialens.score(dialens.read(path), metrics=[echoing], levels=["agent"])
    for row in scores.table.sort("value", descending=True).collect().iter_rows(named=True):
        print(f"{row['agent']}: echoing {row['value']:.2f} over {row['n']} turns")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else demo_path())
