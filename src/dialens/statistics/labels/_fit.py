"""What a model of raters comes to: labels with probabilities, raters with their competence."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from scipy import special

from dialens.statistics._bootstrap import Floats
from dialens.statistics.labels._majority import majority_vote
from dialens.statistics.labels._said import Said

RESTARTS = 10
MOST_STEPS = 1_000
CLOSE = 1e-9
_GROUPS = 20
_FEWEST_RATINGS = 5
_EDGE = 1e-6


@dataclass(frozen=True)
class Solution:
    """Where EM came to rest.

    Attributes:
        belief: Probability of each label for each item (items × labels).
        competence: How far each rater is to be trusted, 0 to 1.
        likelihood: What EM climbed.
        shares: How common each label is.
        confusion: What each rater says of items of each true label (raters × true × said).
    """

    belief: Floats
    competence: Floats
    likelihood: float
    shares: Floats
    confusion: Floats | None = None


@dataclass(frozen=True)
class LabelFit:
    """Labels that a model of raters gives to items.

    Attributes:
        items: One row an item: item, n_ratings, majority (null where raters are split), share (of
            the ratings that most gave), label (of the model), p (its probability), differs
            (whether it is not the majority's).
        probabilities: One row an item and label: item, label, p.
        raters: One row a rater: rater, n_ratings, competence with low and high, reason.
        confusion: One row a rater, true label and label said, with its rate; of Dawid and Skene's
            model only.
        shares: How common each label is: label, share.
        likelihood: The (lower bound of the) log likelihood that was reached.
        reason: Why nothing could be fitted; `items` then holds the majority alone.
    """

    items: pl.DataFrame
    probabilities: pl.DataFrame = field(default_factory=pl.DataFrame)
    raters: pl.DataFrame = field(default_factory=pl.DataFrame)
    confusion: pl.DataFrame = field(default_factory=pl.DataFrame)
    shares: pl.DataFrame = field(default_factory=pl.DataFrame)
    likelihood: float | None = None
    reason: str | None = None


def fitted(
    ratings: pl.DataFrame, climb: Callable[[Said, Floats], Solution], *, restarts: int, seed: int
) -> LabelFit:
    """Labels from the model that `climb` fits; the majority alone where nothing can be fitted."""
    said = Said.of(ratings)
    reason = said.why_not()
    if reason is not None:
        return LabelFit(_majority_vote_of(said), reason=reason)
    best = _best_of(said, climb, restarts=restarts, seed=seed)
    return _label_fit(said, best, climb)


def _best_of(
    said: Said, climb: Callable[[Said, Floats], Solution], *, restarts: int, seed: int
) -> Solution:
    """The likeliest of several solutions: from the votes, and from the votes with noise."""
    rng = np.random.default_rng(seed)
    start = said.votes / np.maximum(said.votes.sum(axis=1, keepdims=True), 1)
    best = climb(said, start)
    for _ in range(restarts):
        noise = rng.dirichlet(np.ones(start.shape[1]), size=len(start))
        other = climb(said, (start + noise) / 2)
        if other.likelihood > best.likelihood + 1e-6:
            best = other
    return best


def _label_fit(said: Said, best: Solution, climb: Callable[[Said, Floats], Solution]) -> LabelFit:
    """Tables of a solution; intervals of competence by leaving groups of items out in turn."""
    items = _majority_vote_of(said)
    first = best.belief.argmax(axis=1)
    items = items.with_columns(
        said.labels.gather(first).alias("label"), p=pl.Series(best.belief.max(axis=1))
    ).with_columns(differs=pl.col("label").ne_missing(pl.col("majority")))
    low, high, reasons = _competence_intervals(said, best, climb)
    raters = pl.DataFrame(
        {
            "rater": said.raters,
            "n_ratings": np.bincount(said.rater, minlength=len(said.raters)),
            "competence": best.competence,
            "low": low,
            "high": high,
            "reason": pl.Series(reasons, dtype=pl.String),
        }
    ).with_columns(pl.col("low", "high").fill_nan(None))
    n, k, q = said.shape
    probabilities = pl.DataFrame(
        {
            "item": said.items.gather(np.repeat(np.arange(n), q)),
            "label": said.labels.gather(np.tile(np.arange(q), n)),
            "p": best.belief.ravel(),
        }
    )
    confusion = pl.DataFrame()
    if best.confusion is not None:
        confusion = pl.DataFrame(
            {
                "rater": said.raters.gather(np.repeat(np.arange(k), q * q)),
                "true": said.labels.gather(np.tile(np.repeat(np.arange(q), q), k)),
                "said": said.labels.gather(np.tile(np.arange(q), k * q)),
                "rate": best.confusion.ravel(),
            }
        ).with_columns(pl.col("rate").fill_nan(None))
    shares = pl.DataFrame({"label": said.labels, "share": best.shares})
    return LabelFit(items, probabilities, raters, confusion, shares, best.likelihood)


def _majority_vote_of(said: Said) -> pl.DataFrame:
    """The majority of what was said."""
    return majority_vote(
        pl.DataFrame(
            {
                "item": said.items.gather(said.item),
                "label": said.labels.gather(said.label),
            }
        )
    )


def _competence_intervals(
    said: Said, best: Solution, climb: Callable[[Said, Floats], Solution]
) -> tuple[Floats, Floats, list[str | None]]:
    """Student's t on the jackknife over (groups of) items, on the scale of log odds."""
    n, k, _ = said.shape
    groups = min(n, _GROUPS)
    group = np.random.default_rng(0).permutation(n) % groups
    left = np.empty((groups, k))
    for number in range(groups):
        part = said.without(group != number)
        left[number] = _odds(climb(part, best.belief).competence)
    error = np.sqrt((groups - 1) / groups * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    reach = float(special.stdtrit(groups - 1, 0.975)) * error
    middle = _odds(best.competence)
    low, high = special.expit(middle - reach), special.expit(middle + reach)
    counts = np.bincount(said.rater, minlength=k)
    at_edge = (best.competence < _EDGE) | (best.competence > 1 - _EDGE)
    reasons = [_reason(int(c), edge=bool(e)) for c, e in zip(counts, at_edge, strict=True)]
    none = np.array([reason is not None for reason in reasons])
    return np.where(none, np.nan, low), np.where(none, np.nan, high), reasons


def _reason(ratings: int, *, edge: bool) -> str | None:
    if ratings < _FEWEST_RATINGS:
        return f"no interval: {ratings} ratings are too few"
    if edge:
        return "no interval: the rater is never, or always, found right"
    return None


def _odds(share: Floats) -> Floats:
    odds: Floats = special.logit(np.clip(share, _EDGE, 1 - _EDGE))
    return odds
