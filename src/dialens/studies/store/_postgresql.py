"""PostgreSQL through pg8000: what a URL may say, and what the server's errors mean.

The URL is the one that psql takes; pg8000 has names of its own for what stands in it.
"""

import getpass
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from dialens.base import DialensError, did_you_mean

DRIVER = "postgresql+pg8000"
DRIVERS = ("postgresql", "postgres", DRIVER)

_SOCKETS = Path("/var/run/postgresql")
_PORT = 5432
_OPTIONS = ("application_name", "connect_timeout", "host", "options", "sslmode", "sslrootcert")
_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

# Classes of SQLSTATE after which trying again is right: nothing was committed. 08 connection,
# 28 and 3D refused at the door, 40 deadlock and the like, 53 resources, 55 locked, 57 shut down
# or starting, 58 system.
_PASSING = ("08", "28", "3D", "40", "53", "55", "57", "58")


def postgresql_engine(url: URL, *, wait_s: float) -> Engine:
    """An engine whose commits are on disk and whose lost connections are known as lost.

    Args:
        url: `postgresql+pg8000://…`, with options as psql knows them.
        wait_s: How long a connection, an answer or a place in the pool is waited for.
    """
    try:
        from dialens.studies.store._wire import PipelinedConnection
    except ModuleNotFoundError as error:
        raise DialensError(
            "PostgreSQL needs pg8000: pip install 'dialens[studies]', or use sqlite:///path."
        ) from error
    arguments = connect_arguments(url, os.environ, wait_s=wait_s)
    engine = create_engine(
        url.set(query={}),
        pool_size=16,
        max_overflow=32,
        pool_timeout=wait_s,
        pool_pre_ping=True,
    )
    # One statement for the answers of a screen, not one each.
    engine.dialect.use_insertmanyvalues_wo_returning = True

    @event.listens_for(engine, "do_connect")
    def connect(*_: object) -> PipelinedConnection:
        return PipelinedConnection(**arguments)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        # Whatever the server's default: a commit that returned has to survive a power cut.
        connection.autocommit = True
        connection.cursor().execute("SET synchronous_commit = on")
        connection.autocommit = False

    return engine


def connect_arguments(
    url: URL, environment: Mapping[str, str], *, wait_s: float
) -> dict[str, object]:
    """What pg8000 is told, from a URL as psql takes it.

    Without a host, the socket of a server on this machine is used if there is one. `PGUSER` and
    `PGPASSWORD` fill what the URL leaves out, so that no password has to stand in a command.

    Examples:
        >>> from sqlalchemy import make_url
        >>> url = make_url("postgresql://study@db.example.org/tea?connect_timeout=5")
        >>> made = connect_arguments(url, {"PGPASSWORD": "s"}, wait_s=30)
        >>> made["host"], made["user"], made["password"], made["timeout"], made["ssl_context"]
        ('db.example.org', 'study', 's', 5.0, None)
        >>> connect_arguments(make_url("postgresql://h/tea?sslmod=require"), {}, wait_s=30)
        Traceback (most recent call last):
            ...
        dialens.DialensError: The URL of the database has an option sslmod. Did you mean ...
    """
    given = {name: value[-1] if isinstance(value, tuple) else value for name, value in _query(url)}
    host = given.get("host") or url.host or str(_SOCKETS if _SOCKETS.is_dir() else "localhost")
    port = url.port or _PORT
    place: dict[str, object] = {"host": host, "port": port}
    if host.startswith("/"):
        place = {"unix_sock": f"{host}/.s.PGSQL.{port}"}
    user = url.username or environment.get("PGUSER") or getpass.getuser()
    return {
        **place,
        "user": user,
        # Not none: a server that asks for a password then says that it is wrong.
        "password": url.password or environment.get("PGPASSWORD", ""),
        "database": url.database or user,
        "timeout": _seconds(given.get("connect_timeout"), wait_s),
        "application_name": given.get("application_name", "dialens"),
        "startup_params": {"options": given["options"]} if "options" in given else None,
        "ssl_context": False if host.startswith("/") else _encryption(given),
    }


def _query(url: URL) -> list[tuple[str, str | tuple[str, ...]]]:
    for name in url.query:
        if name not in _OPTIONS:
            raise DialensError(
                f"The URL of the database has an option {name}. {did_you_mean(name, _OPTIONS)}"
                f"Options: {', '.join(_OPTIONS)}."
            )
    return list(url.query.items())


def _seconds(text: str | None, otherwise: float) -> float:
    try:
        seconds = otherwise if text is None else float(text)
    except ValueError:
        seconds = 0
    if not seconds > 0:
        raise DialensError(
            f"connect_timeout in the URL of the database is a number of seconds; seen: {text!r}."
        )
    return seconds


def _encryption(given: Mapping[str, str]) -> ssl.SSLContext | bool | None:
    """As psql has it: encrypted if the server can, unless `sslmode` asks for more or less."""
    mode = given.get("sslmode", "prefer")
    if mode not in _MODES:
        raise DialensError(
            f"sslmode in the URL of the database is one of {', '.join(_MODES)}; seen: {mode!r}."
        )
    if mode == "disable":
        return False
    if mode in ("allow", "prefer"):
        return None
    if mode == "require" and "sslrootcert" not in given:
        return True
    try:
        context = ssl.create_default_context(cafile=given.get("sslrootcert"))
    except OSError as error:
        raise DialensError(
            f"sslrootcert {given.get('sslrootcert')} in the URL of the database cannot be read: "
            f"{error}."
        ) from error
    context.check_hostname = mode == "verify-full"
    return context


def passing_trouble(error: DBAPIError) -> str | None:
    """What the server said, if it is about the server rather than about the data.

    Examples:
        >>> stopped = {"S": "FATAL", "C": "57P03", "M": "the database system is starting up"}
        >>> passing_trouble(DBAPIError(None, None, Exception(stopped)))
        'the database system is starting up'
        >>> passing_trouble(DBAPIError(None, None, Exception({"C": "23505", "M": "duplicate"})))
    """
    said = error.orig.args[0] if error.orig is not None and error.orig.args else None
    if not isinstance(said, Mapping) or not str(said.get("C", "")).startswith(_PASSING):
        return None
    return str(said.get("M", "no reason given"))
