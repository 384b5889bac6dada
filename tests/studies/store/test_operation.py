"""How a study is run changes while people take part; what they see does not."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.studies import TEA, Study, load_study, study_of
from dialens.studies.store import (
    OperationStore,
    Session,
    Store,
    StudyChanged,
    StudyFull,
)
from tests.studies.store.people import NOON, SECOND, seeds
from tests.studies.test_translation import GERMAN, written

ONE = TEA | {"factors": {}, "targets": 2}
LATER = NOON + timedelta(hours=1)


def come(store: Store, study: Study, worker: str, **more: Any) -> Session:
    """Somebody comes and agrees to take part."""
    how: dict[str, Any] = {"now": NOON, "seed_source": seeds()} | more
    came = store.begin(study.hash, recruiter="mturk", worker=worker, **how)
    return store.admit(came.token, now=how["now"], seed_source=how["seed_source"])


@pytest.fixture
def study(store: Store) -> Study:
    """A study with two places, both taken."""
    made = study_of(ONE)
    store.register(made, now=NOON)
    for worker in ("anna", "ben"):
        come(store, made, worker)
    return made


@pytest.mark.parametrize(
    "changed",
    [
        {"targets": 30},
        {"recruiter": {"kind": "link", "reward": 2.5}},
        {"limits": {"idle_minutes": 60}},
        {"description": "Now for others."},
        {"hypotheses": ["Warm replies win."]},
        {"completion": {"message": "Thank you!"}},
        {"resume": "restart"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_participants_do_not_see_may_change_in_the_file(
    store: Store, study: Study, changed: dict[str, Any]
) -> None:
    new = study_of(ONE | changed)
    assert new.hash == study.hash
    record = store.register(new, now=LATER)
    assert json.loads(record.operation) == json.loads(new.operation)
    log = OperationStore(store, "command").changes_frame(study.hash)
    assert log["by"].to_list() == ["file"] * log.height
    assert log["at"].to_list() == [LATER] * log.height
    assert log.height == 1


def test_what_they_see_may_not_and_the_place_is_named(store: Store, study: Study) -> None:
    question = {"coherence": TEA["qualities"]["coherence"] | {"question": "Does it fit?"}}
    changed = study_of(ONE | {"qualities": TEA["qualities"] | question})
    with pytest.raises(StudyChanged, match=r"\(qualities\.coherence\.question\).*targets"):
        store.register(changed, now=LATER)


def test_more_places_are_there_at_once(store: Store, study: Study) -> None:
    with pytest.raises(StudyFull):
        come(store, study, "cleo")
    made = OperationStore(store, "api").operate(study.hash, {"targets": 3}, now=LATER)
    assert [str(change) for change in made] == ["targets.each from 2 to 3"]
    assert come(store, study, "cleo").state == "live"
    with pytest.raises(StudyFull):
        come(store, study, "dora")


def test_one_cell_may_have_more(store: Store) -> None:
    study = study_of(TEA)
    store.register(study, now=NOON)
    cell = study.cells[1].name
    OperationStore(store, "api").operate(study.hash, {"targets": {cell: 25}}, now=LATER)
    assert [c.target for c in store.progress(study.hash)] == [20, 25, 20, 20]


def test_limits_hold_from_now_on(store: Store, study: Study) -> None:
    assert store.expire(study.hash, now=NOON + 90 * SECOND) == 0
    OperationStore(store, "api").operate(study.hash, {"limits": {"idle_minutes": 1}}, now=NOON)
    assert store.expire(study.hash, now=NOON + 90 * SECOND) == 2


def test_the_file_does_not_undo_what_was_changed_meanwhile(store: Store, study: Study) -> None:
    operating = OperationStore(store, "dashboard")
    operating.operate(study.hash, {"targets": 5}, now=NOON)
    # The server starts again, from the file as it was: nothing changes.
    assert json.loads(store.register(study, now=LATER).operation)["targets"] == {"each": 5}
    # The file changes something else: that alone is followed.
    store.register(study_of(ONE | {"limits": {"idle_minutes": 5}}), now=LATER)
    assert store.progress(study.hash)[0].target == 5
    # The file changes the same: then it counts.
    store.register(study_of(ONE | {"targets": 7}), now=LATER)
    assert store.progress(study.hash)[0].target == 7
    log = operating.changes_frame(study.hash).select("by", "what", "before", "after").rows()
    assert log == [
        ("dashboard", "targets.each", "2", "5"),
        ("file", "limits.idle_minutes", "30.0", "5.0"),
        ("file", "targets.each", "5", "7"),
        ("file", "limits.idle_minutes", "5.0", "30.0"),
    ]


def test_annotators_of_lists_are_operation(store: Store) -> None:
    items = TEA["items"] | {"lists": {"length": 3, "annotators": 2}}
    study = study_of(TEA | {"items": items, "factors": {}})
    store.register(study, now=NOON)
    settings = {"items": {"lists": {"annotators": 4}}}
    OperationStore(store, "api").operate(study.hash, settings, now=LATER)
    assert [c.target for c in store.progress(study.hash)] == [4, 4]
    assert store.study(study.hash).study.hash == study.hash


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"title": "Other"}, "title is part of the definition.*raise `version`"),
        ({"recruiter": {"kind": "prolific"}}, "recruiter.kind is part of the definition"),
        ({"hypotheses": []}, "hypotheses is for colleagues"),
        ({"target": 3}, "no such setting. Did you mean targets"),
        ({"reward": 4}, r"no such setting. Did you mean recruiter\.reward\?"),
        ({"targets": 0}, "targets.each"),
        ({"targets": {"nowhere": 3}}, "no cell 'nowhere'"),
        ({"limits": {"idle_minutes": -1}}, "limits.idle_minutes"),
        ({"limits": {"idle": 1}}, "limits.idle: there is no such key"),
        ({"resume": "maybe"}, "resume"),
    ],
)
def test_what_cannot_be_changed_is_said(
    store: Store, study: Study, settings: dict[str, Any], told: str
) -> None:
    before = store.study(study.hash)
    with pytest.raises(DialensError, match=told):
        OperationStore(store, "api").operate(study.hash, settings, now=LATER)
    assert store.study(study.hash) == before
    assert OperationStore(store, "api").changes_frame(study.hash).height == 0


def test_pausing_a_cell_is_logged(store: Store, study: Study) -> None:
    operating = OperationStore(store, "dashboard")
    for state in ("paused", "paused", "open"):
        operating.set_cell(study.hash, study.cells[0].name, state, now=LATER)
    log = operating.changes_frame(study.hash).select("what", "before", "after").rows()
    assert log == [
        ("cell all", '"open"', '"paused"'),
        ("cell all", '"paused"', '"open"'),
    ]


def test_closing_words_in_another_language_are_operation(store: Store, tmp_path: Path) -> None:
    study = load_study(written(tmp_path, GERMAN))
    store.register(study, now=NOON)
    words = {"translations": {"de": {"completion": {"message": "Danke, das war alles."}}}}
    (change,) = OperationStore(store, "api").operate(study.hash, words, now=LATER)
    assert change.what == "translations.de.completion.message"
    run = store.study(study.hash).study
    assert (run.hash, run.languages) == (study.hash, ("en", "de"))
    assert run.said_in("de").design.completion.message == "Danke, das war alles."
    assert run.design.completion.message == study.design.completion.message
    with pytest.raises(DialensError, match="no such setting"):
        OperationStore(store, "api").operate(
            study.hash, {"translations": {"de": {"title": "Anders"}}}, now=LATER
        )
