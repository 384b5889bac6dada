"""People on the dashboard: the table, a page for each, what they saw, and what is done about it."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, HTTPException, Path, Query
from fastapi.responses import RedirectResponse, Response

from dialens.analysis.bias import FLAGS
from dialens.base import DialensError
from dialens.studies.store import PEOPLE, ExportLog, History, UnknownParticipant, histories
from dialens.web._cookies import Login
from dialens.web._desk import Desk
from dialens.web._forms import SentForm
from dialens.web._login import HOME, check_owner
from dialens.web._people_table import EXCLUDED, People, Selection, as_csv
from dialens.web._replay import replayed, said, site_of, visited

_PAGE = 200
Pseudonym = Annotated[str, Path(max_length=100)]
Word = Annotated[str, Query(max_length=500)]


def _selection(
    find: Word = "",
    state: Word = "",
    cell: Word = "",
    version: Word = "",
    flag: Word = "",
    sort: Word = "begun",
    order: Word = "desc",
) -> Selection:
    return Selection(find, state, cell, version, flag, sort, order)


Selected = Annotated[Selection, Depends(_selection)]


def people_routes(desk: Desk) -> APIRouter:
    """The addresses of the people who took part."""
    router = APIRouter(prefix=HOME, include_in_schema=False)
    people = People(desk.site)
    LoggedIn = Annotated[Login, Depends(desk.logged_in)]

    @router.get("/people")
    def table(
        login: LoggedIn, chosen: Selected, page: Annotated[int, Query(ge=1, le=100_000)] = 1
    ) -> Response:
        return desk.page("people", login, **_table(people, chosen, page))

    @router.get("/people.csv")
    def download(login: LoggedIn, chosen: Selected) -> Response:
        check_owner(login)
        desk.site.note("table of people downloaded", login.who)
        file = f"{desk.site.study.name}-people.csv"
        rows = chosen.of(people.rows())
        text = as_csv(rows)
        ExportLog(desk.site.store.database, "dashboard", login.who).remember(
            desk.site.study.hash,
            PEOPLE,
            None,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            people=len(rows),
            now=desk.now(),
        )
        return Response(
            text,
            media_type="text/csv; charset=utf-8",
            headers={"content-disposition": f"attachment; filename*=UTF-8''{quote(file)}"},
        )

    @router.get("/code")
    def code(login: LoggedIn, code: Annotated[str, Query(max_length=100)] = "") -> Response:
        holders = [
            holder
            for holder in desk.records.code_holders(code)
            if holder.study == desk.site.study.name
        ]
        if len({holder.participant for holder in holders}) == 1:
            query = urlencode({"code": holders[0].code})
            return RedirectResponse(f"{desk.home}/people/{holders[0].participant}?{query}", 303)
        if holders:
            return RedirectResponse(f"{desk.home}/people?{urlencode({'find': code.strip()})}", 303)
        sorry = f"Nobody has the completion code {code.strip()!r} in this study." if code else ""
        shown = _table(people, Selection(), 1)
        return desk.page("people", login, 404 if code else 200, **shown | {"sorry": sorry})

    @router.get("/people/{participant}")
    def person(
        login: LoggedIn,
        participant: Pseudonym,
        code: Annotated[str, Query(max_length=100)] = "",
    ) -> Response:
        return _person_page(desk, people, login, participant, code=code)

    @router.get("/people/{participant}/replay")
    def replay(
        login: LoggedIn,
        participant: Pseudonym,
        attempt: Annotated[int, Query(ge=1, le=10_000)] = 1,
        index: Annotated[int, Query(ge=0, le=100_000)] = 0,
    ) -> Response:
        history = _attempt(desk, participant, attempt)
        shown = replayed(desk.site, history, index)
        if shown is None:
            raise HTTPException(404, "This version of the study cannot be shown any more.")
        return desk.page(
            "replay",
            login,
            participant=participant,
            history=history,
            shown=shown,
            seen=shown.pages.part("replayed", shown=shown.arranged),
        )

    @router.post("/people/{participant}/excluded")
    def exclude(login: LoggedIn, participant: Pseudonym, form: SentForm) -> Response:
        desk.check(form, login)
        _histories(desk, participant)
        try:
            if form.get("excluded") == "no":
                desk.operating(login).include(participant, now=desk.now())
            else:
                desk.operating(login).exclude(
                    participant, form.get("why", "")[:2_000], now=desk.now()
                )
        except DialensError as error:
            return _person_page(desk, people, login, participant, sorry=str(error))
        return RedirectResponse(f"{desk.home}/people/{participant}", 303)

    @router.post("/people/{participant}/paid")
    def paid(login: LoggedIn, participant: Pseudonym, form: SentForm) -> Response:
        desk.check(form, login)
        _histories(desk, participant)
        desk.operating(login).mark_paid(participant, paid=form.get("paid") != "no", now=desk.now())
        return RedirectResponse(f"{desk.home}/people/{participant}", 303)

    return router


def _table(people: People, chosen: Selection, page: int) -> dict[str, Any]:
    rows = people.rows()
    selected = chosen.of(rows)
    pages = max(-(-len(selected) // _PAGE), 1)
    page = min(page, pages)
    states = sorted({row.state for row in rows})
    return {
        "rows": selected[(page - 1) * _PAGE : page * _PAGE],
        "n_selected": len(selected),
        "n_all": len(rows),
        "chosen": chosen,
        "page": page,
        "pages": pages,
        "states": states + ([EXCLUDED] if any(row.excluded for row in rows) else []),
        "cells": sorted({row.cell for row in rows}),
        "versions": sorted({row.version for row in rows}, key=lambda one: one.zfill(8)),
        "flags": {name: why for name, why in FLAGS.items() if name != "few_ratings"},
        "under_way": people.under_way(),
        "sorry": "",
    }


def _person_page(
    desk: Desk, people: People, login: Login, participant: str, *, code: str = "", sorry: str = ""
) -> Response:
    attempts = _histories(desk, participant)
    row = next(one for one in people.rows() if one.participant == participant)
    changes = [
        change
        for change in desk.records.changes_frame(attempts[0].session.study).iter_rows(named=True)
        if change["rater"] == participant
    ]
    return desk.page(
        "person",
        login,
        409 if sorry else 200,
        row=row,
        quality=people.quality(attempts[0].session.study, participant),
        under_way=people.under_way(),
        flags=FLAGS,
        attempts=[_attempt_shown(desk, history) for history in attempts],
        changes=changes,
        verified=code if code in row.codes else "",
        sorry=sorry,
    )


def _attempt_shown(desk: Desk, history: History) -> Mapping[str, Any]:
    return {
        "history": history,
        "visits": visited(desk.site, history),
        "talks": said(history),
        "readable": site_of(desk.site, history) is not None,
    }


def _histories(desk: Desk, participant: str) -> tuple[History, ...]:
    """Every attempt of somebody who took part in this study."""
    try:
        found = histories(desk.site.store, participant)
    except UnknownParticipant as error:
        raise HTTPException(404, "There is no such participant.") from error
    versions = {one.hash for one in desk.site.store.studies() if one.name == desk.site.study.name}
    if found[0].session.study not in versions:
        raise HTTPException(404, "There is no such participant.")
    return found


def _attempt(desk: Desk, participant: str, attempt: int) -> History:
    for history in _histories(desk, participant):
        if history.session.attempt == attempt:
            return history
    raise HTTPException(404, "There is no such attempt.")
