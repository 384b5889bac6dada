"""PostgreSQL through psycopg: connections whose commits are on disk, URLs as psql takes them.

libpq, which psycopg is built on, reads the URL's options and the environment (`PGUSER`,
`PGPASSWORD`, …) itself, sends a statement in one round trip, and prepares those that come often.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event

from dialens.base import DialensError, did_you_mean

DRIVER = "postgresql+psycopg"
DRIVERS = ("postgresql", "postgres", DRIVER)

_SOCKETS = Path("/var/run/postgresql")


def postgresql_engine(url: URL, *, wait_s: float) -> Engine:
    """An engine whose commits are on disk.

    Args:
        url: `postgresql+psycopg://…`, with options as psql knows them.
        wait_s: How long a connection, a lock or a place in the pool is waited for.
    """
    engine = create_engine(
        url.set(query=connect_options(url, wait_s=wait_s)),
        pool_size=16,
        max_overflow=32,
        pool_timeout=wait_s,
        pool_pre_ping=True,
        hide_parameters=True,  # they are people's answers, and errors go into logs
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        # Whatever the server's default: a commit that returned has to survive a power cut.
        connection.autocommit = True
        connection.execute("SET synchronous_commit = on")
        connection.execute(f"SET lock_timeout = '{wait_s:g}s'")
        connection.autocommit = False

    return engine


def connect_options(url: URL, *, wait_s: float) -> Mapping[str, str]:
    """The options of a connection: those in the URL, and ours for what it leaves out.

    A connection whose other end is gone fails after `wait_s`. Without a host, the socket of a
    server on this machine is used if there is one.

    Examples:
        >>> from sqlalchemy import make_url
        >>> url = make_url("postgresql://study@db.example.org/tea?connect_timeout=5")
        >>> connect_options(url, wait_s=30)["connect_timeout"]
        '5'
        >>> connect_options(make_url("postgresql://h/tea?sslmod=require"), wait_s=30)
        Traceback (most recent call last):
            ...
        dialens.DialensError: The URL of the database has an unknown option 'sslmod'. Did ...
    """
    try:
        from psycopg.pq import Conninfo
    except ImportError as error:
        raise DialensError(
            "PostgreSQL needs psycopg: pip install 'dialens[studies]', or use sqlite:///path."
        ) from error
    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    for name in url.query:
        if name not in known:
            raise DialensError(
                f"The URL of the database has an unknown option {name!r}. "
                f"{did_you_mean(name, known)}Options are those of psql."
            )
    options = {
        "connect_timeout": f"{wait_s:.0f}",
        "keepalives_idle": f"{wait_s / 3:.0f}",
        "keepalives_interval": f"{wait_s / 3:.0f}",
        "keepalives_count": "2",
        "tcp_user_timeout": f"{wait_s * 1000:.0f}",
        "application_name": "dialens",
    }
    if url.host is None and _SOCKETS.is_dir():
        options["host"] = str(_SOCKETS)
    options |= {name: _last(value) for name, value in url.query.items()}
    if not options["connect_timeout"].isdigit():
        raise DialensError(
            "connect_timeout in the URL of the database is a number of seconds; seen: "
            f"{options['connect_timeout']!r}."
        )
    return options


def _last(value: str | tuple[str, ...]) -> str:
    return value[-1] if isinstance(value, tuple) else value
