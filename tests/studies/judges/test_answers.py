"""The file of judges, and what is read from their replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dialens.base import InvalidFile
from dialens.studies import Field, Screen, seen
from dialens.studies.instruments import Instrument, instruments, simulate, validate
from dialens.studies.judges import (
    FACETS,
    STATES,
    Judge,
    JudgeBudget,
    Judges,
    judges_schema,
    read_answer,
    read_judges,
    write_judges,
)
from dialens.studies.judges._prompts import how_to_answer
from dialens.studies.texts import Texts
from dialens.testing._instruments import instrument_field

EN = Texts.of("en")


def test_errors_of_the_file_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "judges.yaml"
    path.write_text(
        "judges:\n- name: a\n  agent: script:x\n  memory: sesion\nthink: [none, deep]\n"
        "budget: {costs: 3}\n"
    )
    with pytest.raises(InvalidFile) as caught:
        read_judges(path)
    said = str(caught.value)
    assert (
        "judges.yaml:4: judges.0.memory: 'sesion' is not known here. Did you mean session" in said
    )
    assert "judges.yaml:5: think.1" in said
    assert "judges.yaml:6: budget.costs: there is no such key. Did you mean cost" in said


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("prompts: {bad: 'Rate {screen}.'}", "the prompt bad must hold {instructions} once"),
        ("answer: probabilities\nthink: short", "use think: none"),
        ("", "names the prompt rubric. Prompts: plain"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, more: str, told: str) -> None:
    path = tmp_path / "judges.yaml"
    own = "" if more else ", prompts: [rubric]"
    path.write_text(f"judges: [{{name: a, agent: 'script:x'{own}}}]\n{more}\n")
    with pytest.raises(InvalidFile, match=r"prompt|think") as caught:
        read_judges(path)
    assert told in str(caught.value)


def test_a_file_to_start_from_is_valid_and_its_schema_knows_it(tmp_path: Path) -> None:
    import jsonschema
    from ruamel.yaml import YAML

    judges = read_judges(write_judges(tmp_path))
    raters = list(judges.raters(judges.judges[0]))
    assert len({rater.name for rater in raters}) == len(raters) == 6
    assert judges.send_to == []
    data = YAML(typ="safe").load(tmp_path / "judges.yaml")
    jsonschema.validate(data, judges_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "memory": "sesion"}, judges_schema())


@pytest.mark.parametrize("used", instruments().values(), ids=lambda used: used.name)
@pytest.mark.parametrize("mode", ["json", "text"])
def test_every_instrument_can_be_answered(used: Instrument, mode: str) -> None:
    """What a simulated rater answers is read again from a reply in either form."""
    one = instrument_field(used)
    screen = seen(Screen("s", "rating", "Tea", fields=(one,)))
    assert one.name in how_to_answer(screen, EN, mode, "short")
    generator = np.random.default_rng(5)
    for _ in range(10):
        value = validate(one, simulate(generator, one))
        if mode == "json":
            text = f"Let me think: {{hm}}. So:\n```json\n{json.dumps({one.name: value})}\n```"
        else:
            text = f"I think it is fine.\n**{one.name}**: {_line(value)}"
        assert read_answer(text, screen, EN, mode).answers == {one.name: value}


def _line(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value)


def test_one_wrong_answer_makes_the_screen_wrong_and_no_number_is_put_in() -> None:
    asked = tuple(
        Field(name, "likert", options={"points": 5, "first": 1, "labels": {}}) for name in "ab"
    )
    screen = Screen("s", "rating", "Tea", fields=asked)
    read = read_answer('{"a": 3, "b": 9}', screen, EN, "json")
    assert read.answers == {}
    assert read.complaints == (("b", "Please choose a whole number from 1 to 5."),)
    assert read_answer("It is a 3.", screen, EN, "json").complaints[0][0] == ""
    assert read_answer('{"a": true, "b": "3"}', screen, EN, "json").complaints[0][0] == "a"
    german = read_answer('{"a": 3}', screen, Texts.of("de"), "json")
    assert german.complaints[0][1] == Texts.of("de").say("error_required")


def test_the_page_names_every_setting_and_column(repository: Path) -> None:
    page = (repository / "docs" / "judges.md").read_text("utf-8")
    for part in (Judges, Judge, JudgeBudget):
        assert not [name for name in part.model_fields if f"`{name}`" not in page]
    assert not [state for state in STATES if f"`{state}`" not in page]
    assert not [name for name in FACETS if f"`{name}`" not in page]
