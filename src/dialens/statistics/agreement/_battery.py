"""Every statistic of one table: which can be computed, why not the others, and all at once."""

from collections.abc import Sequence
from dataclasses import replace

from dialens.statistics.agreement._categories import LEVELS, ValueCounts, why_no_alpha
from dialens.statistics.agreement._gwet import AC2_WEIGHTS, why_no_ac
from dialens.statistics.agreement._intraclass import FORMS, icc_replicates, why_not
from dialens.statistics.agreement._jackknife import Spread, spreads
from dialens.statistics.agreement._matrix import Floats, RatingMatrix, Weights
from dialens.statistics.agreement._pairs import (
    KAPPA_WEIGHTS,
    cohen_kappa,
    kendall_w,
    ranked,
    why_no_cohen,
    why_no_w,
)
from dialens.statistics.agreement._pairwise import RaterPairs

KAPPAS = {"none": "cohen_kappa", **{w: f"cohen_kappa_{w}" for w in KAPPA_WEIGHTS[1:]}}
NAMES = {
    **FORMS,
    **{f"alpha_{level}": f"Krippendorff's alpha, {level}" for level in LEVELS},
    "percent_agreement": "Agreement per cent",
    "gwet_ac1": "Gwet's AC1",
    **{f"gwet_ac2_{weights}": f"Gwet's AC2, {weights} weights" for weights in AC2_WEIGHTS},
    "fleiss_kappa": "Fleiss' kappa",
    "light_kappa": "Light's kappa (mean of pairs)",
    "cohen_kappa": "Cohen's kappa",
    "cohen_kappa_linear": "Cohen's kappa, linear weights",
    "cohen_kappa_quadratic": "Cohen's kappa, quadratic weights",
    "kendall_w": "Kendall's W",
}
STATISTICS = tuple(NAMES)
"""Names of all statistics, in the order of the table."""

SHARES = ("percent_agreement",)
"""Statistics that are shares of agreement, not coefficients beyond chance."""

RARE = ("fleiss_kappa", "light_kappa", *KAPPAS.values(), *(f"alpha_{level}" for level in LEVELS))
"""Statistics that hang on a handful of items where one value is nearly all that is said."""

_COUNTED = ("percent_agreement", "gwet_ac1", *(f"gwet_ac2_{weights}" for weights in AC2_WEIGHTS))
_OF_CATEGORIES = ("alpha_nominal", "fleiss_kappa", "light_kappa", *_COUNTED, *KAPPAS.values())
_LEFT_OUT = 600


def reasons_against(
    table: RatingMatrix,
    words: tuple[str, ...],
    *,
    logs: bool = False,
    names: Sequence[str] = STATISTICS,
) -> dict[str, str]:
    """Why statistics cannot be computed, for those of `names` that cannot."""
    found = {name: _reason_against(table, words, name) for name in names}
    if logs:
        found |= {n: "log magnitudes are not categories" for n in names if n in _OF_CATEGORIES}
        if "alpha_ratio" in names:
            found["alpha_ratio"] = "log magnitudes are an interval scale, not a ratio scale"
    return {name: reason for name, reason in found.items() if reason}


def _reason_against(table: RatingMatrix, words: tuple[str, ...], name: str) -> str | None:
    if name in FORMS:
        worded = f"ratings are words ({', '.join(words[:3])} …), which have no distance"
        return worded if words else why_not(table, name)
    if name == "fleiss_kappa":
        return why_no_alpha(table, "nominal")
    if name == "light_kappa":
        labels = table.labels()
        return why_no_alpha(labels, "nominal") or RaterPairs(labels).why_not()
    if name == "percent_agreement":
        alone = "no item has more than one rating: there is nothing to compare"
        return alone if table.per_item.max(initial=0) < 2 else None
    if name == "gwet_ac1":
        return why_no_ac(table.labels(), "none")
    if name == "kendall_w":
        return why_no_w(table, words=words)
    family, _, rest = name.partition("_")
    if family == "alpha":
        return why_no_alpha(table, rest, words=words)
    if family == "gwet":
        return why_no_ac(table.labels(), rest.removeprefix("ac2_"), words=words)
    weighting = next(weights for weights, kappa in KAPPAS.items() if kappa == name)
    return why_no_cohen(table, weighting, words=words)


class Battery:
    """All statistics of a table as one function of weights."""

    def __init__(self, table: RatingMatrix, names: Sequence[str]) -> None:
        self._table = table
        self._counts = ValueCounts.of(table)
        self._labels = table.labels()
        self._label_counts = ValueCounts.of(self._labels)
        self._ranks = ranked(table) if "kendall_w" in names else None
        self._pairs = RaterPairs(self._labels)
        self._names = names

    def __call__(self, weights: Weights) -> dict[str, Floats]:
        """Every statistic for each resample."""
        return self._of(self._names, weights)

    def spreads(self) -> dict[str, Spread]:
        """How far every statistic spreads over items and raters."""
        fixed = {
            name: "it is a statistic of two particular raters"
            for name in self._names
            if name in KAPPAS.values()
        }
        if "alpha_ratio" in self._names and self._counts.too_much_work("ratio", _LEFT_OUT):
            fixed["alpha_ratio"] = "there are too many different values to leave raters out"
        free = [name for name in self._names if name not in fixed]
        items, raters = len(self._table.items), len(self._table.raters)
        found = spreads(lambda weights: self._of(free, weights), items, raters, shares=SHARES)
        of_items = spreads(lambda weights: self._of(list(fixed), weights), items, 0)
        for name, spread in of_items.items():
            found[name] = replace(spread, why={**spread.why, "raters": fixed[name]})
        return found

    def _of(self, names: Sequence[str], weights: Weights) -> dict[str, Floats]:
        found: dict[str, Floats] = {}
        if any(name in FORMS for name in names):
            found |= icc_replicates(self._table, weights)
        distances = [n for n in names if n.startswith("alpha") and n != "alpha_nominal"]
        labels = [n for n in names if n in ("alpha_nominal", "fleiss_kappa", *_COUNTED)]
        found |= self._counts.of_all(distances, weights)
        found |= self._label_counts.of_all(labels, weights)
        if "light_kappa" in names:
            found["light_kappa"] = self._pairs.light_kappa(weights)
        for weighting, name in KAPPAS.items():
            if name in names:
                found[name] = cohen_kappa(self._table, weighting, weights)
        if self._ranks is not None and "kendall_w" in names:
            found["kendall_w"] = kendall_w(self._ranks, weights)
        return {name: found[name] for name in names}
