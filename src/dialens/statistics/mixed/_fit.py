"""Linear mixed models: raters crossed with items, and System > Agent > Dialog > Turn.

One function fits them by (restricted) maximum likelihood and says how the variance is shared
between the levels, what the fixed effects are, and how sure that is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from dialens.base import DialensError, did_you_mean, one_thread
from dialens.statistics._bootstrap import Floats
from dialens.statistics.mixed._effects import FixedEffect, named_effect, tested, weights_of
from dialens.statistics.mixed._formula import Formula, parse_formula
from dialens.statistics.mixed._inference import (
    Curvature,
    VarianceComponent,
    curvature,
    named_component,
    variance_components,
)
from dialens.statistics.mixed._showing import fit_as_html, fit_as_text
from dialens.statistics.mixed._solver import MixedSystem
from dialens.statistics.mixed._terms import (
    INTERCEPT,
    RandomTerm,
    columns_of,
    fixed_design,
    random_terms,
)

_CROSSED = ("rater", "item")


@dataclass(frozen=True, repr=False)
class MixedFit:
    """A fitted linear mixed model.

    Attributes:
        response: The column explained.
        reml: Whether the restricted likelihood was used.
        n: Observations used.
        n_missing: Rows left out because a value was missing.
        fixed: Fixed effects.
        components: Variance components, largest number of levels first, the residual last.
        correlations: Between effects of the same term: (term, effect, effect, correlation).
        loglik: Log (restricted) likelihood.
        covariance: Of the fixed effects.
        method: One sentence for a paper.
        dropped: Terms that could not be estimated, and why.
        singular: Whether a variance is zero or a correlation is ±1.
        confidence: Confidence level of the intervals.
        rows: A hash of the values explained: fits that differ in it used other rows.
    """

    response: str
    reml: bool
    n: int
    n_missing: int
    fixed: tuple[FixedEffect, ...]
    components: tuple[VarianceComponent, ...]
    correlations: tuple[tuple[str, str, str, float], ...]
    loglik: float
    covariance: Floats
    method: str
    dropped: Mapping[str, str]
    singular: bool
    confidence: float
    rows: int
    _system: MixedSystem = field(repr=False)
    _curvature: Curvature = field(repr=False)
    _satterthwaite: bool = field(repr=False)

    def __repr__(self) -> str:
        return fit_as_text(self)

    def _repr_html_(self) -> str:
        return fit_as_html(self)

    @property
    def criterion(self) -> float:
        """−2 log (restricted) likelihood."""
        return -2 * self.loglik

    @property
    def parameters(self) -> int:
        """Fixed effects, variances, covariances and the residual."""
        return len(self.fixed) + len(self._curvature.theta) + 1

    @property
    def aic(self) -> float:
        """Akaike's criterion; between models of the same fixed part only, if REML."""
        return self.criterion + 2 * self.parameters

    def effect(self, name: str) -> FixedEffect:
        """One fixed effect by name."""
        return named_effect(self.fixed, self.dropped, name)

    def component(self, term: str, effect: str = INTERCEPT) -> VarianceComponent:
        """One variance component by its term."""
        return named_component(self.components, term, effect)

    def contrast(self, weights: Mapping[str, float], name: str = "contrast") -> FixedEffect:
        """A combination of fixed effects with interval and test."""
        vector = weights_of(self.fixed, self.dropped, weights)
        estimates = np.array([effect.value for effect in self.fixed])
        known = self._curvature if self._satterthwaite else None
        return _effect(name, vector, estimates, self.covariance, known, self.confidence)

    def blups(self, term: str) -> pl.DataFrame:
        """Conditional means of a term's random effects: one row a level, one column an effect."""
        result = self._system.effects(self._curvature.theta)
        table: pl.DataFrame | None = None
        for known, values in zip(self._system.terms, result, strict=True):
            if known.name != term:
                continue
            columns = {effect: values[:, at] for at, effect in enumerate(known.effects)}
            part = known.levels.with_columns(**{k: pl.Series(v) for k, v in columns.items()})
            table = part if table is None else table.join(part, on=known.levels.columns)
        if table is None:
            names = ", ".join(dict.fromkeys(known.name for known in self._system.terms))
            raise DialensError(f"The model has no random term {term!r}. It has: {names}.")
        return table

    def variance_table(self) -> pl.DataFrame:
        """The variance components as a table."""
        return pl.DataFrame([vars(part) for part in self.components], infer_schema_length=None)


def fit_mixed(
    table: pl.DataFrame,
    response: str = "value",
    fixed: Sequence[str] = (),
    random: Sequence[str] = _CROSSED,
    *,
    reml: bool = True,
    degrees: str = "satterthwaite",
    coding: str = "treatment",
    reference: Mapping[str, str] | None = None,
    confidence: float = 0.95,
) -> MixedFit:
    """Fit a linear mixed model.

    Args:
        table: One row an observation. Rows with a missing value in a column of the model are
            left out and counted; missing cells of the design (drop-outs) need no treatment.
        response: The column explained; or the whole model as a formula of lme4, e.g.
            `value ~ agent * layout + (1 + agent | rater) + (1 | system/dialog)`.
        fixed: Terms of the fixed part: `anchor`, `anchor:layout`, `anchor*layout`. An intercept is
            added unless `0` is among them; then the first factor has an effect for each level.
        random: Terms of the random part: `rater`, `item`, `system/agent/dialog`, `rater:item`,
            `days | subject`.
        reml: Restricted likelihood; give False to compare models that differ in the fixed part.
        degrees: `satterthwaite`, or `wald` for the normal distribution (large tables).
        coding: Of factors: `treatment` or `sum` (see `fixed_design`).
        reference: The level a factor's others are compared with.
        confidence: Confidence level of the intervals.

    Examples:
        >>> yields = pl.DataFrame(
        ...     {
        ...         "batch": [b for b in "ABC" for _ in range(3)],
        ...         "value": [15.4, 14.4, 14.6, 16.1, 15.9, 16.6, 14.1, 14.9, 14.4],
        ...     }
        ... )
        >>> fit = fit_mixed(yields, random=["batch"])
        >>> [(part.term, round(part.share, 2)) for part in fit.components]
        [('batch', 0.8), ('residual', 0.2)]
        >>> round(fit.effect("(intercept)").degrees, 2)
        2.0
        >>> fit_mixed(yields, "value ~ 1 + (1 | batch)").loglik == fit.loglik
        True
    """
    if degrees not in ("satterthwaite", "wald"):
        raise DialensError(f"degrees is `satterthwaite` or `wald`, not {degrees!r}.")
    model = written_model(response, fixed, random)
    columns = columns_of([term for term in model.fixed if term != "0"], model.random)
    used, missing = complete_rows(table, model.response, columns)
    design = fixed_design(used, model.fixed, coding=coding, reference=reference)
    terms, hopeless = random_terms(used, model.random, fixed=design.matrix)
    y = used[model.response].cast(pl.Float64).to_numpy().astype(np.float64)
    if used.height <= len(design.names) + 1:
        raise DialensError(
            f"{used.height} observations cannot carry {len(design.names)} fixed effects and "
            "a variance. Collect more ratings or ask for fewer effects."
        )
    if float(np.ptp(y)) == 0.0:
        raise DialensError(
            f"Every value of {model.response!r} is {y[0]:g}: without variance there is nothing to "
            "share out between raters and items."
        )
    with one_thread():
        system = MixedSystem(y, design.matrix, terms)
        theta = system.best(reml=reml)
        beta, covariance, sigma = system.estimate(theta, reml=reml)
        known = curvature(system, theta, sigma, reml=reml)
    satterthwaite = degrees == "satterthwaite"
    effects = tuple(
        _effect(
            name,
            np.eye(len(beta))[at],
            beta,
            covariance,
            known if satterthwaite else None,
            confidence,
        )
        for at, name in enumerate(design.names)
    )
    components, correlations = variance_components(system, known, confidence)
    lowest = [low for low, _ in system.bounds]
    edge = any(low == value == 0.0 for low, value in zip(lowest, theta, strict=True))
    return MixedFit(
        response=model.response,
        reml=reml,
        n=used.height,
        n_missing=missing,
        fixed=effects,
        components=components,
        correlations=correlations,
        loglik=-system.criterion(theta, reml=reml) / 2,
        covariance=covariance,
        method=_method(model.fixed, terms, reml=reml, satterthwaite=satterthwaite),
        dropped={**design.dropped, **hopeless},
        singular=edge or any(abs(row[3]) > 0.9999 for row in correlations),
        confidence=confidence,
        rows=rows_hash(used[model.response]),
        _system=system,
        _curvature=known,
        _satterthwaite=satterthwaite,
    )


def written_model(response: str, fixed: Sequence[str], random: Sequence[str]) -> Formula:
    """The model, whether it was given as a formula or as terms.

    Examples:
        >>> written_model("value ~ agent + (1 | rater)", (), ("rater", "item")).random
        ('rater',)
    """
    if "~" not in response:
        return Formula(response, tuple(fixed), tuple(random))
    if fixed or tuple(random) != _CROSSED:
        raise DialensError(
            f"The model is given as a formula, {response!r}, and as terms. Give one of them."
        )
    return parse_formula(response)


def rows_hash(values: pl.Series) -> int:
    """A hash of the values of a column in their order."""
    return int(values.hash(0).to_frame("hash").with_row_index().hash_rows(0).sum())


def complete_rows(
    table: pl.DataFrame, response: str, columns: Sequence[str], *, numeric: bool = True
) -> tuple[pl.DataFrame, int]:
    """The rows without missing values in the columns of a model, and how many others there are.

    Args:
        table: One row an observation.
        response: The column explained.
        columns: The others.
        numeric: Whether the response has to be a number.
    """
    needed = [response, *columns]
    for name in needed:
        if name not in table.columns:
            raise DialensError(
                f"The model names {name!r}, but the table has no such column. "
                f"{did_you_mean(name, table.columns)}Columns: {', '.join(table.columns)}."
            )
    if numeric and not table[response].dtype.is_numeric():
        raise DialensError(
            f"The response {response!r} is {table[response].dtype}, not a number. "
            "Convert it, or name another column."
        )
    kept = table.select(list(dict.fromkeys(needed))).drop_nulls()
    floats = [name for name in kept.columns if kept[name].dtype.is_float()]
    kept = kept.filter(pl.all_horizontal(pl.lit(True), *(pl.col(c).is_finite() for c in floats)))
    if kept.height == 0:
        raise DialensError(f"No row has all of: {', '.join(dict.fromkeys(needed))}.")
    return kept, table.height - kept.height


def _effect(
    name: str,
    weights: Floats,
    beta: Floats,
    covariance: Floats,
    known: Curvature | None,
    confidence: float,
) -> FixedEffect:
    """A combination of fixed effects, with Satterthwaite's degrees where the curvature is given."""
    error = float(np.sqrt(max(float(weights @ covariance @ weights), 0.0)))
    degrees = known.degrees(weights, covariance) if known else float("inf")
    return tested(name, float(weights @ beta), error, degrees, confidence)


def _method(
    fixed: Sequence[str], terms: Sequence[RandomTerm], *, reml: bool, satterthwaite: bool
) -> str:
    groups = ", ".join(dict.fromkeys(term.name for term in terms))
    likelihood = f"{'restricted ' if reml else ''}maximum likelihood"
    effects = f"fixed effects {', '.join(fixed) or 'intercept only'}"
    model = (
        f"Linear mixed model fitted by {likelihood} (profiled, Bates et al. 2015) with {effects} "
        f"and random effects of {groups}"
        if terms
        else f"Linear model, without random effects, fitted by {likelihood} with {effects}"
    )
    return f"{model}; intervals of fixed effects from " + (
        "the t distribution with Satterthwaite’s degrees of freedom."
        if satterthwaite
        else "the normal distribution (Wald)."
    )
