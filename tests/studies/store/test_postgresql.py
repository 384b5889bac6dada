"""What only PostgreSQL has: URLs as psql takes them, a server that goes away and comes back."""

from __future__ import annotations

import os
import signal

import pytest
from sqlalchemy import make_url, text

from dialens.base import DialensError
from dialens.studies.store import Store, StoreUnavailable
from dialens.studies.store._postgresql import connect_options
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


def options(url: str) -> dict[str, str]:
    return dict(connect_options(make_url(url), wait_s=30))


def test_options_of_psql_are_passed_on_and_the_rest_filled_in() -> None:
    given = options("postgresql://ann:s%40@h:6432/tea?application_name=x&sslmode=verify-full")
    assert given["application_name"] == "x"
    assert given["sslmode"] == "verify-full"
    assert (given["connect_timeout"], given["tcp_user_timeout"]) == ("30", "30000")
    assert "host" not in given  # the URL's own
    assert options("postgresql:///tea?host=/tmp/sockets")["host"] == "/tmp/sockets"
    assert options("postgresql://h/tea?options=-cx%3Dy")["options"] == "-cx=y"
    assert options("postgresql://h/tea")["application_name"] == "dialens"


@pytest.mark.slow
def test_user_and_password_come_from_the_url_or_the_environment(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGUSER", "study")
    url = cluster.database().replace("study@", "")
    query = text("SELECT current_user, current_setting('application_name')")
    with (
        Store.open(f"{url}?application_name=tea", secrets=KEY) as store,
        store.database.reading() as connection,
    ):
        assert tuple(connection.execute(query).one()) == ("study", "tea")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("sslmode=yes", "sslmode"),
        ("connect_timeout=soon", "connect_timeout"),
        ("passfil=x", "unknown option 'passfil'. Did you mean passfile"),
    ],
)
def test_options_that_cannot_be(option: str, message: str) -> None:
    with pytest.raises(DialensError, match=message):
        Store.open(f"postgresql://ann@127.0.0.1:9/tea?{option}", secrets=KEY)


@pytest.mark.slow
def test_encryption_that_the_server_does_not_have(cluster: Cluster) -> None:
    with pytest.raises(StoreUnavailable, match="SSL"):
        Store.open(f"{cluster.url('postgres')}?sslmode=require", secrets=KEY)


def test_nobody_listens() -> None:
    with pytest.raises(StoreUnavailable, match="127"):
        Store.open("postgresql://ann@127.0.0.1:9/tea", secrets=KEY)
