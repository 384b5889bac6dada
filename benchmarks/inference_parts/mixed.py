"""Mixed models: a factor of two levels, where raters and items are few."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.base import DialensError
from dialens.statistics import Floats, LatentFit, MixedFit, fit_binomial, fit_mixed, fit_ordinal
from inference_parts.lines import Line, Tally

CUTS = (-2.0, -0.7, 0.7, 2.0)
SIZES = ((5, 5), (10, 10), (20, 20))
WITHIN, ITEMS, RATERS = "within raters and items", "between items", "between raters"
FITS: dict[str, Callable[[pl.DataFrame, str], MixedFit | LatentFit]] = {
    "linear": fit_mixed,
    "ordinal": fit_ordinal,
    "binomial": fit_binomial,
}


@dataclass(frozen=True)
class Design:
    """One design: what varies, and how much.

    Attributes:
        where: Within which units the agents are compared.
        raters: How many.
        items: How many; between items, of both agents together.
        slopes: Standard deviation of the raters' own differences between the agents.
        effect: Difference between the agents on the latent scale.
    """

    where: str
    raters: int
    items: int
    slopes: float = 0.0
    effect: float = 0.0

    @property
    def formula(self) -> str:
        """The model that an analyst would write."""
        raters = "(1 + agent || rater)" if self.where != RATERS else "(1 | rater)"
        return f"value ~ agent + {raters} + (1 | item)"

    def latent(self, rng: np.random.Generator) -> tuple[pl.DataFrame, Floats]:
        """Who rated what, and the judgement without its error."""
        rater, item, agent = np.indices((self.raters, self.items, 2)).reshape(3, -1)
        if self.where != WITHIN:
            unit = item if self.where == ITEMS else rater
            keep = agent == unit % 2
            rater, item, agent = rater[keep], item[keep], agent[keep]
        eta = (
            rng.normal(0, 1, self.raters)[rater]
            + rng.normal(0, 1, self.items)[item]
            + (self.effect + rng.normal(0, self.slopes, self.raters)[rater]) * agent
        )
        names = {"rater": [f"r{at}" for at in rater], "item": [f"i{at}" for at in item]}
        return pl.DataFrame(names | {"agent": [("a", "b")[at] for at in agent]}), eta


def answers(kind: str, eta: Floats, rng: np.random.Generator) -> Floats:
    """What raters say: a number, one of five categories, or yes and no."""
    if kind == "linear":
        return eta + rng.normal(0, 1.8, len(eta))
    judged = eta + rng.logistic(size=len(eta))
    if kind == "ordinal":
        return np.digitize(judged, CUTS).astype(np.float64)
    return (judged > 0).astype(np.float64)


def designs() -> Iterator[Design]:
    """Every place of the factor by every number of units, and a true effect of one."""
    for units in (6, 10, 20):
        yield Design(RATERS, units, units)
    for units in (5, 10, 20):
        yield Design(WITHIN, units, units)
        yield Design(WITHIN, units, units, slopes=0.8)
    for units in (6, 10, 20):
        yield Design(ITEMS, units, units, slopes=0.8)
    yield Design(RATERS, 5, 20)
    yield Design(ITEMS, 20, 5, slopes=0.8)
    yield Design(RATERS, 10, 10, effect=1.0)
    yield Design(WITHIN, 10, 10, slopes=0.8, effect=1.0)


def tested(fit: MixedFit | LatentFit) -> dict[str, tuple[float, float, float]]:
    """p and interval of the difference between the agents, by each test that the fit offers."""
    plain = fit.effect("agent[b]")
    if isinstance(fit, MixedFit):
        return {"Satterthwaite": (plain.p, plain.low, plain.high)}
    few = fit.contrast({"agent[b]": 1.0}, degrees="satterthwaite")
    return {"z": (plain.p, plain.low, plain.high), "Satterthwaite": (few.p, few.low, few.high)}


def simulate(kind: str, design: Design, runs: int, seed: int) -> list[Line]:
    """The lines of one kind of model on one design."""
    rng = np.random.default_rng(seed)
    tests = ["Satterthwaite"] if kind == "linear" else ["z", "Satterthwaite"]
    tallies = {test: Tally() for test in tests}
    for _ in range(runs):
        table, eta = design.latent(rng)
        table = table.with_columns(value=pl.Series(answers(kind, eta, rng)))
        try:
            found = tested(FITS[kind](table, design.formula))
        except DialensError:
            found = {}
        for test, tally in tallies.items():
            tally.add(*found.get(test, (None, None, None)), truth=design.effect)
    what = f"{design.where}, {'slopes' if design.slopes else 'no slopes'}, effect {design.effect:g}"
    units = f"{design.raters} × {design.items}"
    return [
        tally.line(f"{kind} mixed model, {test}", what, units, null=design.effect == 0)
        for test, tally in tallies.items()
    ]


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Linear, ordinal and binomial models on every design."""
    for kind in FITS:
        for design in designs():
            yield from simulate(kind, design, runs, seed)
