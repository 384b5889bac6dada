"""Exports of Label Studio: tasks with annotations (JSON), and a row an annotation (JSON_MIN, CSV).

Choices, ratings, numbers, pairs and rankings are ratings; regions, texts and the like are counted
and left out.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from dialens.base import DialensError, counted, listed
from dialens.statistics.rating_files._column_names import plain
from dialens.statistics.rating_files._taken import PLACE, Taken
from dialens.statistics.rating_files._values import readable

_ITEM = ("dialog", "dialog_id", "item", "item_id", "conversation_id", "unit_id")
_FACTS = ("agent", "system", "model", "condition", "turn")
_MARKS = {"annotator", "annotation_id", "lead_time"}
_OWN = {*_MARKS, "id", "created_at", "updated_at", "agreement", "history"}
_KEYS = ("rating", "number", "choices", "selected", "ranker")
_MOST_CATEGORIES = 20
_SIDES = (
    ("left", "right"), ("a", "b"), ("1", "2"),
)  # fmt: skip
_PAIRWISE, _RANKING = json.dumps({"kind": "pairwise"}), json.dumps({"kind": "ranking"})
_SCHEMA = {
    "dialog": pl.String, "turn": pl.String, "rater": pl.String, "quality": pl.String,
    "value": pl.String, "agent": pl.String, "system": pl.String, "condition": pl.String,
    "scale": pl.String, PLACE: pl.String,
}  # fmt: skip

_Row = dict[str, str | None]


def is_tasks(first: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a task with annotations.

    Examples:
        >>> is_tasks({"id": 1, "data": {}, "annotations": []}), is_tasks({"data": 1})
        (True, False)
    """
    return "data" in first and isinstance(first.get("annotations", first.get("completions")), list)


def is_annotations(columns: Sequence[str]) -> bool:
    """Whether columns are those of an export with a row an annotation.

    Examples:
        >>> is_annotations(["annotation_id", "annotator", "id", "lead_time", "quality"])
        True
    """
    return set(columns) >= _MARKS


def from_tasks(tasks: Sequence[Mapping[str, Any]], name: str) -> Taken:
    """Ratings from the full JSON export."""
    rows: list[_Row] = []
    others: Counter[str] = Counter()
    cancelled = 0
    for number, task in enumerate(tasks, start=1):
        data = task.get("data") or {}
        for annotation in task.get("annotations", task.get("completions")) or []:
            if annotation.get("was_cancelled") or annotation.get("skipped"):
                cancelled += 1
                continue
            base: _Row = {
                "dialog": _item(data, task.get("id", number)),
                "rater": _who(annotation.get("completed_by")),
                PLACE: f"task {task.get('id', number)}, annotation {annotation.get('id', '?')}",
                **_facts(data),
            }
            for result in annotation.get("result") or []:
                found = list(_answers(result.get("from_name", ""), result.get("value") or {}, data))
                if not found:
                    others[str(result.get("type", "unknown"))] += 1
                rows += [base | row for row in found]
    return _taken(rows, others, cancelled, f"{counted(len(tasks), 'task')}", name)


def from_annotations(
    records: Sequence[Mapping[str, Any]], name: str, *, mapping: Mapping[str, str]
) -> Taken:
    """Ratings from a row an annotation: JSON_MIN, or CSV and TSV whose cells may hold JSON.

    Which columns are answers and which are the task's own data is not said there: answers are
    what JSON_MIN writes as lists, and what differs between annotators of a task.
    """
    parsed = [{key: _parsed(value) for key, value in record.items()} for record in records]
    columns = list(dict.fromkeys(key for record in parsed for key in record if key not in _OWN))
    asked = [part.strip() for part in mapping.get("value", "").split(",") if part.strip()]
    answers = asked or [column for column in columns if _is_answer(parsed, column)]
    if not answers:
        raise DialensError(
            f"{name} is an export of Label Studio, and nothing in it says which columns are "
            f"answers. Name them: --column value=COLUMN,COLUMN. Columns: {listed(columns)}."
        )
    rows: list[_Row] = []
    others: Counter[str] = Counter()
    for number, record in enumerate(parsed, start=1):
        base: _Row = {
            "dialog": _item(record, record.get("id") or number),
            "rater": _who(record.get("annotator")),
            PLACE: f"row {number}",
            **_facts(record),
        }
        for column in answers:
            value = record.get(column)
            if value in (None, "", []):
                continue
            for one in value if isinstance(value, list) else [value]:
                content = one if isinstance(one, dict) else {"choices": [one]}
                found = list(_answers(column, content, record))
                if not found:
                    others[column] += 1
                rows += [base | row for row in found]
    return _taken(rows, others, 0, f"{counted(len(records), 'annotation')}", name)


def _answers(name: str, value: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[_Row]:
    """The ratings that one result holds; none if it is a region, a text or the like."""
    start = value.get("start")
    row: _Row = {"quality": name}
    if isinstance(start, str) and start.isdigit():  # a paragraph of a dialogue
        row["turn"] = start
    for key in ("rating", "number"):
        if isinstance(value.get(key), int | float):
            yield row | {"value": str(value[key])}
            return
    choices = value.get("choices")
    if isinstance(choices, list) and choices:
        yield row | {"value": " + ".join(sorted(map(str, choices)))}
    elif isinstance(choices, str):
        yield row | {"value": choices}
    elif value.get("selected") in ("left", "right"):
        for side, agent in zip(("left", "right"), _pair(data), strict=True):
            won = "1" if value["selected"] == side else "0"
            yield row | {"value": won, "agent": agent, "scale": _PAIRWISE}
    else:
        for place, candidate in enumerate(_ranked(value.get("ranker")), start=1):
            yield row | {"value": str(place), "agent": candidate, "scale": _RANKING}


def _ranked(ranker: Any) -> list[str]:
    """Candidates in their order; none where they were sorted into several buckets."""
    if isinstance(ranker, dict):
        buckets = {key: value for key, value in ranker.items() if key != "_" or len(ranker) == 1}
        ranker = next(iter(buckets.values())) if len(buckets) == 1 else None
    return [str(candidate) for candidate in ranker] if isinstance(ranker, list) else []


def _pair(data: Mapping[str, Any]) -> tuple[str, str]:
    """The agents on the left and on the right, by the task's data; else the sides themselves."""
    for sides in _SIDES:
        for kind in ("agent", "system", "model", "bot"):
            for form in ("{kind}_{side}", "{side}_{kind}", "{kind}{side}"):
                keys = [form.format(kind=kind, side=side) for side in sides]
                if all(data.get(key) is not None for key in keys):
                    return str(data[keys[0]]), str(data[keys[1]])
    return "left", "right"


def _item(data: Mapping[str, Any], otherwise: Any) -> str:
    named = next((data[key] for key in _ITEM if data.get(key) is not None), otherwise)
    return str(named)


def _facts(data: Mapping[str, Any]) -> _Row:
    found = {plain(key): value for key, value in data.items() if plain(key) in _FACTS}
    row = {key: str(v) for key, v in found.items() if v is not None and key != "model"}
    if "model" in found and "agent" not in row:
        row["agent"] = str(found["model"])
    return dict(row)


def _who(by: Any) -> str | None:
    if isinstance(by, dict):
        by = by.get("email") or by.get("id")
    return None if by in (None, "") else str(by)


def _parsed(value: Any) -> Any:
    """A cell with JSON in it as what it holds."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _is_answer(records: Sequence[Mapping[str, Any]], column: str) -> bool:
    values = [record.get(column) for record in records]
    known = [value for value in values if value not in (None, "", [])]
    lists = [v for v in known if isinstance(v, list) and v and isinstance(v[0], dict)]
    if lists and len(lists) == len(known):
        return any(key in one for value in lists for one in value for key in _KEYS)
    if not known or plain(column) in (*_ITEM, *_FACTS):
        return False
    by_task: dict[Any, set[str]] = {}
    for record in records:
        if record.get(column) not in (None, "", []):
            by_task.setdefault(record.get("id"), set()).add(json.dumps(record[column]))
    different = len({said for several in by_task.values() for said in several})
    if any(len(said) > 1 for said in by_task.values()):
        return different <= _MOST_CATEGORIES and 2 * different <= len(known) + 1
    texts = pl.Series([str(value) for value in known], dtype=pl.String)
    return not any(isinstance(value, list | dict) for value in known) and readable(texts)


def _taken(rows: list[_Row], others: Counter[str], cancelled: int, what: str, name: str) -> Taken:
    if not rows:
        there = f" It holds {listed(list(others))}." if others else ""
        raise DialensError(
            f"{name} is an export of Label Studio without ratings: no choices, rating, number, "
            f"pairwise or ranker.{there}"
        )
    notes = []
    if cancelled:
        notes.append(f"{counted(cancelled, 'cancelled annotation')} left out.")
    if others:
        kinds = listed([f"{kind} ({count:,})" for kind, count in others.items()])
        notes.append(f"Results that are no ratings are left out: {kinds}.")
    table = pl.DataFrame(rows, schema=_SCHEMA)
    table = table.select(c for c in table if c.null_count() < len(c) or c.name == "rater")
    qualities = table["quality"].unique(maintain_order=True).to_list()
    sides = "agent" in table.columns and {"left", "right"} <= set(table["agent"])
    if sides:
        notes.append(
            "The tasks do not say which agent stood on which side: agents are called left and "
            "right. Put agent_left and agent_right into the tasks’ data to compare agents."
        )
    said = (
        f"a Label Studio export: {what}, {counted(table['rater'].n_unique(), 'annotator')}, "
        f"{counted(len(qualities), 'quality', 'qualities')} ({listed(qualities[:4])})"
    )
    return Taken(table, said, tuple(notes))
