"""The output of Potato: a folder a user, or one file for all of them.

Version 2 keeps `user_state.json` in each user's folder and exports `annotations.csv`, `.tsv` or
`.jsonl`; version 1 kept `annotated_instances.jsonl` there, and one `annotated_instances` file for
all users (JSON lines, or tables with columns such as `fluency:::scale_3`).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dialens.base import DialensError, counted, listed
from dialens.statistics.rating_files._taken import PLACE, Cells, Taken

_STATE, _INSTANCES = "user_state.json", "annotated_instances"
_EXPORTED = ("annotations.jsonl", "annotations.csv", "annotations.tsv")
_ENDINGS = (".jsonl", ".json", ".csv", ".tsv")
_BETWEEN = ":::"
_NUMBERED = re.compile(r"(?:[a-z]+[ _-])?(-?\d+(?:\.\d+)?)", re.IGNORECASE)
_FREE = ("free_response", "justification", "bad_text")
_PAIRWISE, _RANKING = json.dumps({"kind": "pairwise"}), json.dumps({"kind": "ranking"})
_TIES = ("tie", "same", "equal", "neither", "both")
_SCHEMA = dict.fromkeys(("dialog", "rater", "quality", "value", "agent", "scale", PLACE), pl.String)


@dataclass(frozen=True)
class Annotation:
    """What one user said of one instance."""

    user: str
    instance: str
    labels: Mapping[str, Mapping[str, Any]]
    place: str


def is_potato_folder(folder: Path) -> bool:
    """Whether a folder is Potato's output: folders of users, or a file for all of them."""
    return bool(_files(folder))


def is_potato_record(first: Mapping[str, Any]) -> bool:
    """Whether a JSON object is what Potato writes of an instance, or of a user.

    Examples:
        >>> is_potato_record({"instance_id": "1", "user_id": "u", "labels": {}})
        True
    """
    keys = set(first)
    return (
        {"instance_id", "user_id", "labels"} <= keys
        or "label_annotations" in keys
        or "instance_id_to_label_to_value" in keys
    )


def is_potato_table(columns: Sequence[str]) -> bool:
    """Whether columns are those of Potato's tables.

    Examples:
        >>> is_potato_table(["user", "instance_id", "displayed_text", "fluency:::scale_1"])
        True
        >>> is_potato_table(["instance_id", "user_id", "fluency.3"])
        True
    """
    names = set(columns)
    if {"user", "instance_id"} <= names:
        return any(_BETWEEN in name for name in columns)
    return {"instance_id", "user_id"} <= names and any("." in name for name in columns)


def from_folder(folder: Path) -> Taken:
    """Ratings of all users in a folder."""
    annotations: list[Annotation] = []
    for file in _files(folder):
        annotations += _of_file(file, folder)
    return _taken(annotations, str(folder))


def from_records(records: Iterable[Mapping[str, Any]], name: str, user: str | None) -> Taken:
    """Ratings from JSON lines."""
    return _taken(list(_of_records(records, name, user)), name)


def from_table(cells: Cells) -> Taken:
    """Ratings from a table with a column a label."""
    return _taken(list(_of_cells(cells)), cells.name)


def _files(folder: Path) -> list[Path]:
    """The files to read: users' own, else one for all."""
    states = sorted(folder.glob(f"*/{_STATE}"))
    if states:
        return states
    older = sorted(folder.glob(f"*/{_INSTANCES}.jsonl"))
    if older:
        return older
    whole = [folder / f"{_INSTANCES}{ending}" for ending in _ENDINGS]
    whole += [folder / name for name in _EXPORTED]
    return [file for file in whole if file.exists()][:1]


def _of_file(file: Path, folder: Path) -> Iterator[Annotation]:
    name = str(file)
    if file.suffix in (".csv", ".tsv"):
        separator = "\t" if file.suffix == ".tsv" else ","
        yield from _of_cells(
            Cells(pl.read_csv(file, separator=separator, infer_schema=False), name)
        )
        return
    text = file.read_text(encoding="utf-8")
    user = file.parent.name if file.parent != folder else None
    try:
        if file.name == _STATE:
            yield from _of_records([json.loads(text)], name, user)
            return
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise DialensError(f"{file} is not whole JSON: {error}. Fetch it again.") from error
    yield from _of_records(lines, name, user)


def _of_records(
    records: Iterable[Mapping[str, Any]], name: str, user: str | None
) -> Iterator[Annotation]:
    for number, record in enumerate(records, start=1):
        place = f"{Path(name).name}, line {number}"
        if "instance_id_to_label_to_value" in record:
            who = str(record.get("user_id") or user or "")
            for instance, pairs in record["instance_id_to_label_to_value"].items():
                labels: dict[str, dict[str, Any]] = {}
                for label, value in pairs:
                    labels.setdefault(str(label["schema"]), {})[str(label["name"])] = value
                yield Annotation(who, str(instance), labels, f"{who}, instance {instance}")
            continue
        said = record.get("label_annotations", record.get("labels")) or {}
        shaped = {
            str(schema): labels if isinstance(labels, dict) else {"value": labels}
            for schema, labels in said.items()
        }
        who = str(record.get("user_id") or record.get("user") or user or "")
        instance = str(record.get("instance_id", record.get("id", number)))
        yield Annotation(who, instance, shaped, place)


def _of_cells(cells: Cells) -> Iterator[Annotation]:
    user = "user" if "user" in cells.columns else "user_id"
    between = _BETWEEN if any(_BETWEEN in name for name in cells.columns) else "."
    own = {user, "instance_id", "displayed_text"}
    for row, place in zip(cells.frame.iter_rows(named=True), cells.places(), strict=True):
        labels: dict[str, dict[str, Any]] = {}
        for column, value in row.items():
            if column in own or value in (None, ""):
                continue
            schema, found, label = column.partition(between)
            if found and not label.startswith("_"):
                labels.setdefault(schema, {})[label] = value
        yield Annotation(str(row[user]), str(row["instance_id"]), labels, place)


def _taken(annotations: Sequence[Annotation], name: str) -> Taken:
    """Answers, by what each scheme turns out to be over all annotations."""
    schemes: dict[str, list[tuple[Annotation, dict[str, Any]]]] = {}
    for annotation in annotations:
        for schema, labels in annotation.labels.items():
            kept = {
                n: v for n, v in labels.items() if n not in _FREE and v not in (None, "", False)
            }
            if kept:
                schemes.setdefault(schema, []).append((annotation, kept))
    rows: list[dict[str, str]] = []
    notes = []
    for schema, said in schemes.items():
        found = list(_rows(schema, said))
        rows += found
        if not found:
            notes.append(f"The scheme {schema} holds no ratings and is left out.")
        elif found[0].get("scale") == _PAIRWISE:
            notes.append(
                f"{schema}: Potato does not say which agent stood on which side; agents are "
                "called A and B."
            )
    if not rows:
        raise DialensError(
            f"{name} is the output of Potato without ratings: no scheme holds a number or a "
            f"choice. Schemes: {listed(list(schemes)) or 'none'}."
        )
    table = pl.DataFrame(rows, schema=_SCHEMA)
    table = table.select(column for column in table if column.null_count() < len(column))
    qualities = table["quality"].unique(maintain_order=True).to_list()
    said_text = (
        f"the output of Potato: {counted(table['rater'].n_unique(), 'user')}, "
        f"{counted(table['dialog'].n_unique(), 'instance')}, "
        f"{counted(len(qualities), 'quality', 'qualities')} ({listed(qualities[:4])})"
    )
    return Taken(table, said_text, tuple(notes))


def _rows(
    schema: str, said: Sequence[tuple[Annotation, Mapping[str, Any]]]
) -> Iterator[dict[str, str]]:
    """The ratings of one scheme."""
    names = {name for _, labels in said for name in labels}
    several = any(len(labels) > 1 for _, labels in said)
    numeric = all(_is_number(value) for _, labels in said for value in labels.values())
    for annotation, labels in said:
        base = {
            "dialog": annotation.instance,
            "rater": annotation.user,
            "quality": schema,
            PLACE: annotation.place,
        }
        if names == {"selection"}:
            yield from _pair(base, str(labels["selection"]))
        elif names <= {"best", "worst"}:
            continue  # who else stood in the tuple is not in the output
        elif len(names) == 1:
            only = next(iter(labels.items()))
            yield from _single(base, *only, lone=True)
        elif several and numeric and not all(map(_is_number, names)):
            for name, value in labels.items():  # a rate for each of several things
                yield base | {"quality": f"{schema}: {name}", "value": str(value)}
        elif len(labels) == 1:
            yield from _single(base, *next(iter(labels.items())), lone=False)
        elif all(map(_is_number, names)):
            raise DialensError(
                f"{annotation.place}: {annotation.user} has {len(labels)} answers to {schema} "
                f"({listed(list(labels))}) where there may be one. `potato repair-annotations` "
                "mends such output."
            )
        else:
            yield base | {"value": " + ".join(sorted(labels))}


def _single(base: dict[str, str], name: str, value: Any, *, lone: bool) -> Iterator[dict[str, str]]:
    """One label: a point of a scale, a number in a field, or a category."""
    numbered = _NUMBERED.fullmatch(name)
    text = str(value)
    if lone and _is_number(value) and not numbered:
        yield base | {"value": text}
    elif lone and "," in text and name in ("order", "ranking", "ranking_order", "ranked"):
        for place, candidate in enumerate(text.split(","), start=1):
            yield base | {"value": str(place), "agent": candidate.strip(), "scale": _RANKING}
    elif numbered:
        yield base | {"value": numbered[1]}
    elif lone and not isinstance(value, bool) and text.lower() not in ("true", "on", name.lower()):
        yield base | {"value": text}
    else:
        yield base | {"value": name}


def _pair(base: dict[str, str], chosen: str) -> Iterator[dict[str, str]]:
    for side in ("A", "B"):
        won = "0.5" if chosen.lower() in _TIES else "1" if chosen == side else "0"
        yield base | {"value": won, "agent": side, "scale": _PAIRWISE}


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)
