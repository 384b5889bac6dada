"""The catalogues of what participants read, and a study's own texts in their place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from dialens.base import DialensError
from dialens.cli.study._group import app
from dialens.studies import TEA, load_study, study_of
from dialens.studies.texts import LANGUAGES, Texts, catalogue_text, text_values, untranslated

ENGLISH = Texts.of("en").texts
OTHERS = [language for language in LANGUAGES if language != "en"]


def write(folder: Path, name: str, data: Any) -> Path:
    path = folder / name
    with path.open("w", encoding="utf-8") as file:
        YAML().dump(data, file)
    return path


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_is_complete_and_says_nothing_in_english(language: str) -> None:
    own = YAML(typ="safe").load(catalogue_text(language))
    assert list(own) == list(ENGLISH)
    for key, text in own.items():
        assert text_values(text) == text_values(ENGLISH[key]), key
        if " " in ENGLISH[key]:
            words = re.sub(r"\{\w+\}", "", text)
            assert text != ENGLISH[key] or not any(c.isalpha() for c in words), key


def test_numbers_are_written_as_the_language_does() -> None:
    assert Texts.of("de").say("slider_range", low=0.5, high=10.0) == "0,5 bis 10"
    assert Texts.of("en").say("slider_range", low=0.5, high=10.0) == "0.5 to 10"


def test_regions_have_the_texts_of_their_language_and_other_scripts_none() -> None:
    assert Texts.of("pt-BR").say("begin") == "Começar"
    assert not untranslated("de-AT", {})
    assert untranslated("zh-Hant", {}) == list(ENGLISH)


def test_directions() -> None:
    assert [Texts.of(name).direction for name in ("ar", "he-IL", "de")] == ["rtl", "rtl", "ltr"]


def test_a_study_may_say_it_otherwise() -> None:
    study = study_of(
        {**TEA, "texts": {"continue": "On we go", "error_required": "Answer, please."}}
    )
    assert study.texts.say("continue") == "On we go"
    assert study.texts.say("begin") == "Begin"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"continu": "Next"}, "there is no text 'continu'. Did you mean continue"),
        ({"progress": "{page} of {total}"}, "knows no {page}; it may hold {number}, {total}"),
        ({"begin": "{ Start"}, "cannot be filled in"),
    ],
)
def test_a_wrong_text_is_refused_with_its_line(
    tmp_path: Path, texts: dict[str, str], said: str
) -> None:
    path = write(tmp_path, "study.yaml", {**TEA, "texts": texts})
    with pytest.raises(DialensError) as error:
        load_study(path)
    assert said in str(error.value)
    line = int(str(error.value).split(":")[1])
    assert next(iter(texts)) in path.read_text("utf-8").splitlines()[line - 1]


def test_texts_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, "own.yaml", {"begin": "Start"})
    write(tmp_path, "study.yaml", {**TEA, "texts": "own.yaml"})
    study = load_study(tmp_path)
    assert study.texts.say("begin") == "Start"
    write(tmp_path, "own.yaml", {"begin": "Off you go"})
    assert load_study(tmp_path).hash != study.hash
    write(tmp_path, "own.yaml", {"begun": "Start"})
    with pytest.raises(DialensError, match=r"own\.yaml:1: there is no text 'begun'"):
        load_study(tmp_path)


def test_a_language_without_texts_is_refused_until_the_study_gives_them(tmp_path: Path) -> None:
    write(tmp_path, "study.yaml", {**TEA, "language": "fi"})
    with pytest.raises(DialensError, match=r"there are no texts in 'fi'.*dialens study texts"):
        load_study(tmp_path)
    result = CliRunner().invoke(app, ["texts", "-o", str(tmp_path / "fi.yaml")])
    assert result.exit_code == 0, result.output
    write(tmp_path, "study.yaml", {**TEA, "language": "fi", "texts": "fi.yaml"})
    assert load_study(tmp_path).texts.language == "fi"


def test_the_command_prints_a_catalogue_and_overwrites_nothing(tmp_path: Path) -> None:
    printed = CliRunner().invoke(app, ["texts", "--language", "ar"])
    assert printed.output == catalogue_text("ar")
    kept = write(tmp_path, "de.yaml", {"begin": "Los"})
    again = CliRunner().invoke(app, ["texts", "-o", str(kept)])
    assert again.exit_code != 0
    assert "Los" in kept.read_text("utf-8")
