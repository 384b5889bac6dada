"""Templates: complete, valid, simulated from end to end; and what `study check` says of them."""

import json
from collections import Counter
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from dialens.base import DialensError, read_yaml
from dialens.corpus import RATINGS
from dialens.studies import (
    SCHEMA,
    STUDY,
    TEA,
    AnswerError,
    Study,
    check_outcomes,
    codebook,
    codebook_markdown,
    estimate,
    preview,
    rating_rows,
    study_of,
)
from dialens.studies._codebook import RATING_COLUMNS
from dialens.studies.instruments import simulate, validate
from dialens.studies.plan import plan
from dialens.studies.templates import TEMPLATES, write_template
from tests.studies.samples import load_template


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_written_whole_and_valid(name: str, tmp_path: Path) -> None:
    study = write_template(name, tmp_path / "s")
    assert study.hash == load_template(name).hash
    assert study.name == name
    kept = Study.from_definition(study.definition, study.operation)
    assert (kept.definition, kept.operation) == (study.definition, study.operation)
    assert kept.design.model_dump() == study.design.model_dump()
    data, _ = read_yaml(tmp_path / "s" / STUDY)
    jsonschema.validate(
        json.loads(json.dumps(data)), json.loads((tmp_path / "s" / SCHEMA).read_text())
    )
    assert not [said for said in estimate(study).warnings if "FILL IN" not in said]


@pytest.mark.parametrize("name", TEMPLATES)
def test_somebody_can_go_through_it(name: str) -> None:
    study = load_template(name)
    generator = np.random.default_rng(1)
    for cell in study.cells:
        rated = 0
        for screen in plan(study, cell, 11):
            answers = {}
            for field in screen.fields:
                answers[field.name] = validate(field, simulate(generator, field, noise=10))
                rated += len(rating_rows(screen, field, answers[field.name]))
            assert set(check_outcomes(screen, answers).values()) <= {"passed", "failed"}
        assert rated > 0


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_codebook_covers_everything_that_is_asked(name: str) -> None:
    study = load_template(name)
    made = codebook(study)
    assert json.loads(json.dumps(made)) == made
    text = codebook_markdown(study)
    for screen in plan(study, study.cells[0], 0):
        for field in screen.fields:
            if screen.kind == "questions":
                assert field.name in made["questions"]
                assert f"`{field.name}`" in text
            if field.quality:
                assert field.quality in made["qualities"]
            if field.expected is not None:
                assert field.expected["check"] in made["checks"]


def test_the_codebook_has_the_columns_of_the_ratings_table() -> None:
    assert list(RATING_COLUMNS)[: len(RATINGS)] == RATINGS.names()


def test_anchoring2020_is_the_design_of_the_paper() -> None:
    """METHODS §2; Santhanam, Karduni & Shaikh (2020), sections on design and procedure."""
    study = load_template("anchoring2020")
    assert len(study.items) == 50
    assert {len(item.candidates) for item in study.items} == {3}
    assert all(item.standard for item in study.items)
    assert list(study.design.qualities) == ["readability", "coherence"]
    assert [cell.name for cell in study.cells] == [
        "anchor=none,layout=together",
        "anchor=none,layout=separate",
        "anchor=both,layout=together",
        "anchor=both,layout=separate",
    ]
    for cell in study.cells:
        screens = plan(study, cell, 4)
        rating = [screen for screen in screens if screen.kind == "rating"]
        assert sum(len(screen.fields) for screen in rating) == 300
        assert len(rating) == (50 if cell.levels["layout"] == "together" else 100)
        values = {f.options.get("anchor_value") for s in rating for f in s.fields}
        assert values == ({None} if cell.levels["anchor"] == "none" else {100.0})
        kinds = [screen.kind for screen in screens]
        assert list(dict.fromkeys(kinds)) == [
            "consent", "questions", "instructions", "practice", "rating", "check", "end"
        ]  # fmt: skip
        assert kinds[-3:] == ["questions", "questions", "end"]
    asked = codebook(study)["questions"]
    before = [name for name, told in asked.items() if told["when"] == "before"]
    assert [asked[name]["instrument"] for name in before] == ["yes_no", "yes_no"]
    assert list(asked["ranking_of_qualities"]["choices"]) == [
        "readability", "coherence", "novelty", "diversity", "specificity", "engagement"
    ]  # fmt: skip
    for name in ("age", "gender", "race", "education", "preferred_scale", "comments"):
        assert asked[name]["when"] == "after"


def test_no_anchor_condition_never_sees_the_standard() -> None:
    study = load_template("anchoring2020")
    for layout in ("together", "separate"):
        for screen in plan(study, f"anchor=none,layout={layout}", 2):
            shown = json.dumps([screen.body, [dict(f.options) for f in screen.fields]])
            assert "tandard" not in shown
            assert "anchor_value" not in shown


def test_items_of_the_paper_template_are_all_different() -> None:
    study = load_template("anchoring2020")
    texts = [c.text for item in study.items for c in item.candidates]
    texts += [str(item.standard) for item in study.items]
    assert Counter(texts).most_common(1)[0][1] == 1


def test_engagement_labels_give_each_pair_three_annotators() -> None:
    study = load_template("engagement-labels")
    counted: Counter[str] = Counter()
    for cell in study.cells:
        for seed in range(study.targets[cell.name]):
            counted.update(
                {str(s.state["item"]) for s in plan(study, cell, seed) if s.kind == "rating"}
            )
    assert set(counted) == {item.id for item in study.items}
    assert set(counted.values()) == {3}
    told = plan(study, study.cells[0], 0)[1]
    kinds = Counter(block["kind"] for block in told.body)
    assert (kinds["example"], kinds["warning"]) == (4, 1)


def test_unknown_templates_are_named() -> None:
    with pytest.raises(DialensError, match="Did you mean pairwise"):
        load_template("pairwse")


# ---- check


def test_estimates_are_sums_anyone_can_redo() -> None:
    recruiter = {"kind": "mturk", "reward": 2.5, "fee": 0.2}
    found = estimate(study_of(TEA | {"recruiter": recruiter, "targets": 10}))
    assert found.participants == 40
    assert found.cost == 120.0  # 40 · 2.50 · 1.2
    assert found.ratings == 40 * 36
    longest = max(cell.minutes for cell in found.cells)
    assert found.hourly == pytest.approx(2.5 / longest * 60, rel=0.01)
    screens = {cell.cell: cell.screens for cell in found.cells}
    assert screens["anchor=none,layout=together"] == 3 + 6
    assert screens["anchor=none,layout=separate"] == 3 + 12


def test_the_paper_template_takes_as_long_as_the_paper_says() -> None:
    """Means of 50.94 to 66 minutes by condition: an estimate within a quarter will do."""
    minutes = [cell.minutes for cell in estimate(load_template("anchoring2020")).cells]
    assert min(minutes) > 0.75 * 50.94
    assert max(minutes) < 1.25 * 66


def test_warnings_say_what_a_colleague_would_ask() -> None:
    study = study_of(
        TEA
        | {
            "targets": 1,
            "limits": {"session_minutes": 1},
            "qualities": {"coherence": {"instrument": "likert"}},
            "presentation": {"anchor_value": 3},
            "recruiter": {"kind": "prolific"},
            "checks": {
                "attention": {
                    "late": {
                        "question": {"kind": "yes_no", "prompt": "Yes?"},
                        "correct": "yes",
                        "after": [99],
                    }
                }
            },
        }
    )
    said = " ".join(estimate(study).warnings)
    for part in ("run out of time", "whom to write to", "no definition", "one participant",
                 "after 99 items", "reward is 0"):  # fmt: skip
        assert part in said


def test_a_preview_shows_every_kind_of_screen() -> None:
    study = load_template("anchoring2020")
    lines = preview(study, "anchor=both,layout=together", most=8)
    text = "\n".join(lines)
    for part in ("consent", "Standard reply:", "Readability 100", "First line: 100", "(completion"):
        assert part in text
    examples = "\n".join(preview(load_template("engagement-labels"), "list=1"))
    assert "Example 4:" in examples
    with pytest.raises(DialensError, match="no cell"):
        preview(study, "anchor=maybe")


def test_an_answer_error_is_a_users_error() -> None:
    with pytest.raises(DialensError):
        raise AnswerError("field", "Please.")
