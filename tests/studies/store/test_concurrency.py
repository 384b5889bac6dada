"""Many processes at once: cells stay even, nobody is two people, no screen counts twice."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.studies.store import Policy, Session, Store
from tests.studies.store import crowd
from tests.studies.store.people import CELLS, NOON, SECOND, arrive, given, register

PROCESSES = 8
# A server that has imported everything and forks: starting a process costs milliseconds.
START = multiprocessing.get_context("forkserver")
START.set_forkserver_preload(["tests.studies.store.crowd"])


def together(target: Any, arguments: list[tuple[Any, ...]]) -> None:
    running = [START.Process(target=target, args=one) for one in arguments]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * len(running)


NOTING = {
    "sqlite": (
        "CREATE TABLE noted (place INTEGER PRIMARY KEY, cell_id INTEGER, seed INTEGER)",
        "CREATE TRIGGER note_place AFTER UPDATE OF placed_at ON sessions "
        "WHEN NEW.placed_at IS NOT NULL BEGIN "
        "INSERT INTO noted (cell_id, seed) VALUES (NEW.cell_id, NEW.seed); END",
    ),
    "postgresql": (
        "CREATE TABLE noted (place SERIAL PRIMARY KEY, cell_id INTEGER, seed INTEGER)",
        "CREATE FUNCTION note_place() RETURNS trigger AS $$ BEGIN "
        "INSERT INTO noted (cell_id, seed) VALUES (NEW.cell_id, NEW.seed); RETURN NEW; END $$ "
        "LANGUAGE plpgsql",
        "CREATE TRIGGER note_place AFTER UPDATE OF placed_at ON sessions FOR EACH ROW "
        "WHEN (NEW.placed_at IS NOT NULL) EXECUTE FUNCTION note_place()",
    ),
}
"""Has the database itself note the order in which places are given."""


@pytest.mark.slow
def test_cells_stay_even_under_eight_processes(url: str, store: Store) -> None:
    study = register(store)
    with store.database.writing() as connection:
        for statement in NOTING[connection.dialect.name]:
            connection.exec_driver_sql(statement)
    together(crowd.arrive_often, [(url, number, 41) for number in range(PROCESSES)])
    assert sum(cell.live for cell in store.progress(study.hash)) == PROCESSES * 41
    with store.database.reading() as connection:
        noted = connection.exec_driver_sql("SELECT cell_id, seed FROM noted ORDER BY place").all()
    assert len(noted) == PROCESSES * 41
    # Not only in the end, when later arrivals have evened things out, but at every moment.
    counts = dict.fromkeys({cell for cell, _ in noted}, 0)
    for cell, seed in noted:
        assert seed == counts[cell]
        counts[cell] += 1
        assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.slow
def test_no_cell_gets_more_than_its_target(url: str, store: Store) -> None:
    study = register(store, target=10)
    running = [
        START.Process(target=crowd.arrive_often, args=(url, number, 10))
        for number in range(PROCESSES)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join()
    # 80 want 40 places: some processes end with StudyFull.
    assert any(process.exitcode for process in running)
    assert [cell.live for cell in store.progress(study.hash)] == [10] * len(CELLS)


@pytest.mark.slow
def test_a_person_is_one_however_many_doors_they_knock_at(
    url: str, store: Store, tmp_path: Path
) -> None:
    study = register(store)
    log = tmp_path / "log"
    together(crowd.arrive_as_the_same, [(url, number, 25, log) for number in range(PROCESSES)])
    lines = [line.split() for line in log.read_text().splitlines()]
    assert len(lines) == PROCESSES * 25
    assert len({tuple(line) for line in lines}) == 25
    live = [cell.live for cell in store.progress(study.hash)]
    assert sum(live) == 25
    assert max(live) - min(live) <= 1


@pytest.mark.slow
def test_a_screen_counts_once_however_many_tabs_submit(
    url: str, store: Store, tmp_path: Path
) -> None:
    study = register(store)
    came = arrive(store, study)
    log = tmp_path / "log"
    together(
        crowd.submit_the_same,
        [(url, number, came.token, 20, log) for number in range(PROCESSES)],
    )
    lines = [line.split() for line in log.read_text().splitlines()]
    stored = {int(at): number for number, at, outcome, _ in lines if outcome == "stored"}
    assert Counter(outcome for _, _, outcome, _ in lines)["stored"] == 20
    frame = store.answers_frame(study.hash)
    assert frame.height == 40
    kept = frame.filter(pl.col("field") == "readability").sort("index")["value"].to_list()
    # The answer that is kept is that of the process which was told `stored`.
    assert kept == [stored[at] for at in range(20)]


def test_threads_of_one_server_share_a_store(store: Store) -> None:
    study = register(store)
    came = [arrive(store, study) for _ in range(16)]

    def work(session: Session) -> list[str]:
        made = []
        for at in range(8):
            for _ in range(2):  # everybody clicks twice
                made.append(store.submit(session.token, given(at), now=NOON).outcome)
            store.progress(study.hash)
        return made

    with ThreadPoolExecutor(16) as pool:
        outcomes = [outcome for one in pool.map(work, came) for outcome in one]
    assert Counter(outcomes) == {"stored": 128, "repeated": 128}
    assert store.answers_frame(study.hash).height == 256


def test_expiry_and_submission_at_once_do_not_block_each_other(url: str, store: Store) -> None:
    study = register(store, policy=Policy("resume", 1))
    came = [arrive(store, study) for _ in range(4)]
    with Store.open(url, secrets=store.secrets) as other:
        for at in range(5):
            now = NOON + (at + 1) * 10 * SECOND
            assert other.expire(study.hash, now=now) == 4
            for one in came:
                assert store.submit(one.token, given(at), now=now).outcome == "stored"
    assert sum(cell.live for cell in store.progress(study.hash)) == 4
