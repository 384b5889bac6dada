"""Databases that cannot be used, and what study commands say of them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.cli.study._serve import _ready
from tests.cli.test_study_data import STUDY
from tests.cli.test_study_day import fails, folder, people, ran

__all__ = ["folder"]
_NOBODY = 65_534


@pytest.mark.parametrize("command", ["status", "serve", "export"])
def test_a_file_that_is_no_database(folder: Path, command: str) -> None:
    (folder / "study.db").write_bytes(bytes(range(256)) * 40)
    said = fails(command, folder)
    assert f"{folder / 'study.db'} is not an SQLite database" in said
    assert "restore" in said


def test_a_damaged_database(folder: Path) -> None:
    people(folder, "anna")
    kept = (folder / "study.db").read_bytes()
    (folder / "study.db").write_bytes(kept[:100] + bytes(4_000) + kept[4_100:])
    assert "is damaged" in fails("status", folder)


def test_no_folder_is_made_for_a_database(folder: Path) -> None:
    place = folder / "none" / "x.db"
    assert f"The folder {place.parent}" in fails("serve", folder, "--db", f"sqlite:///{place}")
    assert not place.parent.exists()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder in which nothing can be written, not even by the superuser, who becomes nobody."""
    before = os.geteuid()
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    if before == 0:
        os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)
        folder.chmod(0o755)


def test_a_read_only_database_is_shown_and_not_served() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "study.yaml").write_text(STUDY)
        people(folder, "anna")
        with read_only(folder):
            said = ran("status", folder)
            assert "1 of 2 completed" in said
            assert "nothing can be written" in said
            with pytest.raises(DialensError, match=r"nothing can be written there.*read-?only"):
                _ready(folder, f"sqlite:///{folder / 'study.db'}", unfinished=False)
