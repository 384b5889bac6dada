"""The tables of values with intervals and of differences, and what their columns mean."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from dialens.base import counted
from dialens.metrics import MetricCard
from dialens.statistics import FEWEST

T: Final = "t"
BOOTSTRAP: Final = "t, bootstrap error"
EXCHANGE: Final = "exchange"
TOO_FEW: Final = f"fewer than {FEWEST} dialogs or contexts"
SIGNS: Final = "signs"
ALIKE: Final = f"nearly all dialogs or contexts have the same value: fewer than {FEWEST} another"
NEARLY: Final = "nearly all pairs differ by the same amount"
CONSTANT: Final = "every dialog has the same value"
MEAN_OF_DIALOGS: Final = "mean of dialogs"
POOLED: Final = "pooled"
LARGEST_SIZE: Final = 20.0

_SMALL_SIDE = 20
_CAREFUL = 10
_TIMES = 3

INTERVALS = pl.Schema(
    {
        "level": pl.String,
        "system": pl.String,
        "agent": pl.String,
        "metric": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "n_dialogs": pl.Int64,
        "basis": pl.String,
        "reason": pl.String,
    }
)
"""`basis` is `pooled` (from summed features) or `mean of dialogs`."""
COMPARISONS = pl.Schema(
    {
        "level": pl.String,
        "metric": pl.String,
        "a": pl.String,
        "b": pl.String,
        "value_a": pl.Float64,
        "value_b": pl.Float64,
        "difference": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "standard_error": pl.Float64,
        "effect_size": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "headline": pl.Boolean,
        "family": pl.Int64,
        "n_a": pl.Int64,
        "n_b": pl.Int64,
        "paired": pl.Boolean,
        "n_shared": pl.Int64,
        "basis": pl.String,
        "test": pl.String,
        "reason": pl.String,
    }
)
"""`difference` is a − b, `effect_size` the same by the pooled standard deviation of dialogues
(Hedges' g), null beyond ±20, where dialogues do not vary to speak of. Headline metrics are one
family of tests, the others another; `family` is how many tests `p_adjusted` was corrected over.
`test` is `t` (on the jackknife, corrected for skewness), `t, bootstrap error` for a metric in
steps, `exchange` where all dialogues of each side say the same, or `signs` where nearly all pairs
differ by the same amount, of which their signs are flipped."""


def note_on_tests(table: pl.DataFrame) -> str:
    """Which tests a comparison rests on, in one or two sentences.

    Examples:
        >>> tested = {"test": [T, T, None], "reason": [None, None, TOO_FEW]}
        >>> note_on_tests(pl.DataFrame(tested))
        'Student’s t on the jackknife over dialogues, corrected for skewness. Not tested: 1 (fewer \
than 6 dialogs or contexts).'
    """
    used = table["test"].drop_nulls()
    said = []
    if (used == T).any():
        said.append("Student’s t on the jackknife over dialogues, corrected for skewness.")
    if steps := int((used == BOOTSTRAP).sum()):
        said.append(
            f"{counted(steps, 'row')} of metrics in steps: t on the bootstrap’s standard error."
        )
    if constant := int((used == EXCHANGE).sum()):
        said.append(
            f"{counted(constant, 'row')} in which all dialogues of each say the same: exchanging "
            "dialogues."
        )
    if flipped := int((used == SIGNS).sum()):
        said.append(
            f"{counted(flipped, 'row')} in which nearly all pairs differ by the same amount: "
            "flipping their signs."
        )
    if "n_a" in table.columns and (careful := _over_careful(table)):
        said.append(
            f"{counted(careful, 'row')} with fewer than {_CAREFUL} dialogues on a side: the test "
            f"is over-careful there; with {FEWEST} a side it finds a difference where there is "
            "none in 1.3 to 2.5 % of comparisons rather than 5 %."
        )
    if uneven := _uneven(table):
        said.append(
            f"{counted(uneven, 'row')} with a small side (below {_SMALL_SIDE}) and one "
            f"{_TIMES} times as large: where values are skewed, p is up to a half too small there."
        )
    reasons = table.filter(pl.col("test").is_null())["reason"].value_counts(sort=True)
    untested = ", ".join(f"{count:,} ({reason})" for reason, count in reasons.iter_rows())
    if untested:
        said.append(f"Not tested: {untested}.")
    return " ".join(said)


def rests_on(n_a: int, n_b: int | None, n_shared: int) -> str:
    """What the values and the difference of two sides come from.

    Values are of all dialogues, whether their prompts are shared or not; shared prompts are units
    of the difference.

    Examples:
        >>> rests_on(40, 40, 40), rests_on(40, 38, 20), rests_on(40, 38, 0), rests_on(40, None, 0)
        ('40 shared prompts', '40 and 38 dialogues with 20 shared prompts', '40 and 38 dialogues',
         '40 dialogues')
    """
    if n_b is None:
        return counted(n_a, "dialogue")
    if n_a == n_b == n_shared:
        return counted(n_shared, "shared prompt")
    pairs = f" with {counted(n_shared, 'shared prompt')}" if n_shared else ""
    return f"{n_a:,} and {n_b:,} dialogues{pairs}"


def note_on_pairs(pairs: int, unpaired: int) -> str:
    """That sides do not share their prompts, so that dialogues are compared as independent ones.

    Args:
        pairs: How many comparisons there are.
        unpaired: How many of them are not paired.

    Examples:
        >>> note_on_pairs(1, 0)
        ''
        >>> note_on_pairs(1, 1)
        'Not paired: the two sides share no prompts, or fewer than half, so only larger \
differences can be shown.'
    """
    if not unpaired:
        return ""
    who = "the two sides share" if pairs == 1 else f"{unpaired:,} of {pairs:,} pairs of sides share"
    return (
        f"Not paired: {who} no prompts, or fewer than half, so only larger differences can be "
        "shown."
    )


def _over_careful(table: pl.DataFrame) -> int:
    return table.filter(pl.min_horizontal("n_a", "n_b") < _CAREFUL, pl.col("test") == T).height


def _uneven(table: pl.DataFrame) -> int:
    """Tests of unpaired sides of very different size, of which one is small."""
    if "paired" not in table.columns:
        return 0
    small, large = pl.min_horizontal("n_a", "n_b"), pl.max_horizontal("n_a", "n_b")
    uneven = (small < _SMALL_SIDE) & (large >= _TIMES * small) & ~pl.col("paired")
    return table.filter(uneven & (pl.col("test") == T)).height


def families_tested(table: pl.DataFrame) -> str:
    """How many tests each family has, in words.

    Examples:
        >>> table = pl.DataFrame({"headline": [True, False, False], "p": [0.1, 0.2, 0.3]})
        >>> families_tested(table)
        '3 tests (1 of headline metrics, 2 of others)'
        >>> families_tested(table.filter("headline"))
        '1 test'
    """
    tested = table.filter(pl.col("p").is_not_null())["headline"]
    first = int(tested.sum())
    rest = len(tested) - first
    every = counted(first + rest, "test")
    return (
        f"{every} ({first:,} of headline metrics, {rest:,} of others)" if first and rest else every
    )


def cards_as_compared(
    table: pl.DataFrame, cards: Mapping[str, MetricCard]
) -> dict[str, MetricCard]:
    """The cards, with names that tell a mean of dialogues from the pooled value of a score.

    Examples:
        >>> from dialens.metrics import metrics
        >>> table = pl.DataFrame({"metric": ["distinct_2"], "basis": ["mean of dialogs"]})
        >>> cards_as_compared(table, metrics())["distinct_2"].long_label
        'Distinct word pairs (mean of dialogues)'
    """
    means = set(table.filter(basis=MEAN_OF_DIALOGS)["metric"])
    return {
        name: replace(card, long_label=f"{card.long_label} (mean of dialogues)")
        if name in means
        else card
        for name, card in cards.items()
    }


def by_size(table: pl.DataFrame) -> pl.DataFrame:
    """Rows with the largest effect size first, then those without one with the smallest p first.

    Examples:
        >>> sizes = {"effect_size": [None, 0.1, -0.5, None, None], "p": [None, 0.3, 0.1, 0.2, 0.01]}
        >>> by_size(pl.DataFrame(sizes))["p"].to_list()
        [0.1, 0.3, 0.01, 0.2, None]
    """
    size = pl.col("effect_size").abs()
    return table.sort(size, "p", descending=[True, False], nulls_last=True, maintain_order=True)
