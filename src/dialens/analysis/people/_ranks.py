"""Ranks of agents with intervals, from all comparisons of two at once."""

from collections.abc import Mapping, Sequence

import numpy as np

from dialens.statistics import Floats

ALPHA = 0.05


def holm(p: Floats) -> Floats:
    """P-values corrected so that no comparison at all is called clear by chance (Holm 1979).

    Examples:
        >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
        [0.03, 0.06, 0.06]
    """
    order = np.argsort(p)
    scaled = p[order] * np.arange(len(p), 0, -1)
    result = np.empty(len(p))
    result[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return result


def ranks(
    means: Mapping[str, float], pairs: Sequence[tuple[str, str]], p: Sequence[float | None]
) -> dict[str, tuple[int, int, int]]:
    """The rank of each agent and its interval: how many are clearly better, how many worse.

    The intervals hold for all agents together with the confidence of the test (Al Mohamad et al.
    2022, Biometrika 109:1133, the simplest of their constructions, with Holm's correction).

    Args:
        means: The mean of each agent; more is better.
        pairs: Which two were compared.
        p: With what result; None where it was not tested, which then tells nothing.

    Returns:
        For each agent its rank (agents with equal means share the better one), and both ends.

    Examples:
        >>> ranks({"x": 4.0, "y": 2.0, "z": 1.9}, [("x", "y"), ("x", "z"), ("y", "z")], [0, 0, 0.8])
        {'x': (1, 1, 1), 'y': (2, 2, 3), 'z': (3, 2, 3)}
    """
    tested = [at for at, value in enumerate(p) if value is not None]
    corrected = holm(np.array([p[at] for at in tested], dtype=np.float64))
    better = dict.fromkeys(means, 0)
    worse = dict.fromkeys(means, 0)
    for at, value in zip(tested, corrected, strict=True):
        if value < ALPHA:
            first, second = sorted(pairs[at], key=lambda name: -means[name])
            worse[first] += 1
            better[second] += 1
    return {
        name: (
            1 + sum(other > mean for other in means.values()),
            1 + better[name],
            len(means) - worse[name],
        )
        for name, mean in means.items()
    }
