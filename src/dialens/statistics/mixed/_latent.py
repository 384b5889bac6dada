"""Mixed models of answers on a scale of categories, and of yes and no.

Both are logistic: an ordinal answer is a latent judgement cut at thresholds (the cumulative-link
model of R's ordinal::clmm), a yes or no the same with one threshold at zero (lme4's glmer).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from dialens.base import DialensError, listed, one_thread
from dialens.statistics._bootstrap import Floats
from dialens.statistics.mixed._effects import FixedEffect, named_effect, tested, weights_of
from dialens.statistics.mixed._few_units import restricted
from dialens.statistics.mixed._fit import complete_rows, rows_hash, written_model
from dialens.statistics.mixed._inference import (
    Curvature,
    VarianceComponent,
    named_component,
    variance_components,
)
from dialens.statistics.mixed._laplace import LatentSystem, LogitRows
from dialens.statistics.mixed._optimum import LARGEST, Optimum, best
from dialens.statistics.mixed._responses import binomial_rows, categories, counts, ordinal_rows
from dialens.statistics.mixed._separation import separated
from dialens.statistics.mixed._showing import fit_as_html, fit_as_text
from dialens.statistics.mixed._terms import (
    INTERCEPT,
    FixedDesign,
    RandomTerm,
    columns_of,
    fixed_design,
    random_terms,
)

_LATENT_SD = float(np.pi / np.sqrt(3))


@dataclass(frozen=True, repr=False)
class LatentFit:
    """A fitted logistic mixed model.

    Attributes:
        family: `ordinal` or `binomial`.
        response: The column explained.
        n: Observations used.
        n_missing: Rows left out because a value was missing.
        fixed: Fixed effects on the scale of log odds.
        thresholds: Of an ordinal model, where one answer gives way to the next, named `1|2`.
        components: Variance components on the latent scale, the residual (π²/3) last.
        correlations: Between effects of the same term: (term, effect, effect, correlation).
        loglik: Log-likelihood (Laplace's approximation).
        covariance: Of the fixed effects.
        method: One sentence for a paper.
        dropped: Terms that could not be estimated, and why.
        notes: What to know when reading the estimates, e.g. of separation.
        singular: Whether a variance is zero or a correlation is ±1.
        confidence: Confidence level of the intervals.
        parameters: Thresholds, fixed effects, variances and covariances.
        rows: A hash of the values explained: fits that differ in it used other rows.
    """

    family: str
    response: str
    n: int
    n_missing: int
    fixed: tuple[FixedEffect, ...]
    thresholds: tuple[FixedEffect, ...]
    components: tuple[VarianceComponent, ...]
    correlations: tuple[tuple[str, str, str, float], ...]
    loglik: float
    covariance: Floats
    method: str
    dropped: Mapping[str, str]
    notes: tuple[str, ...]
    singular: bool
    confidence: float
    parameters: int
    rows: int
    _system: LatentSystem = field(repr=False)
    _optimum: Optimum = field(repr=False)

    def __repr__(self) -> str:
        return fit_as_text(self)

    def _repr_html_(self) -> str:
        return fit_as_html(self)

    @property
    def criterion(self) -> float:
        """−2 log likelihood."""
        return -2 * self.loglik

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return self.criterion + 2 * self.parameters

    def effect(self, name: str) -> FixedEffect:
        """One fixed effect by name."""
        return named_effect(self.fixed, self.dropped, name)

    def component(self, term: str, effect: str = INTERCEPT) -> VarianceComponent:
        """One variance component by its term."""
        return named_component(self.components, term, effect)

    def contrast(
        self, weights: Mapping[str, float], name: str = "contrast", *, degrees: float | str = np.inf
    ) -> FixedEffect:
        """A combination of fixed effects with interval and test.

        Args:
            weights: By name of a fixed effect.
            name: Of the result.
            degrees: Infinite for the normal distribution, as R's clmm and glmer have it; a number
                for a t test; or `satterthwaite` for a t test whose standard error and degrees of
                freedom allow for variances known from few raters or items.
        """
        vector = weights_of(self.fixed, self.dropped, weights)
        value = float(vector @ np.array([effect.value for effect in self.fixed]))
        covariance, shape = self.covariance, degrees
        if isinstance(degrees, str):
            if degrees != "satterthwaite":
                raise DialensError(f"degrees is a number or `satterthwaite`, not {degrees!r}.")
            every, known = self._restricted
            padded = np.concatenate([np.zeros(len(self.thresholds)), vector])
            covariance = every[len(self.thresholds) :, len(self.thresholds) :]
            shape = known.degrees(padded, every)
        error = float(np.sqrt(max(float(vector @ covariance @ vector), 0.0)))
        return tested(name, value, error, float(shape), self.confidence)

    @cached_property
    def _restricted(self) -> tuple[Floats, Curvature]:
        with one_thread():
            return restricted(self._system, self._optimum)

    def variance_table(self) -> pl.DataFrame:
        """The variance components as a table."""
        return pl.DataFrame([vars(part) for part in self.components], infer_schema_length=None)


def fit_ordinal(
    table: pl.DataFrame,
    response: str = "value",
    fixed: Sequence[str] = (),
    random: Sequence[str] = ("rater", "item"),
    *,
    reference: Mapping[str, str] | None = None,
    confidence: float = 0.95,
) -> LatentFit:
    """Fit a cumulative-link mixed model (logit, flexible thresholds) to ordered answers.

    A positive effect makes higher answers more likely: the odds of an answer above any threshold
    are exp(effect) times as large.

    Args:
        table: One row an observation; rows with missing values are left out and counted.
        response: The column explained, numbers or an Enum; or a formula as `fit_mixed` takes it.
        fixed: Terms of the fixed part, as in `fit_mixed`; the thresholds are its intercept.
        random: Terms of the random part, as in `fit_mixed`.
        reference: The level a factor's others are compared with.
        confidence: Confidence level of the intervals.

    Returns:
        The fit. Effects that separate the answers (an agent that got nothing but fives) are kept
        finite by a log-F(1, 1) penalty (Greenland & Mansournia 2015), and `notes` says so.

    Examples:
        >>> answers = pl.DataFrame(
        ...     {
        ...         "rater": [f"r{at % 6}" for at in range(60)],
        ...         "agent": [("a", "b")[at // 6 % 2] for at in range(60)],
        ...         "value": [1 + (at * 7 % 5 + 2 * (at // 6 % 2)) // 2 for at in range(60)],
        ...     }
        ... )
        >>> fit = fit_ordinal(answers, fixed=["agent"], random=["rater"])
        >>> [threshold.name for threshold in fit.thresholds], fit.effect("agent[b]").value > 1
        (['1|2', '2|3', '3|4'], True)
    """
    model = written_model(response, fixed, random)
    if "0" in model.fixed:
        raise DialensError(
            "An ordinal model has thresholds in place of an intercept, so it cannot be left out. "
            "Take `0` (or `- 1`) out of the fixed part."
        )
    used, missing = complete_rows(
        table, model.response, columns_of(model.fixed, model.random), numeric=False
    )
    codes, names = categories(used[model.response])
    design = _without_intercept(fixed_design(used, model.fixed, reference=reference))
    rows = ordinal_rows(codes, design.matrix)
    labels = [f"{low}|{high}" for low, high in pairwise(names)]
    return _fitted(
        "ordinal",
        model.response,
        rows,
        labels,
        design,
        used,
        model.random,
        missing=missing,
        confidence=confidence,
    )


def fit_binomial(
    table: pl.DataFrame,
    response: str = "value",
    fixed: Sequence[str] = (),
    random: Sequence[str] = ("rater", "item"),
    *,
    trials: str | None = None,
    reference: Mapping[str, str] | None = None,
    confidence: float = 0.95,
) -> LatentFit:
    """Fit a logistic mixed model to answers of yes and no, or to counts of them.

    Args:
        table: One row an observation; rows with missing values are left out and counted.
        response: The column explained, 0 and 1 or true and false, or with `trials` how many of
            them succeeded; or a formula as `fit_mixed` takes it.
        fixed: Terms of the fixed part, as in `fit_mixed`.
        random: Terms of the random part, as in `fit_mixed`.
        trials: The column that counts the trials of a row.
        reference: The level a factor's others are compared with.
        confidence: Confidence level of the intervals.

    Returns:
        The fit. Effects that separate the answers (an agent that everybody liked) are kept finite
        by a log-F(1, 1) penalty (Greenland & Mansournia 2015), and `notes` says so.

    Examples:
        >>> counts = pl.DataFrame(
        ...     {"herd": list("aabbccdd"), "size": [9] * 8, "value": [2, 5, 1, 3, 4, 7, 2, 4]}
        ... ).with_columns(late=pl.Series([False, True] * 4))
        >>> fit = fit_binomial(counts, fixed=["late"], random=["herd"], trials="size")
        >>> 1 < fit.effect("late[true]").value < 1.5
        True
    """
    model = written_model(response, fixed, random)
    columns = columns_of([term for term in model.fixed if term != "0"], model.random)
    used, missing = complete_rows(
        table, model.response, columns + ([trials] if trials else []), numeric=False
    )
    successes, sizes = counts(used, model.response, trials)
    design = fixed_design(used, model.fixed, reference=reference)
    rows = binomial_rows(successes, sizes, design.matrix)
    return _fitted(
        "binomial",
        model.response,
        rows,
        [],
        design,
        used,
        model.random,
        missing=missing,
        confidence=confidence,
    )


def _fitted(
    family: str,
    response: str,
    rows: LogitRows,
    labels: Sequence[str],
    design: FixedDesign,
    used: pl.DataFrame,
    random: Sequence[str],
    *,
    missing: int,
    confidence: float,
) -> LatentFit:
    single = bool((rows.trials == 1).all())
    # Thresholds span what an intercept would.
    spanned = np.insert(design.matrix, 0, 1.0, axis=1) if labels else design.matrix
    terms, hopeless = random_terms(used, random, residual=single, fixed=spanned)
    names = [*labels, *design.names]
    if used.height <= len(names) + 1:
        raise DialensError(
            f"{used.height} observations cannot carry {len(names)} thresholds and fixed effects. "
            "Collect more ratings or ask for fewer effects."
        )
    certain = [at for at in separated(rows) if names[at] != INTERCEPT]
    rows = replace(rows, penalised=np.array(certain, dtype=np.int64))
    with one_thread():
        system = LatentSystem(rows, terms)
        optimum = best(system)
    cut = len(labels)
    effects = tuple(
        tested(
            name,
            float(optimum.psi[at]),
            float(np.sqrt(optimum.covariance[at, at])),
            np.inf,
            confidence,
        )
        for at, name in enumerate(names)
    )
    components, correlations = _components(system, optimum, confidence)
    return LatentFit(
        family=family,
        response=response,
        n=used.height,
        n_missing=missing,
        fixed=effects[cut:],
        thresholds=effects[:cut],
        components=components,
        correlations=correlations,
        loglik=optimum.loglik,
        covariance=optimum.covariance[cut : len(names), cut : len(names)],
        method=_method(family, design.names, terms, penalised=bool(certain)),
        dropped={**design.dropped, **hopeless},
        notes=_notes(system, optimum, [names[at] for at in certain]),
        singular=bool(np.any(np.array(system.diagonal, dtype=bool) & (optimum.theta == 0.0)))
        or any(abs(row[3]) > 0.9999 for row in correlations),
        confidence=confidence,
        parameters=len(names) + len(optimum.theta),
        rows=rows_hash(used[response]),
        _system=system,
        _optimum=optimum,
    )


def _components(
    system: LatentSystem, optimum: Optimum, confidence: float
) -> tuple[tuple[VarianceComponent, ...], tuple[tuple[str, str, str, float], ...]]:
    """Variances relative to the latent residual, whose own variance is known: π²/3."""
    p = len(optimum.psi)
    spread = np.zeros((len(optimum.free) + 1,) * 2)
    spread[:-1, :-1] = optimum.covariance[p:, p:] / _LATENT_SD**2
    known = Curvature(
        optimum.theta / _LATENT_SD, _LATENT_SD, tuple(optimum.free.tolist()), spread, ()
    )
    components, correlations = variance_components(system, known, confidence)
    return (*components[:-1], replace(components[-1], low=None, high=None)), correlations


def _notes(system: LatentSystem, optimum: Optimum, certain: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if certain:
        notes.append(
            f"{listed(certain)}: at some level the answer is always at the same end (separation), "
            "so that no finite effect fits best; a weak penalty, log-F(1, 1), keeps it finite"
        )
    if np.any(np.abs(optimum.theta) > LARGEST - 1e-6):
        notes.append(
            f"a standard deviation has reached the bound of {LARGEST:g}: members of a group always "
            "answer alike, so that its size cannot be estimated"
        )
    return tuple(notes)


def _without_intercept(design: FixedDesign) -> FixedDesign:
    return FixedDesign(design.names[1:], design.matrix[:, 1:], design.dropped)


def _method(
    family: str, fixed: Sequence[str], terms: Sequence[RandomTerm], *, penalised: bool
) -> str:
    model = {
        "ordinal": "Cumulative-link mixed model (logit link, flexible thresholds)",
        "binomial": "Logistic mixed model",
    }[family]
    groups = ", ".join(dict.fromkeys(term.name for term in terms)) or "no grouping"
    effects = ", ".join(name for name in fixed if name != INTERCEPT) or "none but the intercept"
    return (
        f"{model} fitted by maximum likelihood with Laplace’s approximation, with fixed effects "
        f"{effects} and random effects of {groups}; intervals from the normal distribution (Wald)."
        + (
            " Effects that separate the answers have a log-F(1, 1) penalty (Greenland & "
            "Mansournia 2015)."
            if penalised
            else ""
        )
    )
