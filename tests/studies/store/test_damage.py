"""Databases that are damaged, and addresses that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.studies.store import Store
from tests.studies.store.conftest import KEY
from tests.studies.store.people import NOON, arrive, given, register


def test_a_damaged_page_is_found_before_the_database_is_served(tmp_path: Path) -> None:
    """Some pages of answers were overwritten: the server started, and said that all was well."""
    path = tmp_path / "study.db"
    with Store.open(f"sqlite:///{path}", secrets=KEY) as store:
        study = register(store)
        for number in range(60):
            came = arrive(store, study, f"worker {number}")
            store.submit(came.token, given(0), now=NOON)
        store.database.check()
        with store.database.reading() as connection:
            query = "SELECT rootpage FROM sqlite_master WHERE name = 'answers'"
            page = connection.exec_driver_sql(query).scalar_one()
        store.database.scrub()
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    with (
        Store.open(f"sqlite:///{path}", secrets=KEY) as store,
        pytest.raises(DialensError, match="is damaged"),
    ):
        store.database.check()


def test_a_port_that_is_none_is_named_without_the_password() -> None:
    with pytest.raises(DialensError, match=r"postgresql://\*\*\*@localhost:x/db"):
        Store.open("postgresql://study:secret@localhost:x/db")
