"""Where one agent stands among people, on the terminal."""

from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Column

from dialens.base import interval, number
from dialens.cli._terminal import plain_table
from dialens.metrics import PEOPLE, SYSTEMS, MetricCard, PlaceAmong, Scores
from dialens.report import place_words

_MISSING = "–"


def print_one_agent(
    console: Console, scores: Scores, names: list[str], known: pl.DataFrame
) -> None:
    """One agent: a row a metric, with its place among people and systems.

    Values are those of a typical dialogue (the median), as people's are: an agent's own pool of
    words is larger, and what is pooled is more mixed and less diverse.

    Args:
        console: Where to.
        scores: What was scored.
        names: The metrics to show.
        known: Where it stands, as `Scores.reference` gives it.
    """
    values = {
        name: scores.dialog_columns([name]).select(pl.col(name).median()).collect().item()
        for name in names
    }
    places = {(row["metric"], row["group"]): row for row in known.iter_rows(named=True)}
    heads = ["typical", "people 5–95 %", "above people", "above systems"]
    table = plain_table(Column("metric", no_wrap=True), numbers=heads)
    whys: dict[str, list[str]] = {}
    for name in names:
        card, people = scores.cards[name], places[name, PEOPLE]
        band = interval(people["p05"], people["p95"], None, percent=card.percent)
        table.add_row(
            card.label,
            _value(card, values[name]),
            band,
            _place(people),
            _place(places[name, SYSTEMS]),
        )
        if people["percentile"] is None and people["reason"]:
            whys.setdefault(people["reason"], []).append(card.label)
    console.print("", table)
    for why, labels in whys.items():
        console.print(f"{', '.join(labels)}: {why}.", soft_wrap=True)
    console.print(
        "Typical: the median over dialogues. Above people: the share of dialogues of people, with "
        "about as many words, that score lower (95 % interval). They talk of other things; unlike "
        "people is not worse.",
        soft_wrap=True,
    )


def _value(card: MetricCard, value: float | None) -> str:
    digits = 1 if card.percent else None
    return number(value, digits, percent=card.percent)


def _place(row: dict[str, Any]) -> str:
    if row["percentile"] is None:
        return _MISSING
    return place_words(PlaceAmong.of(row), brief=True)
