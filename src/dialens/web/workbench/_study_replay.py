"""A participant's session, screen by screen as they saw it, with what happened meanwhile.

The screens are made by the same code as for researchers of a running study
(`dialens.web._replay`); the database is only looked into.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import FileResponse, Response

from dialens.studies import MEDIA_TYPES
from dialens.studies.store import History, PageEvent, events_of, histories, look_into
from dialens.web._replay import replayed, visited
from dialens.web._site import UNREADABLE, Site
from dialens.web._study_file import site_in_memory
from dialens.web.workbench._desk import Desk
from dialens.web.workbench._studies import HERE, home_of
from dialens.workbench import Item, database_with

_KEPT = 8
_EVENTS: Mapping[str, str] = {
    "shown": "The screen came up",
    "first_input": "First answer",
    "change": "Changed an answer",
    "blur": "Left the window",
    "focus": "Came back to the window",
    "hidden": "The page was hidden",
    "visible": "The page was visible again",
    "submitted": "Submitted",
    "refused": "Was refused",
}


@dataclass(frozen=True)
class Moment:
    """An event in words.

    Attributes:
        seconds: Since the page came up, by the browser's own clock.
        words: What happened.
        field: To which question, if to one.
        again: Whether the page was loaded anew, or is another tab.
    """

    seconds: float
    words: str
    field: str
    again: bool


class Sites:
    """Versions of studies that can be shown, those used last."""

    def __init__(self) -> None:
        self._sites: OrderedDict[tuple[Path, str], Site] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, database: Path, version: str, folder: Path) -> Site:
        """The version of a study that somebody met.

        Raises:
            HTTPException: This dialens cannot show it.
        """
        with self._lock:
            key = (database, version)
            if key not in self._sites:
                try:
                    with look_into(database) as store:
                        study = store.study(version).study
                    self._sites[key] = site_in_memory(study, folder, agents=False)
                except UNREADABLE as error:
                    raise HTTPException(
                        404, f"This version of the study cannot be shown any more: {error}"
                    ) from error
                while len(self._sites) > _KEPT:
                    self._sites.popitem(last=False)[1].close()
            self._sites.move_to_end(key)
            return self._sites[key]

    def media(self, name: str) -> Path | None:
        """A picture, sound or film of a screen that was shown; names are hashes of contents."""
        with self._lock:
            found = (site.media_file(name) for site in self._sites.values())
            return next((path for path in found if path is not None), None)


def routes(desk: Desk) -> APIRouter:
    """The replay of a session."""
    router = APIRouter()
    sites = Sites()

    @router.get("/study/replay")
    def replay(
        name: str = Query(max_length=1_000),
        participant: str = Query(max_length=100),
        attempt: int = Query(default=0, ge=0, le=10_000),
        index: int = Query(default=0, ge=0, le=100_000),
    ) -> Response:
        item = desk.item(name)
        database = database_with(item, participant)
        if database is None:
            raise HTTPException(404, f"There is no participant {participant} in {item.name}.")
        history, every = _history(database, participant, attempt)
        site = sites.of(database, history.session.study, home_of(item))
        shown = replayed(site, history, index)
        if shown is None:
            raise HTTPException(404, "This version of the study cannot be shown any more.")
        with look_into(database) as store:
            events = events_of(store, participant, history.session.attempt)
        return desk.render(
            "replay",
            here=HERE,
            item=item,
            participant=participant,
            history=history,
            attempts=every,
            shown=shown,
            seen=shown.pages.part("replayed", shown=shown.arranged),
            moments=moments(events, shown.screen.id),
            visits=visited(site, history),
            answer=_answer(item, participant, history, shown.total),
        )

    @router.get("/media/{name}")
    def media(name: str) -> Response:
        path = sites.media(name)
        if path is None or not path.is_file():
            raise HTTPException(404)
        return FileResponse(path, media_type=MEDIA_TYPES[path.suffix.lower()])

    return router


def _history(database: Path, participant: str, attempt: int) -> tuple[History, list[int]]:
    with look_into(database) as store:
        found = histories(store, participant)
    for history in found:
        if attempt in (0, history.session.attempt):
            return history, sorted(one.session.attempt for one in found)
    raise HTTPException(404, "There is no such attempt.")


def _answer(item: Item, participant: str, history: History, total: int) -> str:
    state = "completed" if history.session.state == "completed" else "did not complete"
    seen = sum(visit.seconds or 0.0 for visit in history.visits)
    return (
        f"{participant} {state} {item.name}: {len(history.visits)} of {total} screens submitted, "
        f"{seen / 60:.1f} minutes in view."
    )


def moments(events: Sequence[PageEvent], screen: str) -> list[Moment]:
    """What happened on a screen, in words, with the time since its page came up."""
    own = [event for event in events if event.screen == screen]
    begun: dict[str, PageEvent] = {}
    made = []
    answered: set[str] = set()
    for event in own:
        words = _EVENTS.get(event.kind, event.kind)
        if event.kind == "change" and (event.field or "") not in answered:
            answered.add(event.field or "")
            words = "Gave an answer"
        fresh = event.page not in begun
        first = begun.setdefault(event.page, event)
        made.append(
            Moment(
                max(0.0, (event.at - first.at).total_seconds()),
                words,
                event.field or "",
                fresh and len(begun) > 1,
            )
        )
    return made
