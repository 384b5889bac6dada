"""Simulated participants: they do what was asked of them, and the analysis finds it again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.analysis.bias import Resampling, StudyData, effects, study_data
from dialens.base import DialensError
from dialens.studies import TEA, Field, RaterReply, Screen, Study, attendance, seen, study_of
from dialens.studies._participation import Entrance, take_part
from dialens.studies._raters import Rater
from dialens.studies.export import tables
from dialens.studies.instruments import validate
from dialens.studies.plan import Planner, plan
from dialens.studies.simulation import Population, World, simulate_study, simulations
from dialens.studies.simulation._people import latent_of
from dialens.studies.simulation._simulate import Simulated
from dialens.studies.store import Store
from dialens.studies.templates import TEMPLATES
from tests.studies.samples import load_template
from tests.studies.store.people import set_cell

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ENOUGH = Resampling(resamples=500)
Opened = Callable[[], Store]


def tea(*, items: int = 8, **changes: Any) -> Study:
    """Two qualities, anchor × layout, different contexts and responses."""
    inline = [
        {
            "id": f"c{number}",
            "context": [f"Question {number}: tea or coffee?"],
            "responses": {"plain": f"Tea, {number} times.", "odd": f"Purple {number}."},
            "standard": "I like tea.",
        }
        for number in range(items)
    ]
    return study_of(TEA | {"items": {"inline": inline}, "targets": 20} | changes)


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Makes databases."""
    count = iter(range(1000))
    return lambda: Store.open(f"sqlite:///{tmp_path / f'{next(count)}.db'}")


def run(
    store: Store, study: Study, people: Population | None = None, n: int = 4, **more: Any
) -> Simulated:
    return simulate_study(store, study, people or Population(), participants=n, now=NOW, **more)


def given(store: Store, study: Study) -> pl.DataFrame:
    """What was answered, without the pseudonyms, which are never the same."""
    frame = store.answers_frame(study.hash)
    kept = ["cell", "screen", "field", "value", "active_ms", "answered_at", "session_state"]
    return frame.select(kept).sort(kept)


def data_of(store: Store, study: Study) -> StudyData:
    ratings, answers, _ = tables(store.answers_frame(study.hash))
    return study_data(ratings, answers)


def found(opened: Opened, study: Study, people: Population, seed: int = 0) -> pl.DataFrame:
    """The effects that the analysis finds."""
    with opened() as store:
        run(store, study, people, n=sum(study.targets.values()), seed=seed)
        return effects(data_of(store, study), main_only=True, draws=ENOUGH)


def row(table: pl.DataFrame, effect: str, quality: str = "all") -> dict[str, Any]:
    return table.row(
        by_predicate=(pl.col("effect") == effect) & (pl.col("quality") == quality), named=True
    )


def test_the_pull_that_was_put_in_is_found(opened: Opened) -> None:
    pull = row(found(opened, tea(), Population(anchor_pull=0.3)), "anchor pull")
    assert pull["low"] < 0.3 < pull["high"]
    assert pull["high"] - pull["low"] < 0.3
    assert pull["p_adjusted"] < 0.05


def test_the_layout_effect_that_was_put_in_is_found(opened: Opened) -> None:
    table = found(opened, tea(), Population(anchor_pull=0, layout_effect=12))
    layout = row(table, "layout")
    # The question names which level is compared with which.
    sign = 1 if "“separate” against" in layout["question"] else -1
    assert layout["low"] < sign * 12 < layout["high"]
    assert layout["p_adjusted"] < 0.05


def test_without_bias_there_is_mostly_no_alarm(opened: Opened) -> None:
    alarms = 0
    for seed in range(5):
        table = found(opened, tea(items=4), Population(anchor_pull=0), seed)
        tested = [row(table, name) for name in ("anchor", "layout")]
        alarms += any(one["p_adjusted"] < 0.05 for one in tested)
    # At 5 %, two or more of five have a chance of two in a hundred.
    assert alarms <= 1


def test_kinds_of_anchor_can_pull_differently(opened: Opened) -> None:
    anchors = ["none", "numerical", "textual", "both"]
    study = tea(factors={"anchor": anchors}, targets=20)
    people = Population(pulls={"numerical": 0.6, "textual": 0.0}, scale_spread=0.05)
    table = found(opened, study, people)
    difference = row(table, "numerical − textual")
    none = Population().level
    # 0.6 of the way from about 60 to 100, against nothing; qualities and agents spread the 60.
    assert difference["low"] > 0.6 * (100 - none) / 2
    assert row(table, "textual anchor")["low"] < 0 < row(table, "textual anchor")["high"]


def test_a_participant_is_the_same_every_time(opened: Opened) -> None:
    study = tea(items=3)
    with opened() as first, opened() as second:
        run(first, study, seed=5)
        run(second, study, seed=5)
        assert given(first, study).equals(given(second, study))
    with opened() as other:
        run(other, study, seed=6)
        with opened() as again:
            run(again, study, seed=5)
            assert not given(other, study).equals(given(again, study))


class _Stopped(Exception):
    pass


@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("after", [1, 3, 5])
def test_an_interrupted_simulation_goes_on(
    opened: Opened,
    after: int,
    looked: bool,
) -> None:
    study = tea(items=3, targets=2)
    people = Population(dropout=0.3)
    through = 0

    def stop(count: int) -> None:
        nonlocal through
        through += count
        if through == after:
            raise _Stopped

    with opened() as whole, opened() as broken:
        done = run(whole, study, people, n=8)
        with pytest.raises(_Stopped):
            run(broken, study, people, n=8, advance=stop)
        assert broken.answers_frame(study.hash).height < whole.answers_frame(study.hash).height
        if looked:  # to whom everybody seems to be away for days
            assert broken.expire(study.hash, now=NOW)
        again = run(broken, study, people, n=8)
        assert again.outcomes == done.outcomes
        assert given(broken, study).equals(given(whole, study))
        # Once more there is nothing left to do.
        assert run(broken, study, people, n=8).known == 8 - done.outcomes.get("full", 0)
        assert given(broken, study).equals(given(whole, study))


def test_more_participants_are_added(opened: Opened) -> None:
    study = tea(items=2)
    with opened() as grown, opened() as whole:
        run(grown, study, n=3)
        more = run(grown, study, n=7)
        assert (more.known, more.outcomes) == (3, {"completed": 7})
        run(whole, study, n=7)
        assert given(grown, study).height == given(whole, study).height
        assert simulations(grown, study.hash)[0].participants == 7


def test_another_simulation_is_refused_or_joins(opened: Opened) -> None:
    study = tea(items=2)
    with opened() as store:
        run(store, study, n=3)
        with pytest.raises(DialensError, match="3 participants of a simulation with another seed"):
            run(store, study, n=3, seed=1)
        with pytest.raises(DialensError, match="--add"):
            run(store, study, Population(anchor_pull=0.1), n=3)
        run(store, study, Population(anchor_pull=0.1), n=3, add=True)
        assert attendance(store, study.hash) == {"simulated": 6}
        put_in = [one.population.anchor_pull for one in simulations(store, study.hash)]
        assert put_in == [0.3, 0.1]


def test_answers_of_people_are_left_alone(opened: Opened) -> None:
    study = tea(items=2)
    with opened() as store:
        store.register(study, now=NOW)
        store.begin(study.hash, recruiter="link", worker="w", now=NOW, seed_source=lambda: 1)
        with pytest.raises(DialensError, match="1 participants of 'tea' who are not simulated"):
            run(store, study)
        with pytest.raises(DialensError, match="not simulated"):
            run(store, study, add=True)
        assert attendance(store, study.hash) == {"human": 1}


def test_who_finds_no_place_is_turned_away(opened: Opened) -> None:
    study = tea(items=2, targets=1)
    with opened() as store:
        assert run(store, study, n=6).outcomes == {"completed": 4, "full": 2}


def test_everybody_may_leave(opened: Opened) -> None:
    study = tea(items=2)
    with opened() as store:
        crowd = Population(dropout=1.0)
        assert run(store, study, crowd, n=9).outcomes == {"left": 9}
        cells = store.progress(study.hash)
        left = [World(study, crowd, 0).person(number).leaves_after for number in range(1, 10)]
        # Who left before the consent was submitted never had a place.
        assert sum(cell.expired for cell in cells) == sum(bool(after) for after in left)
        assert sum(cell.live + cell.completed for cell in cells) == 0


def test_places_of_those_who_left_are_given_to_others(opened: Opened) -> None:
    study = tea(items=2, targets=3, limits={"idle_minutes": 1})
    with opened() as store:
        done = run(store, study, Population(dropout=0.5), n=40).outcomes
        assert done["completed"] == 12
        assert all(cell.completed == 3 for cell in store.progress(study.hash))


def test_an_empty_cell(opened: Opened) -> None:
    study = tea(items=4)
    with opened() as store:
        store.register(study, now=NOW)
        set_cell(store, study.hash, "anchor=both,layout=separate", "closed")
        run(store, study, n=12)
        data = data_of(store, study)
        assert data.raters.height == 12
        table = effects(data, main_only=True, draws=ENOUGH)
        assert row(table, "anchor, layout together")["value"] is not None


def test_times_are_those_of_people(opened: Opened) -> None:
    study = tea(items=6)
    with opened() as store:
        run(store, study, n=24)
        screens = store.answers_frame(study.hash).unique(["rater", "screen"])
        rated = screens.filter(pl.col("kind") == "rating")
        assert rated["active_ms"].min() > 1000
        assert 5_000 < rated["active_ms"].median() < 60_000
        logs = rated["active_ms"].log()
        # Log-normal: symmetric as logarithms, skewed to the right as seconds.
        assert abs(logs.skew()) < 0.6
        assert rated["active_ms"].skew() > 0.8
        between = (rated["answered_at"] - rated["shown_at"]).dt.total_milliseconds()
        assert ((between - rated["active_ms"]) > -2).all()
        assert (screens["answered_at"] < NOW).all()


def test_time_away_is_not_active_time(opened: Opened) -> None:
    study = tea(items=6)
    with opened() as store:
        run(store, study, n=24)
        hidden = store.events_frame(study.hash).filter(pl.col("kind") == "hidden")
        assert hidden.height
        for rater, screen in hidden.select("rater", "screen").rows()[:3]:
            events = store.events_frame(study.hash).filter(rater=rater, screen=screen)
            at = dict(events.select("kind", "client_at").rows())
            whole = (at["submitted"] - at["shown"]) - (at["visible"] - at["hidden"])
            there = store.answers_frame(study.hash).filter(rater=rater, screen=screen)
            assert there["active_ms"][0] == pytest.approx(whole.total_seconds() * 1000, abs=2)


def test_speeders_are_fast_and_the_inattentive_miss_checks(opened: Opened) -> None:
    check = {"kind": "number", "prompt": "2 + 2?", "whole": True, "low": 0, "high": 50}
    study = tea(checks={"attention": {"sum": {"question": check, "correct": 4, "after": [1, 2]}}})
    asked = next(s for s in plan(study, study.cells[0], 0) if s.kind == "check")
    rated = next(s for s in plan(study, study.cells[0], 0) if s.kind == "rating")

    def replies(people: Population, screen: Screen) -> list[RaterReply]:
        world = World(study, people, seed=2)
        made = [world.person(number).reply(seen(screen)) for number in range(40)]
        return [reply for reply in made if reply is not None]

    usual = sum(reply.seconds for reply in replies(Population(), rated))
    fast = sum(reply.seconds for reply in replies(Population(speeders=1.0), rated))
    assert fast < usual / 4
    right = [reply.answers["sum"] for reply in replies(Population(), asked)]
    assert set(right) == {4}
    wrong = [reply.answers["sum"] for reply in replies(Population(inattentive=1.0), asked)]
    assert sum(answer != 4 for answer in wrong) > 15


def test_gold_items_are_passed_by_those_who_read(opened: Opened) -> None:
    study = load_template("likert")
    assert study.gold
    with opened() as store:
        run(store, study, Population(scale_spread=0.0), n=6)
        _, answers, _ = tables(store.answers_frame(study.hash))
        checks = answers.filter(pl.col("question").str.starts_with("check"))
        assert checks.height
        assert set(checks["answer"]) == {"passed"}


def test_under_a_deadline_answers_are_missing(opened: Opened) -> None:
    study = tea(items=4, presentation={"deadline": 8})
    with opened() as store:
        assert run(store, study, n=6).outcomes == {"completed": 6}
        rated = store.answers_frame(study.hash).filter(pl.col("kind") == "rating")
        missing = rated.filter(pl.col("value") == "null")
        assert 0 < missing.height < rated.height
        assert rated["active_ms"].max() <= 8_000


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_can_be_simulated(name: str, opened: Opened) -> None:
    study = load_template(name)
    people = Population(speeders=0.2, inattentive=0.2)
    with opened() as store:
        done = run(store, study, people, n=3)
        assert done.outcomes == {"completed": 3}
        frame = store.answers_frame(study.hash)
        assert frame["rater_kind"].unique().to_list() == ["simulated"]
        for asked, value in frame.select("asked", "value").iter_rows():
            field = Field(**json.loads(asked))
            stored = json.loads(value)
            assert stored is None or validate(field, stored) == stored


@dataclass(frozen=True)
class _Judge:
    """Gives fifty for everything, and remembers what it was shown."""

    shown: list[Screen]
    consent: str = "yes"
    kind: str = "llm"
    name: str = "judge-1"

    def reply(self, screen: Screen) -> RaterReply | None:
        self.shown.append(screen)
        answers = {field.name: 50 for field in screen.fields}
        return RaterReply(
            answers | ({"consent": self.consent} if screen.kind == "consent" else {}), 1.0
        )

    def returns(self, wave: int) -> None:
        """It takes part once."""


def test_any_rater_can_take_a_study(opened: Opened) -> None:
    study = tea(items=2)
    judge = _Judge([])
    rater: Rater = judge
    with opened() as store:
        store.register(study, now=NOW)
        door = Entrance(store, Planner(study), "judges", lambda: NOW)
        waits = list(take_part(door, rater, tie_breaker=1))
        assert len(waits) == len(judge.shown)
        frame = store.answers_frame(study.hash)
        assert frame["rater_kind"].unique().to_list() == ["llm"]
        ratings, _, _ = tables(frame)
        assert ratings["value"].unique().to_list() == [50.0]
        # Whoever it is gets nothing a participant would not see.
        text = repr([replace(screen, body=()) for screen in judge.shown])
        assert "plain" not in text
        assert "c0" not in text


def test_who_does_not_consent_is_asked_nothing_more(opened: Opened) -> None:
    study = tea(items=2)
    with opened() as store:
        store.register(study, now=NOW)
        door = Entrance(store, Planner(study), "judges", lambda: NOW)
        waits = take_part(door, _Judge([], consent="no"), tie_breaker=1)
        next(waits)
        with pytest.raises(StopIteration) as end:
            next(waits)
        assert end.value.value == "declined"


def test_nobody_at_all_is_refused(opened: Opened) -> None:
    with opened() as store, pytest.raises(DialensError, match="At least one"):
        run(store, tea(items=2), n=0)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"dropout": 1.5}, "dropout is a share"),
        ({"pulls": {"loud": 0.1}}, "An anchor is one of"),
        ({"pulls": {"textual": -0.1}}, "anchor_pull textual"),
        ({"noise": -1}, "noise is a standard deviation"),
        ({"noise": float("inf")}, "noise is a standard deviation"),
        ({"level": float("nan")}, "level is a number"),
    ],
)
def test_impossible_people_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(DialensError, match=told):
        Population(**changes)


def test_numbers_shown_become_opinions_on_any_scale() -> None:
    slider = Field("q", "slider", options={"low": -1.0, "high": 1.0, "step": 0.1})
    assert latent_of(slider, 0.0) == 50.0
    assert latent_of(Field("q", "magnitude", options={"modulus": None}), 50.0) == 50.0
