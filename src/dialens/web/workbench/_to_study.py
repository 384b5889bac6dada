"""A selection becomes a study: drawn, planned and priced on the page before anything is written."""

import hashlib
import os
import shlex
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from dialens.base import DialensError, counted, listed
from dialens.studies.templates import TEMPLATES
from dialens.web.workbench._desk import Desk
from dialens.web.workbench._wish import Asked, parse_asked
from dialens.workbench import (
    JUDGED,
    NEEDED,
    OPENING,
    TURN,
    Draw,
    DrawnUnit,
    GoldItem,
    GoldSuggestion,
    PlannedStudy,
    Price,
    QualityPower,
    Workbench,
    draw,
    gold_suggestions,
    known_r,
    planned_study,
    powers,
    price,
    scales,
    stratum_columns,
    study_place,
    template_qualities,
    write_study_of,
)

_HERE = "/to-study"
_SHOWN_ITEMS = 10
_WHAT = {TURN: ("reply", "replies"), "dialog": ("conversation", "conversations"),
         OPENING: ("context", "contexts")}  # fmt: skip
_GOLD_KINDS = ("likert", "slider", "number", "yes_no")


@dataclass(frozen=True)
class Preview:
    """A study as the page shows it before it is written.

    Attributes:
        drawn: Its items.
        mark: Changes with what was drawn, so that nothing else is written than what was seen.
        planned: The study.
        powers: What could be found, by quality.
        price: What it costs.
        scales: By quality.
        gold: Suggested gold items.
        r: How far a judge goes with people, and where that is known from.
    """

    drawn: Draw
    mark: str
    planned: PlannedStudy
    powers: Sequence[QualityPower]
    price: Price
    scales: Mapping[str, Mapping[str, object]]
    gold: Sequence[GoldSuggestion]
    r: str


def routes(desk: Desk) -> APIRouter:
    """The form, and the page after a study was written."""
    router = APIRouter()
    writing = threading.Lock()

    @router.get(_HERE)
    def to_study(request: Request) -> Response:
        desk.workbench.follow()
        return _page(desk, _pairs(request.url.query))

    @router.post(_HERE)
    async def write(request: Request) -> Response:
        async with request.form(max_fields=500, max_files=0) as sent:
            form = {name: value for name, value in sent.items() if isinstance(value, str)}
            chosen = [value for value in sent.getlist("gold") if isinstance(value, str)]
        return await run_in_threadpool(_write, desk, form, chosen, writing)

    @router.get("/to-study/written")
    def written(name: str = Query(max_length=100)) -> Response:
        place = desk.workbench.folder / name
        item = next((i for i in desk.workbench.catalogue.of("study") if i.path == place), None)
        if item is None:
            raise DialensError(f"There is no study {name} in {desk.workbench.folder.name}.")
        shown = shlex.quote(_relative(place))
        return desk.render(
            "to_study_written",
            here="/studies",
            place=place,
            item=item,
            commands=[f"dialens study {what} {shown}" for what in ("preview", "serve")],
            unfinished="PLEASE FILL IN" in (place / "study.yaml").read_text("utf-8"),
        )

    return router


def _pairs(query: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        found.setdefault(name, []).append(value)
    return found


def _relative(place: Path) -> str:
    """As it is typed where the command was started, if it lies below."""
    here = Path.cwd()
    return os.path.relpath(place, here) if place.is_relative_to(here) else str(place)


def _free_name(folder: Path) -> str:
    return next(f"study-{n}" for n in range(1, 10_000) if not (folder / f"study-{n}").exists())


def _page(desk: Desk, asked: Mapping[str, Sequence[str]], problem: str = "") -> Response:
    bench, plain = desk.workbench, {}
    try:
        wish = parse_asked(asked, _free_name(bench.folder))
    except DialensError as error:  # the form as it usually is, and what was wrong
        plain = {name: values for name, values in asked.items() if name in _VIEW}
        wish, problem = parse_asked(plain, _free_name(bench.folder)), problem or str(error)
    template = wish.fields["template"]
    qualities = template_qualities(template)
    known = tuple(name for name in wish.wish.qualities if name in qualities)
    wish = replace(wish, wish=replace(wish.wish, template=template, qualities=known))
    preview = None
    try:
        study_place(bench.folder, wish.wish.name)
        preview = preview_of(bench, wish)
    except DialensError as error:
        problem = problem or str(error)
    level = TURN if JUDGED[template] == TURN else "dialog"
    return desk.render(
        "to_study",
        status=422 if problem else 200,
        here="/studies",
        asked=wish,
        problem=problem,
        preview=preview,
        answer=_answer(bench, wish, preview),
        templates={name: TEMPLATES[name] for name in JUDGED},
        others=[name for name in TEMPLATES if name not in JUDGED],
        qualities=qualities,
        metrics=_groups(bench, level),
        first=[] if preview is None else _first(bench, preview.drawn.items),
        gold=[] if preview is None else _gold_shown(bench, preview),
        what=_WHAT[JUDGED[template]],
        place=bench.folder / wish.wish.name,
        selection=f"/conversations?{wish.view.address()}",
    )


_VIEW = ("level", "q", "source", "system", "agent", "role", "dialog", "flag", "coder", "range",
         "missing", "sort", "col")  # fmt: skip


def preview_of(bench: Workbench, asked: Asked) -> Preview:
    """What would be written, with power and price.

    Raises:
        DialensError: Nothing can be drawn, or the study's own check found something.
    """
    what, index = JUDGED[asked.wish.template], bench.index
    drawn = draw(
        index,
        asked.view,
        what,
        asked.count,
        seed=asked.seed,
        strata=asked.strata,
        agents=NEEDED.get(asked.wish.template, 1),
    )
    planned = planned_study(index, drawn, asked.wish)
    ratings = bench.ratings()
    found = powers(planned.study, drawn, asked.wish.raters, ratings)
    known = known_r(ratings, list(planned.study.design.qualities))
    r, where = asked.judge_r, ""
    if r is None and known is not None:
        r, where = known[0], f"{known[1]}, over {known[2]} units that both rated"
    best = next((one for one in found if one.found is not None), None)
    cost = price(
        planned.study,
        planned.estimate,
        asked.wish.raters,
        best,
        judge_price=asked.judge_price,
        judge_r=r,
    )
    codes = {code.number: code.name for code in bench.notebook.codes()}
    suggested = gold_suggestions(
        index, drawn.rest, _witness(bench, what, asked.strata.metric), codes
    )
    asked_scales = scales(planned.study)
    if not any(scale.get("kind") in _GOLD_KINDS for scale in asked_scales.values()):
        suggested = []
    text = "\n".join(f"{u.source}|{u.agent}|{u.dialog}|{u.turn}" for u in drawn.units)
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return Preview(drawn, mark, planned, found, cost, asked_scales, suggested, where)


def _witness(bench: Workbench, what: str, chosen: str) -> str:
    """The metric that speaks for gold items: the one chosen, or the first with a direction."""
    columns = bench.index.columns(TURN if what == TURN else "dialog")
    if chosen in columns and columns[chosen].better is not None:
        return chosen
    ranked = [c for c in columns.values() if c.headline is not None and c.better is not None]
    return min(ranked, key=lambda c: (c.headline or 0, c.name)).name if ranked else ""


def _answer(bench: Workbench, asked: Asked, preview: Preview | None) -> str:
    if preview is None:
        return "Nothing has been drawn yet, and nothing is written."
    one, many = _WHAT[JUDGED[asked.wish.template]]
    drawn, found = preview.drawn, preview.planned.estimate
    agents = len({unit.agent for unit in drawn.units})
    cost = f", {found.currency} {found.cost:,.2f}" if found.cost else ""
    best = next((one.found for one in preview.powers if one.found is not None), None)
    shows = ""
    if best is not None:
        shows = f" Differences between two agents of {best:.2g} points or more are found."
    return (
        f"{len(drawn.items)} of {counted(drawn.pool, one, many)} of {counted(agents, 'agent')} are "
        f"drawn: {counted(found.participants, 'participant')}, "
        f"{counted(found.ratings, 'rating')}{cost}.{shows} Nothing is written yet."
    )


def _groups(bench: Workbench, level: str) -> list[tuple[str, list[tuple[str, str]]]]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for column in stratum_columns(bench.index, level):
        groups.setdefault(column.group, []).append((column.name, column.label))
    return list(groups.items())


def _first(bench: Workbench, items: Sequence[Sequence[DrawnUnit]]) -> list[Mapping[str, Any]]:
    units = [item[0] for item in items[:_SHOWN_ITEMS]]
    return [{"unit": unit, "text": text} for unit, text in _with_texts(bench, units)]


def _with_texts(bench: Workbench, units: Sequence[DrawnUnit]) -> list[tuple[DrawnUnit, str]]:
    rows = [unit.id for unit in units if unit.turn is not None]
    texts = bench.index.texts(rows)
    talks = [unit.id for unit in units if unit.turn is None]
    shown = bench.index.rows("dialog", talks, [])
    openings = {row["id"]: row["opening_text"] or "" for row in shown}
    return [
        (u, texts.get(u.id, "") if u.turn is not None else openings.get(u.id, "")) for u in units
    ]


def _gold_shown(bench: Workbench, preview: Preview) -> list[Mapping[str, Any]]:
    """Suggestions with their texts, and the bound that is proposed: the middle of the scale."""
    fit = {
        name: scale for name, scale in preview.scales.items() if scale.get("kind") in _GOLD_KINDS
    }
    made: list[Mapping[str, Any]] = []
    for one, (_, text) in zip(
        preview.gold, _with_texts(bench, [one.unit for one in preview.gold]), strict=True
    ):
        middles = {
            name: (float(str(scale["low"])) + float(str(scale["high"]))) / 2
            for name, scale in fit.items()
        }
        made.append({"one": one, "text": text, "middles": middles})
    return made


def _write(
    desk: Desk, form: Mapping[str, str], chosen: Sequence[str], writing: threading.Lock
) -> Response:
    bench = desk.workbench
    address = form.get("address", "")
    asked = _pairs(address)
    try:
        wish = parse_asked(asked, _free_name(bench.folder))
        with writing:
            study_place(bench.folder, wish.wish.name)
            preview = preview_of(bench, wish)
            if preview.mark != form.get("mark"):
                raise DialensError(
                    "The selection is another now than when the page was made: look at it again. "
                    "Nothing was written."
                )
            gold = tuple(_gold(form, number, preview) for number in chosen)
            made = replace(wish.wish, gold=gold, record=_record(wish, preview))
            place = write_study_of(bench.index, preview.drawn, made, bench.folder)
    except DialensError as error:
        return _page(desk, asked, str(error))
    bench.refresh()
    return RedirectResponse(f"/to-study/written?{urlencode({'name': place.name})}", 303)


def _gold(form: Mapping[str, str], number: str, preview: Preview) -> GoldItem:
    """A gold item as the author confirmed it."""
    units = {str(one.unit.id): one.unit for one in preview.gold}
    quality, rule = form.get(f"quality-{number}", ""), form.get(f"rule-{number}", "")
    scale = preview.scales.get(quality)
    if number not in units or scale is None or rule not in ("least", "most"):
        raise DialensError("This gold item was not suggested. Load the page again.")
    low, high = float(str(scale["low"])), float(str(scale["high"]))
    text = form.get(f"value-{number}", "").strip().replace(",", ".")
    try:
        value = float(text)
    except ValueError as error:
        raise DialensError(
            f"The answer of a gold item is a number; seen: {text[:40]!r}."
        ) from error
    if not low <= value <= high:
        raise DialensError(
            f"The answer of a gold item has to lie on the scale of {quality}, {low:g} to "
            f"{high:g}; seen: {text[:40]}."
        )
    if rule == "least":
        return GoldItem(units[number], quality, at_least=value)
    return GoldItem(units[number], quality, at_most=value)


def _record(asked: Asked, preview: Preview) -> dict[str, Any]:
    """How the items were drawn, for whoever opens the study later."""
    one, many = _WHAT[JUDGED[asked.wish.template]]
    drawn = preview.drawn
    over = ["agents"] if JUDGED[asked.wish.template] != OPENING else []
    over += ["sources"] if asked.strata.source else []
    over += (
        [f"{asked.strata.quantiles} parts of {asked.strata.metric}"] if asked.strata.metric else []
    )
    balanced = f", balanced over {listed(over)}" if over else ""
    return {
        "sentence": f"{len(drawn.items)} of {counted(drawn.pool, one, many)} drawn at random with "
        f"seed {asked.seed}{balanced}.",
        "view": asked.view.address(),
        "address": asked.address(),
        "seed": asked.seed,
        "strata": [vars(stratum) for stratum in drawn.strata],
        "left_out": list(drawn.notes),
        "mark": preview.mark,
    }
