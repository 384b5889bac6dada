"""The page of flags: the code book with its counts, who agrees with whom, and ratings of it."""

from typing import Annotated

import polars as pl
from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from dialens.base import counted, for_spreadsheet, interval, listed, number
from dialens.web.workbench._desk import Desk
from dialens.workbench import (
    WHOLE,
    Code,
    CodeCount,
    View,
    Workbench,
    code_counts,
    coded_ratings,
)

_HERE = "/flags"
_RECENT = 30
_NUMBERS = range(1, 10)


def routes(desk: Desk) -> APIRouter:
    """The page, what its forms send, and the download."""
    router = APIRouter()

    @router.get(_HERE)
    def flags(request: Request) -> Response:
        bench = desk.workbench
        bench.follow()
        counts = code_counts(bench.index, bench.notebook)
        only = None if desk.sees_others(request) else desk.coder(request)
        known = {one.number: one for one in counts}
        coders = sorted({coder for one in counts for coder in one.by_coder})
        return desk.render(
            "flags",
            here=_HERE,
            answer=_answer(bench, counts, coders),
            rows=[(key, known.get(key), _selected(key)) for key in _NUMBERS],
            counts=counts,
            coders=coders,
            agreement=[(one, _alpha_words(one)) for one in counts] if len(coders) > 1 else [],
            coder=desk.coder(request),
            sees_others=desk.sees_others(request),
            recent=_recent(bench, only),
            notes=_notes(bench, only),
        )

    @router.post("/flags/code")
    def write_code(
        key: Annotated[int, Form()],
        name: Annotated[str, Form(max_length=200)] = "",
        meaning: Annotated[str, Form(max_length=2_000)] = "",
    ) -> Response:
        desk.workbench.notebook.write_code(Code(key, name, meaning))
        return RedirectResponse(f"{_HERE}#code-{key}", 303)

    @router.post("/flags/coder")
    def name_coder(name: Annotated[str, Form(max_length=200)] = "") -> Response:
        response = RedirectResponse(_HERE, 303)
        desk.name_coder(response, name)
        return response

    @router.post("/flags/others")
    def show_others(show: Annotated[str, Form(max_length=10)] = "") -> Response:
        response = RedirectResponse(_HERE, 303)
        desk.show_others(response, show=show == "yes")
        return response

    @router.get("/flags/ratings.csv")
    def download() -> Response:
        ratings = coded_ratings(desk.workbench.index, desk.workbench.notebook)
        named = {"content-disposition": 'attachment; filename="flags.csv"'}
        sheet = for_spreadsheet(ratings).write_csv()
        return Response(sheet, media_type="text/csv; charset=utf-8", headers=named)

    return router


def _selected(key: int) -> str:
    return f"/conversations?{View(choices={'flag': (str(key),)}).address()}"


def _answer(bench: Workbench, counts: list[CodeCount], coders: list[str]) -> str:
    """What was flagged by whom, and how far they agree."""
    flags = bench.notebook.flags()
    if not flags.height:
        return (
            "Nothing is flagged yet. Open a conversation and press 1 to 9 on a turn; what the keys "
            "mean is up to you, and stands below."
        )
    units = flags.select("source", "dialog", "turn").n_unique()
    used = [one for one in counts if one.by_coder]
    said = (
        f"{counted(units, 'unit')} flagged with {counted(len(used), 'code')} by {listed(coders)}."
    )
    alphas = [one for one in used if one.alpha is not None]
    if not alphas:
        return said
    worst = min(alphas, key=lambda one: one.alpha or 0.0)
    best = max(alphas, key=lambda one: one.alpha or 0.0)
    if worst is best:
        return f"{said} On {best.name} they agree with alpha {_alpha_words(best)}."
    return (
        f"{said} They agree most on {best.name} (alpha {_alpha_words(best)}) and least on "
        f"{worst.name} (alpha {_alpha_words(worst)})."
    )


def _alpha_words(one: CodeCount) -> str:
    if one.alpha is None:
        return f"– ({one.reason})" if one.reason else "–"
    value = number(one.alpha, 2)
    if one.low is None or one.high is None:
        return value
    return f"{value}, {interval(one.low, one.high, 2)}"


def _of(rows: pl.DataFrame, only: str | None) -> list[dict[str, object]]:
    """The last rows, of one coder or of all."""
    rows = rows if only is None else rows.filter(pl.col("coder") == only)
    return rows.reverse().head(_RECENT).rows(named=True)


def _recent(bench: Workbench, only: str | None) -> list[dict[str, object]]:
    """The flags set last, each with the beginning of its text."""
    rows = _of(bench.notebook.flags(), only)
    names = {code.number: code.name for code in bench.notebook.codes()}
    return [
        {
            **row,
            "name": names.get(int(str(row["code"])), ""),
            "text": _text(bench, row),
            "whole": _whole(row),
        }
        for row in rows
    ]


def _notes(bench: Workbench, only: str | None) -> list[dict[str, object]]:
    return [{**row, "whole": _whole(row)} for row in _of(bench.notebook.notes(), only)]


def _whole(row: dict[str, object]) -> bool:
    return row["turn"] == WHOLE


def _text(bench: Workbench, row: dict[str, object]) -> str:
    if _whole(row):
        return ""
    found = bench.index.sql(
        "select first + ? from dialogs where source = ? and dialog = ?",
        (row["turn"], row["source"], row["dialog"]),
    )
    if not found:
        return "(no longer there)"
    return bench.index.texts([found[0][0]]).get(found[0][0], "")[:160]
