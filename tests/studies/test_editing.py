"""Changes to a study file: what was meant changes, everything else stays as it was written."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
from ruamel.yaml import YAML

from dialens import DialensError
from dialens.studies import Change, edited, fragment, yaml_value
from dialens.studies.templates import TEMPLATES
from tests.studies.samples import template_text

TEXT = """\
# A study of tea.
study: tea
title: Tea  # at the top

qualities:
  # The first one.
  sweet:
    label: "Sweet?"
    instrument: &scale
      kind: likert
      points: 5
      labels: {1: none, 5: much}
  bitter:
    instrument: *scale  # the same

# What they read.
consent:
  text: |-
    We store answers.
    Write to tea@example.org.

# What they do.
instructions:
  text: Drink.
practice:
  lines: [40, 80]
items:
  inline:
    - id: one
      context: [Tea?]
    # The second.
    - id: two
      context:
      - Coffee?
"""


def data(text: str) -> Any:
    return YAML(typ="safe").load(text)


def changed(text: str, *changes: Change) -> tuple[list[str], list[str]]:
    """Lines that went, and lines that came."""
    after = edited(text, changes)
    lines = list(difflib.ndiff(text.splitlines(), after.splitlines()))
    went = [line[2:] for line in lines if line.startswith("- ")]
    return went, [line[2:] for line in lines if line.startswith("+ ")]


def test_a_value_is_replaced_and_its_comment_kept() -> None:
    assert changed(TEXT, Change(("title",), "Green tea")) == (
        ["title: Tea  # at the top"],
        ["title: Green tea  # at the top"],
    )


def test_quotes_are_added_where_yaml_needs_them() -> None:
    after = edited(TEXT, [Change(("title",), "Tea: yes"), Change(("study",), "on")])
    assert data(after)["title"] == "Tea: yes"
    assert data(after)["study"] == "on"


def test_a_new_quality_stands_before_the_comment_on_the_next_section() -> None:
    new = {"label": "Warm", "instrument": {"kind": "slider"}}
    went, came = changed(TEXT, Change(("qualities", "warm"), new))
    assert (went, came) == (
        [],
        ["  warm:", "    label: Warm", "    instrument:", "      kind: slider"],
    )
    after = edited(TEXT, [Change(("qualities", "warm"), new)])
    assert after.index("# What they read.") > after.index("warm:")


def test_a_quality_goes_and_its_aliases_are_written_out() -> None:
    after = edited(TEXT, [Change(("qualities", "sweet"), remove=True)])
    points = 5
    assert list(data(after)["qualities"]) == ["bitter"]
    assert data(after)["qualities"]["bitter"]["instrument"]["points"] == points
    assert "# The first one." in after
    assert "&scale" not in after


def test_what_is_shared_by_an_alias_changes_only_where_it_was_meant() -> None:
    after = data(edited(TEXT, [Change(("qualities", "bitter", "instrument", "points"), 7)]))
    assert after["qualities"]["bitter"]["instrument"]["points"] == 7
    assert after["qualities"]["sweet"]["instrument"]["points"] == 5


def test_texts_of_several_lines_are_blocks() -> None:
    text = "One.\n\nTwo, at last.\n"
    after = edited(TEXT, [Change(("consent", "text"), text), Change(("title",), "A\nB")])
    assert data(after)["consent"]["text"] == text
    assert data(after)["title"] == "A\nB"
    assert "# What they do.\ninstructions:" in after
    one_line = edited(after, [Change(("consent", "text"), "One.")])
    assert data(one_line)["consent"]["text"] == "One."
    assert "# What they do.\ninstructions:" in one_line


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (Change(("practice", "lines", 2), 120), [40, 80, 120]),
        (Change(("practice", "lines", 0), remove=True), [80]),
        (Change(("practice", "lines", 1), 90), [40, 90]),
        (Change(("practice", "lines"), [1, 2]), [1, 2]),
    ],
)
def test_lists_on_one_line(change: Change, found: list[int]) -> None:
    assert data(edited(TEXT, [change]))["practice"]["lines"] == found


def test_entries_of_lists_come_and_go() -> None:
    after = edited(TEXT, [Change(("items", "inline", 2), {"id": "three", "context": ["Milk?"]})])
    assert [item["id"] for item in data(after)["items"]["inline"]] == ["one", "two", "three"]
    assert "    - id: three\n" in after
    without = edited(after, [Change(("items", "inline", 0), remove=True)])
    assert [item["id"] for item in data(without)["items"]["inline"]] == ["two", "three"]
    assert "    # The second.\n    - id: two\n" in without
    nameless = edited(after, [Change(("items", "inline", 0, "id"), remove=True)])
    assert data(nameless)["items"]["inline"][0] == {"context": ["Tea?"]}
    renamed = edited(after, [Change(("items", "inline", 1, "context", 0), "Cocoa?")])
    assert data(renamed)["items"]["inline"][1]["context"] == ["Cocoa?"]


def test_what_holds_nothing_goes_too() -> None:
    after = edited(TEXT, [Change(("practice", "lines"), remove=True)])
    assert "practice" not in data(after)


def test_places_that_are_not_there_are_made() -> None:
    after = edited(TEXT, [Change(("checks", "gold", 0, "id"), "g1")])
    assert data(after)["checks"] == {"gold": [{"id": "g1"}]}
    after = edited("study: tea\nchecks:\n", [Change(("checks", "gold"), [])])
    assert data(after)["checks"] == {"gold": []}


def test_the_rest_of_a_line_in_brackets_stays() -> None:
    at = ("qualities", "sweet", "instrument", "labels")
    assert changed(TEXT, Change((*at, "3"), "some")) == (
        ["      labels: {1: none, 5: much}"],
        ["      labels: {1: none, 5: much, 3: some}"],
    )
    text = "presentation: {layout: together, order: random}  # for now\n\n# So many.\ntargets: 2\n"
    assert edited(text, [Change(("presentation", "order"), remove=True)]) == (
        "presentation: {layout: together}  # for now\n\n# So many.\ntargets: 2\n"
    )


def test_numbers_as_keys_may_come_as_texts() -> None:
    after = edited(TEXT, [Change(("qualities", "sweet", "instrument", "labels", "5"), "very")])
    assert data(after)["qualities"]["sweet"]["instrument"]["labels"][5] == "very"


def test_a_name_changes_and_nothing_else() -> None:
    went, came = changed(TEXT, Change(("qualities", "sweet"), rename="sugary"))
    assert (went, came) == (["  sweet:"], ["  sugary:"])
    with pytest.raises(DialensError, match=r"There is a qualities\.bitter already"):
        edited(TEXT, [Change(("qualities", "sweet"), rename="bitter")])


def test_a_part_is_read_and_written_as_yaml() -> None:
    text = fragment(TEXT, ("qualities", "bitter", "instrument"))
    assert data(text) == data(TEXT)["qualities"]["bitter"]["instrument"]
    sweet = fragment(TEXT, ("qualities", "sweet"))
    assert sweet.startswith('label: "Sweet?"\ninstrument: &scale\n  kind: likert\n')
    assert fragment(TEXT, ("items", "inline", 0)) == "id: one\ncontext: [Tea?]\n"
    assert fragment(TEXT, ("title",)) == "Tea\n"
    new = yaml_value("kind: slider\n# to the right\nhigh: 10\n")
    after = edited(TEXT, [Change(("qualities", "bitter", "instrument"), new)])
    assert data(after)["qualities"]["bitter"]["instrument"] == {"kind": "slider", "high": 10}
    assert "# to the right" in after
    with pytest.raises(DialensError, match="This is not YAML in line 1"):
        yaml_value("kind: [")


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(DialensError, match=r"There is no qualities\.sour in the study file"):
        edited(TEXT, [Change(("qualities", "sour"), remove=True)])


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_change_in_one_place_only(name: str) -> None:
    text = template_text(name)
    went, came = changed(text, Change(("title",), "Another"))
    assert (len(went), came) == (1, ["title: Another"])
    quality = {"definition": "So and so.", "instrument": {"kind": "likert"}}
    after = edited(text, [Change(("qualities", "another"), quality)])
    assert data(after)["qualities"]["another"] == quality
    assert edited(after, [Change(("qualities", "another"), remove=True)]) == text
    for key in data(text):
        without = edited(text, [Change((key,), remove=True)])
        assert data(without) == {k: v for k, v in data(text).items() if k != key}
        comments = [line for line in text.splitlines() if line.startswith("#")]
        assert [line for line in without.splitlines() if line.startswith("#")] == comments


def test_a_list_in_a_file_without_any_has_room_after_its_dashes() -> None:
    added = [{"id": "g", "context": [{"speaker": "user", "text": "Tea?"}], "expect": [{"a": 1}]}]
    for before in ("title: Tea\n", "a:\n  b:\n    c: 1\ntitle: Tea\n"):
        written = edited(before, [Change(("checks", "gold"), added)])
        assert yaml_value(written)["checks"]["gold"] == added
