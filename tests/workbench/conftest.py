"""Folders that many tests look at; whoever changes one takes a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workbench.folders import copied, make_project, make_study


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
