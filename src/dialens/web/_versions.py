"""Several versions of a study in one server: who began one finishes it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from dialens.studies.store import UnknownSession
from dialens.web._chat import Chats
from dialens.web._site import Site

if TYPE_CHECKING:
    from dialens.web._participant import Participation


class Versions:
    """Chooses who handles a request: everybody finishes the version that they began."""

    def __init__(self, site: Site, handler: "Callable[[Site], Participation]") -> None:
        """Serve the participants of `site`, and those who are still in earlier versions."""
        self._site = site
        self._newest = handler(site)
        self._others = {study: handler(other) for study, other in site.versions.items()}

    @property
    def any_chats(self) -> bool:
        """Whether participants of any version talk with agents."""
        return any(part.chats is not None for part in (self._newest, *self._others.values()))

    def of(self, request: Request) -> "Participation":
        """The version that a request belongs to; may ask the database."""
        known = self._known(request)
        if known is not None:
            return known
        visit = self._site.cookies.visit(request)
        assert visit is not None
        assert visit.token is not None
        try:
            study = self._site.store.session(visit.token).study
        except UnknownSession:
            return self._newest
        return self._others.get(study, self._newest)

    async def find(self, request: Request) -> "Participation":
        """The same, without keeping other requests waiting."""
        known = self._known(request)
        return await run_in_threadpool(self.of, request) if known is None else known

    def _known(self, request: Request) -> "Participation | None":
        visit = self._site.cookies.visit(request)
        if not self._others or visit is None or visit.token is None:
            return self._newest
        token = visit.token
        return next((p for p in (self._newest, *self._others.values()) if p.knows(token)), None)

    async def chats(self, request: Request) -> Chats | None:
        """Who handles what participants say; none if their version has no conversations."""
        return (await self.find(request)).chats
