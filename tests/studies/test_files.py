"""Study files: what is wrong is said with its line, its key and the remedy."""

import json
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

from dialens.base import DialensError, read_yaml
from dialens.studies import TEA, Study, load_study, read_design, study_of, study_schema

GOOD = """\
study: tea
title: Tea
items:
  inline:
    - id: c1
      context: Tea?
      responses: {a: Yes., b: No.}
      standard: Perhaps.
qualities:
  good:
    definition: Good.
    instrument: magnitude
factors:
  anchor: [none, both]
consent: {text: Contact me.}
instructions: {text: Judge.}
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(text, "utf-8")
    return path


def test_a_folder_stands_for_its_study_file(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    assert load_study(tmp_path).hash == load_study(path).hash
    with pytest.raises(DialensError, match="study new --template"):
        load_study(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("was", "now", "line", "said"),
    [
        ("title: Tea", "titel: Tea", 2, "titel: there is no such key. Did you mean title?"),
        ("title: Tea", "", 1, "title: is missing"),
        ("      context: Tea?", "      contxt: Tea?", 6, "Did you mean context?"),
        ("instrument: magnitude", "instrument: magnitud", 12, "Did you mean magnitude?"),
        (
            "instrument: magnitude",
            "instrument: {kind: magnitude, moduls: 3}",
            12,
            "Did you mean modulus?",
        ),
        (
            "instrument: magnitude",
            "instrument: {kind: magnitude, modulus: -3}",
            12,
            "has to be more than 0; seen: -3",
        ),
        ("title: Tea", "title: Tea\ntargets: many", 3, "a whole number, or numbers by cell; seen"),
        ("title: Tea", "title: Tea\nrecruiter: {kind: link, reward: 1,50}", 3, "like 1.50: after"),
        ("title: Tea", "title: Tea\nlanguage: English", 3, "a language, like en or pt-BR); seen"),
        (
            "  anchor: [none, both]",
            "  anchor:\n    - none\n    - numeric",
            16,
            "Did you mean numerical?",
        ),
        ("  anchor: [none, both]", "  anchr: [none, both]", 14, "Did you mean anchor?"),
        ("  anchor: [none, both]", "  layout: [together]", 14, "needs 2 or more entries"),
        (
            "  anchor: [none, both]",
            "  layout: [single, single]",
            14,
            "two levels are called single",
        ),
        ("  anchor: [none, both]", "  deadline: [none, soon]", 14, "needs seconds"),
        ("  anchor: [none, both]", "  scale: [likert, free]", 14, "needs an instrument"),
        (
            "  anchor: [none, both]",
            "  order: {levels: [fixed, random], assign: within}",
            14,
            "only vary between",
        ),
        (
            "qualities:",
            "    - {id: c1, context: Tea?, responses: {a: Yes., b: No.}}\nqualities:",
            9,
            "two items are called 'c1' (the other:",
        ),
        ("study: tea", "study: Tea Time", 1, "small letters, digits, hyphens"),
        ("  inline:", "  corpus: x\n  inline:", 3, "one of inline, file and corpus"),
        ("consent: {text: Contact me.}", "consent: {text: }", 15, "consent.text"),
        (
            "qualities:\n  good:",
            "qualities:\n  Good One:",
            10,
            "digits and underscores, beginning with a letter); seen: 'Good One'",
        ),
        ("title: Tea", "title: Tea\nresume: never", 3, "Use one of: resume, restart, block"),
        ("  anchor: [none, both]", "  quality: [low, high]", 14, "column of the ratings table"),
        (
            "items:\n",
            "targets: 3\nitems:\n  lists: {length: 1}\n",
            3,
            "annotators says how many",
        ),
        ("title: Tea", "title: Tea\ntargets: 0", 3, "has to be 1 or more"),
        ("title: Tea", "title: Tea\nrecruiter: {kind: mturk, rewrd: 3}", 3, "Did you mean reward?"),
        (
            "title: Tea",
            "title: Tea\ninstructions_: 3",
            3,
            "Did you mean instructions?",
        ),
        (
            "instructions: {text: Judge.}",
            "instructions: {text: Judge., when: {anchor=bth: x}}",
            16,
            "Did you mean anchor=both?",
        ),
        (
            "title: Tea",
            "title: Tea\nchecks: {attention: {a: {question: {kind: yes_no, prompt: p}, "
            "correct: maybe, after: [1]}}}",
            3,
            "'maybe' could not be answered",
        ),
        (
            "title: Tea",
            "title: Tea\nquestionnaires:\n  after:\n    - questions:\n"
            "        age: {kind: numbr, prompt: p}",
            6,
            "Did you mean number?",
        ),
    ],
)
def test_errors_name_line_key_and_remedy(
    tmp_path: Path, was: str, now: str, line: int, said: str
) -> None:
    assert was in GOOD
    path = written(tmp_path, GOOD.replace(was, now, 1))
    with pytest.raises(DialensError) as caught:
        load_study(path)
    told = str(caught.value).split("\n")
    assert any(part.startswith(f"{path}:{line}: ") and said in part for part in told), told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('study: tea\ntitle: "x\n', "this is not YAML"),
        ("study: tea\nstudy: tea\n", ":2: this is not YAML: found duplicate key"),
        ("- a\n- b\n", "keys and values are expected"),
        ("", "keys and values are expected"),
        ("a: &x\n  b: *x\n", "study.yaml"),
    ],
)
def test_what_is_no_study_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DialensError, match=said):
        read_design(written(tmp_path, text))


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(GOOD.replace("Tea", "Thé").encode("latin-1"))
    with pytest.raises(DialensError, match="not UTF-8"):
        read_design(path)


def test_many_errors_are_listed_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = GOOD.replace("study: tea", "study: tea\n" + "\n".join(f"odd{n}: 1" for n in range(12)))
    with pytest.raises(DialensError) as caught:
        read_design(written(tmp_path, text))
    told = str(caught.value).split("\n")
    assert [part.split(":")[1] for part in told[:-1]] == [str(n) for n in range(2, 10)]
    assert told[-1] == "… and 4 more."


def test_yes_and_no_are_words(tmp_path: Path) -> None:
    data, lines = read_yaml(written(tmp_path, "a: no\nb: [yes, 1, 2.5, null, true]\n"))
    assert data == {"a": "no", "b": ["yes", 1, 2.5, None, True]}
    assert [type(value) for value in data["b"]] == [str, int, float, type(None), bool]
    assert lines["b", 2] == 2


def test_the_schema_takes_what_the_models_take(tmp_path: Path) -> None:
    schema = study_schema()
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    validator.validate(YAML(typ="safe").load(GOOD))
    validator.validate(json.loads(json.dumps(TEA)))
    validator.validate(json.loads(study_of(TEA).definition)["design"])
    for was, now in [("title: Tea", "titel: Tea"), ("instrument: magnitude", "instrument: 3")]:
        broken = YAML(typ="safe").load(GOOD.replace(was, now))
        assert not validator.is_valid(broken)


def test_everything_in_the_schema_says_what_it_is() -> None:
    schema = study_schema()
    for name, section in [("the file", schema), *schema["$defs"].items()]:
        for key, told in section.get("properties", {}).items():
            # pydantic leaves out what the section it points to says in the same words
            meant = schema["$defs"][told["$ref"].rsplit("/", 1)[1]] if "$ref" in told else told
            assert key == "kind" or (told | meant).get("description"), f"{name}.{key}"


def test_a_definition_is_the_whole_study(tmp_path: Path) -> None:
    study = load_study(written(tmp_path, GOOD))
    again = Study.from_definition(study.definition)
    assert again == study
    assert again.hash == study.hash
    other = load_study(written(tmp_path, GOOD.replace("Perhaps.", "Maybe.")))
    assert other.hash != study.hash
