"""Templates as studies, for tests."""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path

from dialens.studies import STUDY, Study
from dialens.studies.templates import write_template


@cache
def load_template(name: str) -> Study:
    """A template as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        return write_template(name, Path(folder))


@cache
def template_folder(name: str) -> Path:
    """A folder with the files of a template, those of its agents among them; gone at the end."""
    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)
    write_template(name, Path(kept.name))
    return Path(kept.name)


@cache
def template_text(name: str) -> str:
    """The study file of a template."""
    with tempfile.TemporaryDirectory() as folder:
        write_template(name, Path(folder))
        return (Path(folder) / STUDY).read_text("utf-8")
