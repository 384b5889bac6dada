"""A reply that is missing: what is still asked, what is not, and that `check` says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.studies import TEA, estimate, load_study, study_of
from dialens.studies.plan import plan

ITEMS = [
    {"id": f"c{n}", "context": ["Tea?"], "responses": {"warm": "Yes!", "plain": "Yes."}}
    for n in range(4)
]
ITEMS[2] = ITEMS[2] | {"responses": {"plain": "Yes."}}
BOTH = {"empathy": {"instrument": "likert"}, "preference": {"instrument": "pairwise"}}


def written(folder: Path, qualities: dict[str, Any], **items: Any) -> Path:
    path = folder / "study.yaml"
    study = TEA | {"factors": {}, "items": items, "qualities": qualities}
    path.write_text(json.dumps(study, indent=1))  # JSON is YAML
    return path


def asked(path: Path) -> dict[str, set[str]]:
    """The qualities that are asked for of each item."""
    found: dict[str, set[str]] = {}
    for screen in plan(load_study(path), "all", 0):
        for field in screen.fields:
            if screen.kind == "rating":
                found.setdefault(str(field.item), set()).add(str(field.quality))
    return found


@pytest.mark.parametrize("layout", ["together", "separate", "single"])
def test_the_item_stays_for_qualities_that_judge_one_reply(layout: str) -> None:
    presentation = {"layout": layout}
    study = study_of(
        TEA
        | {
            "factors": {},
            "items": {"inline": ITEMS},
            "qualities": BOTH,
            "presentation": presentation,
        }
    )
    assert [item.id for item in study.items] == ["c0", "c1", "c2", "c3"]
    fields = [(f.item, f.name) for s in plan(study, "all", 0) for f in s.fields if f.item == "c2"]
    assert fields == [("c2", "empathy-1")]


def test_check_names_item_agent_and_line(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, ITEMS)))
    path = written(tmp_path, BOTH, file="items.jsonl")
    assert asked(path)["c2"] == {"empathy"}
    (said,) = [text for text in estimate(load_study(path)).warnings if "no reply" in text]
    assert said == (
        f"{tmp_path / 'items.jsonl'}:3: the item 'c2' has no reply of warm: preference is not "
        "asked there; empathy is."
    )


def test_an_item_with_nothing_left_is_left_out_and_named(tmp_path: Path) -> None:
    path = written(tmp_path, {"preference": BOTH["preference"]}, inline=ITEMS)
    assert set(asked(path)) == {"c0", "c1", "c3"}
    (said,) = [text for text in estimate(load_study(path)).warnings if "no reply" in text]
    line = path.read_text().split("\n").index('    "id": "c2",')  # its bracket is a line before
    assert said.startswith(f"{path}:{line}: the item 'c2' has no reply of warm")
    assert said.endswith("it is left out.")


def test_many_missing_replies_are_counted(tmp_path: Path) -> None:
    many = [ITEMS[0]] + [ITEMS[2] | {"id": f"d{n}"} for n in range(9)]
    said = estimate(load_study(written(tmp_path, BOTH, inline=many))).warnings
    assert len([text for text in said if "the item" in text]) == 5
    assert "… and 4 more items in which an agent has no reply." in said


def test_a_study_without_comparisons_says_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, {"empathy": BOTH["empathy"]}, inline=ITEMS)
    assert not [text for text in estimate(load_study(path)).warnings if "reply of" in text]


def test_a_gold_item_has_to_have_all_its_replies() -> None:
    gold = ITEMS[2] | {
        "id": "g",
        "expect": [{"quality": "empathy", "response": "plain", "at_least": 2}],
    }
    data = TEA | {
        "factors": {},
        "items": {"inline": ITEMS},
        "qualities": BOTH,
        "checks": {"gold": [gold]},
    }
    with pytest.raises(DialensError, match="preference compares 2 responses or more; the item 'g'"):
        study_of(data)
