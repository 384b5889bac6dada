"""What only PostgreSQL has: URLs as psql takes them, a server that goes away and comes back."""

from __future__ import annotations

import os
import signal
import ssl

import pytest
from sqlalchemy import make_url, text

from dialens.base import DialensError
from dialens.studies.store import Store, StoreUnavailable
from dialens.studies.store._postgresql import connect_arguments
from tests.studies.store.cluster import Cluster
from tests.studies.store.conftest import KEY
from tests.studies.store.people import CELLS, NOON, arrive, given, register


@pytest.mark.slow
def test_a_killed_server_is_unavailable_and_then_back(cluster: Cluster) -> None:
    with Store.open(cluster.database(), secrets=KEY) as store:
        study = register(store)
        came = arrive(store, study)
        store.submit(came.token, given(0), now=NOON)
        cluster.kill()
        try:
            for _ in range(2):  # a connection that breaks, and one that is refused
                with pytest.raises(StoreUnavailable, match="cannot be used at the moment"):
                    store.submit(came.token, given(1), now=NOON)
            with pytest.raises(StoreUnavailable):
                store.session(came.token)
        finally:
            cluster.start()
        assert store.session(came.token).index == 1
        assert store.submit(came.token, given(1), now=NOON).index == 2


@pytest.mark.slow
def test_a_connection_that_breaks_in_the_middle(cluster: Cluster) -> None:
    url = cluster.database()

    def broken(store: Store) -> None:
        with store.database.writing() as connection:
            connection.execute(text("DELETE FROM cells"))
            for process in cluster.backends(url):
                os.kill(process, signal.SIGTERM)
            connection.execute(text("SELECT 1"))

    with Store.open(url, secrets=KEY) as store:
        register(store)
        with pytest.raises(StoreUnavailable):
            broken(store)
        assert len(store.progress("hash-of-tea")) == len(CELLS)


@pytest.mark.slow
def test_a_lock_that_is_not_given_and_a_database_that_is_not_there(cluster: Cluster) -> None:
    with pytest.raises(StoreUnavailable, match='database "nowhere" does not exist'):
        Store.open(cluster.url("nowhere"), secrets=KEY)

    def waiting(store: Store) -> None:
        with store.database.writing() as first, store.database.writing() as second:
            first.execute(text("LOCK TABLE studies"))
            second.execute(text("SET LOCAL lock_timeout = '20ms'"))
            second.execute(text("LOCK TABLE studies"))

    with (
        Store.open(cluster.database(), secrets=KEY) as store,
        pytest.raises(StoreUnavailable, match="lock timeout"),
    ):
        waiting(store)


@pytest.mark.slow
def test_commits_wait_for_the_disk_and_text_is_kept(cluster: Cluster) -> None:
    with Store.open(cluster.database(), secrets=KEY) as store:
        with store.database.reading() as connection:
            asked = connection.execute(text("SHOW synchronous_commit")).scalar_one()
            assert asked == "on"
            odd = "a % b %s $1 :x ' \" \\ é 😀"
            row = connection.execute(text("SELECT :odd, '100 %', 3"), {"odd": odd}).one()
        assert tuple(row) == (odd, "100 %", 3)


@pytest.mark.slow
def test_a_statement_that_cannot_be_sent_leaves_the_connection_usable(cluster: Cluster) -> None:
    def asked(store: Store, word: str) -> str:
        with store.database.reading() as connection:
            return str(connection.execute(text("SELECT :word"), {"word": word}).scalar_one())

    with Store.open(cluster.database(), secrets=KEY) as store:
        with pytest.raises(UnicodeEncodeError):
            asked(store, "half a pair: \ud800")
        assert asked(store, "whole") == "whole"


def arguments(url: str, **environment: str) -> dict[str, object]:
    return connect_arguments(make_url(url), environment, wait_s=30)


def test_places_and_people() -> None:
    made = arguments("postgresql://ann:s%40@db.example.org:6432/tea?application_name=x")
    told = {name: made[name] for name in ("host", "port", "user", "password", "database")}
    assert told == {
        "host": "db.example.org",
        "port": 6432,
        "user": "ann",
        "password": "s@",
        "database": "tea",
    }
    assert (made["application_name"], made["timeout"]) == ("x", 30)
    socket = arguments("postgresql:///tea?host=/tmp/sockets", PGUSER="bob", PGPASSWORD="p")
    assert socket["unix_sock"] == "/tmp/sockets/.s.PGSQL.5432"
    assert (socket["user"], socket["password"], socket["ssl_context"]) == ("bob", "p", False)
    options = arguments("postgresql://h/tea?options=-csearch_path%3Dx")
    assert options["startup_params"] == {"options": "-csearch_path=x"}


def test_encryption_as_psql_has_it() -> None:
    modes = {"disable": False, "prefer": None, "allow": None, "require": True}
    for mode, wanted in modes.items():
        assert arguments(f"postgresql://h/tea?sslmode={mode}")["ssl_context"] is wanted
    assert arguments("postgresql://h/tea")["ssl_context"] is None
    for mode, named in (("verify-ca", False), ("verify-full", True)):
        context = arguments(f"postgresql://h/tea?sslmode={mode}")["ssl_context"]
        assert isinstance(context, ssl.SSLContext)
        assert (context.check_hostname, context.verify_mode) == (named, ssl.CERT_REQUIRED)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("sslmode=yes", "sslmode"),
        ("sslrootcert=/none.pem&sslmode=verify-full", "cannot be read"),
        ("connect_timeout=soon", "connect_timeout"),
        ("passfile=x", "has an option passfile"),
    ],
)
def test_options_that_cannot_be(option: str, told: str) -> None:
    with pytest.raises(DialensError, match=told):
        arguments(f"postgresql://h/tea?{option}")


def test_nobody_listens() -> None:
    with pytest.raises(StoreUnavailable, match="127"):
        Store.open("postgresql://ann@127.0.0.1:9/tea", secrets=KEY)
