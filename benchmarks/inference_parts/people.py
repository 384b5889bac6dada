"""What people said of two agents: differences of means, by mixed models with both sides random."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.analysis.people import what_people_said
from inference_parts.lines import Line, Tally

_EFFECT = 0.6
_CUTS = np.array([-1.6, -0.6, 0.4, 1.4])


@dataclass(frozen=True)
class Design:
    """Who judges what.

    Attributes:
        name: In the line.
        raters: How many; between raters so many for each agent.
        items: How many; between items so many for each agent.
        between: `no`, `raters`, `items`, or `both`: every rater has a dialogue of their own.
        slopes: Standard deviation of raters' and of items' own liking for an agent.
    """

    name: str
    raters: int
    items: int
    between: str = "no"
    slopes: float = 0.4


WITHIN = tuple(Design("within", r, i) for r, i in ((5, 5), (5, 20), (10, 10), (20, 5), (20, 20)))
ALIKE = tuple(
    Design("within, raters and items alike", r, i, slopes=0.0) for r, i in ((5, 5), (10, 10))
)
FEW = (Design("within", 20, 3), Design("within", 3, 20))
BETWEEN = (
    Design("between raters", 5, 5, "raters"),
    Design("between raters", 10, 10, "raters"),
    Design("between items", 5, 10, "items"),
    Design("between items", 10, 10, "items"),
    Design("own dialogue", 5, 1, "both"),
    Design("own dialogue", 10, 1, "both"),
    Design("own dialogue", 20, 1, "both"),
)


def judged(rng: np.random.Generator, design: Design, kind: str, effect: float) -> pl.DataFrame:
    """Ratings of the agents a and b, a better by `effect` on the latent scale."""
    twice_raters = 2 if design.between in ("raters", "both") else 1
    raters = design.raters * twice_raters
    items = raters if design.between == "both" else design.items
    items *= 2 if design.between == "items" else 1
    r, i, a = np.indices((raters, items, 2)).reshape(3, -1)
    keep = np.ones(len(r), dtype=bool)
    if design.between in ("raters", "both"):
        keep &= r % 2 == a
    if design.between == "items":
        keep &= i % 2 == a
    if design.between == "both":
        keep &= r == i
    r, i, a = r[keep], i[keep], a[keep]
    latent = (
        rng.normal(0, 0.5, raters)[r]
        + rng.normal(0, 0.5, items)[i]
        + rng.normal(0, design.slopes, (raters, 2))[r, a]
        + rng.normal(0, design.slopes, (items, 2))[i, a]
        + rng.normal(0, 0.8, len(r))
        + effect * (a == 0)
    )
    return pl.DataFrame(
        {
            "rater": [f"r{x:02}" for x in r],
            "dialog": [f"d{x:02}" for x in i],
            "agent": ["ab"[x] for x in a],
            "quality": ["tone"] * len(r),
            "value": _answers(latent, kind),
        }
    )


def _answers(latent: np.ndarray, kind: str) -> np.ndarray:
    if kind == "likert":
        return np.searchsorted(_CUTS, latent) + 1.0
    if kind == "yes_no":
        return (latent > 0).astype(np.float64)
    if kind == "sparse yes_no":
        return (latent > 1.9).astype(np.float64)
    if kind == "skewed slider":
        return np.asarray(100 * np.exp(0.7 * (latent - 2)), dtype=np.float64)
    return 50 + 10 * latent


def truth(design: Design, kind: str, effect: float) -> float:
    """The difference of expected answers, by many draws."""
    if not effect:
        return 0.0
    if kind == "slider":
        return 10 * effect
    rng = np.random.default_rng(12345)
    spread = np.sqrt(0.5**2 * 2 + design.slopes**2 * 2 + 0.8**2)
    latent = rng.normal(0, spread, 2_000_000)
    return float(_answers(latent + effect, kind).mean() - _answers(latent, kind).mean())


def simulated(design: Design, kind: str, effect: float, runs: int, seed: int) -> Line:
    """One design many times."""
    rng = np.random.default_rng([seed, design.raters, design.items, len(design.name)])
    true, tally = truth(design, kind, effect), Tally()
    scale = "slider" if "slider" in kind else kind.removeprefix("sparse ")
    for _ in range(runs):
        people = what_people_said(judged(rng, design, kind, effect), scales={"tone": scale})
        row = people.agent_differences.row(0, named=True)
        tally.add(row["p"], row["low"], row["high"], true)
    what = "no difference" if not effect else "a difference"
    units = f"{design.raters} × {design.items}"
    return tally.line(f"people, {kind}", f"{design.name}, {what}", units, null=not effect)


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Every kind of answer within and between, under no difference and under one."""
    for kind in ("likert", "slider", "yes_no"):
        for design in (*WITHIN, *BETWEEN):
            yield simulated(design, kind, 0.0, runs, seed)
    for design in (*ALIKE, *FEW):
        yield simulated(design, "likert", 0.0, runs, seed)
    for kind in ("skewed slider", "sparse yes_no"):
        for design in (WITHIN[0], WITHIN[2], BETWEEN[5]):
            yield simulated(design, kind, 0.0, runs, seed)
    for kind in ("likert", "slider", "yes_no"):
        for design in (WITHIN[0], WITHIN[2], BETWEEN[1], BETWEEN[5]):
            yield simulated(design, kind, _EFFECT, runs, seed)
