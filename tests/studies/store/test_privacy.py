"""What a thief of the database would find, and what is left of somebody who was forgotten."""

from __future__ import annotations

import hashlib
import sqlite3
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import text

from dialens.base import DialensError
from dialens.studies import Field, Screen, Side, Talk
from dialens.studies.store import (
    ARCHIVE,
    AgentFailure,
    ConversationStore,
    ExportLog,
    LoginTries,
    OperationStore,
    ParticipantMessage,
    PaymentStore,
    Secrets,
    Store,
    Submission,
    UnknownParticipant,
    UnknownSession,
    WrongKey,
)
from dialens.studies.store._tables import metadata
from tests.studies.store.cluster import Cluster
from tests.studies.store.conftest import KEY
from tests.studies.store.people import NOON, arrive, given, register
from tests.studies.store.test_activity import told

WORKER = "A2WORKERIDTHATISLONG"


def all_bytes(url: str, cluster: Cluster | None) -> bytes:
    """Everything the database keeps on disk: all of SQLite's files, or PostgreSQL's tables."""
    if url.startswith("sqlite"):
        file = Path(url.removeprefix("sqlite:///"))
        return b"".join(path.read_bytes() for path in file.parent.glob(f"{file.name}*"))
    assert cluster is not None
    return cluster.dump(url)


@pytest.fixture
def keeps(url: str, request: pytest.FixtureRequest):
    server = None if url.startswith("sqlite") else request.getfixturevalue("cluster")
    return lambda: all_bytes(url, server)


def participate(store: Store, worker: str, text: str) -> str:
    study = register(store)
    came = arrive(store, study, worker)
    for at in range(3):
        store.submit(came.token, given(at), now=NOON)
    screen = Screen("q", "questions", "", fields=(Field("comment", "free_text"),))
    events = [told("shown", 0, 0), told("hidden", 1, 1)]
    answer = Submission(screen, 3, {"comment": text}, "k", events=events)
    store.submit(came.token, answer, now=NOON)
    talking = ConversationStore(store.database)
    talk = Talk((Side("chat-001", "bots", "ada"),), most=2)
    message = ParticipantMessage(talk, 4, 1, text, "k")
    _, (lease,) = talking.say(came.token, message, server="this", now=NOON)
    talking.store_failure(lease, AgentFailure("timeout", text, 1.0, final=False), now=NOON)
    arrive(store, study, worker)  # a second token
    return came.participant


def test_ids_and_tokens_are_not_in_the_database(store: Store, keeps) -> None:
    study = register(store)
    came = arrive(store, study, WORKER)
    store.submit(came.token, given(0), now=NOON)
    kept = keeps()
    assert came.participant.encode() in kept  # we do look at the right bytes
    assert hashlib.sha256(came.token.encode()).hexdigest().encode() in kept
    for secret in (WORKER.encode(), came.token.encode(), KEY.key, KEY.to_text().encode()):
        assert secret not in kept
        assert secret.hex().encode() not in kept
    # Nor can an id be guessed: its plain hash is not there either.
    for name in (WORKER, f"mturk{WORKER}", f"mturk:{WORKER}"):
        assert hashlib.sha256(name.encode()).hexdigest().encode() not in kept
    for frame in (store.answers_frame(study.hash), store.events_frame(study.hash)):
        assert WORKER not in frame.write_csv()


def test_tokens_pseudonyms_and_codes_are_random(store: Store) -> None:
    study = register(store)
    came = [arrive(store, study) for _ in range(50)]
    assert len({one.token for one in came}) == 50
    assert {len(one.token) for one in came} == {43}  # 32 bytes in base64
    assert len({one.participant for one in came}) == 50
    codes = {store.complete(one.token, screens=0, now=NOON) for one in came}
    assert len(codes) == 50


def test_forgetting_leaves_nothing(store: Store, keeps) -> None:
    stays = participate(store, "somebody else", "I stay here, thank you.")
    gone = participate(store, WORKER, "My very own words.")
    assert b"My very own words." in keeps()
    made = store.forget(gone)
    assert (made.sessions, made.screens, made.answers, made.events) == (1, 4, 7, 2)
    assert made.messages == 1
    kept = keeps()
    assert b"My very own words." not in kept
    assert gone.encode() not in kept
    assert b"I stay here, thank you." in kept
    assert store.answers_frame("hash-of-tea")["rater"].unique().to_list() == [stays]
    assert store.events_frame("hash-of-tea")["rater"].unique().to_list() == [stays]
    assert store.participants_of("mturk", WORKER) == {}
    assert sum(cell.live for cell in store.progress("hash-of-tea")) == 1
    with pytest.raises(UnknownParticipant, match="no participant"):
        store.forget(gone)
    # They may take part again, and are new.
    assert arrive(store, store.study("hash-of-tea"), WORKER).participant != gone


def test_forgetting_reaches_every_table_with_people_in_it(store: Store) -> None:
    """A table added later that is not cleared is found here."""
    gone = participate(store, WORKER, "words")
    operating = OperationStore(store, "command")
    operating.exclude(gone, "too fast", now=NOON)
    study = store.studies()[0].hash
    PaymentStore(operating, "prolific").begin(study, {"work": gone}, Decimal("0.50"), now=NOON)
    store.depart(arrive(store, store.studies()[0]).token, "no_consent")
    log = ExportLog(store.database, "dashboard")
    log.remember(study, ARCHIVE, None, sha256="0" * 64, people=1, now=NOON)
    LoginTries(store.database, store.secrets, lambda: NOON).judged("192.0.2.1", lambda: None)
    with store.database.reading() as connection:
        before = _rows(connection)
    assert all(before[name] for name in before)
    store.forget(gone)
    with store.database.reading() as connection:
        after = _rows(connection)
    left = {name for name, count in after.items() if count}
    assert left == {"studies", "cells", "settings", "departures", "exports", "mistakes"}
    (export,) = log.all()
    assert export.recalled == (gone,)  # the name to look for, until somebody has dealt with it


def _rows(connection) -> dict[str, int]:
    return {
        name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar_one()
        for name in metadata.tables
    }


def test_a_token_of_somebody_forgotten_opens_nothing(store: Store) -> None:
    came = arrive(store, register(store))
    store.forget(came.participant)
    with pytest.raises(UnknownSession):
        store.submit(came.token, given(0), now=NOON)


def test_a_name_nearby_is_suggested(store: Store) -> None:
    came = arrive(store, register(store))
    with pytest.raises(UnknownParticipant, match=came.participant):
        store.forget(came.participant[:-1])


def test_sealed_ids_cannot_be_moved_or_changed() -> None:
    sealed = KEY.seal("w", owner="p1", entropy=lambda n: bytes(n))
    assert KEY.unseal(sealed, owner="p1") == "w"
    for other, owner in ((sealed, "p2"), (sealed[:-1] + b"x", "p1"), (b"", "p1")):
        with pytest.raises(WrongKey):
            KEY.unseal(other, owner=owner)
    with pytest.raises(WrongKey):
        Secrets(bytes(32)).unseal(sealed, owner="p1")


def test_the_same_id_looks_different_each_time() -> None:
    import os

    made = {KEY.seal("w", owner="p", entropy=os.urandom) for _ in range(20)}
    assert len(made) == 20


def test_keys_for_different_purposes_differ() -> None:
    assert len({KEY.signing_key().hex(), KEY.fingerprint(), KEY.key.hex()}) == 3
    assert KEY.mark("ab", "c") != KEY.mark("a", "bc")
    assert "key" not in repr(KEY).lower().replace("secrets", "")


def test_a_short_key_is_refused() -> None:
    with pytest.raises(DialensError, match="32 bytes"):
        Secrets(b"short")


def test_figures_of_a_study_with_nobody(store: Store) -> None:
    study = register(store)
    assert store.dropout(study.hash).height == 0
    assert store.times(study.hash).completed_minutes is None
    assert store.answers_frame(study.hash).schema["answered_at"] == pl.Datetime("us", "UTC")


def test_what_a_reader_still_sees_is_overwritten_when_they_have_gone(tmp_path: Path) -> None:
    """Nobody else waits meanwhile; before, a second of reading stopped everybody for thirty."""
    url = f"sqlite:///{tmp_path / 'study.db'}"
    secret = "a sentence that nobody else would write " * 3
    with Store.open(url, secrets=KEY) as store:
        gone = participate(store, WORKER, secret)
        with sqlite3.connect(tmp_path / "study.db", isolation_level=None) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM answers").fetchall()
            assert not store.forget(gone, patience_s=0.2).erased
            assert secret.encode() in all_bytes(url, None)
            came = arrive(store, register(store), "another")
            store.submit(came.token, given(0), now=NOON)
            reader.execute("COMMIT")
        reader.close()
    with Store.open(url, secrets=KEY) as store:
        store.database.try_writing()
        assert secret.encode() not in all_bytes(url, None)


def test_postgresql_needs_a_vacuum(store: Store, url: str, keeps) -> None:
    if url.startswith("sqlite"):
        pytest.skip("SQLite overwrites what is deleted")
    secret = "a sentence that nobody else would write " * 3
    gone = participate(store, WORKER, secret)
    assert not store.forget(gone).erased
    store.database.vacuum()
    with store.database.reading() as connection:
        places = connection.execute(text("SELECT pg_relation_filepath('answers')")).scalar_one()
        folder = connection.execute(text("SHOW data_directory")).scalar_one()
    assert secret.encode() not in (Path(folder) / places).read_bytes()
