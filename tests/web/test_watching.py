"""What the dashboard knows is what all the data say, however it came by it."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from dialens.analysis.bias import flag_raters, study_data
from dialens.studies import Study, study_of
from dialens.studies._participation import Entrance, take_part
from dialens.studies.export import tables
from dialens.studies.plan import Planner
from dialens.studies.simulation import Population, World
from dialens.studies.store import COMPLETED, OperationStore, Store, UnknownSession
from dialens.web._rater_quality import RaterQualities
from tests.studies.store.people import NOON
from tests.web.conftest import KEY, tea

CHECK = {
    "question": {"kind": "choice", "prompt": "Choose B", "choices": ["A", "B"]},
    "correct": "B",
    "after": [1],
}
LATER = {"after_hours": 24, "within_hours": 72, "items": "same"}
LONG = " ".join(f"word{n}" for n in range(400))  # nobody reads that in two seconds
CROWD = Population(dropout=0.1, speeders=0.7, inattentive=0.3)


class History:
    """People take part at the same time, leave, begin again, and are forgotten or excluded."""

    def __init__(self, store: Store, study: Study, seed: int) -> None:
        self.store, self.study, self.now = store, study, NOON
        self.draw = random.Random(seed)
        store.register(study, now=NOON)
        self.world = World(study, CROWD, seed=seed)
        self.door = Entrance(store, Planner(study), "simulation", lambda: self.now)
        self.ways: dict[int, Iterator[float]] = {}
        self.n_people = 0

    def happens(self) -> None:
        """Something that may happen."""
        chance = self.draw.random()
        if chance < 0.1 or not self.ways:
            self.n_people += 1
            self._come(self.n_people)
        elif chance < 0.13:  # in another browser: under `restart`, from the beginning
            self._come(self.draw.choice(list(self.ways)))
        elif chance < 0.16:
            self._decide()
        else:
            self._go_on(self.draw.choice(list(self.ways)))

    def _come(self, number: int) -> None:
        person, tie_breaker = self.world.person(number), self.draw.getrandbits(63)
        self.ways[number] = take_part(self.door, person, tie_breaker=tie_breaker)
        self._go_on(number)

    def _go_on(self, number: int) -> None:
        try:
            self.now += timedelta(seconds=next(self.ways[number]))
        except (StopIteration, UnknownSession):  # at the end, or forgotten on the way
            del self.ways[number]

    def _decide(self) -> None:
        operating = OperationStore(self.store, "command")
        people = operating.participants_frame(self.study.hash)["rater"].to_list()
        if not people:
            return
        person = self.draw.choice(people)
        match self.draw.randrange(3):
            case 0:
                self.store.forget(person)
            case 1:
                operating.exclude(person, "Too fast", now=self.now)
            case 2:
                operating.include(person, now=self.now)


@contextmanager
def opened(tmp_path: Any) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'study.db'}", secrets=KEY) as store:
        yield store


def whole(store: Store, study: Study) -> tuple[dict[str, tuple[Any, ...]], tuple[int, int]]:
    """Quality from everything at once, by the functions of the analysis."""
    answers = store.answers_frame(study.hash)
    ratings, questions, _ = tables(answers, {str(study.design.version): study})
    checks = questions.filter(pl.col("question").str.starts_with("check_"))
    counts = checks.height, checks.filter(pl.col("answer") == "failed").height
    if ratings["rater"].n_unique() < 2:
        return {}, counts
    flagged = flag_raters(study_data(ratings, questions)).raters
    columns = ("n_ratings", "median_seconds", "same_share", "n_failed_checks", "too_fast_share")
    flags = ("straight_lining", "speeding", "failed_checks", "round_numbers")
    return {
        row["rater"]: (*(row[name] for name in columns), {one for one in flags if row[one]})
        for row in flagged.iter_rows(named=True)
    }, counts


def kept(qualities: RaterQualities) -> tuple[dict[str, tuple[Any, ...]], tuple[int, int]]:
    assert qualities._statistics is not None
    too_fast = dict(qualities._statistics.raters.select("rater", "too_fast_share").iter_rows())
    return {
        one.participant: (
            one.n_ratings,
            one.median_seconds,
            one.same_share,
            one.n_failed_checks,
            too_fast[one.participant],
            set(one.flags),
        )
        for one in qualities.raters()
    }, qualities.checks()


@pytest.mark.parametrize(
    ("seed", "changes"),
    [
        (1, {"resume": "restart"}),
        (2, {"resume": "restart", "waves": {"later": LATER}}),
        (3, {}),
    ],
)
def test_quality_is_the_same_bit_by_bit_and_at_once(
    tmp_path: Any, seed: int, changes: dict[str, Any]
) -> None:
    made = tea(checks={"attention": {"reading": CHECK}}, **changes)
    for item in made["items"]["inline"]:
        item["context"] = [LONG + item["id"]]
    study = study_of(made)
    other = study_of(tea(study="tea", version=2, checks={"attention": {"reading": CHECK}}))
    seen = 0
    with opened(tmp_path) as store:
        history, second = History(store, study, seed), History(store, other, seed + 10)
        qualities = RaterQualities(store, study)
        for step in range(320):
            history.happens()
            if step % 4 == 0:  # the next version is none of its business
                second.happens()
            if step % 40 == 39:
                for _ in qualities.update():
                    pass
                expected, counts = whole(store, study)
                assert kept(qualities) == (expected, counts)
                seen += len(expected)
        fresh = RaterQualities(store, study)
        for _ in fresh.update():
            pass
        assert kept(fresh) == kept(qualities)
        assert set(qualities._under_way) <= {
            one.participant for one in qualities._sessions.all(study.hash) if one.live
        }
    assert seen > 20


@pytest.mark.parametrize("seed", [4, 5])
def test_figures_are_those_of_the_tables(tmp_path: Any, seed: int) -> None:
    study = study_of(tea(resume="restart", waves={"later": LATER}))
    with opened(tmp_path) as store:
        history = History(store, study, seed)
        for _ in range(300):
            history.happens()
        screens = store.screens_frame(study.hash)
        people = OperationStore(store, "command").participants_frame(study.hash)
        there = OperationStore(store, "command").attendance(study.hash)
        dropout, times = store.dropout(study.hash), store.times(study.hash)
        states = {cell.cell: cell for cell in store.progress(study.hash)}
    first = people.filter(pl.col("wave") == 1)
    finished = first.filter(pl.col("state") == COMPLETED)
    assert there.people == there.simulated == people["rater"].n_unique()
    assert there.began_at == first["begun_at"].min()
    assert there.finished == finished.height > 2
    assert sum(cell.completed + cell.excluded for cell in states.values()) >= finished.height
    rows = screens.select("cell", "wave", "index", "screen", "kind", "active_ms").rows()
    for row in dropout.iter_rows(named=True):
        own = [one for one in rows if one[:3] == (row["cell"], row["wave"], row["index"])]
        seconds = [one[5] / 1000 for one in own if one[5] is not None]
        assert row["submitted"] == len(own)
        assert row["screen"] == min(statistics.multimode(one[3] for one in own), default=None)
        assert row["kind"] == min(statistics.multimode(one[4] for one in own), default=None)
        expected = statistics.median(seconds) if seconds else None
        assert row["median_active_s"] == pytest.approx(expected)
    kinds = {one[4] for one in rows if one[1] == 1 and one[5] is not None}
    assert set(times.by_kind) == kinds
    for kind in kinds:
        seconds = [one[5] / 1000 for one in rows if one[1] == 1 and one[4] == kind and one[5]]
        assert times.by_kind[kind] == pytest.approx(statistics.median(seconds))
    minutes, active = (finished[name].to_list() for name in ("minutes", "active_minutes"))
    assert times.completed_minutes == pytest.approx(statistics.median(minutes))
    assert times.active_minutes == pytest.approx(statistics.median(active))
