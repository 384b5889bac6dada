"""The examples of the page on extending keep their promises."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialens.metrics import cards_of
from dialens.testing import (
    check_agent,
    check_instrument,
    check_metric,
    check_reader,
    check_recruiter,
)

CHECKS: dict[str, Callable[[Any], None]] = {
    "shouting": check_metric,
    "LOUDNESS": lambda family: check_metric(*cards_of(family)),
    "HELPDESK": check_reader,
    "open_parrot": lambda make: check_agent(lambda: make(spec())),
    "THUMBS": check_instrument,
    "PANEL": check_recruiter,
    "test_shouting": lambda test: test(),
}


def spec() -> Any:
    from dialens.agents import AgentSpec

    return AgentSpec("parrot", "polly")


@pytest.fixture(scope="module")
def page(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the page's code defines, as a module: pydantic reads what fields mean from its file."""
    text = (repository / "docs" / "extending.md").read_text("utf-8")
    path = tmp_path_factory.mktemp("page") / "extending_page.py"
    path.write_text("\n\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), "utf-8")
    return runpy.run_path(str(path))


@pytest.mark.parametrize("name", CHECKS)
def test_the_example_works(page: dict[str, Any], name: str) -> None:
    CHECKS[name](page[name])
