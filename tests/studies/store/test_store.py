"""Studies, arrivals, submissions and policies, on both databases."""

from __future__ import annotations

import stat
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from dialens.base import DialensError
from dialens.studies import Field, Screen
from dialens.studies.store import (
    KEY_VARIABLE,
    Blocked,
    Event,
    EventError,
    NotFinished,
    Policy,
    Secrets,
    SessionOver,
    Store,
    StudyChanged,
    StudyFull,
    Submission,
    UnknownSession,
    UnknownStudy,
    WrongKey,
)
from dialens.studies.store._tables import metadata
from tests.studies.store.people import (
    CELLS,
    NOON,
    SECOND,
    arrive,
    given,
    rating,
    register,
    register_cells,
    seeds,
    set_cell,
)

HOUR = timedelta(hours=1)


def test_migrations_lead_to_the_tables(store: Store) -> None:
    with store.database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_opening_again_keeps_everything(url: str, store: Store) -> None:
    study = register(store)
    came = arrive(store, study, "w1")
    store.submit(came.token, given(0), now=NOON)
    with Store.open(url, secrets=store.secrets, create=False) as again:
        assert again.studies() == (study,)
        assert again.session(came.token).index == 1


def test_registering_twice_changes_nothing(store: Store) -> None:
    assert register(store) == register(store)
    assert len(store.studies()) == 1
    assert [cell.cell for cell in store.progress("hash-of-tea")] == list(CELLS)


def test_a_study_may_change_until_somebody_takes_part(store: Store) -> None:
    register(store)
    changed = register_cells(store, "other", "tea", "{}", ["x"], {"x": 3}, now=NOON)
    assert [one.cell for one in store.progress("other")] == ["x"]
    with pytest.raises(UnknownStudy):
        store.progress("hash-of-tea")
    arrive(store, changed)
    with pytest.raises(StudyChanged, match="new version"):
        register(store)
    second = register_cells(store, "v2", "tea", "{}", ["x"], {"x": 3}, now=NOON, version="2")
    assert arrive(store, second).index == 0
    assert store.progress("other")[0].live == 1


@pytest.mark.parametrize(
    ("cells", "targets", "told"),
    [
        ([], {}, "cells"),
        (["a", "a"], {"a": 1}, "different names"),
        (["a"], {"b": 1}, "do not go together"),
        (["a"], {"a": 0}, "at least one"),
    ],
)
def test_odd_cells_are_refused(
    store: Store, cells: list[str], targets: dict[str, int], told: str
) -> None:
    with pytest.raises(DialensError, match=told):
        register_cells(store, "h", "s", "{}", cells, targets, now=NOON)


def test_cells_fill_evenly_and_stop_at_the_target(store: Store) -> None:
    study = register(store, target=3)
    draw = seeds(5)
    order = []
    for _ in range(12):
        came = store.begin(study.hash, recruiter="link", worker=None, now=NOON, seed_source=draw)
        came = store.admit(came.token, now=NOON, seed_source=draw)
        order.append(came.cell)
        counts = Counter(order)
        assert max(counts.values()) - min(counts[name] for name in CELLS) <= 1
    assert Counter(order) == dict.fromkeys(CELLS, 3)
    assert order[:4] != order[4:8] or order[4:8] != order[8:]  # ties are drawn, not in a row
    with pytest.raises(StudyFull) as full:
        arrive(store, study)
    assert full.value.reason == "full"


def test_a_paused_or_closed_cell_gets_nobody_new(store: Store) -> None:
    study = register(store, cells=("a", "b"), target=2)
    inside = arrive(store, study)
    set_cell(store, study.hash, inside.cell, "paused")
    other = "b" if inside.cell == "a" else "a"
    assert {arrive(store, study).cell for _ in range(2)} == {other}
    with pytest.raises(StudyFull) as full:
        arrive(store, study)
    assert full.value.reason == "paused"
    assert store.submit(inside.token, given(0), now=NOON).outcome == "stored"
    set_cell(store, study.hash, inside.cell, "closed")
    set_cell(store, study.hash, other, "closed")
    with pytest.raises(StudyFull) as full:
        arrive(store, study)
    assert full.value.reason == "closed"
    set_cell(store, study.hash, inside.cell, "open")
    assert arrive(store, study).cell == inside.cell
    with pytest.raises(DialensError, match="no cell 'aa'"):
        set_cell(store, study.hash, "aa", "open")


def test_a_screen_counts_once(store: Store) -> None:
    came = arrive(store, register(store))
    first = store.submit(came.token, given(0, "k1", 10), now=NOON)
    lost_response = store.submit(came.token, given(0, "k1", 10), now=NOON + SECOND)
    second_tab = store.submit(came.token, given(0, "k2", 99), now=NOON + SECOND)
    ahead = store.submit(came.token, given(5, "k3"), now=NOON + SECOND)
    assert [one.outcome for one in (first, lost_response, second_tab, ahead)] == [
        "stored",
        "repeated",
        "answered_before",
        "elsewhere",
    ]
    assert {one.index for one in (first, lost_response, second_tab, ahead)} == {1}
    assert store.answers_frame("hash-of-tea")["value"].to_list() == ["10", "11"]


def test_a_screen_without_questions_counts_too(store: Store) -> None:
    came = arrive(store, register(store))
    told = Submission(Screen("told", "instructions", "Read this"), 0, {}, "k")
    assert store.submit(came.token, told, now=NOON).index == 1
    assert store.submit(came.token, told, now=NOON).outcome == "repeated"


def test_completion_is_given_once_and_at_the_end_only(store: Store) -> None:
    came = arrive(store, register(store), "w")
    store.submit(came.token, given(0), now=NOON)
    with pytest.raises(NotFinished) as early:
        store.complete(came.token, screens=2, now=NOON)
    assert early.value.index == 1
    store.submit(came.token, given(1), now=NOON)
    code = store.complete(came.token, screens=2, now=NOON)
    assert store.complete(came.token, screens=2, now=NOON + HOUR) == code
    assert len(code) == 16
    assert store.submit(came.token, given(1), now=NOON).outcome == "repeated"
    assert store.submit(came.token, given(2), now=NOON).outcome == "elsewhere"
    # The page with the code was lost: who comes back gets it again, by whatever way.
    back = arrive(store, store.study(came.study), "w", now=NOON + HOUR)
    assert (back.state, back.code) == ("completed", code)
    assert store.session(came.token).code == code


def test_a_code_of_the_study_is_used(store: Store) -> None:
    came = arrive(store, register(store))
    assert store.complete(came.token, screens=0, now=NOON, code="C1A2") == "C1A2"


def test_nobody_has_a_token_that_was_not_given(store: Store) -> None:
    came = arrive(store, register(store))
    for token in ("", "x", came.token[:-1], came.token + "A", "' OR 1=1 --", "\ud800", "a\0b"):
        with pytest.raises(UnknownSession):
            store.session(token)
        with pytest.raises(UnknownSession):
            store.submit(token, given(0), now=NOON)


def test_stale_sessions_give_their_place_back(store: Store) -> None:
    study = register(store, cells=("a",), target=2, policy=Policy("resume", 600))
    early = arrive(store, study, "early")
    late = arrive(store, study, "late", now=NOON + 400 * SECOND)
    with pytest.raises(StudyFull):
        arrive(store, study, "third", now=NOON + 600 * SECOND)
    third = arrive(store, study, "third", now=NOON + 601 * SECOND)
    assert [store.session(one.token).state for one in (early, late, third)] == [
        "expired",
        "live",
        "live",
    ]
    (cell,) = store.progress(study.hash)
    assert (cell.completed, cell.live, cell.expired, cell.target) == (0, 2, 1, 2)


def test_a_sign_of_life_keeps_a_session(store: Store) -> None:
    study = register(store, policy=Policy("resume", 600))
    came, quiet = arrive(store, study), arrive(store, study)
    store.log_events(came.token, "rate-000", [], now=NOON + 500 * SECOND)
    assert store.expire(study.hash, now=NOON + 1000 * SECOND) == 1
    assert store.session(came.token).state == "live"
    assert store.session(quiet.token).state == "expired"


def test_completed_sessions_never_expire(store: Store) -> None:
    study = register(store, policy=Policy("resume", 1))
    came = arrive(store, study)
    store.complete(came.token, screens=0, now=NOON)
    assert store.expire(study.hash, now=NOON + HOUR) == 0


def test_resume_goes_on_where_it_stopped(store: Store) -> None:
    study = register(store, policy=Policy("resume", 600))
    came = arrive(store, study, "w")
    store.submit(came.token, given(0), now=NOON)
    back = arrive(store, study, "w", now=NOON + HOUR, seed=9)
    assert back.token != came.token
    assert (back.participant, back.cell, back.seed, back.index, back.state) == (
        came.participant,
        came.cell,
        came.seed,
        1,
        "live",
    )
    # Both tabs go on, and each screen still counts once.
    assert store.submit(came.token, given(1, "a"), now=NOON + HOUR).outcome == "stored"
    assert store.submit(back.token, given(1, "b"), now=NOON + HOUR).outcome == "answered_before"


def test_a_closed_laptop_is_opened_again(store: Store) -> None:
    study = register(store, cells=("a",), target=1, policy=Policy("resume", 600))
    came = arrive(store, study)
    store.submit(came.token, given(0), now=NOON)
    assert store.expire(study.hash, now=NOON + HOUR) == 1
    # The place is still free, so the answer is taken.
    assert store.submit(came.token, given(1), now=NOON + HOUR).outcome == "stored"
    assert store.session(came.token).state == "live"
    store.expire(study.hash, now=NOON + 3 * HOUR)
    assert store.come_back(came.token, now=NOON + 3 * HOUR).state == "live"
    # And now somebody else has it.
    store.expire(study.hash, now=NOON + 5 * HOUR)
    arrive(store, study, "other", now=NOON + 5 * HOUR)
    with pytest.raises(SessionOver) as end:
        store.submit(came.token, given(2), now=NOON + 5 * HOUR)
    assert end.value.state == "expired"
    with pytest.raises(SessionOver):
        store.come_back(came.token, now=NOON + 5 * HOUR)
    assert store.answers_frame(study.hash).height == 4  # what was acknowledged stays


def test_restart_begins_again_in_the_same_cell(store: Store) -> None:
    study = register(store, policy=Policy("restart", 600))
    came = arrive(store, study, "w")
    assert arrive(store, study, "w", seed=3).attempt == 1  # nothing seen yet: the same session
    store.submit(came.token, given(0), now=NOON)
    back = arrive(store, study, "w", seed=3)
    assert (back.cell, back.index, back.attempt) == (came.cell, 0, 2)
    assert back.seed != came.seed
    with pytest.raises(SessionOver) as end:
        store.submit(came.token, given(1), now=NOON)
    assert end.value.state == "restarted"
    store.submit(back.token, given(0), now=NOON)
    store.expire(study.hash, now=NOON + HOUR)
    with pytest.raises(SessionOver):  # by cookie alone nothing is begun
        store.come_back(back.token, now=NOON + HOUR)
    assert arrive(store, study, "w", now=NOON + HOUR).attempt == 3
    cell = next(one for one in store.progress(study.hash) if one.cell == came.cell)
    assert (cell.live, cell.restarted, cell.expired) == (1, 2, 0)


def test_block_lets_nobody_back(store: Store) -> None:
    study = register(store, policy=Policy("block", 600))
    came = arrive(store, study, "w")
    again = arrive(store, study, "w")  # the first response was lost on its way
    assert again.participant == came.participant
    store.submit(came.token, given(0), now=NOON)
    with pytest.raises(Blocked):
        arrive(store, study, "w")
    assert store.submit(came.token, given(1), now=NOON).outcome == "stored"
    store.expire(study.hash, now=NOON + HOUR)
    with pytest.raises(SessionOver):  # the page is loaded again
        store.come_back(came.token, now=NOON + HOUR)
    # What is sent from a page that was open all the time is no return.
    assert store.submit(came.token, given(2), now=NOON + HOUR).outcome == "stored"


def test_without_an_id_everybody_is_new(store: Store) -> None:
    study = register(store, policy=Policy("block"))
    assert len({arrive(store, study).participant for _ in range(3)}) == 3


def test_the_same_id_at_two_recruiters_is_two_people(store: Store) -> None:
    study = register(store)
    came = [
        store.begin(study.hash, recruiter=name, worker="w", now=NOON, seed_source=seeds())
        for name in ("mturk", "prolific")
    ]
    assert came[0].participant != came[1].participant
    assert store.participants_of("mturk", "w") == {study.hash: came[0].participant}
    assert store.worker(came[0].participant) == "w"
    assert store.participants_of("mturk", "nobody") == {}


def test_a_rater_is_of_a_known_kind(store: Store) -> None:
    study = register(store)
    with pytest.raises(DialensError, match="robot"):
        store.begin(
            study.hash,
            recruiter="x",
            worker=None,
            now=NOON,
            seed_source=seeds(),
            rater_kind="robot",
        )


NASTY = [
    "'; DROP TABLE answers; --",
    '" OR ""="',
    "<script>alert(1)</script>",
    "%s %(x)s {0} :name ?",
    "null\0byte",
    "half a pair \ud83d",
    "🤖 ünïcode 日本語",
    "\\",
    "a" * 100_000,
]


@pytest.mark.parametrize("text", NASTY)
def test_any_text_is_data(store: Store, text: str) -> None:
    study = register(store)
    came = arrive(store, study, text)
    field = Field("comment", "free_text")
    screen = Screen("end", "questions", "Comments", fields=(field,), state={"note": text})
    store.submit(came.token, Submission(screen, 0, {"comment": text}, "k"), now=NOON)
    frame = store.answers_frame(study.hash)
    import json

    assert json.loads(frame["value"][0]) == text
    assert json.loads(frame["presented"][0]) == {"note": text}
    assert store.worker(came.participant) == text
    assert arrive(store, study, text).participant == came.participant


def test_what_no_page_sends_is_refused(store: Store) -> None:
    came = arrive(store, register(store))
    with pytest.raises(DialensError, match="no field 'x'"):
        store.submit(came.token, Submission(rating(0), 0, {"x": 1}, "k"), now=NOON)
    with pytest.raises(DialensError, match="JSON"):
        store.submit(
            came.token, Submission(rating(0), 0, {"coherence": float("nan")}, "k"), now=NOON
        )
    with pytest.raises(EventError):
        store.submit(came.token, given(0, key="'; --"), now=NOON)
    for bad in (
        {"kind": "exploded"},
        {"page": "a\0"},
        {"page": ""},
        {"serial": -1},
        {"serial": 2**31},
        {"at": NOON.replace(tzinfo=None)},
        {"field": "f" * 201},
        {"detail": {"x": "y" * 5000}},
    ):
        with pytest.raises(EventError):
            Event(**cast(Any, {"kind": "shown", "at": NOON, "page": "p", "serial": 0} | bad))
    assert store.session(came.token).index == 0
    assert store.answers_frame("hash-of-tea").height == 0


def test_the_wrong_key_is_refused(url: str, store: Store) -> None:
    with pytest.raises(WrongKey, match="does not fit"):
        Store.open(url, secrets=Secrets(bytes(32)))


def test_the_key_lies_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    place = tmp_path / "study.db"
    with Store.open(f"sqlite:///{place}") as store:
        came = arrive(store, register(store), "worker-77")
    key = place.with_name("study.db.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    with Store.open(f"sqlite:///{place}", create=False) as store:
        assert store.worker(came.participant) == "worker-77"
    monkeypatch.setenv(KEY_VARIABLE, key.read_text())
    key.unlink()
    with Store.open(f"sqlite:///{place}") as store:
        assert store.worker(came.participant) == "worker-77"
    monkeypatch.delenv(KEY_VARIABLE)
    with pytest.raises(DialensError, match="does not exist"):
        Store.open(f"sqlite:///{place}")  # a new key would not fit: it is not made
    key.write_text("not a key")
    with pytest.raises(DialensError, match="does not hold"):
        Store.open(f"sqlite:///{place}")


@pytest.mark.slow
def test_postgresql_needs_a_key(cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(DialensError, match=KEY_VARIABLE):
        Store.open(cluster.schema())


@pytest.mark.parametrize("url", ["mysql://x/y", "study.db", "sqlite://", "sqlite:///:memory:"])
def test_other_places_are_refused(url: str) -> None:
    with pytest.raises(DialensError, match="sqlite:///path"):
        Store.open(url)


def test_a_missing_file_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="does not exist"):
        Store.open(f"sqlite:///{tmp_path / 'no.db'}", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_newer_database_is_left_alone(store: Store, url: str) -> None:
    with store.database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DialensError, match="newer dialens"):
        Store.open(url, secrets=store.secrets)


def test_who_answered_everything_is_paid(store: Store) -> None:
    study = register(store, cells=("a",), target=1, policy=Policy("resume", 600))
    came = arrive(store, study)
    store.submit(came.token, given(0), now=NOON)
    store.expire(study.hash, now=NOON + HOUR)
    arrive(store, study, now=NOON + HOUR)  # the place is taken by now
    assert store.complete(came.token, screens=1, now=NOON + HOUR)
    assert store.progress(study.hash)[0].completed == 1


def test_a_commit_is_on_disk(store: Store, url: str) -> None:
    with store.database.reading() as connection:
        if url.startswith("sqlite"):
            asked = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
            told = [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in asked]
            assert told == ["wal", 2, 1, 1]  # 2 is FULL
        else:
            shown = connection.exec_driver_sql("SHOW synchronous_commit").scalar_one()
            assert shown == "on"


def test_the_file_is_the_owners(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    with Store.open(f"sqlite:///{place}") as store:
        register(store)
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {0o600}


def test_too_many_events_are_refused(store: Store) -> None:
    came = arrive(store, register(store))
    many = [Event("change", NOON, "p", number) for number in range(1001)]
    with pytest.raises(EventError, match="1,000"):
        store.log_events(came.token, "s", many, now=NOON)
    with pytest.raises(EventError):
        store.log_events(came.token, "s" * 201, many[:1], now=NOON)
    store.log_events(came.token, "s", many[:1000], now=NOON)
    assert store.events_frame("hash-of-tea").height == 1000
