"""Folders that many tests look at; whoever changes one takes a copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dialens.workbench import Workbench
from tests.workbench.folders import copied, make_project, make_study
from tests.workbench.rated import make_rated


@pytest.fixture(scope="session")
def made_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "project"
    make_project(folder)
    return folder


@pytest.fixture(scope="session")
def made_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "studies"
    make_study(folder)
    return folder


@pytest.fixture
def project(made_project: Path, tmp_path: Path) -> Path:
    return copied(made_project, tmp_path)


@pytest.fixture
def studies(made_study: Path, tmp_path: Path) -> Path:
    return copied(made_study, tmp_path)


@pytest.fixture(scope="session")
def made_rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "rated"
    make_rated(folder)
    return folder


@pytest.fixture(scope="session")
def rated(made_rated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """A folder with ratings, open; nobody may change it."""
    workbench = Workbench.open(made_rated, cache=tmp_path_factory.mktemp("indexes"))
    yield workbench
    workbench.close()
