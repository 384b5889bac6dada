"""Waves as a study file says them, and the screens of somebody who comes back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens.analysis.bias import Resampling, analyse_study, read_study
from dialens.analysis.people import who_took_part
from dialens.base import DialensError
from dialens.studies import TEA, Screen, Study, study_of, wave_number
from dialens.studies.export import export
from dialens.studies.plan import plan
from dialens.studies.recruiters import completion_code
from dialens.studies.simulation import Population, simulate_study
from dialens.studies.store import Store

LATER = {"after_hours": 24, "within_hours": 72, "items": "same"}
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def with_waves(**waves: dict[str, Any]) -> Study:
    return study_of(TEA | {"waves": waves})


def rated(screens: tuple[Screen, ...]) -> list[str]:
    """The items in the order in which they are judged."""
    shown = [str(screen.state["item"]) for screen in screens if screen.kind == "rating"]
    return list(dict.fromkeys(shown))


def conditions(screens: tuple[Screen, ...]) -> dict[str, object]:
    return {
        str(screen.state["item"]): screen.state["condition"]
        for screen in screens
        if screen.kind == "rating"
    }


def test_a_study_without_waves_is_the_study_it_was() -> None:
    assert "waves" not in study_of(TEA).definition
    # as it was before there were waves
    assert study_of(TEA).hash[:12] == "86204da5a0a2"


def test_times_are_operation_and_what_is_shown_is_definition() -> None:
    study, other = with_waves(later=LATER), with_waves(later=LATER | {"within_hours": 96})
    assert study.hash == other.hash != study_of(TEA).hash
    assert study.operation != other.operation
    assert study.with_operation(other.operation).design.waves["later"].within_hours == 96
    assert with_waves(later=LATER | {"again": ["consent"]}).hash != study.hash


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"waves": {"b": LATER | {"within_hours": 24}}}, "no later than after_hours"),
        ({"waves": {"b": LATER | {"items": "new"}}}, "items.sample"),
        ({"completion": {"waves": {"b": {"completed": "CODE-1"}}}}, "no such wave"),
        ({"waves": {"b": LATER}, "recruiter": {"kind": "kiosk"}}, "nobody is known again"),
        ({"waves": {"b": {"after_hours": 1}}}, "items"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        study_of(TEA | changes)


def test_new_items_have_to_be_there() -> None:
    items = TEA["items"] | {"sample": {"count": 4}}
    with pytest.raises(DialensError, match="each of 2 waves shows 4 items"):
        study_of(TEA | {"items": items, "waves": {"later": LATER | {"items": "new"}}})


@given(seed=st.integers(0, 200))
def test_the_same_items_come_in_another_order_and_the_same_condition(seed: int) -> None:
    study = with_waves(later=LATER)
    for cell in study.cells:
        first, second = plan(study, cell, seed), plan(study, cell, seed, 2)
        assert rated(first) != rated(second)
        assert conditions(first) == conditions(second)
        assert {f.quality for s in first for f in s.fields if s.kind == "rating"} == {
            f.quality for s in second for f in s.fields if s.kind == "rating"
        }


@given(seed=st.integers(0, 200))
def test_new_items_are_none_that_were_seen(seed: int) -> None:
    items = TEA["items"] | {"sample": {"count": 2}}
    waves = {"b": LATER | {"items": "new"}, "c": LATER, "d": LATER | {"items": "new"}}
    study = study_of(TEA | {"items": items, "waves": waves})
    seen = [rated(plan(study, study.cells[0], seed, wave)) for wave in (1, 2, 3, 4)]
    assert set(seen[1]) == set(seen[2])
    assert len({*seen[0], *seen[1], *seen[3]}) == 6


def test_who_comes_back_is_asked_for_ratings_only() -> None:
    study = with_waves(later=LATER, last=LATER | {"again": ["consent"], "text": "Once more."})
    cell = study.cells[0]
    second, third = plan(study, cell, 0, 2), plan(study, cell, 0, 3)
    assert [screen.kind for screen in second[:2]] == ["instructions", "rating"]
    assert [screen.kind for screen in third[:3]] == ["consent", "instructions", "rating"]
    assert "as you did the last time" in str(second[0].body)
    assert str(third[1].body[0]["text"]) == "Once more."
    assert {screen.state["wave"] for screen in third} == {3}
    assert all("wave" not in screen.state for screen in plan(study, cell, 0))


def test_each_wave_has_its_codes() -> None:
    codes = {"codes": {"completed": "FIRST-1"}, "waves": {"later": {"completed": "SECOND-2"}}}
    study = study_of(TEA | {"waves": {"later": LATER}, "completion": codes})
    assert completion_code(study) == "FIRST-1"
    assert completion_code(study, wave=2) == "SECOND-2"
    assert completion_code(study, "withdrawn", wave=2) is None
    prolific = study_of(TEA | {"waves": {"later": LATER}, "recruiter": {"kind": "prolific"}})
    made = [completion_code(prolific, outcome, w) for outcome in _ENDS for w in (1, 2)]
    assert len(set(made)) == 4


_ENDS = ("completed", "no_consent")


def test_a_wave_is_named_by_number_or_name() -> None:
    design = with_waves(later=LATER, last=LATER).design
    assert [wave_number(design, name) for name in ("2", "later", "last", "3")] == [2, 2, 3, 3]
    with pytest.raises(DialensError, match=r"2 \(later\), 3 \(last\)"):
        wave_number(design, "1")
    with pytest.raises(DialensError, match="has no `waves`"):
        wave_number(study_of(TEA).design, "2")


def test_simulated_people_come_back_and_agree_with_themselves_as_put_in(tmp_path: Path) -> None:
    study = study_of(
        TEA
        | {
            "waves": {"later": LATER},
            "factors": {},
            "presentation": {"anchor": "none"},
            "targets": 40,
            "qualities": {"coherence": {"instrument": {"kind": "slider"}, "definition": "x"}},
        }
    )
    # With no spread of scales, the variance is that of opinions and noise: ICC = 15² / (15² + 10²).
    people = Population(scale_spread=0, item_spread=15, agent_spread=0, noise=10, round_share=0)
    with Store.open(f"sqlite:///{tmp_path}/tea.db") as store:
        done = simulate_study(store, study, people, participants=40, now=NOON)
        assert done.outcomes == {"completed": 40}
        (wave,) = store.waves(study.hash, now=NOON)
        assert (wave.awaited, wave.completed) == (40, 40)
        again = simulate_study(store, study, people, participants=40, now=NOON)
        assert (again.known, again.outcomes) == (40, {"completed": 40})
        out = export(store, study.hash, tmp_path / "out")
    ratings = pl.read_parquet(tmp_path / "out" / "ratings.parquet")
    assert ratings["wave"].value_counts(sort=True)["count"].n_unique() == 1
    hours = ratings.group_by("rater").agg(pl.col("answered_at").max() - pl.col("shown_at").min())
    assert (hours["answered_at"].dt.total_hours() >= 24).all()
    assert out.participants == 40
    for name in ("answers", "questionnaires", "screens", "events", "consents", "participants"):
        assert "wave" in pl.read_parquet(tmp_path / "out" / f"{name}.parquet").columns
    people_table = pl.read_parquet(tmp_path / "out" / "participants.parquet")
    assert (
        people_table.group_by("rater").agg(pl.col("wave").sort())["wave"].to_list() == [[1, 2]] * 40
    )
    assert people_table.group_by("rater").agg(pl.col("cell").n_unique())["cell"].max() == 1
    found = analyse_study(read_study(tmp_path / "out"), draws=Resampling(resamples=50))
    (row,) = found.retest.to_dicts()
    assert row["n_pairs"] * 2 == ratings.height
    judged = (
        ratings.filter(pl.col("wave") == 1).group_by("dialog", "agent").agg(pl.col("value").mean())
    )
    spread = np.var(judged["value"].to_numpy(), ddof=1)
    assert row["value"] == pytest.approx(spread / (spread + 100), abs=0.06)
    assert row["low"] < row["value"] < row["high"]
    minutes = who_took_part(found.data.ratings, tmp_path / "out").minutes
    assert minutes is not None
    assert minutes[2] < 60  # of the first wave, not from the first to the last
    # A second rating of the same rater is no second rater.
    assert found.data.ratings.height == ratings.height / 2
    assert any(note.part == "later waves" for note in found.notes)


def test_who_drops_out_stays_away_from_later_waves(tmp_path: Path) -> None:
    study = with_waves(later=LATER)
    with Store.open(f"sqlite:///{tmp_path}/tea.db") as store:
        people = Population(dropout=0.4)
        done = simulate_study(store, study, people, participants=30, now=NOON)
        (wave,) = store.waves(study.hash, now=NOON)
    assert wave.awaited == done.outcomes["completed"]
    assert 0 < wave.completed < wave.awaited
    assert wave.completed + wave.late == wave.awaited
