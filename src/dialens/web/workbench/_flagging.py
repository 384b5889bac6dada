"""Flags and notes: two addresses that store them at once, whichever page they are given on."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field

from dialens.web.workbench._desk import Desk
from dialens.workbench import WHOLE, Marks, Unit, marks_of

_Name = Annotated[str, Field(max_length=100_000)]


class _OfUnit(BaseModel):
    """A turn, or a whole conversation."""

    model_config = ConfigDict(extra="forbid", strict=True)

    source: _Name
    dialog: _Name
    turn: Annotated[int, Field(ge=WHOLE, le=2**31 - 1)]


class _Flag(_OfUnit):
    """A flag that is set or taken away; code 0 takes all of them away."""

    code: Annotated[int, Field(ge=0, le=9)]
    on: bool


class _Note(_OfUnit):
    """A note in place of an earlier one; an empty one deletes it."""

    note: Annotated[str, Field(max_length=100_000)]


def routes(desk: Desk) -> APIRouter:
    """The two addresses that flags and notes are sent to; each answers with what is stored now."""
    router = APIRouter()

    @router.post("/api/flag")
    def flag(request: Request, asked: _Flag) -> dict[str, Any]:
        unit, coder = _unit(desk, asked), desk.coder(request)
        book = desk.workbench.notebook
        if asked.code == 0:
            if asked.on:
                raise HTTPException(400, "There is no flag 0: it takes the others away.")
            book.clear(unit, coder)
        else:
            book.flag(unit, asked.code, coder, on=asked.on)
        return _stored(desk, unit, coder, others=desk.sees_others(request))

    @router.post("/api/note")
    def note(request: Request, asked: _Note) -> dict[str, Any]:
        unit, coder = _unit(desk, asked), desk.coder(request)
        desk.workbench.notebook.write_note(unit, asked.note, coder)
        return _stored(desk, unit, coder, others=desk.sees_others(request))

    return router


def _unit(desk: Desk, asked: _OfUnit) -> Unit:
    """The unit that is named; refused where there is none, so that nothing is flagged in vain."""
    index = desk.workbench.index
    talk = index.talk(asked.source, asked.dialog)
    found = talk is not None
    if found and asked.turn != WHOLE:
        turns = "select 1 from turns where talk = ? and turn = ? limit 1"
        found = bool(index.sql(turns, (talk, asked.turn)))
    if not found:
        place = "conversation" if asked.turn == WHOLE else f"turn {asked.turn}"
        raise HTTPException(
            404, f"There is no such {place} any more. Nothing was stored; load the page again."
        )
    return Unit(asked.source, asked.dialog, asked.turn)


def _stored(desk: Desk, unit: Unit, coder: str, *, others: bool) -> dict[str, Any]:
    """What is stored of a unit now, for the script and as the fragment that shows it."""
    book = desk.workbench.notebook
    marks = marks_of(book, unit.source, unit.dialog, coder, others=others)
    own = marks.get(unit.turn, Marks())
    return {
        "coder": coder,
        "own": own.own,
        "note": own.note,
        "others": {
            who: {"flags": codes, "note": note} for who, (codes, note) in (own.others or {}).items()
        },
        "html": desk.fragment("turn_parts", "marks", own, code_names(desk)),
    }


def code_names(desk: Desk) -> Mapping[int, str]:
    """Names of the flags in the code book, by number."""
    return {code.number: code.name for code in desk.workbench.notebook.codes()}


def seen_rows(
    desk: Desk, request: Request, rows: Sequence[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], dict[tuple[str, str], dict[int, Marks]]]:
    """Rows, and marks by conversation, with what this coder may see: who codes blind, their own."""
    coder, book, others = desk.coder(request), desk.workbench.notebook, desk.sees_others(request)
    talks = {(row["source"], row["dialog"]) for row in rows if row.get("flags") or row.get("note")}
    marks = {talk: marks_of(book, *talk, coder, others=others) for talk in talks}
    if others:
        return list(rows), marks
    made = []
    for row in rows:
        if "flags" in row:
            found = marks.get((row["source"], row["dialog"]), {})
            own = [found[row["turn"]]] if row.get("turn") in found else []
            own = own if "turn" in row else list(found.values())
            codes = sorted({code for one in own for code in one.own})
            own_marks = {
                "flags": ",".join(map(str, codes)) or None,
                "note": "\n".join(one.note for one in own if one.note) or None,
            }
            shown = {name: own_marks.get(name, value) for name, value in row["values"].items()}
            row = {**row, **own_marks, "values": shown}
        made.append(row)
    return made, marks
