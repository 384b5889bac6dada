"""Metrics: what each means, how it is spread, and where it and people part."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

from dialens.base import DialensError, counted, did_you_mean, listed, number
from dialens.metrics import MetricCard, Scores
from dialens.web.workbench._desk import Desk
from dialens.web.workbench._histogram import histogram_chart
from dialens.web.workbench._parting_part import parting_part
from dialens.web.workbench._unit_rows import unit_row
from dialens.workbench import Column, Index, Spread, View, said_columns, spread_of, spreads

_LIST, _ONE = "/metrics", "/metric"
_LEVELS = ("turn", "dialog")
_UNITS = {"turn": "turn", "dialog": "conversation"}
_ENDS = 10


def routes(desk: Desk) -> APIRouter:
    """All metrics by family, and one of them."""
    router = APIRouter()

    @router.get(_LIST)
    def metrics() -> Response:
        desk.workbench.follow()
        groups = _groups(desk.workbench.index)
        return desk.render("metrics", here=_LIST, answer=_list_answer(groups), groups=groups)

    @router.get(_ONE)
    def metric(name: str = "", column: str = "", level: str = "", against: str = "") -> Response:
        desk.workbench.follow()
        index = desk.workbench.index
        found, at = _column(index, column or name, level)
        return desk.render("metric", here=_LIST, **_page(desk, index, found, at, against))

    return router


def _measured(index: Index, level: str) -> dict[str, Column]:
    """Metrics at a level, then what people and judges said."""
    metrics = [c for c in index.columns(level).values() if c.kind == "metric"]
    return {column.name: column for column in (*metrics, *said_columns(index, level))}


def _column(index: Index, name: str, level: str) -> tuple[Column, str]:
    """A column and the level it is shown at: the one asked for, or the lowest that has it.

    Raises:
        HTTPException: There is none.
    """
    there = {at: _measured(index, at) for at in _LEVELS}
    for at in (level, *_LEVELS):
        if name in there.get(at, {}):
            return there[at][name], at
    known = list(dict.fromkeys(one for columns in there.values() for one in columns))
    hint = did_you_mean(name, known)
    raise HTTPException(404, f"There is no metric {name} here. {hint}All of them: {_LIST}")


def _groups(index: Index) -> list[dict[str, Any]]:
    """Families with their members, each with a small histogram."""
    at_turn = _measured(index, "turn")
    chosen = [(column, "turn") for column in at_turn.values()]
    only = [c for name, c in _measured(index, "dialog").items() if name not in at_turn]
    chosen += [(column, "dialog") for column in only]
    found = {
        level: spreads(index, level, [column for column, at in chosen if at == level])
        for level in _LEVELS
    }
    groups: dict[str, list[dict[str, Any]]] = {}
    for column, level in chosen:
        spread = found[level][column.name]
        groups.setdefault(column.group, []).append(
            {
                "column": column,
                "open": _address(column, level),
                "svg": histogram_chart(spread.histogram, column) if spread else None,
                "words": _spread_words(spread, column, level),
            }
        )
    said = {column.group for column, _ in chosen if column.kind != "metric"}
    ordered = sorted(groups, key=lambda group: group in said)
    return [{"name": name, "members": groups[name], "said": name in said} for name in ordered]


def _address(column: Column, level: str, **more: str) -> str:
    return f"{_ONE}?{urlencode({'name': column.name, 'level': level, **more})}"


def _list_answer(groups: Sequence[Mapping[str, Any]]) -> str:
    own = [group for group in groups if not group["said"]]
    metrics = sum(len(group["members"]) for group in own)
    said = sum(len(group["members"]) for group in groups if group["said"])
    if not metrics and not said:
        return "Nothing is scored or rated here yet. Begin with: dialens score CONVERSATIONS -o OUT"
    families = counted(len(own), "family", "families")
    answer = f"{counted(metrics, 'metric')} in {families}"
    beside = f"; {counted(said, 'column')} of what people and judges said" if said else ""
    return f"{answer}{beside}. Each leads to its card, its spread, and where it parts from people."


def _spread_words(spread: Spread | None, column: Column, level: str) -> str:
    if spread is None:
        return "no values"
    mean = number(spread.histogram.mean, percent=column.percent)
    return f"mean {mean}, {counted(spread.n, _UNITS[level])}"


def _page(desk: Desk, index: Index, column: Column, level: str, against: str) -> dict[str, Any]:
    spread = spread_of(index, level, column, by_agent=True)
    card = _card(desk, column)
    whole, agents = (spread[0], spread[1:]) if spread else (None, [])
    title = card.long_label if card and "@" not in column.name else column.label
    return {
        "column": column,
        "level": level,
        "unit": _UNITS[level],
        "title": title,
        "answer": _answer(column, level, whole, agents),
        "levels": [
            (words, _address(column, at), at)
            for at, words in (("turn", "Turns"), ("dialog", "Conversations"))
            if column.name in _measured(index, at)
        ],
        "facts": _facts(column, card),
        "chart": histogram_chart(whole.histogram, column) if whole else None,
        "whole": whole,
        "missing": f"/conversations?{View(level=level, missing=(column.name,)).address()}",
        "agents": [_agent(one, column, level) for one in agents] if len(agents) > 1 else [],
        "highest": _ends(index, column, level, descending=True),
        "lowest": _ends(index, column, level, descending=False),
        "all_sorted": {
            way: f"/conversations?{_sorted(column, level, descending=way).address()}"
            for way in (True, False)
        },
        "part": parting_part(index, replace(column, label=title), level, against),
    }


def _answer(column: Column, level: str, whole: Spread | None, agents: Sequence[Spread]) -> str:
    if whole is None:
        return f"No {_UNITS[level]} has a value of it."

    def words(value: float) -> str:
        return number(value, percent=column.percent)

    found = whole.histogram
    said = (
        f"{counted(whole.n, _UNITS[level])} from {words(found.low)} to {words(found.high)}, "
        f"on average {words(found.mean)}"
    )
    if len(agents) < 2:
        return f"{said}."
    ordered = sorted(agents, key=lambda one: one.histogram.mean)
    low, high = ordered[0], ordered[-1]
    if words(low.histogram.mean) == words(high.histogram.mean):
        return f"{said}, alike for all {counted(len(agents), 'agent')}."
    return (
        f"{said}; highest for {high.name} ({words(high.histogram.mean)}), lowest for {low.name} "
        f"({words(low.histogram.mean)})."
    )


def _card(desk: Desk, column: Column) -> MetricCard | None:
    """The card that the run was scored with."""
    if column.kind != "metric":
        return None
    try:
        run = desk.workbench.catalogue.get(column.run)
        return Scores.open(run.path).cards.get(column.name.removesuffix(f"@{column.run}"))
    except DialensError:
        return None


def _facts(column: Column, card: MetricCard | None) -> list[tuple[str, str]]:
    """The card in words; what is not known is left out."""
    better = {True: "higher is better", False: "lower is better", None: "neither end is better"}
    facts = [("Meaning", card.meaning if card else column.about)]
    if card is not None:
        needs = listed([*card.needs]) if card.needs else "nothing but the agent’s words"
        facts += [
            ("Range", f"{_range(card)}; {better[card.higher_is_better]}"),
            ("Reads as", f"an agent with a higher value {card.higher_reads}"),
            ("Family", card.family_label),
            ("Needs", needs),
            ("Citation", card.citation),
            ("Licence", card.licence),
        ]
    facts += [("Signature", column.signature), ("Run", column.run)]
    return [(name, value) for name, value in facts if value]


def _range(card: MetricCard) -> str:
    low, high = (None if end is None else f"{end:g}" for end in card.range)
    if low is None and high is None:
        return "without bounds"
    if low is None or high is None:
        return f"up to {high}" if low is None else f"from {low} on"
    return f"{low} to {high}"


def _agent(spread: Spread, column: Column, level: str) -> dict[str, Any]:
    view = View(
        level=level,
        choices={"agent": (spread.name,)},
        sort=column.name,
        descending=True,
        columns=("agent", column.name),
    )
    return {
        "name": spread.name,
        "words": _spread_words(spread, column, level),
        "svg": histogram_chart(spread.histogram, column),
        "open": f"/conversations?{view.address()}",
    }


def _sorted(column: Column, level: str, *, descending: bool) -> View:
    return View(level=level, sort=column.name, descending=descending,
                columns=("agent", column.name))  # fmt: skip


def _ends(index: Index, column: Column, level: str, *, descending: bool) -> list[dict[str, Any]]:
    """The rows with the highest or lowest values."""
    view = _sorted(column, level, descending=descending)
    rows = index.page(view, size=_ENDS).rows
    here = view.address()
    return [
        unit_row(row, level, here) | {"value": number(value, percent=column.percent)}
        for row in rows
        if (value := row["values"][column.name]) is not None
    ]
