"""Mixed models: a factor of two levels, where raters and items are few."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.base import DialensError
from dialens.statistics import Floats, LatentFit, MixedFit, fit_binomial, fit_mixed, fit_ordinal
from inference_parts.lines import Line, Tally

CUTS = (-2.0, -0.7, 0.7, 2.0)
SIZES = ((5, 5), (10, 10), (20, 20))
WITHIN, ITEMS, RATERS = "within raters and items", "between items", "between raters"
FITS = {"linear": fit_mixed, "ordinal": fit_ordinal, "binomial": fit_binomial}


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
        rater, item, agent = np.meshgrid(
            np.arange(self.raters), np.arange(self.items), np.arange(2), indexing="ij"
        )
        rater, item, agent = rater.ravel(), item.ravel(), agent.ravel()
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
        return 1.0 + np.digitize(judged, CUTS)
    return (judged > 0).astype(np.float64)
