"""Whether a server can do its work: `/healthz`, and what its log says when it cannot."""

import logging
import time
from collections.abc import Iterable, Mapping

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from dialens.base import DialensError
from dialens.studies.store import DatabaseFileGone, Store, StoreUnavailable
from dialens.web._logging import Seldom, without_people

_LOG = logging.getLogger(__name__)
_SELDOM = Seldom(_LOG)
_HOLDS_S = 5.0
"""How long a write that went well is believed, so that asking often costs no disk."""


def add_health(app: FastAPI, stores: Iterable[Store], said: Mapping[str, str]) -> None:
    """Serve `/healthz`, which says `ok` only while answers can be stored.

    Args:
        app: What is served.
        stores: Where its answers go.
        said: What the page says besides.
    """
    kept, until = tuple(stores), 0.0

    @app.get("/healthz", include_in_schema=False)
    def healthz() -> JSONResponse:
        nonlocal until
        try:
            for store in kept:
                store.studies()
                store.database.check_place()
            if time.monotonic() > until:
                for store in kept:
                    store.database.try_writing()
                until = time.monotonic() + _HOLDS_S
        except StoreUnavailable as error:
            log_unavailable("/healthz", error)
            return JSONResponse({"status": "unwell", **said}, 503)
        return JSONResponse({"status": "ok", **said})


def log_unavailable(address: str, error: DialensError) -> None:
    """Write the cause into the server's log; strangers are not told it."""
    address = without_people(address)
    # Of a file that is gone every address tells the same.
    kind = str(error) if isinstance(error, DatabaseFileGone) else f"{address} {error}"
    _SELDOM.warn(kind, f"{address} was answered with 503: {error}")
