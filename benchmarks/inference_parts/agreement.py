"""Intervals of agreement, of variances of facets, and what models of labels find."""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import polars as pl

from dialens.corpus import RATINGS
from dialens.statistics import Floats
from dialens.statistics.agreement import (
    RatingMatrix,
    fleiss_kappa,
    generalizability,
    gwet_ac,
    krippendorff_alpha,
    measure_agreement,
    percent_agreement,
)
from dialens.statistics.labels import dawid_skene, mace
from inference_parts.lines import Line, Tally

DESIGNS = ((5, 2), (5, 3), (10, 5), (20, 5), (50, 8))
THRESHOLDS = {"binary": (0.0,), "sparse": (2.4,), "likert": (-2.0, -0.8, 0.5, 1.6)}
KINDS = (*THRESHOLDS, "skewed")
COEFFICIENTS: dict[str, Callable[[RatingMatrix], float]] = {
    "percent_agreement": percent_agreement,
    "gwet_ac1": gwet_ac,
    "fleiss_kappa": fleiss_kappa,
    "alpha_ordinal": lambda table: krippendorff_alpha(table, "ordinal"),
}


def rated(rng: np.random.Generator, items: int, raters: int, kind: str) -> Floats:
    """Raters who differ in level and in how well they see; skewed: most items at the low end."""
    seen = 1.2 * rng.normal(size=(items, 1)) * np.exp(0.4 * rng.normal(size=(1, raters)))
    felt = seen + 0.5 * rng.normal(size=(1, raters)) + rng.normal(size=(items, raters))
    return np.digitize(felt, THRESHOLDS.get(kind, (1.0, 2.0, 3.0))).astype(np.float64)


@cache
def truth(kind: str) -> dict[str, float]:
    """What the coefficients are with very many items and raters."""
    rng = np.random.default_rng(12345)
    tables = [RatingMatrix.of_array(rated(rng, 1_000, 60, kind)) for _ in range(30)]
    return {
        name: float(np.mean([measure(table) for table in tables]))
        for name, measure in COEFFICIENTS.items()
    }


def as_ratings(values: Floats) -> pl.DataFrame:
    rows = [
        {"dialog": f"d{i:03d}", "rater": f"r{j:02d}", "quality": "q", "value": float(x)}
        for i, row in enumerate(values)
        for j, x in enumerate(row)
    ]
    return pl.DataFrame(rows, schema=RATINGS)


def coefficients(runs: int, seed: int) -> Iterator[Line]:
    """Intervals of `dialens agreement`, for raters and items that are both a sample."""
    for kind in KINDS:
        for items, raters in DESIGNS:
            rng = np.random.default_rng(seed)
            tallies = {name: Tally() for name in COEFFICIENTS}
            for _ in range(runs):
                values = rated(rng, items, raters, kind)
                found = measure_agreement(as_ratings(values), targets=()).rows
                by_name = {row["statistic"]: row for row in found.iter_rows(named=True)}
                for name, tally in tallies.items():
                    row = by_name[name]
                    # of two raters the interval is over items: about these two, and says so
                    both = row["interval"] == "jackknife over items and raters"
                    low, high = (row["low"], row["high"]) if both else (None, None)
                    tally.add(None, low, high, truth(kind)[name])
            for name, tally in tallies.items():
                units = f"{items} × {raters}"
                yield tally.line(
                    f"agreement, {name}", f"{kind}, raters a sample", units, null=False
                )


def facets(runs: int, seed: int) -> Iterator[Line]:
    """Eρ² and Φ of items × raters × occasions, normal and skewed items."""
    variances = {"item": 1.0, "rater": 0.3, "occasion": 0.1, "ir": 0.3, "io": 0.1, "ro": 0.1}
    rest = 1.0
    for shape in ("normal", "skewed"):
        for items, raters, occasions in ((5, 3, 2), (10, 5, 2), (20, 5, 3), (50, 5, 3)):
            noise = {"ir": raters, "io": occasions}
            relative = 1 / (
                1 + sum(variances[k] / n for k, n in noise.items()) + rest / (raters * occasions)
            )
            absolute = 1 / (
                1 / relative
                + variances["rater"] / raters
                + variances["occasion"] / occasions
                + variances["ro"] / (raters * occasions)
            )
            rng = np.random.default_rng(seed)
            tallies = {"relative": Tally(), "absolute": Tally()}
            for _ in range(runs):
                table = _crossed(rng, (items, raters, occasions), variances, rest, shape)
                row = generalizability(table, ["rater", "occasion"]).decisions.filter("now")
                for kind, true in (("relative", relative), ("absolute", absolute)):
                    low, high = row[f"{kind}_low"][0], row[f"{kind}_high"][0]
                    tallies[kind].add(None, low, high, true)
            for kind, tally in tallies.items():
                units = f"{items} × {raters} × {occasions}"
                yield tally.line(f"facets, {kind}", f"{shape} items", units, null=False)


def _crossed(
    rng: np.random.Generator,
    sizes: tuple[int, int, int],
    variances: dict[str, float],
    rest: float,
    shape: str,
) -> pl.DataFrame:
    n, k, o = sizes
    own = rng.normal(size=n) if shape == "normal" else rng.exponential(size=n)
    values = own[:, None, None] + np.sqrt(rest) * rng.normal(size=sizes)
    for name, size in (
        ("rater", (1, k, 1)),
        ("occasion", (1, 1, o)),
        ("ir", (n, k, 1)),
        ("io", (n, 1, o)),
        ("ro", (1, k, o)),
    ):
        values = values + np.sqrt(variances[name]) * rng.normal(size=size)
    i, j, m = (x.ravel() for x in np.indices(sizes))
    return pl.DataFrame(
        {
            "dialog": [f"d{x:03d}" for x in i],
            "rater": [f"r{x}" for x in j],
            "occasion": [f"o{x}" for x in m],
            "quality": "q",
            "value": values.ravel(),
        }
    )


def labels(runs: int, seed: int) -> Iterator[Line]:
    """Competence of one rater among five, of whom one answers without looking."""
    models = {"dawid_skene": dawid_skene, "mace": mace}
    for items in (20, 50):
        rng = np.random.default_rng(seed)
        tallies = {name: Tally() for name in models}
        for _ in range(runs):
            table, right = _labelled(rng, items)
            for name, model in models.items():
                rater = model(table, restarts=0).raters.row(0, named=True)
                true = right if name == "dawid_skene" else (3 * right - 1) / 2
                tallies[name].add(None, rater["low"], rater["high"], true)
        for name, tally in tallies.items():
            yield tally.line(f"labels, competence, {name}", "five raters", f"{items}", null=False)


def _labelled(rng: np.random.Generator, items: int) -> tuple[pl.DataFrame, float]:
    """Three labels; a rater who errs does so evenly, so that both models are true."""
    right = np.array([0.8, 0.85, 0.9, 0.75, 1 / 3])
    true = rng.integers(0, 3, items)
    wrong = (true[:, None] + rng.integers(1, 3, (items, 5))) % 3
    said = np.where(rng.random((items, 5)) < right, true[:, None], wrong)
    i, j = (x.ravel() for x in np.indices(said.shape))
    return pl.DataFrame({"item": i, "rater": j, "label": said.ravel()}), float(right[0])


def lines(runs: int, seed: int) -> Iterator[Line]:
    """All of them."""
    yield from facets(runs, seed)
    yield from labels(runs, seed)
    yield from coefficients(runs, seed)
