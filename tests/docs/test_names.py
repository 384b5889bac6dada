"""The documentation names files, modules and functions that exist."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest
from ruamel.yaml import YAML

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs").glob("*.md"))
MENTIONED = re.compile(r"`([^`\n]+)`")
GROUPS = {f"dialens.{kind}" for kind in ("readers", "instruments", "recruiters")}
"""Entry-point groups that are called like no package."""
PATH = re.compile(r"[\w./-]+(?:\.(?:pyi?|sql|j2|js|css|toml|md)|/)")
NAME = re.compile(r"dialens(?:\.\w+)+")
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
SPELLED = re.compile(r"(?<![\w./\"@-])dialens(?:\.\w+)+")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def mentioned(text: str, pattern: re.Pattern[str]) -> list[str]:
    """What stands in backquotes outside of code blocks and has a form."""
    return sorted({m for m in MENTIONED.findall(FENCED.sub("", text)) if pattern.fullmatch(m)})


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    module, _, attribute = name.rpartition(".")
    try:
        import_module(name)
    except ModuleNotFoundError:
        pass
    else:
        return True
    return bool(module) and exists(module) and hasattr(import_module(module), attribute)


def imported(code: str) -> list[str]:
    """The names of dialens that a block of Python imports."""
    names = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in names if name.split(".")[0] == "dialens"]


def test_files_in_the_design_exist(repository: Path) -> None:
    paths = mentioned((repository / "docs" / "design.md").read_text("utf-8"), PATH)
    assert len(paths) > 100
    places = (repository, repository / "src" / "dialens")
    doors = {"__init__.py", "__init__.pyi"}  # every package has them
    assert not [
        path for path in set(paths) - doors if not any((place / path).exists() for place in places)
    ]


def test_every_page_has_its_section(repository: Path) -> None:
    nav = YAML(typ="safe").load(repository / "mkdocs.yml")["nav"]
    sections = {title: pages for entry in nav[1:] for title, pages in entry.items()}
    assert list(sections) == ["Use", "Studies", "Methods", "Extend", "Inside"]
    listed = [file for pages in sections.values() for page in pages for file in page.values()]
    assert sorted([*listed, *nav[0].values()]) == [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_in_the_text_exist(page: Path) -> None:
    names = set(mentioned(page.read_text("utf-8"), NAME)) - GROUPS
    assert not [name for name in sorted(names) if not exists(name)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_in_the_examples_exist(page: Path) -> None:
    blocks = PYTHON.findall(page.read_text("utf-8"))
    assert not [name for block in blocks for name in imported(block) if not exists(name)]


def test_names_in_docstrings_exist(repository: Path) -> None:
    written: dict[str, str] = {}
    for path in sorted((repository / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                written |= dict.fromkeys(SPELLED.findall(text), str(path.relative_to(repository)))
    assert len(written) > 50
    assert not [f"{path}: {name}" for name, path in written.items() if not exists(name)]
