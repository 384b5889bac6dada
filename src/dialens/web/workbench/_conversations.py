"""The table of conversations: search, sort, filter, brush; the view is its address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Form, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from dialens.base import DialensError, capitalised, counted, number
from dialens.web.workbench._desk import Desk
from dialens.web.workbench._excerpts import marked
from dialens.web.workbench._flagging import code_names, seen_rows
from dialens.web.workbench._histogram import histogram_chart
from dialens.workbench import (
    WHOLE,
    Column,
    Histogram,
    Index,
    Marks,
    Range,
    Search,
    View,
)

_HERE = "/conversations"
_LEVELS = {
    "turn": ("Turns", "turn"),
    "dialog": ("Conversations", "conversation"),
    "agent": ("Agents", "agent"),
}
_MOST_BOXES = 24
_MOST_NUMBERS = 4
_BOXES = {
    "turn": ("agent", "role", "source", "system"),
    "dialog": ("agent", "source", "system"),
    "agent": ("source", "system"),
}


@dataclass(frozen=True)
class Chip:
    """A filter that is set, in words, and the address without it."""

    words: str
    without: str


@dataclass(frozen=True)
class Box:
    """A choice of names: what to call it, and each name with how many rows have it."""

    name: str
    label: str
    values: Sequence[tuple[str, int, bool]]


def routes(desk: Desk) -> APIRouter:
    """The table, further rows of it, and its histograms."""
    router = APIRouter()

    @router.get(_HERE)
    def conversations(request: Request) -> Response:
        desk.workbench.follow()
        index = desk.workbench.index
        view, problem = _view(request, index)
        page = index.page(view)
        shown = _shown_columns(view, index)
        brushed = _brushed(request, view, shown)
        return desk.render(
            "conversations",
            here=_HERE,
            view=view,
            problem=problem,
            answer=_answer(view, page.total, index),
            page=page,
            rows=_rows(desk, request, page.rows, view, shown),
            codes=code_names(desk),
            several=len(index.sources) > 1,
            columns=shown,
            heads=[(column, _sorted_by(view, column)) for column in shown],
            chips=_chips(view, index),
            boxes=_boxes(view, index) if not problem else (),
            levels=[
                (words[0], _address(_at(view, level)), level) for level, words in _LEVELS.items()
            ],
            groups=_groups(view, shown, index),
            brushed=brushed,
            chart=_chart(index, view, brushed),
            brushable=[c for c in index.columns(view.level).values() if c.numeric],
            next_rows=_next_rows(view, page.after),
            views=desk.workbench.notebook.views(),
            flags=_flag_choices(desk, view),
            hidden=[pair for pair in view.pairs() if pair[0] not in ("q", "level")],
            unfiltered=_address(View(level=view.level, columns=view.columns)),
            to_study=f"/to-study?{view.address()}" if "/studies" in dict(desk.nav).values() else "",
        )

    @router.get("/conversations/rows")
    def rows(request: Request) -> Response:
        index = desk.workbench.index
        view, _ = _view(request, index)
        page = index.page(view, after=request.query_params.get("after"))
        shown = _shown_columns(view, index)
        return desk.render(
            "conversation_rows",
            rows=_rows(desk, request, page.rows, view, shown),
            codes=code_names(desk),
            several=len(index.sources) > 1,
            columns=shown,
            view=view,
            next_rows=_next_rows(view, page.after),
        )

    @router.get("/api/table")
    def table(request: Request) -> Response:
        view = _parsed(request)
        page = desk.workbench.index.page(view, after=request.query_params.get("after"))
        rows = seen_rows(desk, request, page.rows)[0]
        content = {"rows": rows, "total": page.total, "after": page.after}
        return JSONResponse(content)

    @router.get("/api/histogram")
    def histogram(request: Request, column: str) -> Response:
        found = desk.workbench.index.histogram(_parsed(request), column)
        return JSONResponse(None if found is None else vars(found))

    @router.post("/conversations/views")
    def save(
        name: str = Form(max_length=200), address: str = Form("", max_length=8000)
    ) -> Response:
        kept = View.parse(_pairs(address)).address() or "level=turn" if address else ""
        desk.workbench.notebook.save_view(name, kept)
        return RedirectResponse(f"{_HERE}?{kept}", 303)

    return router


def _parsed(request: Request) -> View:
    return View.parse(_pairs(request.url.query))


def _pairs(query: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        found.setdefault(name, []).append(value)
    return found


def _view(request: Request, index: Index) -> tuple[View, str]:
    """The view asked for; where it cannot be shown, the nearest that can, and why."""
    asked = _pairs(request.url.query)
    low, high, of = (asked.get(name, [""])[-1] for name in ("low", "high", "of"))
    if of and (low or high):  # the form of the histogram
        asked["range"] = [*(r for r in asked.get("range", ()) if r.rpartition(":")[0] != of)]
        asked["range"].append(f"{of}:{low}..{high}")
    try:
        view = View.parse(asked)
        index.count(view)
        column_names = index.columns(view.level)
        unknown = [n for n in (*view.columns, *filter(None, [view.sort])) if n not in column_names]
        if not unknown:
            return view, ""
        # A column of another level, such as after a change from turns to agents.
        kept = tuple(name for name in view.columns if name not in unknown)
        return replace(view, columns=kept, sort="" if view.sort in unknown else view.sort), ""
    except DialensError as error:
        level = asked.get("level", ["turn"])[-1]
        return View(level=level if level in _LEVELS else "turn"), str(error)


def _at(view: View, level: str) -> View:
    """The same selection of another level, as far as it has it."""
    kept = {n: v for n, v in view.choices.items() if n in _BOXES[level] or n == "flag"}
    if level == "agent":
        kept.pop("flag", None)
        return View(level=level, choices=kept)
    return replace(view, level=level, choices=kept, ranges=(), missing=(), columns=(), sort="")


def _address(view: View) -> str:
    query = view.address()
    return f"{_HERE}?{query}" if query else _HERE


def _shown_columns(view: View, index: Index) -> list[Column]:
    known = index.columns(view.level)
    names = [name for name in view.columns or _usual(index, view.level) if name in known]
    if view.sort and view.sort not in names:
        names.append(view.sort)
    return [known[name] for name in names]


def _usual(index: Index, level: str) -> list[str]:
    """The usual columns, fewer metrics where there are ratings: texts need half of the width."""
    columns, names = index.columns(level), index.usual(level)
    metrics = [name for name in names if columns[name].kind == "metric"]
    said = sum(columns[name].kind in ("people", "judge") for name in names)
    left_out = metrics[_MOST_NUMBERS - said :]
    return [name for name in names if name not in left_out]


def _sorted_by(view: View, column: Column) -> str:
    """The address of the view sorted by a column: the highest first, then the lowest."""
    descending = not view.descending if view.sort == column.name else column.numeric
    return _address(replace(view, sort=column.name, descending=descending))


def _answer(view: View, total: int, index: Index) -> str:
    """What the table holds, in a sentence."""
    unit = _LEVELS[view.level][1]
    everything = index.count(View(level=view.level))
    limited = total != everything or bool(view.search)
    said = f"{counted(total, unit)} of {everything:,}" if limited else counted(total, unit)
    if view.search:
        said += f" with {view.search if view.search.startswith('/') else f'“{view.search}”'}"
    if view.level != "agent" and not limited:
        agents = index.count(View(level="agent"))
        said += f" of {counted(agents, 'agent')}"
    columns = index.columns(view.level)
    if view.sort in columns:
        column = columns[view.sort]
        way = "highest" if view.descending else "lowest"
        if not column.numeric:
            way = "from Z to A" if view.descending else "from A to Z"
            return f"{said}, by {column.label.lower()} {way}."
        return f"{said}, {way} {column.label.lower()} first."
    return f"{said}."


def _chips(view: View, index: Index) -> list[Chip]:
    columns = index.columns(view.level)
    chips = []
    if view.search:
        chips.append(Chip(f"text: {view.search}", _address(replace(view, search=""))))
    for name, values in view.choices.items():
        label = columns[name].label if name in columns else capitalised(name)
        words = "any" if "any" in values else " or ".join(values)
        kept = {other: chosen for other, chosen in view.choices.items() if other != name}
        chips.append(Chip(f"{label}: {words}", _address(replace(view, choices=kept))))
    for one in view.ranges:
        label = columns[one.column].label if one.column in columns else one.column
        kept_ranges = tuple(other for other in view.ranges if other != one)
        chips.append(Chip(f"{label}: {_ends(one)}", _address(replace(view, ranges=kept_ranges))))
    for name in view.missing:
        label = columns[name].label if name in columns else name
        rest = tuple(other for other in view.missing if other != name)
        chips.append(Chip(f"{label}: no value", _address(replace(view, missing=rest))))
    return chips


def _ends(one: Range) -> str:
    if one.low is None or one.high is None:
        bound, word = (one.high, "at most") if one.low is None else (one.low, "at least")
        return f"{word} {bound:.6g}"
    return f"{one.low:.6g} to {one.high:.6g}"


def _boxes(view: View, index: Index) -> list[Box]:
    """Choices of names that divide the rows."""
    boxes = []
    columns = index.columns(view.level)
    values = index.choices(view, _BOXES[view.level], _MOST_BOXES)
    for name in _BOXES[view.level]:
        chosen = view.choices.get(name, ())
        found = [(v, n, v in chosen) for v, n in values[name] if v]
        found += [(v, 0, True) for v in chosen if v not in {value for value, _, _ in found}]
        if len(found) > 1 or chosen:
            boxes.append(Box(name, columns[name].label, found))
    return boxes


def _flag_choices(desk: Desk, view: View) -> list[tuple[str, str, bool]]:
    if view.level == "agent":
        return []
    chosen = view.choices.get("flag", ())
    named = [
        (str(code.number), f"{code.number} {code.name}") for code in desk.workbench.notebook.codes()
    ]
    used = desk.workbench.notebook.flags()["code"].unique().sort().to_list()
    names = dict(named) | {str(n): str(n) for n in used if str(n) not in dict(named)}
    if not names and not chosen:
        return []
    return [("any", "Any flag", "any" in chosen), *((v, w, v in chosen) for v, w in names.items())]


def _groups(
    view: View, shown: Sequence[Column], index: Index
) -> list[tuple[str, list[tuple[Column, bool]]]]:
    """All columns under their groups, each with whether it is shown."""
    names = {column.name for column in shown}
    groups: dict[str, list[tuple[Column, bool]]] = {}
    for column in index.columns(view.level).values():
        groups.setdefault(column.group, []).append((column, column.name in names))
    return list(groups.items())


def _brushed(request: Request, view: View, shown: Sequence[Column]) -> Column | None:
    """Whose histogram is shown: the one asked for, that sorted by, or the first with numbers."""
    asked = request.query_params.get("look", "")
    numeric = {column.name: column for column in shown if column.numeric}
    wanted = [asked, view.sort, *(one.column for one in reversed(view.ranges))]
    measured = [name for name, column in numeric.items() if column.kind != "fact"]
    return next((numeric[name] for name in [*wanted, *measured, *numeric] if name in numeric), None)


def _chart(index: Index, view: View, column: Column | None) -> dict[str, Any] | None:
    if column is None:
        return None
    found: Histogram | None = index.histogram(view, column.name)
    if found is None:
        return None
    own = next((one for one in view.ranges if one.column == column.name), None)
    pairs = view.without(column.name).pairs()
    return {
        "svg": histogram_chart(found, column, own),
        "low": found.low,
        "high": found.high,
        "mean": number(found.mean, percent=column.percent),
        "missing": found.missing,
        "own": own,
        "pairs": pairs,
        "every": _address(view.without(column.name)) if own else "",
        "missing_only": _address(
            replace(view, missing=tuple(dict.fromkeys([*view.missing, column.name])), ranges=())
        ),
    }


def _next_rows(view: View, after: str | None) -> str:
    if after is None:
        return ""
    return f"/conversations/rows?{urlencode([*view.pairs(), ('after', after)])}"


def _rows(
    desk: Desk,
    request: Request,
    rows: Sequence[Mapping[str, Any]],
    view: View,
    shown: Sequence[Column],
) -> list[dict[str, Any]]:
    """What the template shows of each row."""
    rows, marks = seen_rows(desk, request, rows)
    search = Search.parse(view.search)
    here = view.address()
    made = []
    for row in rows:
        text = row.get("text", row.get("opening_text") or "")
        link = {"source": row["source"], "dialog": row.get("dialog", ""), "from": here}
        if view.level == "turn":
            link["turn"] = str(row["turn"])
        open_at = f"/dialogue?{urlencode(link)}"
        if view.level == "agent":
            only = View(level="dialog", choices={"agent": (row["agent"],)})
            open_at = _address(only)
        made.append(
            {
                **row,
                "open": open_at,
                "pieces": marked(text, search),
                "cells": [
                    (column, _cell(row["values"].get(column.name), column)) for column in shown
                ],
                "marks": marks.get((row["source"], row.get("dialog", "")), {}).get(
                    row.get("turn", WHOLE), Marks()
                ),
            }
        )
    return made


def _cell(value: Any, column: Column) -> str:
    if value is None:
        return "–"
    if not column.numeric:
        return str(value)
    whole = column.kind == "fact"
    return number(float(value), 0 if whole else None, percent=column.percent)
