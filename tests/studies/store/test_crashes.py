"""Processes and servers end without warning: what was acknowledged is there, nothing is twice."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import func, select

from dialens.studies.store import Store, sessions
from dialens.studies.store._tables import answers, submissions
from tests.studies.store import crowd
from tests.studies.store.cluster import Cluster
from tests.studies.store.conftest import KEY
from tests.studies.store.people import SCREENS, register
from tests.studies.store.test_concurrency import START

WRITERS = 3


def check(store: Store, log: Path) -> int:
    """Compare what was acknowledged with what is stored; how much was acknowledged."""
    acknowledged = [tuple(line.split()) for line in log.read_text().splitlines()]
    assert len(acknowledged) == len(set(acknowledged))
    frame = store.answers_frame(crowd.STUDY)
    assert not frame.select("rater", "screen", "field").is_duplicated().any()
    # A screen is there with both of its answers, and its session has moved on; or not at all.
    with store.database.reading() as connection:
        halves = connection.execute(
            select(submissions.c.session_id, submissions.c.screen)
            .outerjoin(
                answers,
                (answers.c.session_id == submissions.c.session_id)
                & (answers.c.screen == submissions.c.screen),
            )
            .group_by(submissions.c.session_id, submissions.c.screen)
            .having(func.count(answers.c.field) != 2)
        ).all()
        behind = connection.execute(
            select(sessions.c.id)
            .outerjoin(submissions, submissions.c.session_id == sessions.c.id)
            .group_by(sessions.c.id, sessions.c.position)
            .having(func.count(submissions.c.screen) != sessions.c.position)
        ).all()
    assert (halves, behind) == ([], [])
    kept = frame.filter(pl.col("field") == "readability")
    stored = set(kept.select("rater", "screen", "value").iter_rows())
    lost = set(acknowledged) - stored
    assert not lost
    # At most the one submission each writer had under way may be there without its being told.
    steps = kept.group_by("rater").agg(pl.col("index").sort())
    assert all(row == list(range(len(row))) for row in steps["index"].to_list())
    live = [cell.live for cell in store.progress(crowd.STUDY)]
    assert max(live) - min(live) <= 1
    return len(acknowledged)


@pytest.mark.slow
def test_writers_are_killed_at_any_moment(tmp_path: Path) -> None:
    url, log = f"sqlite:///{tmp_path / 'study.db'}", tmp_path / "log"
    draw = random.Random(6)
    with Store.open(url, secrets=KEY) as store:
        register(store, target=1_000_000)
        counts = []
        for turn in range(20):
            running = [
                START.Process(
                    target=crowd.write_until_killed,
                    args=(url, turn * 10 + n, SCREENS, log),
                    daemon=True,
                )
                for n in range(WRITERS)
            ]
            before = log.stat().st_size if log.exists() else 0
            for process in running:
                process.start()
            while not log.exists() or log.stat().st_size == before:
                time.sleep(0.005)
            time.sleep(draw.uniform(0, 0.3))
            for process in running:
                process.kill()
                process.join()
                assert process.exitcode == -signal.SIGKILL
            counts.append(check(store, log))
        assert counts == sorted(set(counts))  # every round added something
        with store.database.reading() as connection:
            whole = connection.exec_driver_sql("PRAGMA integrity_check").scalar_one()
        assert whole == "ok"


@pytest.mark.slow
def test_the_database_server_is_killed_at_any_moment(cluster: Cluster, tmp_path: Path) -> None:
    url, log = cluster.database(), tmp_path / "log"
    draw = random.Random(7)
    with Store.open(url, secrets=KEY) as store:
        register(store, target=1_000_000)
    running = [
        START.Process(target=crowd.write_until_killed, args=(url, n, SCREENS, log), daemon=True)
        for n in range(WRITERS)
    ]
    for process in running:
        process.start()
    counts = [0]
    for turn in range(8):
        before = log.stat().st_size if log.exists() else 0
        while not log.exists() or log.stat().st_size == before:
            time.sleep(0.005)
            assert all(process.is_alive() for process in running)
        time.sleep(draw.uniform(0, 0.3))
        if turn % 2:
            cluster.kill()
            cluster.start()
        else:  # one backend dies, and the server throws out everybody else
            os.kill(draw.choice(cluster.backends(url)), signal.SIGKILL)
        assert all(process.is_alive() for process in running)
    for process in running:
        process.kill()
        process.join()
    with crowd.open_patiently(url) as store:
        counts.append(check(store, log))
    assert counts[-1] > 10
