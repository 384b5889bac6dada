"""The study file that docs/chat_studies.md shows is one, and its tables are whole."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from dialens.agents import KINDS
from dialens.studies import study_of
from dialens.studies.design import Conversations
from dialens.studies.texts import Texts


@pytest.fixture
def page(repository: Path) -> str:
    return (repository / "docs" / "chat_studies.md").read_text("utf-8")


def test_the_example_is_a_study(page: str) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    rest = {
        "study": "talk",
        "title": "Talk",
        "consent": {"text": "Yes?"},
        "instructions": {"text": "Talk."},
    }
    study = study_of(YAML(typ="safe").load(block) | rest)
    assert [cell.name for cell in study.cells] == ["agent=plain", "agent=warm", "agent=hred"]


def test_every_key_and_every_failure_has_its_row(page: str) -> None:
    for name, info in Conversations.model_fields.items():
        (row,) = [line for line in page.split("\n") if line.startswith(f"| `{name}` |")]
        if isinstance(info.default, int | float):
            usual = "false" if info.default is False else f"{info.default:,g}"
            assert row.rstrip("| ").endswith(f" {usual}")
    for kind in KINDS:
        (row,) = [line for line in page.split("\n") if line.startswith(f"| `{kind}` |")]
        assert Texts.of("en").say(f"chat_{kind}") in row
