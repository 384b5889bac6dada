"""Studies in several languages: the words of each, and everything else the same."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from ruamel.yaml import YAML

from dialens.base import DialensError
from dialens.studies import TEA, Study, load_study
from dialens.studies._words import words_mark
from dialens.studies.design import Design
from dialens.studies.instruments import instruments
from dialens.studies.plan import plan

STUDY: dict[str, Any] = copy.deepcopy(TEA) | {
    "languages": ["en", "de"],
    "questionnaires": {
        "before": [
            {
                "title": "About you",
                "questions": {
                    "drink": {
                        "kind": "choice",
                        "prompt": "What do you drink?",
                        "choices": {"t": "tea", "c": "coffee"},
                    }
                },
            }
        ]
    },
}
GERMAN: dict[str, Any] = {
    "title": "Wie gut sind diese Antworten?",
    "qualities": {
        "readability": {"label": "Lesbarkeit", "definition": "Wie leicht man es liest."},
        "coherence": {"label": "Stimmigkeit", "definition": "Wie gut es passt."},
    },
    "consent": {"text": "Wir fragen, was Sie von Antworten halten."},
    "instructions": {"text": "Lesen Sie das Gespräch, beurteilen Sie dann jede Antwort."},
    "questionnaires": {
        "before": [
            {
                "title": "Über Sie",
                "questions": {
                    "drink": {
                        "prompt": "Was trinken Sie?",
                        "choices": {"t": "Tee", "c": "Kaffee"},
                    }
                },
            }
        ]
    },
}


def written(folder: Path, german: dict[str, Any], study: dict[str, Any] = STUDY) -> Path:
    for name, data in (("study.yaml", study), ("study.de.yaml", german)):
        with (folder / name).open("w", encoding="utf-8") as file:
            YAML().dump(copy.deepcopy(data), file)
    return folder


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return load_study(written(tmp_path, GERMAN))


def test_the_same_screens_in_other_words(study: Study) -> None:
    german = study.said_in("de")
    for cell in study.cells:
        ours, theirs = plan(study, cell, 3), plan(german, cell, 3)
        assert [screen.id for screen in ours] == [screen.id for screen in theirs]
        # What is agreed to are the words, so that the consent's version differs.
        states = [[dict(s.state) | {"consent": None} for s in one] for one in (ours, theirs)]
        assert states[0] == states[1]
        for one, other in zip(ours, theirs, strict=True):
            bare = [replace(field, options={}) for field in one.fields]
            assert bare == [replace(field, options={}) for field in other.fields]
    consent, questions = plan(german, study.cells[0], 3)[:2]
    assert consent.title == "Bevor Sie beginnen"
    assert questions.fields[0].options["choices"][0] == {"value": "t", "label": "Tee"}


def test_the_words_are_part_of_the_hash_and_of_the_definition(study: Study, tmp_path: Path) -> None:
    assert Study.from_definition(study.definition) == study
    other = load_study(written(tmp_path, GERMAN | {"title": "Anders"}))
    assert other.hash != study.hash


def test_a_text_of_the_program_may_differ_by_language(tmp_path: Path) -> None:
    study = load_study(
        written(tmp_path, GERMAN | {"texts": {"begin": "Los"}}, STUDY | {"texts": {"begin": "Go"}})
    )
    assert (study.texts.say("begin"), study.said_in("de").texts.say("begin")) == ("Go", "Los")


def changed(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy(GERMAN) | changes


@pytest.mark.parametrize(
    ("german", "said"),
    [
        ({k: v for k, v in GERMAN.items() if k != "title"}, "title: is not translated"),
        (changed(titel="x"), "titel: there is no such key. Did you mean title"),
        (changed(targets=3), "targets: is the same in all languages"),
        (changed(version=1), None),
        (
            changed(qualities={"readability": {"label": "L", "definition": "W"}}),
            "qualities.coherence.label: is not translated",
        ),
        (
            changed(qualities=GERMAN["qualities"] | {"coherenc": {"label": "x"}}),
            "qualities.coherenc: the study file has no such key. Did you mean coherence",
        ),
        (changed(questionnaires={"before": []}), "questionnaires.before: the study file has 1"),
        (
            changed(
                questionnaires={
                    "before": [
                        {
                            "title": "x",
                            "questions": {
                                "drink": {"prompt": "x", "choices": {"t": "x", "k": "y"}}
                            },
                        }
                    ]
                }
            ),
            "choices.c: is not translated",
        ),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(
    tmp_path: Path, german: dict[str, Any], said: str | None
) -> None:
    folder = written(tmp_path, german)
    if said is None:
        load_study(folder)
        return
    with pytest.raises(DialensError) as error:
        load_study(folder)
    assert said in str(error.value)
    assert "study.de.yaml:" in str(error.value)


def test_a_language_needs_its_file_and_the_own_one_its_place(tmp_path: Path) -> None:
    folder = written(tmp_path, GERMAN, STUDY | {"languages": ["en", "fr"]})
    with pytest.raises(DialensError, match=r"study\.fr\.yaml does not exist"):
        load_study(folder)
    written(tmp_path, GERMAN, STUDY | {"languages": ["de"]})
    with pytest.raises(DialensError, match=r"languages: 'en', the study's language, is missing"):
        load_study(folder)


def test_items_may_be_translated_if_they_stay_the_same_ones(tmp_path: Path) -> None:
    entries = copy.deepcopy(STUDY["items"]["inline"])
    for entry in entries:
        entry["responses"] = {name: f"({name})" for name in entry["responses"]}
    study = load_study(written(tmp_path, GERMAN | {"items": {"inline": entries}}))
    assert study.items[0].candidates[0].text == "Tea."
    assert study.said_in("de").items[0].candidates[0].text == "(plain)"
    assert Study.from_definition(study.definition) == study
    (tmp_path / "items.yaml").write_text("- id: other\n  responses: {a: x}\n", "utf-8")
    (tmp_path / "same.yaml").write_text("- id: one\n  responses: {a: x}\n", "utf-8")
    one = {name: value for name, value in STUDY.items() if name != "factors"}
    with pytest.raises(DialensError, match="items are not those of the study file"):
        load_study(
            written(
                tmp_path,
                GERMAN | {"items": {"file": "items.yaml"}},
                one | {"items": {"file": "same.yaml"}},
            )
        )


# What participants do not read. Whoever adds a setting of words marks it (`WORDS`).
NOT_READ = {
    "AnyQuestion.kind", "AttentionCheck.correct", "CheckedQuestion.correct", "Codes.completed",
    "Codes.failed_comprehension", "Codes.no_consent", "Codes.screened_out", "Codes.withdrawn",
    "Design.analysis_plan", "Rule.none_of", "Rule.one_of", "Rule.question", "Rule.reason",
    "Design.description", "Design.hypotheses", "Design.language", "Design.languages",
    "Design.study", "Design.texts", "Expectation.above", "Expectation.quality",
    "Allocation.compare", "Allocation.quality", "Expectation.response", "GoldEntry.id",
    "ItemEntry.id", "Items.agents", "Items.format",
    "Items.standard", "Items.variants", "Level.name", "MediaEntry.file", "MediaEntry.of",
    "Origin.agent", "Origin.dialog", "Origin.system",
    "RecruiterSettings.currency", "RecruiterSettings.kind",
    "Retention.answers", "Retention.worker_ids",
    "Settings.kind", "TalkingAgent.agent", "TalkingAgent.name", "TalkingAgent.set",
    "TalkingAgent.system", "UtteranceEntry.speaker", "UtteranceEntry.text",
}  # fmt: skip


def parts(annotation: Any) -> list[Any]:
    """The types that a type is made of, but for the keys of mappings."""
    inner = list(getattr(annotation, "__args__", ()))
    if getattr(annotation, "__origin__", None) is dict:
        inner = inner[1:]
    if hasattr(annotation, "__metadata__"):
        inner = [annotation.__origin__]
    return [annotation, *(part for one in inner for part in parts(one))]


def models(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    """A model and all that it is made of."""
    if model not in seen:
        seen.add(model)
        for info in model.model_fields.values():
            for part in parts(info.annotation):
                if isinstance(part, type) and issubclass(part, BaseModel):
                    models(part, seen)
    return seen


def test_every_setting_with_words_is_marked() -> None:
    everything = models(Design, set()) | {one.settings for one in instruments().values()}
    for model in everything:
        for name, info in model.model_fields.items():
            if str in parts(info.annotation) and words_mark(model, name) is None:
                assert f"{model.__name__}.{name}" in NOT_READ
