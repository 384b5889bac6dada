"""Consent, screening, comprehension and codes: in study files, and met by simulated people."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dialens.base import DialensError, validated
from dialens.cli.study._group import app
from dialens.studies import TEA, check_finished, study_of
from dialens.studies.design import Design
from dialens.studies.plan import plan
from dialens.studies.recruiters import possible_outcomes
from dialens.studies.simulation import Population, simulate_study
from dialens.studies.store import Store
from dialens.studies.templates import write_template
from tests.web.test_gates import COMPREHENSION, SCREENING, STATEMENTS, told

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def gated(**changes: Any) -> dict[str, Any]:
    study = copy.deepcopy(TEA)
    study["items"]["inline"] = study["items"]["inline"][:2]
    parts = {
        "consent": STATEMENTS,
        "screening": copy.deepcopy(SCREENING),
        "instructions": told(copy.deepcopy(COMPREHENSION)),
    }
    return study | parts | changes


def said(data: dict[str, Any], tmp_path: Path) -> str:
    with pytest.raises(DialensError) as wrong:
        validated(Design, data, {}, tmp_path / "study.yaml")
    return str(wrong.value)


def test_screens_come_in_order() -> None:
    after = [s.id for s in plan(study_of(gated()), "anchor=none,layout=together", 0)][:6]
    assert after == [
        "consent",
        "screening",
        "instructions",
        "comprehension-1",
        "instructions-2",
        "comprehension-2",
    ]
    early = gated(screening=SCREENING | {"when": "before_consent"})
    before = [s.id for s in plan(study_of(early), "anchor=none,layout=together", 0)][:2]
    assert before == ["screening", "consent"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"question": "agee", "at_least": 18}, "Did you mean age?"),
        ({"question": "age"}, "give one_of, none_of, at_least or at_most"),
        ({"question": "fluent", "at_least": 1}, "the answer to fluent is no number"),
        ({"question": "fluent", "one_of": ["perhaps"]}, "'perhaps' could not be answered"),
    ],
)
def test_a_rule_that_cannot_hold_is_refused(
    rule: dict[str, Any], message: str, tmp_path: Path
) -> None:
    told = said(gated(screening=SCREENING | {"rules": [rule]}), tmp_path)
    assert message in told
    assert "?." not in told


def test_a_rule_needs_an_answer(tmp_path: Path) -> None:
    study = gated()
    study["screening"]["questions"]["age"]["required"] = False
    assert "screening.questions.age.required: has to be true" in said(study, tmp_path)


def test_a_comprehension_question_needs_a_right_answer(tmp_path: Path) -> None:
    study = gated()
    study["instructions"]["comprehension"]["questions"]["judged"]["correct"] = "Nothing"
    assert "'Nothing' could not be answered" in said(study, tmp_path)


def test_a_question_is_asked_once(tmp_path: Path) -> None:
    asked = {"questions": {"age": {"kind": "number", "prompt": "Your age?"}}}
    study = gated(questionnaires={"after": [asked]})
    assert "screening.questions.age: a questionnaire asks it, too" in said(study, tmp_path)


def test_codes_differ(tmp_path: Path) -> None:
    codes = {"completed": "SAME", "withdrawn": "SAME"}
    assert "is the code of completed already" in said(gated(completion={"codes": codes}), tmp_path)


def test_only_what_can_happen_has_a_code() -> None:
    everything = ("completed", "no_consent", "screened_out", "failed_comprehension", "withdrawn")
    assert possible_outcomes(study_of(gated())) == everything
    flagged = gated(instructions=told(COMPREHENSION | {"failing": "flag"}))
    assert "failed_comprehension" not in possible_outcomes(study_of(flagged))


@pytest.mark.parametrize("when", ["before_consent", "after_consent"])
def test_simulated_participants_pass_through_all_of_it(tmp_path: Path, when: str) -> None:
    study = study_of(gated(screening=SCREENING | {"when": when}))
    with Store.open(f"sqlite:///{tmp_path}/study.db") as store:
        done = simulate_study(store, study, Population(), participants=6, now=NOON)
        assert done.outcomes == {"completed": 6}
        answers = store.answers_frame(study.hash)
    assert "comprehension-2" not in answers["screen"].to_list()
    assert {"screening", "comprehension-1"} <= set(answers["screen"].to_list())


def test_simulated_participants_who_do_not_read_fail(tmp_path: Path) -> None:
    study = study_of(gated())
    with Store.open(f"sqlite:///{tmp_path}/study.db") as store:
        crowd = Population(inattentive=1.0)
        done = simulate_study(store, study, crowd, participants=20, now=NOON)
        again = simulate_study(store, study, crowd, participants=20, now=NOON)
        ends = {end.outcome: end.n for end in store.early_ends(study.hash)}
    # Seven in ten guess between two answers, twice: 0.35² of 20 are about 2.5 people.
    assert 0 < done.outcomes["failed_comprehension"] < 10
    assert sum(done.outcomes.values()) == 20
    assert again.outcomes == done.outcomes
    assert ends == {"failed_comprehension": done.outcomes["failed_comprehension"]}


def test_a_template_is_not_served_as_it_comes(tmp_path: Path) -> None:
    write_template("likert", tmp_path / "s")
    number = next(
        n
        for n, line in enumerate((tmp_path / "s" / "study.yaml").read_text().splitlines(), 1)
        if line.startswith("contact:")
    )
    with pytest.raises(DialensError, match=f"study.yaml:{number}: contact: PLEASE FILL IN"):
        check_finished(tmp_path / "s")
    run = CliRunner()
    refused = run.invoke(app, ["serve", str(tmp_path / "s")])
    assert refused.exit_code != 0
    assert f"study.yaml:{number}" in refused.output + str(refused.exception)
    url = ["--url", "https://study.example.org/", "--yes"]
    refused = run.invoke(app, ["recruit", "create", str(tmp_path / "s"), *url])
    assert "PLEASE FILL IN" in refused.output + str(refused.exception)
    posted = run.invoke(app, ["recruit", "create", str(tmp_path / "s"), *url, "--unfinished"])
    assert posted.exit_code == 0
    simulated = run.invoke(app, ["simulate", str(tmp_path / "s"), "-n", "2"])
    assert simulated.exit_code == 0
