"""Ranks of agents with intervals, from all comparisons of two at once."""

from collections.abc import Mapping, Sequence

import polars as pl

from dialens.statistics.choices import holm, rank_intervals


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
    table = pl.DataFrame(
        {
            "first": [first for first, _ in pairs],
            "second": [second for _, second in pairs],
            "difference": [means[first] - means[second] for first, second in pairs],
            "p_holm": holm(pl.Series(p, dtype=pl.Float64)),
        },
        schema_overrides={"first": pl.String, "second": pl.String, "difference": pl.Float64},
    )
    rows = rank_intervals(list(means), table).iter_rows()
    return {
        name: (1 + sum(other > means[name] for other in means.values()), low, high)
        for name, low, high in rows
    }
