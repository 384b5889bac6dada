"""Whether people who were left out stand where they should: at the 50th percentile on average.

Half of the conversations make the table, the other half make agents: dialogues of people drawn from
all sources alike. Their mean place has to be 50, and its 95 % interval has to hold 50 in 95 of 100
draws. Agents drawn from one source show how far a register alone moves a place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from dialens.metrics import PEOPLE, References, place_values
from recipes.reference.table import PROBABILITIES, distributions

SPLITS = 5
AGENTS = 40
DIALOGS = 20


def calibration(values: pl.DataFrame, *, seed: int) -> dict[str, Any]:
    """By metric: the mean place of agents made of people, and how often its interval holds 50."""
    people = values.filter(pl.col("group") == PEOPLE)
    rng = np.random.default_rng([seed, 50])
    places: dict[str, list[float]] = {}
    held: dict[str, list[bool]] = {}
    by_source: dict[str, dict[str, list[float]]] = {}
    names = people["conversation"].unique().sort()
    for _ in range(SPLITS):
        kept = names.filter(pl.Series(rng.random(len(names)) < 0.5))
        inside = pl.col("conversation").is_in(kept.implode())
        known = References(distributions(people.filter(inside)), {"probabilities": PROBABILITIES})
        held_out = people.filter(~inside, pl.col("level") == "dialog")
        for (metric,), units in held_out.group_by("metric", maintain_order=True):
            name = str(metric)
            sources = {
                str(part["source"][0]): part.select("value", "words", "turns").to_numpy()
                for part in units.partition_by("source", maintain_order=True)
            }
            for source, rows in sources.items():
                place = place_values(known, name, PEOPLE, *rows.T)
                if place.percentile is not None:
                    by_source.setdefault(name, {}).setdefault(source, []).append(place.percentile)
            for _ in range(AGENTS):
                place = place_values(known, name, PEOPLE, *_drawn(list(sources.values()), rng).T)
                if place.percentile is not None:
                    places.setdefault(name, []).append(place.percentile)
                if place.low is not None and place.high is not None:
                    held.setdefault(name, []).append(place.low <= 50 <= place.high)
    return {
        "method": f"{SPLITS} times, half of people's conversations made the table and the other "
        f"half {AGENTS} agents of {DIALOGS} dialogues each, from all sources alike.",
        "metrics": {
            name: {
                "percentile": round(float(np.mean(found)), 1),
                "interval_holds_50": round(float(np.mean(held[name])), 3) if name in held else None,
                "by_source": {
                    source: round(float(np.mean(each))) for source, each in by_source[name].items()
                },
            }
            for name, found in places.items()
        },
    }


def _drawn(sources: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Dialogues of an agent: each of a source drawn at random, since all of them count alike."""
    chosen = rng.integers(len(sources), size=DIALOGS)
    return np.stack([sources[place][rng.integers(len(sources[place]))] for place in chosen])
