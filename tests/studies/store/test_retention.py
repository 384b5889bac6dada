"""Data that were kept for long enough go by themselves, and nobody else's."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.studies import load_study, study_of
from dialens.studies.store import (
    IDENTITIES_FILE,
    ExportLog,
    OperationStore,
    PaymentStore,
    RetentionStore,
    Session,
    Store,
)
from tests.cli.test_study_data import STUDY
from tests.cli.test_study_day import fails, folder, people, ran
from tests.studies.store.people import NOON, arrive, given, seeds
from tests.web.conftest import tea

__all__ = ["folder"]
DAY = timedelta(days=1)


def came(store: Store, worker: str, now: datetime, **retention: str) -> Session:
    """Somebody who has answered a screen."""
    record = store.register(study_of(tea(retention=retention)), now=NOON)
    one = arrive(store, record, worker, now=now)
    store.submit(one.token, given(0), now=now)
    return one


def test_worker_ids_go_and_answers_stay(store: Store) -> None:
    old = came(store, "anna", NOON, worker_ids="90 days")
    new = came(store, "ben", NOON + DAY, worker_ids="90 days")
    study = store.studies()[0].hash
    operating = OperationStore(store, "command")
    PaymentStore(operating, "mturk").begin(
        study, {"work": old.participant}, Decimal("0.50"), now=NOON
    )
    log = ExportLog(store.database, "command")
    log.remember(study, IDENTITIES_FILE, None, sha256="0" * 64, people=2, now=NOON + DAY)
    log.remember(study, "export", None, sha256="0" * 64, people=2, now=NOON + DAY)
    retaining = RetentionStore(store, "command")
    assert not retaining.due("tea", now=NOON + 90 * DAY - timedelta(seconds=1))
    due = retaining.due("tea", now=NOON + 90 * DAY)
    assert (due.worker_ids, due.answers) == ((old.participant,), ())
    assert store.worker(old.participant) == "anna"  # looking changes nothing
    retaining.keep("tea", now=NOON + 90 * DAY)
    assert store.worker(old.participant) is None
    assert store.participants_of("mturk", "anna") == {}
    assert store.worker(new.participant) == "ben"
    assert store.answers_frame(study)["rater"].n_unique() == 2
    assert PaymentStore(operating, "mturk").begun(study) == ()
    assert not retaining.keep("tea", now=NOON + 90 * DAY)
    # Only the list of ids has to lose the person; the answers may stay where they are.
    assert {one.kind: one.recalled for one in log.all()} == {
        IDENTITIES_FILE: (old.participant,),
        "export": (),
    }
    (row,) = (
        operating.changes_frame(study).filter(pl.col("what") == "worker ids deleted").to_dicts()
    )
    assert (row["after"], row["why"], row["rater"]) == ("1", "kept for: 90 days", None)
    assert row["at"] == NOON + 90 * DAY
    assert old.participant not in json.dumps(row, default=str)


def test_everything_goes_at_the_end_of_a_day(store: Store) -> None:
    old = came(store, "anna", NOON, answers="2026-05-31")
    evening = datetime.fromisoformat("2026-05-31T23:00:00+00:00")
    late = came(store, "ben", evening, answers="2026-05-31")
    study, retaining = store.studies()[0].hash, RetentionStore(store, "file")
    assert not retaining.keep("tea", now=evening + timedelta(minutes=59))
    gone = retaining.keep("tea", now=evening + timedelta(hours=1))
    assert gone.answers == (old.participant,)  # who is at it may end what they began
    assert store.answers_frame(study)["rater"].unique().to_list() == [late.participant]
    assert retaining.keep("tea", now=evening + DAY).answers == (late.participant,)
    log = OperationStore(store, "command").changes_frame(study)
    assert log.filter(pl.col("what") == "people deleted")["after"].to_list() == ["1", "1"]


def test_who_has_finished_goes_with_the_day_and_who_is_under_way_is_spared(store: Store) -> None:
    evening = datetime.fromisoformat("2026-05-31T23:00:00+00:00")
    done, busy = (came(store, name, evening, worker_ids="2026-05-31") for name in ("anna", "ben"))
    store.complete(done.token, screens=1, now=evening)
    retaining, midnight = RetentionStore(store, "file"), evening + timedelta(hours=1)
    early = retaining.due("tea", now=midnight - timedelta(seconds=1))
    assert (early.worker_ids, early.spared, early.spared_until) == ((), (), None)
    gone = retaining.keep("tea", now=midnight)
    assert gone.worker_ids == (done.participant,)
    assert (gone.spared, gone.spared_until) == ((busy.participant,), evening + DAY)
    assert store.worker(done.participant) is None
    assert store.worker(busy.participant) == "ben"
    last = retaining.keep("tea", now=evening + DAY)
    assert (last.worker_ids, last.spared) == ((busy.participant,), ())


def test_the_command_says_who_is_spared(folder: Path) -> None:
    people(folder)
    now = datetime.now(UTC)
    with Store.open(f"sqlite:///{folder / 'study.db'}") as store:
        record = store.studies()[0]
        busy = arrive(store, record, "ben", now=now)
    ran("operate", folder, "--set", f"retention.worker_ids={now - 2 * DAY:%Y-%m-%d}")
    said = ran("retain", folder, "--dry-run")
    assert "Nobody's data" not in said
    assert "1 person is under way and spared until a day after they were there last" in said
    assert f"({busy.participant}): nobody after {now + DAY:%Y-%m-%d %H:%M} UTC" in said
    assert busy.participant not in ran("retain", folder)


def test_the_newest_version_says_it_for_all_and_simulated_people_stay(store: Store) -> None:
    old = came(store, "anna", NOON)
    first = store.studies()[0]
    store.begin(
        first.hash,
        recruiter="simulated",
        worker="robot",
        now=NOON,
        seed_source=seeds(),
        rater_kind="simulated",
    )
    again = study_of(tea(version=2, title="Tea again", retention={"answers": "9 days"}))
    store.register(again, now=NOON)
    gone = RetentionStore(store, "file").keep("tea", now=NOON + 9 * DAY)
    assert gone.answers == (old.participant,)


@pytest.mark.parametrize("term", ["90", "0 days", "ninety days", "2027-13-01", "soon", ""])
def test_odd_terms_are_refused(tmp_path: Path, term: str) -> None:
    (tmp_path / "study.yaml").write_text(f"{STUDY}retention: {{answers: '{term}'}}\n")
    with pytest.raises(
        DialensError, match=r"study\.yaml:\d+: retention\.answers: takes a number of days"
    ):
        load_study(tmp_path)


def test_a_date_need_not_stand_in_quotes(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY + "retention: {answers: 2027-12-31}\n")
    plain = study_of(tea()).hash
    assert load_study(tmp_path).design.retention.answers == "2027-12-31"
    assert study_of(tea(retention={"answers": "1 day"})).hash == plain  # operation, not definition


def test_the_command(folder: Path) -> None:
    anna, _ = people(folder, "anna", "ben")  # in March 2026, which is long ago
    assert "does not say how long" in fails("retain", folder)
    ran("operate", folder, "--set", "retention.worker_ids=1 day")
    said = ran("retain", folder, "--dry-run")
    assert "Kept: worker ids for 1 day." in said
    assert "Worker ids of 2 people would be deleted (" in said
    assert anna.participant in said
    said = ran("retain", folder)
    assert "Worker ids of 2 people are deleted." in said
    assert anna.participant not in said
    assert "Nobody's data have been kept for that long." in ran("retain", folder)
    assert "1 of 2 completed" not in ran("status", folder)
    log = ran("operate", folder)
    assert "worker ids deleted: 2 (kept for: 1 day)" in log
