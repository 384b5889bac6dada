"""Dawid and Skene's model: each rater has rates of error of their own.

A rater says l of an item that truly is j with a probability of the rater's own; these rates, how
common the labels are, and what the items are come from the votes by EM (Dawid & Skene 1979,
"Maximum likelihood estimation of observer error-rates using the EM algorithm", equations 2.3 to
2.5). Classes are told apart by the likelihood but not named by it: a class bears the name that its
items are given most often.
"""

import numpy as np
import polars as pl
from scipy import optimize, special

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

_TINY = 1e-100


def dawid_skene(ratings: pl.DataFrame, *, restarts: int = RESTARTS, seed: int = 0) -> LabelFit:
    """Labels of items and rates of error of raters, by maximum likelihood.

    Args:
        ratings: With the columns item, rater and label; ratings may be missing, and a rater may
            label an item more than once.
        restarts: How many further starts are tried; the likeliest solution is kept.
        seed: Random seed of the starts.

    Returns:
        The fit; a rater's `competence` is the share of items that the rater labels as they are.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.integers(0, 2, 60)
        >>> right = rng.random((60, 4)) < [0.95, 0.9, 0.9, 0.5]
        >>> said = np.where(right, truth[:, None], 1 - truth[:, None])
        >>> rows = [(i, f"r{j}", int(said[i, j])) for i in range(60) for j in range(4)]
        >>> fit = dawid_skene(pl.DataFrame(rows, ["item", "rater", "label"], orient="row"))
        >>> fit.raters.sort("competence")["rater"][0]
        'r3'
        >>> bool((fit.items["label"].to_numpy() == truth).mean() > 0.95)
        True
    """
    return fitted(ratings, _climbed, restarts=restarts, seed=seed)


def _climbed(said: Said, belief: Floats) -> Solution:
    """EM from a first belief about the items until it stands still."""
    before = -np.inf
    for _ in range(MOST_STEPS):
        shares, rates = _maximised(said, belief)
        belief, likelihood = _expected(said, shares, rates)
        if likelihood - before < CLOSE * abs(likelihood):
            break
        before = likelihood
    shares, rates = _maximised(said, belief)
    return _named(said, Solution(belief, _right(shares, rates), likelihood, shares, rates))


def _maximised(said: Said, belief: Floats) -> tuple[Floats, Floats]:
    """How common labels are and how raters err, given what items are believed to be."""
    _, k, q = said.shape
    rated = said.votes.sum(axis=1) > 0
    shares = belief[rated].mean(axis=0)
    counts = (said.by_rater_and_label @ belief[said.item]).reshape(k, q, q).transpose(0, 2, 1)
    total = counts.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return shares, np.where(total > _TINY, counts / total, np.nan)


def _expected(said: Said, shares: Floats, rates: Floats) -> tuple[Floats, float]:
    """What items are believed to be, given how raters err; and the log likelihood of the votes."""
    known = np.where(np.isnan(rates), 1 / len(shares), rates)  # a class this rater never met
    logs = np.log(np.maximum(known, _TINY))
    of_ratings = logs[said.rater, :, said.label]
    joint = np.log(np.maximum(shares, _TINY)) + said.by_item @ of_ratings
    evidence = special.logsumexp(joint, axis=1)
    rated = said.votes.sum(axis=1) > 0
    return np.exp(joint - evidence[:, None]), float(evidence[rated].sum())


def _right(shares: Floats, rates: Floats) -> Floats:
    """The share of items a rater labels as they are; classes the rater never met are left out."""
    diagonal = np.diagonal(rates, axis1=1, axis2=2)
    weight = np.where(np.isnan(diagonal), 0.0, shares)
    total = weight.sum(axis=1)
    right: Floats = np.nansum(diagonal * shares, axis=1) / np.where(total > 0, total, 1)
    return right


def _named(said: Said, found: Solution) -> Solution:
    """The same with each class called what its items are called most often."""
    assert found.confusion is not None
    called = said.votes.T @ found.belief  # said × class
    classes, names = optimize.linear_sum_assignment(-called.T)
    order = classes[np.argsort(names)]
    if (order == np.arange(len(order))).all():
        return found
    shares, rates = found.shares[order], found.confusion[:, order]
    return Solution(found.belief[:, order], _right(shares, rates), found.likelihood, shares, rates)
