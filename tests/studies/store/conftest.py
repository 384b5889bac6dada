"""Stores on both databases; the PostgreSQL server is the tests' own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dialens.studies.store import Secrets, Store
from tests.conftest import component_missing
from tests.studies.store.cluster import Cluster, programs

KEY = Secrets(bytes(range(32)))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    binaries = programs()
    if binaries is None:
        component_missing("PostgreSQL", "apt-get install postgresql")
    # Not pytest's own folder: the user postgres may not enter it.
    with tempfile.TemporaryDirectory(prefix="dialens-postgresql-") as folder:
        made = Cluster(Path(folder), binaries)
        yield made
        made.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.schema()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url, secrets=KEY) as opened:
        yield opened
