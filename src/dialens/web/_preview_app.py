"""`dialens study preview`: see a study while it is written, edit it, take it; nothing is stored.

Only for the author, on the author's machine, by the token in the address that the command prints
(`dialens.web._loopback`).
"""

import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Setting
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dialens.base import DialensError, read_yaml
from dialens.studies import (
    JSON,
    Change,
    Planner,
    Screen,
    Study,
    fragment,
    study_schema,
    yaml_value,
)
from dialens.studies.recruiters import recruiters
from dialens.web._cookies import CookieJar
from dialens.web._guard import Guard, security_headers
from dialens.web._loopback import Key, foreign
from dialens.web._preview_screens import cell_or_first, preview_routes
from dialens.web._site import Site
from dialens.web._study_app import add_assets, add_media, not_refused, study_app
from dialens.web._study_file import FileChanged, StudyFile, site_in_memory

HOME = "/preview"
_OURS = (HOME, "/assets/", "/media/", "/favicon.ico")
_NOTHING_YET = "The study file was not valid yet; there is nothing to show."


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SentChange(_Sent):
    """A change as the form sends it: a value, or a YAML text."""

    at: list[str | int] = Setting(min_length=1, max_length=20)
    value: JSON = None
    yaml: str | None = None
    remove: bool = False
    rename: str | None = Setting(default=None, min_length=1, max_length=200)

    def change(self) -> Change:
        """The change to the file."""
        value = self.value if self.yaml is None else yaml_value(self.yaml)
        return Change(tuple(self.at), value, self.remove, self.rename)


class SentChanges(_Sent):
    """Changes to the text with a hash."""

    before: str
    changes: list[SentChange] = Setting(min_length=1, max_length=100)


class SentText(_Sent):
    """Another text in place of the one with a hash."""

    before: str
    text: str


class SentTake(_Sent):
    """Somebody who takes the study themselves."""

    cell: str
    seed: int = Setting(default=0, ge=0, lt=2**31)
    language: str = Setting(default="", max_length=35)


class _ChosenPlanner(Planner):
    """Gives everybody the screens of one participant."""

    def __init__(self, study: Study, cell: str, seed: int) -> None:
        super().__init__(study)
        self._chosen = cell, seed

    def screens(
        self, cell: str, seed: int, language: str | None = None, wave: int = 1
    ) -> tuple[Screen, ...]:
        """The screens of the chosen cell and seed."""
        return super().screens(*self._chosen, language, wave)


@dataclass
class StudyPreview:
    """The application: the author's page, and the participant's pages while the study is taken.

    Attributes:
        file: The study file.
        token: The key to the page.
    """

    file: StudyFile
    token: str
    _taken: tuple[Site, ASGIApp] | None = None

    def __post_init__(self) -> None:
        self.key = Key(self.token, "dialens study preview", "dialens-preview")
        self._own = _own_app(self)

    @property
    def address(self) -> str:
        """Path of the page, with the key."""
        return f"{HOME}?{urlencode({'token': self.token})}"

    def site(self) -> Site:
        """The last valid version of the study."""
        site = self.file.checked().site
        if site is None:
            raise HTTPException(409, _NOTHING_YET)
        return site

    def take(self, cell: str, seed: int, language: str = "") -> str:
        """Let the author take the study in a cell, from the first page on; gives its address.

        Every take has a database of its own in memory, and any device will do.
        """
        study = self.site().study
        cell = cell_or_first(study, cell)
        site = site_in_memory(study, self.file.path.parent, agents=True)
        cookies = CookieJar(site.store.secrets.signing_key(), "preview", framed=False)
        site = replace(
            site, planner=_ChosenPlanner(study, cell, seed), cookies=cookies, any_device=True
        )
        self.close()
        self._taken = site, study_app(site)
        settings = study.design.recruiter
        kind, who = recruiters()[settings.kind], f"preview-{secrets.token_hex(4)}"
        if kind.sealed:
            who = site.store.secrets.invitation(study.name, who)
        named = dict.fromkeys(kind.names(settings), who)
        return f"/?{urlencode(named | ({'lang': language} if language else {}))}"

    def close(self) -> None:
        """Forget what was answered."""
        if self._taken is not None:
            site, _ = self._taken
            self._taken = None
            if site.replies is not None:
                site.replies.close()
            site.store.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._own(scope, receive, send)
            return
        refusal = foreign(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
        elif scope["path"].startswith(_OURS):
            await self._own(scope, receive, send)
        elif self._taken is None:
            await RedirectResponse(HOME, 303)(scope, receive, send)
        else:
            await self._taken[1](scope, receive, _framed(send))


def _framed(send: Send) -> Send:
    """Let the participant's pages be shown in the frame of the preview."""
    wanted = security_headers(within=True)
    names = {name.encode("latin-1") for name in wanted}

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message["headers"] if pair[0].lower() not in names]
            made = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in wanted.items()]
            message["headers"] = [*kept, *made]
        await send(message)

    return sent


def _own_app(preview: StudyPreview) -> FastAPI:
    app = FastAPI(
        title="dialens study preview",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[Depends(not_refused)],
    )

    allowed = preview.key.check
    app.include_router(preview_routes(HOME, preview.site, allowed, editable=True))
    _add_watching(app, preview, allowed)
    _add_editing(app, preview, allowed)
    add_assets(app)
    add_media(app, preview.site)
    _add_handlers(app)
    app.add_middleware(Guard, headers=security_headers(within=True), most_bytes=8 * 1_048_576)

    @app.middleware("http")
    async def keep_the_key(
        request: Request, answer: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        response = await answer(request)
        if request.url.path == HOME and response.status_code == 200:
            preview.key.keep(response)
        return response

    return app


def _add_watching(app: FastAPI, preview: StudyPreview, allowed: Callable[..., None]) -> None:
    guarded = [Depends(allowed)]

    @app.get(f"{HOME}/state", dependencies=guarded)
    def state(stamp: Annotated[str, Query(max_length=100)] = "") -> Response:
        checked = preview.file.checked()
        if checked.stamp == stamp:
            return Response(status_code=204)
        return JSONResponse(checked.as_json())

    @app.post(f"{HOME}/take", dependencies=guarded)
    def take(sent: SentTake) -> Response:
        return JSONResponse({"address": preview.take(sent.cell, sent.seed, sent.language)})


def _add_editing(app: FastAPI, preview: StudyPreview, allowed: Callable[..., None]) -> None:
    guarded, file = [Depends(allowed)], preview.file

    def document() -> Response:
        text = file.read()
        try:
            data = read_yaml(file.path)[0]
        except DialensError:
            data = None  # the form cannot show it; the text can be mended
        return JSONResponse({"text": text.text, "hash": text.hash, "data": data})

    @app.get(f"{HOME}/schema", dependencies=guarded)
    def schema() -> Response:
        return JSONResponse(study_schema())

    @app.get(f"{HOME}/document", dependencies=guarded)
    def read() -> Response:
        return document()

    @app.get(f"{HOME}/fragment", dependencies=guarded)
    def part(at: Annotated[str, Query(max_length=2_000)]) -> Response:
        return JSONResponse({"yaml": fragment(file.read().text, _at(at))})

    @app.post(f"{HOME}/changes", dependencies=guarded)
    def change(sent: SentChanges) -> Response:
        file.change(sent.before, [one.change() for one in sent.changes])
        return document()

    @app.put(f"{HOME}/document", dependencies=guarded)
    def write(sent: SentText) -> Response:
        file.replace(sent.before, sent.text)
        return document()


def _at(text: str) -> tuple[str | int, ...]:
    try:
        at = json.loads(text)
    except ValueError as error:
        raise HTTPException(400, "The place could not be read.") from error
    if not isinstance(at, list) or not all(isinstance(step, str | int) for step in at):
        raise HTTPException(400, "The place could not be read.")
    return tuple(at)


def _add_handlers(app: FastAPI) -> None:
    def refused(request: Request, error: Exception) -> Response:
        status = 409 if isinstance(error, FileChanged) else 422
        return JSONResponse({"detail": str(error)}, status)

    def closed(request: Request, error: HTTPException) -> Response:
        if request.url.path == HOME:  # somebody reads it
            return PlainTextResponse(error.detail, error.status_code)
        return JSONResponse({"detail": error.detail}, error.status_code)

    def unreadable(request: Request, error: Exception) -> Response:
        return JSONResponse({"detail": "The request could not be read."}, 400)

    app.exception_handler(HTTPException)(closed)
    app.add_exception_handler(DialensError, refused)
    app.add_exception_handler(RequestValidationError, unreadable)


def study_preview(study: Path, *, token: str | None = None) -> StudyPreview:
    """The preview of a study file, or of the one in a folder."""
    return StudyPreview(StudyFile.at(study), token or secrets.token_urlsafe(24))
