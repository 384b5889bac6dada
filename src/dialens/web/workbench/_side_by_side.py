"""The page of agents side by side: the same opening, turn by turn, and where they differ most."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import Response

from dialens.base import DialensError, counted, listed, number
from dialens.web.workbench._desk import Desk, address
from dialens.web.workbench._dialogue import (
    MOST_TURNS,
    Segment,
    grouped,
    lenses_of,
    marked,
    usual_columns,
)
from dialens.web.workbench._flagging import code_names
from dialens.workbench import (
    MOST_AGENTS,
    Column,
    Contender,
    Openings,
    Side,
    SpokenTurn,
    choose,
    contenders,
    given,
    measures,
    openings,
    sides,
    turn_spreads,
    usual_measure,
)

_ROWS = 25
_LEVELS = ("dialog", "turn")
_MOST_NUMBER = 2**64 - 1


@dataclass(frozen=True)
class Cell:
    """A turn of one agent's conversation."""

    side: Side
    turn: SpokenTurn
    pieces: list[Segment]


@dataclass(frozen=True)
class Row:
    """Turns of the same number.

    Attributes:
        turn: Their number.
        cells: One an agent; None where its conversation has ended.
        shared: Whether all say the same, as they do where all are given the same.
        spread: How far the agents lie apart on the metric; None with fewer than two values.
    """

    turn: int
    cells: tuple[Cell | None, ...]
    shared: bool
    spread: float | None


def routes(desk: Desk) -> APIRouter:
    """The list of openings, and one of them turn by turn."""
    router = APIRouter()

    @router.get("/side-by-side")
    def side_by_side(
        request: Request,
        *,
        opening: Annotated[int | None, Query(ge=0, le=_MOST_NUMBER)] = None,
        agent: Annotated[list[str] | None, Query()] = None,
        metric: str = "",
        level: str = "dialog",
        skip: Annotated[int, Query(ge=0, le=10**9)] = 0,
        whole: Annotated[bool, Query(alias="all")] = False,
    ) -> Response:
        bench = desk.workbench
        bench.follow()
        index = bench.index
        if level not in _LEVELS:
            raise HTTPException(404, f"There is no level {level}. Levels: dialog, turn.")
        agent = [name for name in agent or [] if name]
        if not agent and opening is not None:
            agent = [one.key for one in given(index, opening)][:MOST_AGENTS]
        chosen = choose(index, agent)
        every = (*chosen, *(one for one in contenders(index) if one not in chosen))
        metric = _metric(desk, metric, level)
        column = index.columns(level)[metric]
        here = _Here([one.key for one in chosen] if agent else [], metric, level)
        shared: dict[str, Any] = {
            "here": "/side-by-side",
            "chosen": chosen,
            "every": every,
            "most": MOST_AGENTS,
            "measures": grouped(measures(index, level)),
            "column": column,
            "level": level,
            "link": here.link,
            "names": [one.key for one in chosen],
        }
        if len(chosen) < 2:
            return desk.render("openings", **shared, found=None, answer=_alone(chosen, every))
        if opening is None:
            found = openings(index, chosen, column, level, most=_ROWS, offset=skip)
            answer = _answer(chosen, column, found, level)
            return desk.render("openings", **shared, found=found, answer=answer, skip=skip)
        columns = [*usual_columns(desk)]
        if metric in index.columns("turn") and metric not in columns:
            columns.append(metric)
        try:
            shown = sides(
                bench,
                opening,
                chosen,
                columns=columns,
                coder=desk.coder(request),
                others=desk.sees_others(request),
                most=None if whole else MOST_TURNS,
            )
        except DialensError as error:
            raise HTTPException(404, str(error)) from error
        found = openings(index, chosen, column, level, most=5_000)
        rows = _rows(desk, shown, metric)
        return desk.render(
            "side_by_side",
            **shared,
            shown=shown,
            rows=rows,
            widest=_widest(rows),
            of_turns=index.columns("turn").get(metric),
            columns=[column for name, column in index.columns("turn").items() if name in columns],
            answer=_apart(shown, rows, column, found, opening),
            absent=[one.key for one in chosen if one not in [side.contender for side in shown]],
            cut=max((side.dialog.after for side in shown), default=0),
            opening=opening,
            step=_step(found, opening, here),
            codes=code_names(desk),
        )

    return router


@dataclass(frozen=True)
class _Here:
    """What the reader chose, for the addresses of links."""

    agents: Sequence[str]
    metric: str
    level: str

    def link(self, **changes: Any) -> str:
        """This page with some of it changed."""
        asked = {"metric": self.metric, "level": self.level} | changes
        agents = "".join(f"&{address('', agent=name)[1:]}" for name in self.agents)
        return address("/side-by-side", **asked) + agents


def _metric(desk: Desk, asked: str, level: str) -> str:
    index = desk.workbench.index
    known = {column.name for column in measures(index, level)}
    if asked and asked not in known:
        other = "dialog" if level == "turn" else "turn"
        if asked in {column.name for column in measures(index, other)}:
            return usual_measure(index, level)
        raise HTTPException(404, f"There is no metric {asked} to compare by.")
    return asked or usual_measure(index, level)


def _rows(desk: Desk, shown: Sequence[Side], metric: str) -> list[Row]:
    """Turns of the same number beside each other."""
    spreads = turn_spreads(shown, metric)
    cells: list[dict[int, Cell]] = []
    for side in shown:
        lenses, _ = lenses_of(desk, side.dialog.source)
        pieces = marked(side.dialog.shown, next(iter(lenses), "none"), lenses)
        turns = zip(side.dialog.shown, pieces, strict=True)
        cells.append({turn.turn: Cell(side, turn, own) for turn, own in turns})
    made = []
    for number_of in sorted({turn for own in cells for turn in own}):
        row = tuple(own.get(number_of) for own in cells)
        there = [cell.turn for cell in row if cell is not None]
        same = len(there) == len(shown) and len({(one.role, one.text) for one in there}) == 1
        shared = same and there[0].role != "agent"
        made.append(Row(number_of, row, shared, spreads.get(number_of)))
    return made


def _widest(rows: Sequence[Row]) -> int | None:
    apart = [row for row in rows if row.spread is not None]
    return max(apart, key=lambda row: row.spread or 0.0).turn if apart else None


def _step(found: Openings, opening: int, here: _Here) -> dict[str, Any]:
    """Where n and p lead: along the list, from the widest apart."""
    numbers = list(dict.fromkeys(row.number for row in found.rows))
    at = numbers.index(opening) if opening in numbers else -1
    before = here.link(opening=numbers[at - 1]) if at > 0 else None
    after = here.link(opening=numbers[at + 1]) if -1 <= at < len(numbers) - 1 else None
    return {"place": at + 1, "total": found.shared, "before": before, "after": after}


def _alone(chosen: Sequence[Contender], every: Sequence[Contender]) -> str:
    if len(every) < 2:
        return "There is only one agent in this folder, so there is nothing to hold it against."
    if not chosen:
        return "No two agents of this folder were given the same opening."
    return f"Choose another agent to hold {chosen[0].key} against."


def _answer(chosen: Sequence[Contender], column: Column, found: Openings, level: str) -> str:
    """What a reader came for: how many openings are shared, and where agents differ most."""
    names = listed([one.key for one in chosen])
    if not found.shared:
        begin = f"{names} share no opening."
    else:
        begin = f"{names} share {counted(found.shared, 'opening')}."
    widest = found.rows[0] if found.rows else None
    if widest is not None and widest.spread is not None:
        at = f" at turn {widest.turn}" if level == "turn" else ""
        begin += (
            f" They differ most on {column.label.lower()} by "
            f"{number(widest.spread, percent=column.percent)}{at}, where they answer: “"
            f"{_short(widest.text)}”"
        )
    return begin


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:79].rstrip()}…"


def _apart(
    shown: Sequence[Side], rows: Sequence[Row], column: Column, found: Openings, opening: int
) -> str:
    """How far the agents lie apart here."""
    here = next((row for row in found.rows if row.number == opening), None)
    names = [side.contender.key for side in shown]
    if len(names) < 2:
        return f"Of these agents only {names[0]} was given this opening."
    words = f"{listed(names)} answer the same opening"
    if here is not None and here.spread is not None and here.turn is None:
        words += f" and lie {number(here.spread, percent=column.percent)} apart on "
        words += column.label.lower()
    widest = _widest(rows)
    if widest is not None:
        words += f"; turn by turn they differ most at turn {widest}"
    return f"{words}."
