"""A backup of a study that people are taking, and what is there when all else is lost."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from dialens.studies.backup import back_up, restore
from dialens.studies.store import KEY_VARIABLE, Store
from tests.studies.store.cluster import Cluster
from tests.studies.store.conftest import cluster  # noqa: F401
from tests.studies.store.people import NOON
from tests.web.browsers import in_own_loop
from tests.web.conftest import tea
from tests.web.servers import KEY, Mortal, write_study
from tests.web.test_faults import Crowd, Rating

ROUNDS = 3


def stored(store: Store, names: set[str]) -> set[Rating]:
    """All ratings by the ids of people, which only the key can tell."""
    study = store.studies()[0].hash
    people = {store.participants_of("link", name).get(study): name for name in names}
    frame = store.answers_frame(study)
    rows = frame.select("rater", "screen", "field", "value", "kind").iter_rows()
    return {
        (people[rater], screen, asked, float(value))
        for rater, screen, asked, value, kind in rows
        if kind == "rating"
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_was_acknowledged_before_a_backup_comes_back(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY.to_text())
    folder = write_study(tmp_path / "tea", tea(targets=100_000))
    database, empty = f"sqlite:///{folder / 'study.db'}", None
    if kind == "postgresql":
        running: Cluster = request.getfixturevalue("cluster")
        database, empty = running.database(), running.database()
    server = Mortal(folder, database)
    crowd = Crowd(server.port, random.Random(11))
    known: list[tuple[set[Rating], set[str]]] = []

    def copy(turn: int) -> None:
        known.append((set(crowd.acknowledged), set(crowd.begun)))
        back_up(folder, database, tmp_path / f"backup-{turn}", now=NOON)

    in_own_loop(crowd.suffer(ROUNDS, copy))
    assert (crowd.tally.lost, crowd.tally.refused) == (0, {})  # nobody noticed
    assert server.kill() is not None
    shutil.rmtree(folder)
    acknowledged, begun = known[-1]
    assert acknowledged > known[0][0]
    done = restore(tmp_path / f"backup-{ROUNDS - 1}", folder, url=empty)
    assert done.participants >= len(begun)
    with Store.open(empty or database) as store:
        there = stored(store, crowd.begun | {name for name, *_ in crowd.sent})
        assert acknowledged <= there <= crowd.sent
        study = store.studies()[0].hash
        for name in begun:
            assert store.worker(store.participants_of("link", name)[study]) == name
    again = Mortal(folder, empty or database)
    others = Crowd(again.port, random.Random(12))
    others._names = iter(range(10_000, 20_000))
    in_own_loop(others.suffer(1, lambda _: None))
    again.kill()
    with Store.open(empty or database) as store:
        assert others.acknowledged <= stored(store, crowd.begun | crowd_names(crowd, others))


def crowd_names(*crowds: Crowd) -> set[str]:
    return {name for crowd in crowds for name, *_ in crowd.sent} | {
        name for crowd in crowds for name in crowd.begun
    }
