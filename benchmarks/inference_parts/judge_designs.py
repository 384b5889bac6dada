"""Judges: generalisability over judges, prompts and repeats, and agreement with themselves."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from dialens.analysis.judges import judge_designs, own_agreement
from inference_parts.lines import Line, Tally

DESIGNS = ((20, 2, 2, 2), (40, 3, 2, 2), (40, 3, 3, 3), (100, 4, 2, 3))
# Standard deviations of the effects; `prompt` and `item × prompt` are those of prompts, etc.
SPREAD = {"i": 1.0, "j": 0.4, "p": 0.3, "ij": 0.5, "ip": 0.3, "jp": 0.2, "ijp": 0.3, "r": 0.1}
NOISE = 0.5
CONDITIONS = 2


def judged(rng: np.random.Generator, sizes: tuple[int, int, int, int]) -> pl.DataFrame:
    """Ratings in two conditions that share every effect but repeats and noise."""
    whole = dict(zip("ijpr", sizes, strict=True))

    def effect(over: str) -> np.ndarray:
        return SPREAD[over] * rng.normal(size=[whole[n] if n in over else 1 for n in "ijp"])

    fixed = sum(effect(over) for over in ("i", "j", "p", "ij", "ip", "jp", "ijp"))
    parts = []
    for condition in range(CONDITIONS):
        repeat = SPREAD["r"] * rng.normal(size=(1, *sizes[1:]))
        values = np.asarray(fixed)[..., None] + repeat + NOISE * rng.normal(size=sizes)
        places = dict(zip(("item", "judge", "prompt", "repeat"), np.indices(sizes), strict=True))
        columns = {name: [f"{name}{x:03d}" for x in at.ravel()] for name, at in places.items()}
        parts.append(
            pl.DataFrame({**columns, "value": values.ravel(), "condition": f"c{condition}"})
        )
    return pl.concat(parts).with_columns(quality=pl.lit("q"))


def coefficients(sizes: tuple[int, int, int]) -> tuple[float, float]:
    """Eρ² and Φ of a design, by arithmetic."""
    j, p, r = sizes
    square = {name: value**2 for name, value in SPREAD.items()}
    noise = square["ij"] / j + square["ip"] / p + square["ijp"] / (j * p) + NOISE**2 / (j * p * r)
    level = square["j"] / j + square["p"] / p + square["jp"] / (j * p) + square["r"] / (j * p * r)
    return 1 / (1 + noise), 1 / (1 + noise + level)


def generalisability(runs: int, seed: int) -> Iterator[Line]:
    """Intervals of the coefficients of the design as it was, and of one rating."""
    for sizes in DESIGNS:
        rng = np.random.default_rng(seed)
        tallies = {(kind, now): Tally() for kind in (0, 1) for now in (True, False)}
        for _ in range(runs):
            found = judge_designs(judged(rng, sizes)).designs
            for now in (True, False):
                chosen = found.filter("now") if now else found.filter(ratings=1)
                row = chosen.row(0, named=True)
                truth = coefficients((row["judges"], row["prompts"], row["repeats"]))
                for kind, name in enumerate(("relative", "absolute")):
                    low, high = row[f"{name}_low"], row[f"{name}_high"]
                    tallies[kind, now].add(None, low, high, truth[kind])
        for (kind, now), tally in tallies.items():
            method = f"judges, {('Eρ²', 'Φ')[kind]}"
            design = "as judged, two conditions" if now else "one judge, one prompt, once"
            yield tally.line(method, design, " × ".join(map(str, sizes)), null=False)


def again(runs: int, seed: int) -> Iterator[Line]:
    """One judge asked again under several prompts: intervals leave out items."""
    truth = (sum(SPREAD[e] ** 2 for e in ("i", "ij", "ip", "ijp"))) / (
        sum(SPREAD[e] ** 2 for e in ("i", "ij", "ip", "ijp", "r")) + NOISE**2
    )
    for items, prompts, repeats in ((20, 1, 3), (20, 2, 2), (40, 2, 3), (100, 3, 2)):
        rng, tally = np.random.default_rng(seed), Tally()
        for _ in range(runs):
            table = judged(rng, (items, 1, prompts, repeats)).filter(condition="c0")
            found = own_agreement(table)
            tally.add(None, found.low, found.high, truth)
        yield tally.line(
            "judge with itself, ICC(2,1)", f"{prompts} prompts, {repeats} repeats",
            f"{items} items", null=False,
        )  # fmt: skip


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Coefficients, then agreement of a judge with itself."""
    yield from again(runs, seed)
    yield from generalisability(runs, seed)
