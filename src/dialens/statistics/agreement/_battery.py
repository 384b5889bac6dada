"""Every statistic of one table: which can be computed, why not the others, and all at once."""

from collections.abc import Sequence

from dialens.base import Estimate
from dialens.statistics.agreement._categories import LEVELS, ValueCounts, why_no_alpha
from dialens.statistics.agreement._intraclass import FORMS, icc_replicates, why_not
from dialens.statistics.agreement._matrix import Floats, RatingMatrix, Weights
from dialens.statistics.agreement._pairs import (
    KAPPA_WEIGHTS,
    cohen_kappa,
    kendall_w,
    ranked,
    why_no_cohen,
    why_no_w,
)
from dialens.statistics.agreement._resampling import intervals

KAPPAS = {"none": "cohen_kappa", **{w: f"cohen_kappa_{w}" for w in KAPPA_WEIGHTS[1:]}}
NAMES = {
    **FORMS,
    **{f"alpha_{level}": f"Krippendorff's alpha, {level}" for level in LEVELS},
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa",
    "cohen_kappa_linear": "Cohen's kappa, linear weights",
    "cohen_kappa_quadratic": "Cohen's kappa, quadratic weights",
    "kendall_w": "Kendall's W",
}
STATISTICS = tuple(NAMES)
"""Names of all statistics, in the order of the table."""

_OF_CATEGORIES = ("alpha_nominal", "fleiss_kappa", *KAPPAS.values())


def reasons_against(
    table: RatingMatrix, words: tuple[str, ...], *, logs: bool = False
) -> dict[str, str]:
    """Why statistics cannot be computed, for those that cannot."""
    reasons: dict[str, str | None] = {}
    for form in FORMS:
        worded = f"ratings are words ({', '.join(words[:3])} …), which have no distance"
        reasons[form] = worded if words else why_not(table, form)
    for level in LEVELS:
        reasons[f"alpha_{level}"] = why_no_alpha(table, level, words=words)
    reasons["fleiss_kappa"] = why_no_alpha(table, "nominal")
    for weighting, name in KAPPAS.items():
        reasons[name] = why_no_cohen(table, weighting, words=words)
    reasons["kendall_w"] = why_no_w(table, words=words)
    if logs:
        reasons |= dict.fromkeys(_OF_CATEGORIES, "log magnitudes are not categories")
        reasons["alpha_ratio"] = "log magnitudes are an interval scale, not a ratio scale"
    return {name: reason for name, reason in reasons.items() if reason}


class Battery:
    """All statistics of a table as one function of weights."""

    def __init__(self, table: RatingMatrix, names: Sequence[str]) -> None:
        self._table = table
        self._counts = ValueCounts.of(table)
        self._ranks = ranked(table) if "kendall_w" in names else None
        self._names = names

    def __call__(self, weights: Weights) -> dict[str, Floats]:
        """Every statistic for each resample."""
        return self._of(self._names, weights)

    def intervals(
        self, over: str, resamples: int, seed: list[int], confidence: float
    ) -> dict[str, Estimate]:
        """Intervals of those statistics that can be drawn anew in this way."""
        kept = [name for name in self._names if over == "items" or not name.startswith("cohen")]
        why = dict.fromkeys(self._names, "it is a statistic of two particular raters")
        if over != "items" and self._counts.too_much_work("ratio", resamples):
            kept = [name for name in kept if name != "alpha_ratio"]
            why["alpha_ratio"] = "there are too many different values to draw raters anew"
        if over != "items" and self._table.rater is None:
            none = Estimate(reason="raters are not known: they cannot be drawn anew")
            return dict.fromkeys(self._names, none)
        found = intervals(
            self._table,
            lambda weights: self._of(kept, weights),
            over,
            resamples=resamples,
            seed=seed,
            confidence=confidence,
        )
        return {name: found.get(name, Estimate(reason=why[name])) for name in self._names}

    def _of(self, names: Sequence[str], weights: Weights) -> dict[str, Floats]:
        found: dict[str, Floats] = {}
        if any(name in FORMS for name in names):
            found |= icc_replicates(self._table, weights)
        of_values = [name for name in names if name.startswith("alpha") or name == "fleiss_kappa"]
        found |= self._counts.of_all(of_values, weights)
        for weighting, name in KAPPAS.items():
            if name in names:
                found[name] = cohen_kappa(self._table, weighting, weights)
        if self._ranks is not None:
            found["kendall_w"] = kendall_w(self._ranks, weights)
        return {name: found[name] for name in names}
