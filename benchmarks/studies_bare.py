"""The yardstick of `studies.py`: a FastAPI endpoint that stores a request as one row, no more.

Same server, same settings, same kind of commit: what a rating costs at least.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import uvicorn
from anyio import to_thread
from fastapi import Depends, FastAPI, Form, Request
from fastapi.responses import JSONResponse
from sqlalchemy import Column, Integer, MetaData, Table, Text, insert

from dialens.studies.store._database import Database
from dialens.web._serving import PatientProtocol
from dialens.web._turns import PARTICIPANTS

DATABASE = "DIALENS_BENCHMARK_DATABASE"
rows = Table(
    "bare",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("text", Text, nullable=False),
)


@asynccontextmanager
async def few_threads(_: FastAPI) -> AsyncIterator[None]:
    # As many as the study's server has.
    to_thread.current_default_thread_limiter().total_tokens = PARTICIPANTS
    yield


async def body_of(request: Request) -> str:
    return (await request.body()).decode("ascii")


def database_of() -> Database:
    # The pool and settings of the study's own, so that a commit is as safe.
    database = Database.open(os.environ[DATABASE], create=True)
    with database.writing() as connection:
        rows.create(connection, checkfirst=True)
    return database


def form() -> FastAPI:
    """Two fields of the form, read as FastAPI reads forms, become the row."""
    made, database, add = FastAPI(lifespan=few_threads), database_of(), insert(rows).inline()

    @made.post("/study")
    def store(screen: Annotated[str, Form()], events: Annotated[str, Form()]) -> JSONResponse:
        with database.writing() as connection:
            connection.execute(add, {"text": f"{screen} {events}"})
        return JSONResponse({"next": "/study"})

    return made


def unread() -> FastAPI:
    """The body becomes the row as it is; nobody looks into it."""
    made, database, add = FastAPI(lifespan=few_threads), database_of(), insert(rows).inline()

    @made.post("/study")
    def store(body: Annotated[str, Depends(body_of)]) -> JSONResponse:
        with database.writing() as connection:
            connection.execute(add, {"text": body})
        return JSONResponse({"next": "/study"})

    return made


if __name__ == "__main__":
    # As `dialens.web._serving.serve` does it.
    uvicorn.run(
        f"studies_bare:{sys.argv[3]}",
        factory=True,
        app_dir=os.path.dirname(os.path.abspath(__file__)),  # noqa: PTH100, PTH120
        host="127.0.0.1",
        port=int(sys.argv[1]),
        workers=int(sys.argv[2]),
        http=PatientProtocol,
        ws="none",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=20,
        limit_concurrency=2_000,
    )
