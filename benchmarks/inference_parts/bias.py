"""Biases of a questionnaire: effects of a design, drifts, halo and agreement of simulated raters.

Raters and items are drawn anew in every simulation, both with levels of their own; what a rater
thinks of an item is shared by the qualities rated at that moment (halo).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.analysis.bias import (
    SimulatedStudy,
    StudyData,
    consistency,
    consistency_differences,
    effects,
    response_biases,
    study_data,
)
from dialens.corpus import RATINGS
from dialens.statistics import Floats
from inference_parts.lines import Line, Tally

_SCALE = '{"kind": "slider"}'
Shape = Callable[[Floats], Floats]


def as_drawn(values: Floats) -> Floats:
    return values


def skewed(values: Floats) -> Floats:
    """A log-normal variable in place of a normal one: most low, some very high."""
    return np.exp(0.8 * values)


def crowded(values: Floats) -> Floats:
    """Five points, most answers at the upper end."""
    return np.clip(np.round(4.6 + 0.9 * values), 1, 5)


@dataclass(frozen=True)
class Raters:
    """A study in which nothing happens but what is put in.

    Attributes:
        raters: In all.
        items: Rated by everybody who stays.
        qualities: Rated at each moment.
        effect: Of the second level of the factor.
        sd_response: How differently raters (or items) respond to the factor.
        fatigue: Change from first to last, on average.
        sd_fatigue: How far raters differ in it.
        position: Change a place further down.
        sd_halo: What a rater thinks of an item at that moment, whatever is asked.
        missing: Share of ratings that are missing, whole moments at a time.
        shape: What is made of the normal opinion.
        between_items: Whether the factor is the item's (an agent) or the rater's (an anchor).
        sd_item: How far items differ.
    """

    raters: int
    items: int
    qualities: int = 1
    effect: float = 0.0
    sd_response: float = 0.0
    fatigue: float = 0.0
    sd_fatigue: float = 0.0
    position: float = 0.0
    sd_halo: float = 0.0
    missing: float = 0.0
    shape: Shape = as_drawn
    between_items: bool = False
    sd_item: float = 0.5

    def study(self, rng: np.random.Generator, normalise: str = "none") -> StudyData:
        """One study, with the factor `agent` or `anchor`."""
        r, i = (part.ravel() for part in np.indices((self.raters, self.items)))
        kept = rng.random(len(r)) >= self.missing
        order = np.array([rng.permutation(self.items) for _ in range(self.raters)])[r, i]
        factor = (i if self.between_items else r) % 2
        unit, units = (r, self.raters) if self.between_items else (i, self.items)
        # Places on a screen fill up over a session, so that place and progress go together.
        place = order * 4 // self.items + rng.integers(0, 3, len(r))
        opinion = 0.5 * rng.normal(size=self.raters)[r] + self.effect * factor
        opinion += self.sd_response * rng.normal(size=(units, 2))[unit, factor]
        drift = rng.normal(self.fatigue, self.sd_fatigue, self.raters)
        opinion += drift[r] * order / (self.items - 1) + self.position * place
        opinion += self.sd_halo * rng.normal(size=len(r))
        tables = []
        for quality in range(self.qualities):
            own = opinion + self.sd_item * rng.normal(size=self.items)[i] + rng.normal(size=len(r))
            tables.append(
                pl.DataFrame(
                    {
                        "rater": r,
                        "dialog": i,
                        "quality": np.repeat(f"q{quality}", len(r)),
                        "value": self.shape(own),
                        "order": order,
                        "position": place,
                        "factor": factor,
                        "scale": np.repeat(_SCALE, len(r)),
                    }
                ).filter(kept)
            )
        name = "agent" if self.between_items else "anchor"
        levels = {0: "none", 1: "numerical"} if name == "anchor" else {0: "a", 1: "b"}
        table = pl.concat(tables).with_columns(
            pl.col("rater", "dialog").cast(pl.String),
            pl.col("factor").replace_strict(levels).alias(name),
        )
        gone = [column for column in RATINGS if column not in table.columns]
        table = table.with_columns(pl.lit(None, RATINGS[column]).alias(column) for column in gone)
        return study_data(table, factors=[name], normalise=normalise)


SHAPES: dict[str, Shape] = {"normal": as_drawn, "skewed": skewed, "crowded": crowded}
EFFECTS = (
    ("agent", 20, 20, "normal", 0.0),
    ("agent", 20, 20, "skewed", 0.0),
    ("agent", 10, 6, "normal", 0.0),
    ("anchor", 10, 12, "normal", 0.0),
    ("anchor", 10, 12, "skewed", 0.0),
    ("anchor", 24, 12, "normal", 0.8),
    ("anchor", 40, 12, "crowded", 0.0),
)
"""Factor (an agent is the items', an anchor the raters'), raters, items, shape, effect."""


def effects_line(
    factor: str, raters: int, items: int, shape: str, size: float, runs: int, seed: int
) -> Line:
    """The effect of a factor, raters and items drawn anew each time."""
    rng = np.random.default_rng([seed, raters, items, len(shape)])
    design = Raters(
        raters,
        items,
        effect=size,
        sd_response=0.3,
        shape=SHAPES[shape],
        between_items=factor == "agent",
    )
    tally = Tally()
    for _ in range(runs):
        row = effects(design.study(rng)).row(0, named=True)
        tally.add(row["p"], row["low"], row["high"], size)
    if factor == "agent":
        what, units = "factor of items", f"{raters} × {items // 2} each"
    else:
        what, units = "factor of raters", f"{raters // 2} each × {items}"
    told = f"effect {size}" if size else "no effect"
    return tally.line("study analyze, effects", f"{what}, {shape}, {told}", units, null=not size)


BIASES = (
    ("no bias", Raters(20, 20, qualities=2)),
    ("no bias", Raters(12, 20, qualities=2)),
    ("no bias", Raters(5, 20, qualities=2)),
    ("raters drift apart", Raters(12, 20, qualities=2, sd_fatigue=1.0)),
    ("halo", Raters(12, 20, qualities=2, sd_halo=1.0)),
    ("half the ratings missing", Raters(20, 30, qualities=2, missing=0.5)),
    ("skewed", Raters(12, 20, qualities=2, shape=skewed)),
    ("crowded", Raters(12, 20, qualities=2, shape=crowded)),
    (
        "position .085 and fatigue −.5",
        Raters(12, 20, qualities=2, position=0.085, fatigue=-0.5, sd_fatigue=0.5, sd_halo=0.5),
    ),
)


def bias_lines(name: str, design: Raters, runs: int, seed: int) -> Iterator[Line]:
    """Position, fatigue, scatter and halo of one design; what is put in is what should be found."""
    rng = np.random.default_rng([seed, design.raters, len(name)])
    noise = design.sd_halo**2
    # Raters who drift apart scatter, and what drifts with them drifts in both qualities.
    apart = design.sd_fatigue > 0
    truth = {
        ("position", "ratings"): design.position,
        ("fatigue", "ratings"): design.fatigue,
        ("fatigue", "scatter"): None if apart else 0.0,
        ("halo", "q0 and q1"): None if apart else noise / (noise + 1),
    }
    tallies = {kind: Tally() for kind, value in truth.items() if value is not None}
    for _ in range(runs):
        found = response_biases(design.study(rng))
        for row in found.iter_rows(named=True):
            kind = (row["bias"], row["of"])
            if kind in tallies:
                tallies[kind].add(row["p"], row["low"], row["high"], truth[kind] or 0.0)
    units = f"{design.raters} × {design.items}"
    for (bias, of), tally in tallies.items():
        null = truth[bias, of] == 0
        method = f"study analyze, {bias}" + (" (scatter)" if of == "scatter" else "")
        yield tally.line(method, name, units, null=null)


AGREEMENT = (
    ("complete", Raters(10, 20)),
    ("complete", Raters(24, 20)),
    ("15 % missing", Raters(10, 20, missing=0.15)),
    ("15 % missing", Raters(24, 20, missing=0.15)),
    ("items alike, 15 % missing", Raters(10, 20, missing=0.15, sd_item=0.0)),
)


def agreement_lines(name: str, design: Raters, runs: int, seed: int) -> Iterator[Line]:
    """ICCs of a condition, and their difference between two conditions that do not differ."""
    rng = np.random.default_rng([seed, design.raters, len(name)])
    item = design.sd_item**2
    truth = {"ICC(2,1)": item / (item + 1.25), "ICC(3,1)": item / (item + 1)}
    tallies = {form: Tally() for form in truth}
    apart = Tally()
    for _ in range(runs):
        data = design.study(rng)
        for row in consistency(data).filter(anchor="none").iter_rows(named=True):
            if row["form"] in tallies:
                value = truth[row["form"]]
                tallies[row["form"]].add(row["p"], row["low"], row["high"], value)
        differences = consistency_differences(data).filter(form="ICC(3,1)")
        row = differences.row(0, named=True)
        apart.add(row["p"], row["low"], row["high"])
    units = f"{design.raters // 2} × {design.items}"
    for form, tally in tallies.items():
        yield tally.line(f"study analyze, {form}", name, units, null=item == 0)
    yield apart.line("study analyze, ICC(3,1) differs", name, units)


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Every part; effects of the design last, because models take their time."""
    for name, raters in BIASES:
        yield from bias_lines(name, raters, runs, seed)
    for name, raters in AGREEMENT:
        yield from agreement_lines(name, raters, runs, seed)
    for design in EFFECTS:
        yield effects_line(*design, runs=runs, seed=seed)
    for number in (5, 10, 20):
        for pull in (0.0, 0.3):
            yield pull_line(number, pull, runs, seed)


def pull_line(raters: int, pull: float, runs: int, seed: int) -> Line:
    """How far an anchor of 100 draws ratings towards it, between raters."""
    tally = Tally()
    for run in range(runs):
        study = SimulatedStudy(
            raters=raters,
            items=12,
            means={"coherence": 55.0},
            anchors={"none": 0.0, "both": pull},
            layouts={"together": 0.0},
        )
        ratings, _ = study.run(seed=1_000_000 * seed + 1_000 * raters + run)
        data = study_data(ratings.with_columns(scale=pl.lit(_SCALE)))
        found = effects(data, main_only=True).filter(effect="anchor pull")
        row = found.row(0, named=True)
        tally.add(row["p"], row["low"], row["high"], pull)
    what = f"pull {pull:g}" if pull else "no pull"
    return tally.line("study analyze, anchor pull", what, f"{raters} each × 12", null=not pull)
