"""Judges asked again, in another language, and what their answers come to as metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.analysis.judges import changed_behind, judge_drift, judge_metrics, later_raters
from dialens.base import DialensError
from dialens.corpus import Corpus, read
from dialens.metrics import score
from dialens.studies import Study, load_study, study_of
from dialens.studies._examples import TEA
from dialens.studies.judges import (
    JudgePlan,
    Ledger,
    ModelReply,
    Said,
    judge_ratings,
    judge_study,
)
from tests.studies.judges.test_judging import Scripted, planned, right
from tests.studies.samples import template_text
from tests.studies.test_translation import GERMAN, STUDY, written


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Ledger.open(tmp_path / "judges.db", asking=True) as opened:
        yield opened


def study_of_corpus(tmp_path: Path, template: str = "dialogue-level") -> tuple[Study, Corpus]:
    """A template about the conversations of a corpus, in which nothing but coherence is asked."""
    lines = [
        {
            "id": f"{bot}-{number}",
            "model": bot,
            "messages": [
                {"role": "user", "content": f"Plan {number}?"},
                {"role": "assistant", "content": f"{bot} says {number}."},
            ],
        }
        for number in range(8)
        for bot in ("a", "b")
    ]
    corpus = tmp_path / "chats.jsonl"
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
    folder = tmp_path / "study"
    folder.mkdir()
    from ruamel.yaml import YAML

    design = YAML(typ="safe").load(template_text(template))
    design["items"] = {"unit": design["items"].get("unit", "response"), "corpus": "../chats.jsonl"}
    design["qualities"] = {"coherence": design["qualities"]["coherence"]}
    (folder / "study.yaml").write_text(json.dumps(design))
    return load_study(folder), read(corpus)


def constant(number: int) -> Any:
    def says(said: Sequence[Said], schema: Mapping[str, Any] | None, seed: int) -> str:
        assert schema is not None
        return json.dumps(dict.fromkeys(schema["properties"], number))

    return says


def test_conditions_weigh_the_same_not_rows(tmp_path: Path, ledger: Ledger) -> None:
    """Three repeats of one prompt say 2; of the other one says 5 and two decline: 3.5, not 2.75."""
    study, corpus = study_of_corpus(tmp_path)
    strict: list[str] = []

    def says(said: Sequence[Said], schema: Mapping[str, Any] | None, seed: int) -> str | ModelReply:
        if "strict" not in said[0].text:
            return constant(2)(said, schema, seed)
        strict.append(said[0].text)
        if strict.count(said[0].text) > 1:
            return ModelReply("No.", refused=True)
        return constant(5)(said, schema, seed)

    prompts = {name: f"{name} {{instructions}} {{screen}}" for name in ("mild", "strict")}
    plan = planned(study, Scripted(says), prompts=prompts, repeats=3)
    judge_study(plan, ledger, at_once=1)
    found = judge_metrics(study, ledger, corpus)
    assert [card.name for card in found.cards] == ["judge_coherence"]
    scores = score(corpus, metrics=list(found.cards))
    assert set(scores.wide("dialog")["judge_coherence"]) == {3.5}
    assert "prompts:mild@" in scores.signatures["judge_coherence"]
    assert "+strict@" in scores.signatures["judge_coherence"]
    saved = scores.save(tmp_path / "out")
    assert type(scores).open(saved).why_not_resampled is None


def drifted(study: Study, ledger: Ledger, *models: Scripted, **settings: Any) -> pl.DataFrame:
    """The ratings of one judge on several occasions, on each by another model."""
    for occasion, model in enumerate(models, start=1):
        plan = replace(planned(study, model, **settings), occasion=occasion)
        judge_study(plan, ledger)
    return judge_ratings(study, ledger)


def test_a_planted_shift_is_found_and_no_shift_is_not(tmp_path: Path, ledger: Ledger) -> None:
    study, _ = study_of_corpus(tmp_path)
    ratings = drifted(
        study, ledger, *(Scripted(constant(number)) for number in (3, 3, 4)), repeats=2
    )
    assert len(later_raters(ratings)) == 4
    drift = judge_drift(ratings).sort("occasion")
    assert drift["shift"].to_list() == [0, 1]
    assert drift["changed"].to_list() == [0, 1]
    assert drift["changed_usual"].to_list() == [0, 0]
    assert drift["reason"].to_list() == ["nothing changed", None]
    assert drift["p"].to_list()[1] < 0.001
    assert drift["n"].to_list() == [16, 16]
    assert drift["n_answers"].to_list() == [32, 32]


def test_drift_and_fingerprints_are_of_the_raters_of_both_occasions(
    tmp_path: Path, ledger: Ledger
) -> None:
    study, _ = study_of_corpus(tmp_path)
    first = drifted(study, ledger, *(Scripted(constant(3)) for _ in range(2)), temperatures=[0.7])
    first = first.with_columns(fingerprint=pl.lit("fp_44"))
    other = first.filter(occasion=2).with_columns(
        temperature=pl.lit(0.8), value=pl.lit(5.0), fingerprint=pl.lit("fp_9")
    )
    drift = judge_drift(pl.concat([first, other])).row(0, named=True)
    assert drift["shift"] == 0
    assert (drift["fingerprint_before"], drift["fingerprint_after"]) == ("fp_44", "fp_44")


def test_noise_alone_is_no_drift(tmp_path: Path, ledger: Ledger) -> None:
    study, _ = study_of_corpus(tmp_path)
    ratings = drifted(study, ledger, Scripted(right), Scripted(right), repeats=2)
    drift = judge_drift(ratings).row(0, named=True)
    assert drift["low"] < 0 < drift["high"]
    assert drift["changed"] > 0.5  # five points by lot
    assert drift["changed_usual"] > 0.5
    pairs = (
        ratings.pivot("occasion", index=["dialog", "repeat"], values="value")
        .with_columns(gap=pl.col("2") - pl.col("1"))
        .group_by("dialog")
        .agg(pl.col("gap").mean())
    )
    assert drift["shift"] == pytest.approx(pairs["gap"].mean())


def test_screens_of_one_conversation_are_no_units_of_their_own(
    tmp_path: Path, ledger: Ledger
) -> None:
    study, _ = study_of_corpus(tmp_path)
    drift = judge_drift(
        drifted(study, ledger, Scripted(constant(3)), Scripted(constant(4)), memory="session")
    )
    assert drift["shift"].to_list() == [1.0]
    assert drift["low"].to_list() == [None]
    assert drift["reason"].to_list() == ["fewer than 6 units have no interval"]


def test_of_choices_the_share_that_changed_is_told(ledger: Ledger, tmp_path: Path) -> None:
    from dialens.studies.templates import write_template

    study = write_template("pairwise", tmp_path / "pairs")

    def first(said: Sequence[Said], schema: Mapping[str, Any] | None, seed: int) -> str:
        assert schema is not None
        return json.dumps({name: one["enum"][0] for name, one in schema["properties"].items()})

    def last(said: Sequence[Said], schema: Mapping[str, Any] | None, seed: int) -> str:
        assert schema is not None
        return json.dumps({name: one["enum"][1] for name, one in schema["properties"].items()})

    drift = judge_drift(drifted(study, ledger, Scripted(first), Scripted(first), Scripted(last)))
    assert drift.filter(occasion=2)["changed"].unique().to_list() == [0.0]
    assert drift.filter(occasion=3)["changed"].unique().to_list() == [1.0]
    assert drift["shift"].null_count() == drift.height
    assert "choices" in drift["reason"][0]


def test_a_judge_reads_the_language_that_the_file_names(tmp_path: Path, ledger: Ledger) -> None:
    study = load_study(written(tmp_path, GERMAN, STUDY))
    model = Scripted(right)
    plan = planned(study, model, language="de")
    judge_study(plan, ledger)
    assert "Stimmigkeit" in model.asked[0]["said"][0].text
    assert "Coherence" not in model.asked[0]["said"][0].text
    ratings = judge_ratings(study, ledger)
    assert ratings["language"].unique().to_list() == ["de"]
    assert ratings["rater"].unique().to_list() == ["a/plain/de#1"]
    own = Scripted(right)
    judge_study(planned(study, own, language="en"), ledger)  # the study's own, as if not given
    assert set(judge_ratings(study, ledger)["rater"]) == {"a/plain/de#1", "a/plain#1"}
    assert "Coherence" in own.asked[0]["said"][0].text
    with pytest.raises(DialensError, match=r"no such language\. Languages: en, de"):
        planned(study, model, language="fr")


def test_of_a_study_with_waves_judges_take_the_first() -> None:
    later = {"later": {"after_hours": 24, "items": "same"}}
    plan: JudgePlan = planned(study_of(TEA | {"waves": later}), Scripted(right))
    assert "Judges take the first one only" in plan.notes[0]
    assert planned(study_of(TEA), Scripted(right)).notes == []


def test_fingerprints_of_one_occasion_are_counted() -> None:
    rows = [("a", 1, "x"), ("a", 1, "y"), ("a", 2, "y"), ("b", 1, "x"), (None, None, None)]
    names = {"judge": pl.String, "occasion": pl.Int64, "fingerprint": pl.String}
    assert list(changed_behind(pl.DataFrame(rows, schema=names, orient="row"))) == ["a"]
