"""The study files that docs/studies.md shows are study files."""

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dialens.studies import TEA, load_study, study_of
from dialens.studies.design import Design
from dialens.studies.design._factors import KNOWN
from dialens.studies.instruments import instruments
from dialens.studies.templates import TEMPLATES


@pytest.fixture
def page(repository: Path) -> str:
    return (repository / "docs" / "studies.md").read_text("utf-8")


@pytest.fixture
def blocks(page: str) -> list[dict[str, Any]]:
    found = re.findall(r"```yaml\n(?!# study)(.*?)```", page, re.DOTALL)
    return [YAML(typ="safe").load(block) for block in found]


def test_the_first_example_is_a_whole_study(blocks: list[dict[str, Any]]) -> None:
    assert len(study_of(blocks[0]).cells) == 8


def test_the_others_are_parts_of_one(blocks: list[dict[str, Any]]) -> None:
    assert len(blocks) == 13
    plain = blocks[0] | {"instructions": {"text": "Judge."}}
    for part in blocks[1:]:
        Design.model_validate(plain | part)


def test_a_study_and_its_translation_go_together(page: str, tmp_path: Path) -> None:
    rest = {name: TEA[name] for name in ("study", "items", "consent", "instructions")}
    words = {"consent": {"text": "…"}, "instructions": {"text": "…"}}
    for name, more in (("study.yaml", rest), ("study.de.yaml", words)):
        (block,) = re.findall(rf"```yaml\n# {name}\n(.*?)```", page, re.DOTALL)
        with (tmp_path / name).open("w", encoding="utf-8") as file:
            YAML(typ="safe").dump(YAML(typ="safe").load(block) | more, file)
    assert load_study(tmp_path).said_in("de").design.title == "Wie gut sind diese Antworten?"


def test_everything_there_is_has_its_row(page: str) -> None:
    for name in (*instruments(), *KNOWN, *TEMPLATES):
        assert f"| `{name}` |" in page, name
    for used in instruments().values():
        rows = [line for line in page.split("\n") if line.startswith(f"| `{used.name}` |")]
        for setting in set(used.settings.model_fields) - {"kind"}:
            assert any(f"`{setting}" in row for row in rows), f"{used.name}.{setting}"
