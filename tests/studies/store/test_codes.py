"""Completion codes: found, verified, paid, and not to be read off an export."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl
import pytest

from dialens.studies import TEA, Study, study_of
from dialens.studies.export import export
from dialens.studies.store import OperationStore, Store, UnknownParticipant
from tests.studies.store.people import NOON, SECOND
from tests.studies.store.test_export import take


@pytest.fixture
def study(store: Store) -> Study:
    made = study_of(TEA | {"factors": {}})
    store.register(made, now=NOON)
    return made


@pytest.fixture
def operating(store: Store) -> OperationStore:
    return OperationStore(store, "command")


def code_of(store: Store, token: str) -> str:
    code = store.session(token).code
    assert code is not None
    return code


def test_a_code_leads_to_its_owner(store: Store, study: Study, operating: OperationStore) -> None:
    anna, _ = take(store, study, "anna"), take(store, study, "ben")
    code = code_of(store, anna.token)
    (holder,) = operating.code_holders(f" {code.lower()} ")
    for between in (" ", "-", " \u2013 "):
        typed = between.join(code[at : at + 4] for at in range(0, len(code), 4))
        assert operating.code_holders(typed) == (holder,)
    assert (holder.participant, holder.cell) == (anna.participant, "all")
    assert (holder.state, holder.study, holder.version) == ("completed", "tea", "1")
    # Consent, what to do, six items: eight screens of ten seconds.
    assert holder.ended_at == NOON + 80 * SECOND
    assert holder.paid_at is None
    assert operating.code_holders("MADE-UP") == ()
    assert operating.pseudonym(code) == anna.participant
    assert store.forget(operating.pseudonym(code)).participant == anna.participant


def test_paid_is_written_down_once(store: Store, study: Study, operating: OperationStore) -> None:
    anna = take(store, study, "anna")
    for _ in range(2):
        operating.mark_paid(anna.participant, now=NOON)
    (holder,) = operating.code_holders(code_of(store, anna.token))
    assert holder.paid_at == NOON
    log = operating.changes_frame(study.hash).select("what", "rater", "before", "after")
    assert log.rows() == [("paid", anna.participant, "false", "true")]


def test_a_code_that_several_have_names_nobody(store: Store, operating: OperationStore) -> None:
    study = study_of(TEA | {"completion": {"codes": {"completed": "C0FFEE"}}})
    store.register(study, now=NOON)
    for worker in ("anna", "ben"):
        came = store.begin(
            study.hash, recruiter="mturk", worker=worker, now=NOON, seed_source=lambda: 1
        )
        store.complete(came.token, screens=0, now=NOON, code="C0FFEE")
    assert len(operating.code_holders("C0FFEE")) == 2
    with pytest.raises(UnknownParticipant, match="2 people have the completion code"):
        operating.pseudonym("C0FFEE")


def test_the_export_has_hashes_of_codes(
    store: Store, study: Study, operating: OperationStore, tmp_path: Path
) -> None:
    done, left = take(store, study, "anna"), take(store, study, "ben", screens=2)
    code = code_of(store, done.token)
    export(store, study.hash, tmp_path / "e")
    table = pl.read_parquet(tmp_path / "e" / "participants.parquet")
    rows = {row["rater"]: row for row in table.to_dicts()}
    anna, ben = rows[done.participant], rows[left.participant]
    assert anna["code_sha256"] == hashlib.sha256(code.encode()).hexdigest()
    assert ben["code_sha256"] is None
    assert (anna["state"], ben["state"]) == ("completed", "live")
    assert (anna["minutes"], ben["minutes"]) == (pytest.approx(80 / 60), None)
    assert (anna["screens"], ben["screens"]) == (8, 2)
    assert anna["consented_at"] == NOON + 10 * SECOND
    for path in (tmp_path / "e").rglob("*"):
        if path.is_file() and path.suffix != ".parquet":
            assert code not in path.read_text("utf-8"), path.name
        elif path.suffix == ".parquet":
            assert code not in pl.read_parquet(path).write_json(), path.name


def test_who_is_who_is_given_out_and_logged(
    store: Store, study: Study, operating: OperationStore
) -> None:
    anna = take(store, study, "anna")
    table = operating.identities(study.hash, now=NOON)
    assert table.select("rater", "worker", "completion_code").rows() == [
        (anna.participant, "anna", code_of(store, anna.token))
    ]
    log = operating.changes_frame(study.hash).select("what", "after", "by")
    assert log.rows() == [("identities exported", "1", "command")]
