"""What was announced stays announced, and differences are named."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.studies import (
    TEA,
    Study,
    check_export,
    check_study,
    preregister,
    preregistration_markdown,
    read_preregistration,
    study_of,
)
from dialens.studies._preregistration import differences

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLANNED = TEA | {"hypotheses": ["Anchors pull."], "analysis_plan": "Intervals over people."}


def planned(**changes: Any) -> Study:
    return study_of(PLANNED | changes)


def test_what_is_written_can_be_read_and_checked(tmp_path: Path) -> None:
    made = preregister(planned(), now=NOW)
    path = tmp_path / "p.json"
    path.write_text(made.to_json(), encoding="utf-8")
    assert read_preregistration(path) == made
    # The hash is that of the rest of the file, as anybody can compute it.
    data = json.loads(path.read_text(encoding="utf-8"))
    told = data.pop("hash")
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == told


def test_the_time_is_part_of_the_hash() -> None:
    first, second = (preregister(planned(), now=NOW + timedelta(seconds=s)) for s in (0, 1))
    assert first.hash != second.hash
    elsewhere = NOW.astimezone(timezone(timedelta(hours=5)))
    assert preregister(planned(), now=elsewhere).hash == first.hash


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(analysis_plan="Whatever works."),
        lambda data: data.update(frozen_at="2025-01-01T00:00:00+00:00"),
        lambda data: data["definition"]["items"].pop(),
        lambda data: data.update(participants_before=5),
    ],
)
def test_a_file_that_was_changed_is_refused(tmp_path: Path, change: Any) -> None:
    data = json.loads(preregister(planned(), now=NOW).to_json())
    change(data)
    path = tmp_path / "p.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(DialensError, match="was changed after it was made"):
        read_preregistration(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"hash": "x"}', "not json"])
def test_other_files_are_no_preregistration(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DialensError, match="is no preregistration"):
        read_preregistration(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="There is no preregistration"):
        read_preregistration(tmp_path / "none.json")


def test_late_is_late() -> None:
    with pytest.raises(DialensError, match="3 people have taken part"):
        preregister(planned(), now=NOW, participants_before=3)
    made = preregister(planned(), now=NOW, participants_before=3, late=True)
    assert "3 people had taken part by then" in preregistration_markdown(made)


def test_something_has_to_be_announced() -> None:
    with pytest.raises(DialensError, match="hypotheses"):
        preregister(study_of(TEA), now=NOW)


def test_differences_are_named() -> None:
    made = preregister(planned(), now=NOW)
    assert differences(made, planned()) == ()
    scale = {"kind": "magnitude", "modulus": 50}
    quality = {"definition": "How well it fits.", "instrument": scale}
    items = [*TEA["items"]["inline"][1:], {**TEA["items"]["inline"][0], "id": "new"}]
    items[0] = items[0] | {"standard": "I like coffee."}
    changed = planned(
        targets=30,
        qualities={**TEA["qualities"], "coherence": quality},
        items={"inline": items},
    )
    told = [str(one) for one in differences(made, changed)]
    assert "targets.each: announced 20, found 30" in told
    assert any("qualities.coherence.instrument" in line for line in told)
    assert "items: announced 6 items, found 1 changed (c2)" in told
    assert "items: announced 6 items, found 1 left out (c1)" in told
    assert "items: announced 6 items, found 1 added (new)" in told


def test_the_order_of_qualities_counts() -> None:
    made = preregister(planned(), now=NOW)
    turned = dict(reversed(TEA["qualities"].items()))
    assert differences(made, planned(qualities=turned))


def test_a_study_is_checked_against_what_was_announced() -> None:
    made = preregister(planned(), now=NOW, participants_before=3, late=True)
    check = check_study(made, planned(), first_answer=NOW - timedelta(hours=1))
    assert check.text.startswith("This is the study that was preregistered on 2026-03-01 at 12:00")
    assert not check.warning
    assert check.details == (
        "3 people had taken part when it was written.",
        "The first answer was given before it, at 2026-03-01 11:00 UTC.",
        "Hypothesis 1: Anchors pull.",
        "Analysis plan: Intervals over people.",
    )
    changed = check_study(made, planned(analysis_plan="Whatever works."))
    assert changed.text.endswith("Its hypotheses or its analysis plan have changed since.")
    assert changed.warning
    assert changed.details[0].startswith("analysis_plan: announced")


def test_how_it_was_run_is_a_deviation_and_no_other_study() -> None:
    made = preregister(planned(), now=NOW)
    more = planned(targets=30, recruiter={"kind": "link", "reward": 2})
    assert more.hash == made.study_hash
    check = check_study(made, more, changes=["targets.each from 20 to 30"])
    assert check.text.startswith("This is the study")
    assert check.text.endswith("It was run otherwise than planned; what differs is listed.")
    assert not check.warning
    assert check.details[:3] == (
        "targets.each: announced 20, found 30",
        "recruiter.reward: announced 0.0, found 2.0",
        "Changed while people took part: targets.each from 20 to 30",
    )
    assert "- targets.each: 20" in preregistration_markdown(made)


def test_an_export_is_checked_by_its_codebook(tmp_path: Path) -> None:
    made = preregister(planned(), now=NOW)
    assert "cannot be checked" in check_export(made, tmp_path).text
    book = tmp_path / "codebook.json"
    book.write_text(json.dumps({"hash": made.study_hash}), encoding="utf-8")
    assert check_export(made, tmp_path).text.startswith("This is the study")
    book.write_text(json.dumps({"hash": "another"}), encoding="utf-8")
    assert check_export(made, tmp_path).warning
