"""MACE: a rater either knows the label or answers by habit.

With the probability of their competence a rater gives the item's true label; otherwise one of
their own favourites, whatever the item is (Hovy, Berg-Kirkpatrick, Vaswani & Hovy 2013, "Learning
whom to trust with MACE"). It is fitted as the paper recommends, by variational Bayes with the
paper's priors (Beta(½, ½) on competence, Dirichlet(10) on habits), which keeps raters with few
ratings from being trusted or distrusted wholly. Habits take up what a rater always says, so that
competence is agreement beyond habit: it is lower than the share of right labels.
"""

import numpy as np
import polars as pl
from scipy import special

from dialens.statistics._bootstrap import Floats
from dialens.statistics.labels._fit import (
    CLOSE,
    MOST_STEPS,
    RESTARTS,
    LabelFit,
    Solution,
    fitted,
)
from dialens.statistics.labels._said import Said

_OF_COMPETENCE = 0.5
_OF_HABITS = 10.0


def mace(ratings: pl.DataFrame, *, restarts: int = RESTARTS, seed: int = 0) -> LabelFit:
    """Labels of items and competence of raters, some of whom may answer without looking.

    Args:
        ratings: With the columns item, rater and label; ratings may be missing, and a rater may
            label an item more than once.
        restarts: How many further starts are tried; the one with the highest bound is kept.
        seed: Random seed of the starts.

    Returns:
        The fit; a rater's `competence` is the share of ratings in which the rater knew.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.integers(0, 3, 60)
        >>> said = np.tile(truth[:, None], 5)
        >>> said[:, 3] = 0  # always the same
        >>> said[:, 4] = rng.integers(0, 3, 60)  # without looking
        >>> rows = [(i, f"r{j}", int(said[i, j])) for i in range(60) for j in range(5)]
        >>> fit = mace(pl.DataFrame(rows, ["item", "rater", "label"], orient="row"))
        >>> [round(x, 1) for x in fit.raters["competence"]]
        [1.0, 1.0, 1.0, 0.0, 0.1]
    """
    return fitted(ratings, _climbed, restarts=restarts, seed=seed)


def _climbed(said: Said, belief: Floats) -> Solution:
    """Variational EM from a first belief about the items until the bound stands still."""
    k = said.shape[1]
    counts = _counted(said, belief[said.item, said.label])
    before = -np.inf
    for _ in range(MOST_STEPS):
        knew, habit = _means(counts)
        belief, knowing, evidence = _expected(said, knew, habit)
        bound = evidence - _distance(counts)
        counts = _counted(said, knowing)
        if abs(bound - before) < CLOSE * abs(bound):
            break
        before = bound
    known = np.bincount(said.rater, knowing, minlength=k)
    total = np.bincount(said.rater, minlength=k)
    rated = said.votes.sum(axis=1) > 0
    return Solution(belief, known / np.maximum(total, 1), bound, belief[rated].mean(axis=0))


_Counts = tuple[Floats, Floats]
"""Parameters of the Beta (raters × 2: knew, did not) and Dirichlet (raters × labels) beliefs."""


def _counted(said: Said, knowing: Floats) -> _Counts:
    _, k, q = said.shape
    knew = np.bincount(said.rater, knowing, minlength=k)
    guessed = np.bincount(said.rater, 1 - knowing, minlength=k)
    habits = (said.by_rater_and_label @ (1 - knowing)).reshape(k, q)
    competence = np.stack([knew, guessed], axis=1).astype(np.float64)
    return competence + _OF_COMPETENCE, habits + _OF_HABITS


def _means(counts: _Counts) -> tuple[Floats, Floats]:
    """Geometric means of competence and of habits under the current belief about them."""
    knew, habit = (
        np.exp(special.digamma(part) - special.digamma(part.sum(axis=1, keepdims=True)))
        for part in counts
    )
    return knew, habit


def _expected(said: Said, knew: Floats, habit: Floats) -> tuple[Floats, Floats, float]:
    """What items are, who knew, and the log of the evidence."""
    q = said.shape[2]
    guess = knew[said.rater, 1] * habit[said.rater, said.label]
    hit = knew[said.rater, 0] + guess
    joint = said.by_item @ np.log(guess)
    joint = joint[:, None] + _spread(said, np.log(hit) - np.log(guess)) - np.log(q)
    evidence = special.logsumexp(joint, axis=1)
    belief = np.exp(joint - evidence[:, None])
    knowing = belief[said.item, said.label] * knew[said.rater, 0] / hit
    return belief, knowing, float(evidence.sum())


def _spread(said: Said, gain: Floats) -> Floats:
    """What ratings say for the label that they name, added up by item and label."""
    n, _, q = said.shape
    place = said.item * q + said.label
    return np.bincount(place, gain, minlength=n * q).reshape(n, q).astype(np.float64)


def _distance(counts: _Counts) -> float:
    """From the prior to the belief about raters, in nats (Kullback & Leibler)."""
    total = 0.0
    for part, prior in zip(counts, (_OF_COMPETENCE, _OF_HABITS), strict=True):
        size, each = part.sum(axis=1), part.shape[1]
        total += float(
            (special.gammaln(size) - special.gammaln(part).sum(axis=1)).sum()
            - len(part) * (special.gammaln(prior * each) - each * special.gammaln(prior))
            + ((part - prior) * (special.digamma(part) - special.digamma(size)[:, None])).sum()
        )
    return total
