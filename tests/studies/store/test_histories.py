"""Any history of arrivals, clicks, absences and removals, against a model of a few lines."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dialens.studies.store import Blocked, Policy, SessionOver, Store, StudyFull
from tests.studies.store.conftest import KEY
from tests.studies.store.people import NOON, SECOND, given, register, seeds

STALE = 100
TARGET = 2
SCREENS = 3
people = st.sampled_from("abcdef")


class Histories(RuleBasedStateMachine):
    """What is acknowledged is remembered here, and the store must say the same."""

    @initialize(policy=st.sampled_from(["resume", "restart", "block"]))
    def open(self, policy: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store.open(f"sqlite:///{Path(self.folder.name) / 'study.db'}", secrets=KEY)
        self.policy = policy
        self.study = register(
            self.store, cells=("x", "y"), target=TARGET, policy=Policy(policy, STALE)
        )
        self.now = NOON
        self.draw = seeds(1)
        self.tokens: dict[str, str] = {}
        self.told: set[tuple[str, int, int, str]] = set()  # participant, attempt, index, value
        self.clicks = 0
        self.paid: dict[str, str] = {}

    @rule(person=people)
    def arrive(self, person: str) -> None:
        try:
            came = self.store.begin(
                self.study.hash,
                recruiter="r",
                worker=person,
                now=self.now,
                seed_source=self.draw,
            )
            came = self.store.admit(came.token, now=self.now, seed_source=self.draw)
        except StudyFull:
            return
        except Blocked:
            assert self.policy == "block"
            return
        assert came.state in ("live", "completed")
        self.tokens[person] = came.token

    @precondition(lambda self: self.tokens)
    @rule(data=st.data(), off=st.sampled_from([0, 0, 0, -1, 1]), key=st.sampled_from("kj"))
    def click(self, data: st.DataObject, off: int, key: str) -> None:
        person = data.draw(st.sampled_from(sorted(self.tokens)))
        token = self.tokens[person]
        before = self.store.session(token)
        index = before.index + off
        if not 0 <= index < SCREENS:
            return
        self.clicks += 1
        try:
            receipt = self.store.submit(token, given(index, key, self.clicks), now=self.now)
        except SessionOver:
            assert self.store.session(token).state in ("expired", "restarted")
            return
        if receipt.outcome == "stored":
            assert off == 0
            assert receipt.index == index + 1
            self.told.add((before.participant, before.attempt, index, str(self.clicks)))
        else:
            assert receipt.index == before.index
            assert (receipt.outcome == "elsewhere") == (index >= before.index)

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        person = data.draw(st.sampled_from(sorted(self.tokens)))
        token = self.tokens[person]
        session = self.store.session(token)
        if session.state == "restarted" or session.index < SCREENS:
            return
        code = self.store.complete(token, screens=SCREENS, now=self.now)
        assert self.paid.setdefault(session.participant, code) == code

    @rule(seconds=st.sampled_from([1, 50, 101]))
    def wait(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        person = data.draw(st.sampled_from(sorted(self.tokens)))
        name = self.store.session(self.tokens.pop(person)).participant
        self.store.forget(name)
        self.told = {one for one in self.told if one[0] != name}
        self.paid.pop(name, None)

    @invariant()
    def nothing_is_lost_or_twice(self) -> None:
        if not hasattr(self, "store"):
            return
        frame = self.store.answers_frame(self.study.hash)
        kept = frame.filter(pl.col("field") == "readability")
        rows = list(kept.select("rater", "attempt", "index", "value").iter_rows())
        assert len(rows) == len(set(rows))
        assert set(rows) == self.told

    @invariant()
    def no_cell_is_overfull(self) -> None:
        if not hasattr(self, "store"):
            return
        cells = self.store.progress(self.study.hash)
        # One who finished all screens is paid even if the place had been given to another.
        assert all(cell.live <= TARGET for cell in cells)
        assert sum(cell.completed for cell in cells) == len(self.paid)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
TestHistories = pytest.mark.slow(TestHistories)
