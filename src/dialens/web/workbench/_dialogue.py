"""The page of one conversation: its turns with marked words, scores, ratings, flags and notes."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, Response

from dialens.base import DialensError, counted, listed, number
from dialens.metrics import Resources
from dialens.report import LENSES, Mark, WordMarks, check_resources, counts_partner
from dialens.web.workbench._desk import Desk, address
from dialens.web.workbench._flagging import code_names
from dialens.web.workbench._turn_chart import TurnChart, turn_chart
from dialens.workbench import (
    Column,
    Dialog,
    Neighbours,
    Score,
    SpokenTurn,
    View,
    along,
    find_talk,
    given,
    measures,
    neighbours,
    read_dialog,
    runs_of,
    scores_of,
    usual_measure,
)

MOST_TURNS = 200
_LENS_WORDS = {
    "emotion": "Emotion words",
    "style": "Function words",
    "content": "Content words",
    "question": "Questions",
    "none": "Nothing",
}
_FIRST_SCORES = 6
_BEFORE_FOCUS = 20
_OTHER_LEXICONS = (
    "Words are not marked: these conversations were scored with other lexicons than those at hand."
)
_NO_LENS = "Words are not marked: no metric of these conversations counts words."

Segment = tuple[str, Mark | None]


def routes(desk: Desk) -> APIRouter:
    """The conversation, and the scores of one of its turns to be put into the page."""
    router = APIRouter()

    @router.get("/dialogue")
    def dialogue(
        request: Request,
        dialog: str,
        *,
        source: str | None = None,
        turn: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
        came: Annotated[str, Query(alias="from")] = "",
        metric: str = "",
        lens: str = "",
        whole: Annotated[bool, Query(alias="all")] = False,
        scores: bool = False,
    ) -> Response:
        bench = desk.workbench
        bench.follow()
        talk, source = _found(desk, source, dialog)
        index = bench.index
        shown = usual_columns(desk)
        chosen = metric or usual_measure(index, "turn")
        columns = list(dict.fromkeys([*shown, chosen]))
        start = 0 if whole or turn is None or turn < MOST_TURNS else turn - _BEFORE_FOCUS
        read = read_dialog(
            bench,
            talk,
            columns=columns,
            coder=desk.coder(request),
            others=desk.sees_others(request),
            start=start,
            most=None if whole else MOST_TURNS,
        )
        lenses, why = lenses_of(desk, source)
        lens = lens if lens in lenses or lens == "none" else next(iter(lenses), "none")
        focus = next((one for one in read.shown if one.turn == turn), None)
        here = {
            "source": source,
            "dialog": dialog,
            "turn": turn,
            "from": came or None,
            "metric": metric or None,
            "lens": lens if lenses else None,
            "all": 1 if whole else None,
        }
        return desk.render(
            "dialogue",
            here="/conversations",
            read=read,
            answer=_answer(desk, read),
            columns=[column for name, column in index.columns("turn").items() if name in columns],
            measures=grouped(measures(index, "turn")),
            chosen=chosen,
            chart=_chart(desk, read, chosen),
            segments=marked(read.shown, lens, lenses),
            lens=lens,
            lenses={name: _LENS_WORDS[name] for name in (*lenses, "none")} if lenses else {},
            legend=_legend(lens),
            unmarked=why,
            focus=focus.turn if focus else None,
            open_scores=score_groups(scores_of(bench, read, focus)) if focus and scores else None,
            whole_scores=score_groups(scores_of(bench, read, None)),
            codes=code_names(desk),
            step=_step(desk, talk, turn, came),
            others=0 if read.opening is None else len(given(index, read.opening)) - 1,
            came=came,
            link=lambda **changes: address("/dialogue", **(here | changes)),
            kept={name: value for name, value in here.items() if value is not None},
        )

    @router.get("/dialogue/scores")
    def scores(dialog: str, turn: int, source: str | None = None) -> Response:
        talk, _ = _found(desk, source, dialog)
        read = read_dialog(desk.workbench, talk, start=turn, most=1)
        if not read.shown or read.shown[0].turn != turn:
            raise HTTPException(404, f"The conversation has no turn {turn}.")
        groups = score_groups(scores_of(desk.workbench, read, read.shown[0]))
        return HTMLResponse(desk.fragment("turn_parts", "scores", groups))

    return router


def _found(desk: Desk, source: str | None, dialog: str) -> tuple[int, str]:
    try:
        return find_talk(desk.workbench, source, dialog)
    except DialensError as error:
        raise HTTPException(404, str(error)) from error


def usual_columns(desk: Desk) -> list[str]:
    """Columns of turns that are shown beside each: headline metrics, and what was said."""
    columns = desk.workbench.index.columns("turn")
    usual = desk.workbench.index.usual("turn")
    return [name for name in usual if columns[name].kind == "metric"]


def grouped(columns: Sequence[Column]) -> list[tuple[str, list[Column]]]:
    """Columns by what they are listed under, in the order of the first of each."""
    groups: dict[str, list[Column]] = {}
    for column in columns:
        groups.setdefault(column.group, []).append(column)
    return list(groups.items())


def score_groups(found: Sequence[Score]) -> list[tuple[str, list[Score]]]:
    """Values by family; those that come first stand under no heading."""
    ranked = sorted(
        (one for one in found if one.column.headline is not None),
        key=lambda one: (one.column.headline, one.column.name),
    )
    first = ranked[:_FIRST_SCORES]
    rest = [one for one in found if one not in first]
    rest.sort(key=lambda one: one.column.group)
    groups = [(name, list(own)) for name, own in groupby(rest, lambda one: one.column.group)]
    return [("", first), *groups] if first else groups


def _chart(desk: Desk, read: Dialog, name: str) -> TurnChart | None:
    index = desk.workbench.index
    column = index.columns("turn").get(name)
    values = along(desk.workbench, read.talk, name)
    spread = index.histogram(View(), name) if values else None
    last = index.sql("select max(turn) from turns where talk = ?", (read.talk,))[0][0] or 0
    bounds = (spread.low, spread.high) if spread else None
    return turn_chart(column, values, int(last), bounds) if column else None


def _answer(desk: Desk, read: Dialog) -> str:
    """What a reader came for, in a sentence or two."""
    index = desk.workbench.index
    columns = index.columns("dialog")
    usual = [name for name in index.usual("dialog") if columns[name].kind == "metric"]
    rows = index.rows("dialog", [read.talk], usual)
    values = rows[0]["values"] if rows else {}
    means = [
        f"{columns[name].label.lower()} {number(values[name], percent=columns[name].percent)}"
        for name in usual
        if values[name] is not None
    ]
    who = read.agent or "The agent"
    begin = f"{who} speaks in {read.agent_turns:,} of {counted(read.turns, 'turn')}"
    scored = f"{begin}: {listed(means)}." if means else f"{begin}; nothing was scored."
    said = [
        f"{one.quality} {number(one.mean)} ({_who(one.kind, one.who)}, n = {one.n})"
        for one in read.ratings
    ]
    return f"{scored} Rated as a whole: {listed(said[:4])}." if said else scored


def _who(kind: str, who: str) -> str:
    return who or {"people": "people", "simulated": "simulated raters"}.get(kind, kind)


def _step(desk: Desk, talk: int, turn: int | None, came: str) -> dict[str, Any]:
    """Where n and p lead: along the rows of the view that the reader came from."""
    index = desk.workbench.index
    try:
        near = neighbours(index, View.parse(parse_qs(came)), talk, turn)
    except DialensError:  # a column of the view is gone: it can be read all the same
        near = Neighbours(0, 0, None, None)
    made: dict[str, Any] = {"place": near.place, "total": near.total, "level": near.level}
    for name, other in (("before", near.before), ("after", near.after)):
        made[name] = None
        if other is not None:
            asked = "select source, dialog from dialogs where talk = ?"
            source, dialog = index.sql(asked, (other[0],))[0]
            step = {"source": source, "dialog": dialog, "turn": other[1], "from": came or None}
            made[name] = address("/dialogue", **step)
    return made


@cache
def _word_marks() -> WordMarks:
    """Made once: looking a word up is quick, reading lexicons is not."""
    return WordMarks(Resources())


def lenses_of(desk: Desk, source: str) -> tuple[Mapping[str, bool], str]:
    """What can be marked in a collection, or why nothing can."""
    lenses: dict[str, bool] = {}
    for scores, _ in runs_of(desk.workbench, source):
        found = counts_partner(scores.cards.values())
        try:
            check_resources(scores.signatures, Resources(), ["lex"])
        except DialensError:
            if found and not lenses:
                return {}, _OTHER_LEXICONS
            continue
        lenses |= {lens: found[lens] or lenses.get(lens, False) for lens in found}
    return {lens: lenses[lens] for lens in LENSES if lens in lenses}, "" if lenses else _NO_LENS


def marked(
    turns: Sequence[SpokenTurn], lens: str, lenses: Mapping[str, bool]
) -> list[list[Segment]]:
    """The text of each turn in pieces, with a mark or without."""
    counts = [one.role == "agent" or lenses.get(lens, False) for one in turns]
    if lens not in lenses:
        return [[(one.text, None)] for one in turns]
    marks = _word_marks().of([one.text for one in turns], lens)
    return [
        _pieces(one.text, own if counted else [])
        for one, own, counted in zip(turns, marks, counts, strict=True)
    ]


def _pieces(text: str, marks: Sequence[Mark]) -> list[Segment]:
    made: list[Segment] = []
    at = 0
    for mark in marks:
        if mark.start > at:
            made.append((text[at : mark.start], None))
        made.append((text[mark.start : mark.end], mark))
        at = mark.end
    if at < len(text) or not made:
        made.append((text[at:], None))
    return made


def _legend(lens: str) -> list[str]:
    """Names of what the colours of a lens stand for, in their order."""
    marks = _word_marks() if lens in ("emotion", "style") else None
    return [] if marks is None else marks.emotions if lens == "emotion" else marks.styles
