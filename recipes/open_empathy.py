"""Ask whether open data can stand in for the research-only answers on empathic concern.

    python -m recipes.open_empathy --data ../shared/data/traits

Empathic Reactions (CC BY 4.0) holds how much empathy people felt while writing, and no answers to
questionnaires. So a model of empathic concern cannot be fitted on it; but the model of state
empathy, which is, orders people too. Both are held against the empathic concern of people whom
neither saw: those of the WASSA sets who are not among the authors of Empathic Reactions.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from dialens.models import traits
from dialens.models.traits import correlation
from recipes.traits import reactions, wassa

_TARGET = "empathic_concern"


def compared(folder: Path, seed: int) -> dict[str, traits.Correlation]:
    """Return r with empathic concern over unseen people, by how they were scored."""
    written = wassa(folder)
    authors = reactions(folder)["person"].unique().implode()
    seen = written.filter(pl.col("id").is_in(authors))["person"].unique().implode()
    fitted = traits.fit(
        written, text="text", target=_TARGET, group="person", seed=seed, features=["ngrams"]
    )
    out_of_fold = fitted.predictions.select(person=pl.col("group"), fitted="predicted")
    state = pl.Series("state", traits.load("state_empathy").predict(written["text"]))
    people = (
        written.with_columns(state.fill_nan(None))
        .filter(~pl.col("person").is_in(seen))
        .group_by("person", maintain_order=True)
        .agg(pl.col(_TARGET).first(), pl.col("state").mean())
        .with_columns(pl.col("person").cast(pl.String))
        .join(out_of_fold, on="person", maintain_order="left")
    )
    truth = people[_TARGET].to_numpy()
    whose = np.arange(people.height)
    return {
        name: correlation(truth, people[name].to_numpy(), whose, seed=seed)
        for name in ("fitted", "state")
    }


def main() -> None:
    """Print both correlations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = compared(options.data, options.seed)
    print(f"fitted on research-only answers, out of fold: {found['fitted']}")
    print(f"state empathy, fitted on open data, mean over texts: {found['state']}")


if __name__ == "__main__":
    main()
