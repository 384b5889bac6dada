"""Study files: where they are, what they may say, and their schema for editors."""

import json
from functools import cache
from pathlib import Path

from dialens.base import DialensError, read_yaml, validated
from dialens.studies._types import JSON
from dialens.studies.design import Design

STUDY = "study.yaml"
SCHEMA = "study.schema.json"
PLACEHOLDER = "PLEASE FILL IN"


def study_schema() -> dict[str, JSON]:
    """The JSON Schema of study files, for editors.

    Examples:
        >>> study_schema()["required"][:2]
        ['study', 'title']
    """
    described = Design.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}


def study_file(path: str | Path) -> Path:
    """The study file at a path: the file itself, or `study.yaml` in a folder."""
    target = Path(path)
    chosen = target / STUDY if target.is_dir() else target
    if not chosen.is_file():
        raise DialensError(
            f"{chosen} does not exist. `dialens study new --template NAME -o {target}` writes one."
        )
    return chosen


def read_design(path: str | Path) -> Design:
    r"""A study file, checked; errors name the line, the key and the remedy.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "study.yaml"
        >>> _ = path.write_text("study: tea\ntitel: Tea\n")
        >>> read_design(path)  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        ...
        dialens.base._yaml_models.InvalidFile: ...study.yaml:2: titel: there is no such key...
    """
    return design_with_lines(path)[0]


def design_with_lines(path: str | Path) -> tuple[Design, dict[tuple[str | int, ...], int]]:
    """A study file, checked, and the line of everything in it."""
    file = study_file(path)
    data, lines = read_yaml(file)
    return validated(Design, data, lines, file), lines


def unfinished_lines(path: str | Path) -> list[str]:
    r"""Where a study file still says PLEASE FILL IN, other than in comments: `file:line: text`.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "study.yaml"
        >>> _ = path.write_text("study: tea\n# PLEASE FILL IN\ncontact: PLEASE FILL IN a name\n")
        >>> [line.rpartition("study.yaml:")[2] for line in unfinished_lines(path)]
        ['3: contact: PLEASE FILL IN a name']
    """
    file = study_file(path)
    return [
        f"{file}:{number}: {line.strip()}"
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1)
        if PLACEHOLDER in line.partition(" #")[0] and not line.lstrip().startswith("#")
    ]


def check_finished(path: str | Path) -> None:
    """Refuse a study whose file still says PLEASE FILL IN: participants would read it."""
    lines = unfinished_lines(path)
    if lines:
        raise DialensError(
            f"{PLACEHOLDER} still stands in the study file, and participants would read it:\n  "
            + "\n  ".join(lines)
            + "\nFill it in, or use --unfinished to go on all the same, as for a test."
        )


def write_schema(path: Path) -> None:
    """Write the JSON Schema beside a study file."""
    path.write_text(_schema_text(), "utf-8")


@cache
def _schema_text() -> str:
    return json.dumps(study_schema(), indent=1, ensure_ascii=False) + "\n"
