"""What a model of choices found: abilities, differences, ranks, ties, position, and raters."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl
from scipy import sparse, special

from dialens.base import DialensError, Estimate, listed
from dialens.statistics._bootstrap import Floats, Ints
from dialens.statistics.choices._clusters import ClusteredErrors, Pulls, clusters_of
from dialens.statistics.choices._likelihood import Maximum, maximise
from dialens.statistics.choices._ranks import holm, rank_intervals
from dialens.statistics.choices._raters import raters_differ
from dialens.statistics.choices._stages import Layout, groups_of, one_sided, stages_of

_FEW = 5  # raters or items; with fewer, how they differ is hardly known

ABILITIES = pl.Schema(
    {
        "candidate": pl.String,
        "n": pl.Int64,
        "ability": pl.Float64,
        "error": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "rank": pl.Int64,
        "rank_low": pl.Int64,
        "rank_high": pl.Int64,
        "reason": pl.String,
    }
)
"""One row a candidate, the best first. `ability` is a log worth relative to the mean of all;
`n` counts the choices in which the candidate was shown."""

DIFFERENCES = pl.Schema(
    {
        "first": pl.String,
        "second": pl.String,
        "difference": pl.Float64,
        "error": pl.Float64,
        "degrees": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "win_probability": pl.Float64,
        "win_low": pl.Float64,
        "win_high": pl.Float64,
        "reason": pl.String,
    }
)
"""One row a pair. `difference` is the log-odds that `first` is preferred to `second` where one of
them is; `win_probability` is the same as a probability; `p_holm` is corrected over the pairs."""


@dataclass(frozen=True)
class ChoiceFit:
    """A fitted model of choices.

    Attributes:
        model: Its name, e.g. `Bradley–Terry with ties (Davidson)`.
        shown: The choices, one row a candidate that was shown.
        layout: Which parameter is which.
        maximum: Where the likelihood is highest.
        errors: Variances over raters and items.
        scores: Choices × parameters: how each choice pulls at the parameters.
        confidence: Of all intervals.
        n_choices: How many choices, each counted once.
        n_raters: How many people chose; None if that is not known.
        n_items: About how many items; None if that is not known.
        notes: What to know before reading it, in sentences.
    """

    model: str
    shown: pl.DataFrame
    layout: Layout
    maximum: Maximum
    errors: ClusteredErrors
    scores: Floats
    confidence: float
    n_choices: int
    n_raters: int | None
    n_items: int | None
    notes: tuple[str, ...]

    @property
    def candidates(self) -> tuple[str, ...]:
        """Their names, in alphabetical order."""
        return self.layout.candidates

    @property
    def loglik(self) -> float:
        """Log-likelihood, without any penalty."""
        return self.maximum.loglik

    @cached_property
    def differences(self) -> pl.DataFrame:
        """All pairs, in the columns of `DIFFERENCES`."""
        rows = []
        for a, b in combinations(range(len(self.candidates)), 2):
            weights = self.layout.ability(a) - self.layout.ability(b)
            found = self._estimate(weights)
            variance, degrees = self.errors.variance(weights)
            rows.append(
                {
                    "first": self.candidates[a],
                    "second": self.candidates[b],
                    "difference": found.value,
                    "error": float(np.sqrt(variance)) if found.has_interval else None,
                    "degrees": degrees if np.isfinite(degrees) else None,
                    "low": found.low,
                    "high": found.high,
                    "p": found.p,
                    "win_probability": _probability(found.value),
                    "win_low": _probability(found.low),
                    "win_high": _probability(found.high),
                    "reason": found.reason,
                }
            )
        table = pl.DataFrame(rows, schema_overrides=dict(DIFFERENCES))
        return table.with_columns(p_holm=holm(table["p"])).select(DIFFERENCES.names())

    @cached_property
    def abilities(self) -> pl.DataFrame:
        """All candidates, in the columns of `ABILITIES`."""
        counts = dict(self.shown.group_by("candidate").len().iter_rows())
        rows = []
        for place, name in enumerate(self.candidates):
            weights = self.layout.ability(place)
            found = self._estimate(weights)
            error = float(np.sqrt(self.errors.variance(weights)[0]))
            rows.append(
                {
                    "candidate": name,
                    "n": counts[name],
                    "ability": found.value,
                    "error": error if found.has_interval else None,
                    "low": found.low,
                    "high": found.high,
                    "reason": found.reason,
                }
            )
        table = pl.DataFrame(rows, schema_overrides=dict(ABILITIES))
        ranked = rank_intervals(table["candidate"].to_list(), self.differences, self.confidence)
        rank = pl.col("ability").rank("min", descending=True).cast(pl.Int64).alias("rank")
        table = table.with_columns(rank).join(ranked, on="candidate", how="left")
        return table.select(ABILITIES.names()).sort(
            "ability", "candidate", descending=[True, False]
        )

    def difference(self, first: str, second: str) -> Estimate:
        """The log-odds that `first` is preferred to `second`."""
        places = [self._place(name) for name in (first, second)]
        return self._estimate(self.layout.ability(places[0]) - self.layout.ability(places[1]))

    @property
    def position(self) -> Estimate | None:
        """Log-odds that of two equal candidates the one shown first is preferred, if fitted."""
        return self._estimate(self.layout.shown_first()) if self.layout.position else None

    @property
    def ties(self) -> dict[int, Estimate]:
        """By size, the log prevalence of ties; two equal candidates tie in ν / (2 + ν)."""
        return {size: self._estimate(self.layout.tie(size)) for size in self.layout.tie_sizes}

    def rater_spread(self, *, seed: int = 0) -> Estimate:
        """How much raters differ in which candidates they prefer.

        The value is the standard deviation between raters of the log-odds of a typical pair, beyond
        what chance makes; p tests that raters do not differ, by exchanging raters among the choices
        about the same candidates and item.
        """
        pairs = combinations(range(len(self.candidates)), 2)
        weights = [self.layout.ability(a) - self.layout.ability(b) for a, b in pairs]
        beyond = float(np.mean([self.errors.beyond("rater", pair) for pair in weights]))
        if "rater" not in self.errors.kinds:
            return Estimate(n=self.n_raters, reason="no two people made several choices each")
        abilities = len(self.candidates) - 1
        metric = self.errors.independent[:abilities, :abilities]
        p = raters_differ(self.shown, self.scores[:, :abilities], metric, seed=seed)
        reason = "no two people chose about the same candidates and item" if p is None else None
        return Estimate(float(np.sqrt(beyond)), p=p, n=self.n_raters, reason=reason)

    @property
    def method(self) -> str:
        """How it was fitted, in a sentence for a paper."""
        over = [f"{kind}s" for kind in self.errors.kinds]
        errors = (
            f"standard errors clustered by {listed(over)} (two-way jackknife)"
            if len(over) > 1
            else f"standard errors clustered by {over[0]} (jackknife)"
            if over
            else "standard errors for independent choices"
        )
        how = "bias-reduced (Firth)" if self.maximum.bias_reduced else "maximum likelihood"
        return f"{self.model}, {how}, {errors}"

    def _estimate(self, weights: Floats) -> Estimate:
        value = float(weights @ self.maximum.estimate)
        return self.errors.estimate(weights, value, confidence=self.confidence, n=self.n_choices)

    def _place(self, name: str) -> int:
        if name not in self.candidates:
            raise DialensError(
                f"No choice showed {name!r}. Candidates: {listed(list(self.candidates))}."
            )
        return self.candidates.index(name)


def fit_choices(
    shown: pl.DataFrame,
    model: str,
    *,
    best_worst: bool = False,
    position: bool = False,
    bias_reduced: bool = True,
    confidence: float = 0.95,
) -> ChoiceFit:
    """Fit a model to choices: choice, candidate, rank, rater, item, shown_first."""
    if shown["candidate"].n_unique() < 2:
        raise DialensError("A choice needs at least two candidates; only one occurs.")
    groups = groups_of(shown)
    if len(groups) > 1:
        named = "; ".join(listed(group) for group in groups)
        raise DialensError(
            f"The candidates fall into {len(groups)} groups that were never compared with each "
            f"other: {named}. Fit each group alone, or collect choices between them."
        )
    winners = [] if bias_reduced else one_sided(shown)
    if winners:
        raise DialensError(
            f"Maximum likelihood has no finite estimate: {listed(winners)} won or lost every "
            "choice against the others. Use bias_reduced=True, or leave them out."
        )
    stages, layout = stages_of(shown, best_worst=best_worst, position=position)
    maximum = maximise(stages, bias_reduced=bias_reduced)
    choices = shown.group_by("choice").agg(pl.first("rater", "item")).sort("choice")
    known = {
        kind: clusters_of(choices[kind])
        for kind in ("rater", "item")
        if choices[kind].null_count() < choices.height
    }
    pulls = Pulls(
        maximum.scores,
        maximum.parts,
        sparse.csr_array(
            (np.ones(len(stages.choice)), (stages.choice, stages.occurred)),
            shape=(choices.height, len(stages.start)),
        ),
        np.linalg.inv(maximum.information).astype(np.float64),
    )
    return ChoiceFit(
        model,
        shown,
        layout,
        maximum,
        ClusteredErrors.of(pulls, known),
        np.asarray(pulls.counts @ pulls.score),
        confidence,
        choices.height,
        int(known["rater"].max()) + 1 if "rater" in known else None,
        int(known["item"].max()) + 1 if "item" in known else None,
        _notes(known),
    )


def _notes(known: dict[str, Ints]) -> tuple[str, ...]:
    """What few raters or items mean for what can be said."""
    notes = []
    for kind, place in known.items():
        count = int(place.max()) + 1
        if count == 1:
            notes.append(f"All choices belong to one {kind}: nothing is known about others.")
        elif count < _FEW:
            notes.append(
                f"Only {count} {kind}s: intervals for {kind}s like these are wide and rough."
            )
    return tuple(notes)


def _probability(log_odds: float | None) -> float | None:
    return None if log_odds is None else float(special.expit(log_odds))
