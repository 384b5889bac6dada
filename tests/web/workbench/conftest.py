"""A folder that is open, in process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from dialens.web.workbench import WorkbenchApp, workbench_app
from dialens.workbench import Workbench
from tests.workbench.conftest import made_project, made_rated, project

__all__ = ["made_project", "made_rated", "project"]

BASE = "http://127.0.0.1:8123"


@pytest.fixture
def app(project: Path) -> Iterator[WorkbenchApp]:
    workbench = Workbench.open(project)
    yield workbench_app(workbench)
    workbench.close()


@pytest.fixture
def stranger(app: WorkbenchApp) -> TestClient:
    """A browser that has not opened the address that the command prints."""
    return TestClient(app, base_url=BASE)


@pytest.fixture
def owner(app: WorkbenchApp) -> TestClient:
    """A browser that has opened it."""
    client = TestClient(app, base_url=BASE)
    assert client.get(app.address).status_code == 200
    return client
