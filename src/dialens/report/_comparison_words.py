"""What a comparison says in words: on its page, and on a terminal in a screen at most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dialens.analysis.comparison import (
    by_size,
    cards_as_compared,
    families_tested,
    note_on_pairs,
    rests_on,
)
from dialens.base import counted, listed, number, p_value
from dialens.metrics import MetricCard, in_sentence
from dialens.report._page import Finding
from dialens.report._wording import Scale, headline_metrics

ALPHA = 0.05
_SENTENCES = 6
_NAMED = 6


def comparison_lines(table: pl.DataFrame, cards: Mapping[str, MetricCard]) -> list[str]:
    """A comparison in a few sentences, the largest differences first.

    Args:
        table: What `dialens.compare` gives.
        cards: Of its metrics.
    """
    table = short_names(table)
    cards = cards_as_compared(table, cards)
    first = headlines(table, cards)
    found = _largest(table, [cards[name] for name in first])
    lines = [_sentence(row, card, table, others) for row, card, others in found[:_SENTENCES]]
    if not lines:
        lines.append(f"{nothing_found(table)}.")
    if more := [in_sentence(card.long_label) for _, card, _ in found[_SENTENCES:]]:
        lines.append(f"They also differ in {listed(more)}.")
    differ = {card.name for _, card, _ in found}
    tested = set(table.drop_nulls("p")["metric"])
    alike = [name for name in first if name in tested and name not in differ]
    if alike and found:
        named = listed([in_sentence(cards[name].long_label) for name in alike])
        lines.append(f"No difference shown: {named}.")
    lines += _others(table, cards, first)
    lines += _not_tested(table, cards)
    lines += [unpaired] if (unpaired := not_paired(table)) else []
    if tested:
        lines.append(
            f"Intervals are 95 %; p is corrected over {families_tested(table)} "
            "(Benjamini–Hochberg)."
        )
    return lines


def not_paired(table: pl.DataFrame) -> str:
    """That sides share no prompts; empty where all do."""
    pairs = table.select("a", "b", "paired").unique(["a", "b"])
    return note_on_pairs(pairs.height, int((~pairs["paired"]).sum()))


def headlines(table: pl.DataFrame, cards: Mapping[str, MetricCard]) -> list[str]:
    """The metrics that come first, among those with values where there are any."""
    metrics = table["metric"].unique(maintain_order=True).to_list()
    compared = table.filter(pl.col("difference").is_not_null())["metric"]
    with_values = compared.unique(maintain_order=True).to_list() or metrics
    return headline_metrics({name: cards[name] for name in with_values})


def nothing_found(table: pl.DataFrame) -> str:
    """What is said where no headline metric differs."""
    scored = table.filter(pl.col("reason").str.starts_with("was "))  # in different ways
    apart = ""
    if scored.height:
        count = counted(scored["metric"].n_unique(), "metric")
        apart = f"{count} could not be, since each {scored['reason'].mode(maintain_order=True)[0]}"
    if is_tested(table):
        which = f" that could be tested has a corrected p below {ALPHA:g}; {apart}"
        return "No difference on the headline metrics" + (
            which if apart else f" has a corrected p below {ALPHA:g}"
        )
    why = table["reason"].drop_nulls().mode(maintain_order=True)
    return f"Nothing could be tested: {apart or (why[0] if len(why) else 'there are no values')}"


def _sentence(row: Mapping[str, Any], card: MetricCard, table: pl.DataFrame, others: int) -> str:
    """One difference for the terminal: claim, values, interval, p, and what it rests on."""
    scale = scale_of(table.filter(pl.col("metric") == card.name), card)
    told = _Told.of(row, card, scale)
    interval = f" ({told.interval})" if told.interval else ""
    rests = rests_on(row["n_a"], row["n_b"], row["n_shared"])
    more = (
        f"; so {'does' if others == 1 else 'do'} {counted(others, 'other pair')}" if others else ""
    )
    return (
        f"{told.claim}: {told.values}, difference {told.difference}{interval}, "
        f"p {p_value(row['p_adjusted'], equals=True)}; {rests}{more}."
    )


def _others(
    table: pl.DataFrame, cards: Mapping[str, MetricCard], first: Sequence[str]
) -> list[str]:
    """How many of the metrics that are not shown first differ, and the largest of them."""
    rest = table.filter(~pl.col("metric").is_in(list(first))).drop_nulls("p")
    if not rest.height:
        return []
    clear = by_size(rest.filter(pl.col("p_adjusted") < ALPHA))
    names = clear["metric"].unique(maintain_order=True).to_list()
    total = counted(rest["metric"].n_unique(), "other metric")
    if not names:
        return [f"Of {total} none differs."]
    labels = listed([in_sentence(cards[name].long_label) for name in names[:_NAMED]])
    most = ", most of all" if len(names) > _NAMED else ":"
    return [
        f"Of {total} {len(names):,} {'differs' if len(names) == 1 else 'differ'}{most} {labels}."
    ]


def _not_tested(table: pl.DataFrame, cards: Mapping[str, MetricCard]) -> list[str]:
    """Metrics without any test, by reason."""
    tested = table.drop_nulls("p")["metric"].unique()
    rows = table.filter(~pl.col("metric").is_in(tested.implode()))
    lines = []
    for (reason,), part in rows.group_by("reason", maintain_order=True):
        names = part["metric"].unique(maintain_order=True).to_list()
        labels = [in_sentence(cards[name].long_label) for name in names[:_NAMED]]
        more = [f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else []
        lines.append(f"Not tested: {listed([*labels, *more])} ({reason}).")
    return lines


def short_names(table: pl.DataFrame) -> pl.DataFrame:
    """Without the system's name where all share it.

    Examples:
        >>> names = pl.DataFrame({"a": ["s / x"], "b": ["s / y"], "level": ["agent"]})
        >>> short_names(names).select("a", "b").row(0)
        ('x', 'y')
    """
    names = pl.concat([table["a"], table["b"]])
    if not table.height or table["level"][0] != "agent":
        return table
    prefix = names[0].split(" / ")[0] + " / "
    if not names.str.starts_with(prefix).all():
        return table
    return table.with_columns(pl.col("a", "b").str.strip_prefix(prefix))


def scale_of(rows: pl.DataFrame, card: MetricCard) -> Scale:
    """How the differences of a metric are written."""
    return Scale.of(card, rows.select("difference", "low", "high").iter_rows())


def is_clear(row: Mapping[str, Any]) -> bool:
    """Whether a difference survives the correction."""
    return row["p_adjusted"] is not None and row["p_adjusted"] < ALPHA


def is_tested(table: pl.DataFrame) -> bool:
    """Whether there is a test at all."""
    return table["p"].null_count() < table.height


def scope_of(table: pl.DataFrame, metrics: Sequence[str]) -> str:
    """How many agents, pairs, metrics and tests there are."""
    units = pl.concat([table["a"], table["b"]]).n_unique()
    level = str(table["level"][0]) if table.height else "agent"
    pairs = table.select("a", "b").n_unique()
    below = int((table["p_adjusted"] < ALPHA).sum())
    counts = f"{counted(units, level)}, {counted(pairs, 'pair')}, {counted(len(metrics), 'metric')}"
    if not is_tested(table):
        return f"{counts}: no test"
    return (
        f"{counts}: {below:,} of {families_tested(table)} {'has' if below == 1 else 'have'} "
        f"a corrected p below {ALPHA:g}"
    )


def answer_of(finding: Finding) -> str:
    """The first finding with its size, without the tests behind it."""
    return f"{finding.claim}: {finding.numbers.split('), ')[0]})"


def find_differences(
    table: pl.DataFrame, metrics: Sequence[MetricCard], scales: Mapping[str, Scale]
) -> list[Finding]:
    """For every headline metric its largest difference that survives the correction."""
    found = _largest(table, metrics)
    return [_finding(row, card, scales[card.name], others) for row, card, others in found]


def _largest(
    table: pl.DataFrame, metrics: Sequence[MetricCard]
) -> list[tuple[dict[str, Any], MetricCard, int]]:
    """The clearest row of each metric that has one, and how many other pairs are clear.

    The largest effect size comes first; those without one follow, the smallest p first.
    """
    rows = []
    for card in metrics:
        below = table.filter(
            pl.col("metric") == card.name, pl.col("p_adjusted") < ALPHA, pl.col("difference") != 0
        )
        if not below.height or card.is_baseline:
            continue
        rows.append((by_size(below).row(0, named=True), card, below.height - 1))
    rows.sort(key=lambda found: (-abs(found[0]["effect_size"] or 0), found[0]["p"]))
    return rows


def _finding(row: Mapping[str, Any], card: MetricCard, scale: Scale, others: int) -> Finding:
    """A difference with everything behind it; `others` pairs are clear as well."""
    told = _Told.of(row, card, scale)
    held = told.interval or "no interval, all dialogues say the same"
    held = f"95 % interval {held}" if told.interval else held
    more = f". {counted(others, 'other pair has', 'other pairs have')} such a p here"
    return Finding(
        told.claim,
        f"{told.values}, difference {told.difference} ({held}), {_size(row)}corrected p "
        f"{p_value(row['p_adjusted'], equals=True)}, family of {counted(row['family'], 'test')}"
        f"{more if others else ''}",
    )


@dataclass(frozen=True)
class _Told:
    """A difference told from its higher side, in parts."""

    claim: str
    values: str
    difference: str
    interval: str

    @classmethod
    def of(cls, row: Mapping[str, Any], card: MetricCard, scale: Scale) -> "_Told":
        up = row["difference"] > 0
        a, b = (row["a"], row["b"]) if up else (row["b"], row["a"])
        values = (row["value_a"], row["value_b"]) if up else (row["value_b"], row["value_a"])
        low, high = row["low"], row["high"]
        if not up and low is not None:
            low, high = -high, -low
        points = " points" if scale.percent else ""
        return cls(
            f"{a} {card.higher_reads} than {b}",
            f"{scale.text(values[0])} against {scale.text(values[1])}",
            f"{scale.number(abs(row['difference']))}{points}",
            scale.interval(low, high),
        )


def _size(row: Mapping[str, Any]) -> str:
    size = row["effect_size"]
    return "" if size is None else f"{number(abs(size), 2)} standard deviations of dialogues, "
