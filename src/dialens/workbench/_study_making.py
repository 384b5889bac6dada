"""A study of a selection: a template, the units that were drawn, and who judges how many of them.

The study is written by the writers that `dialens study new` has and checked by the study's own
check. Its items say where they come from, so that ratings find the way back to the turns.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dialens.base import DialensError, atomic_folder, did_you_mean
from dialens.studies import (
    STUDY,
    Change,
    Study,
    StudyEstimate,
    edited,
    estimate,
    load_study,
)
from dialens.studies.templates import TEMPLATES, write_template
from dialens.workbench._drawing import DIALOG, OPENING, TURN, Draw, DrawnUnit
from dialens.workbench._drawn import write_drawn
from dialens.workbench._index import Index

ITEMS = "items.jsonl"
JUDGED: Mapping[str, str] = {
    "likert": TURN,
    "engagement-labels": TURN,
    "pairwise": OPENING,
    "best-worst": OPENING,
    "dialogue-level": DIALOG,
    "turn-by-turn": DIALOG,
}
"""Templates that can judge a selection, and what is drawn for each. The others need material that
a selection does not have: a standard, variants of replies, or agents to talk with."""

NEEDED = {"pairwise": 2, "best-worst": 3}
"""Agents that have to have answered a context."""

MOST_ITEMS = 2_000
_UNITS = {"dialogue-level": "dialogue", "turn-by-turn": "turn"}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_PERSON, _AGENT = "user", "assistant"
_NOTHING = "…"


@dataclass(frozen=True)
class GoldItem:
    """A unit whose right answer whoever makes the study has confirmed.

    Attributes:
        unit: The unit.
        quality: What it is judged on.
        at_least: The rating is this or more; none if it is not bounded below.
        at_most: The rating is this or less.
    """

    unit: DrawnUnit
    quality: str
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class StudyWish:
    """The study that is wanted.

    Attributes:
        name: Of the study and of its folder.
        template: One of `JUDGED`.
        qualities: Which of the template's are asked; all if none is named.
        raters: People who judge each item.
        each: Items that a participant judges.
        hourly: What a participant earns an hour; nothing if 0.
        currency: ISO code.
        contact: Whom participants can write to; to be filled in if empty.
        context: Turns that are shown before a reply; all if 0.
        gold: Items whose answer is known.
        record: How the items were drawn, for `drawn.json`.
    """

    name: str
    template: str
    qualities: tuple[str, ...] = ()
    raters: int = 3
    each: int = 20
    hourly: float = 0.0
    currency: str = "USD"
    contact: str = ""
    context: int = 0
    gold: tuple[GoldItem, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PlannedStudy:
    """A study as it would be written.

    Attributes:
        study: The study, checked.
        estimate: What it asks of people and costs.
        files: Its files by name.
    """

    study: Study
    estimate: StudyEstimate
    files: Mapping[str, str]


def template_of(name: str) -> str:
    """A template that can judge a selection.

    Raises:
        DialensError: It cannot, or there is none of that name.
    """
    if name in JUDGED:
        return name
    if name in TEMPLATES:
        raise DialensError(
            f"The template {name} needs material that a selection does not have. Templates for a "
            f"selection: {', '.join(JUDGED)}."
        )
    raise DialensError(
        f"There is no template {name}. {did_you_mean(name, JUDGED)}Templates for a selection: "
        f"{', '.join(JUDGED)}."
    )


@cache
def template_qualities(name: str) -> dict[str, str]:
    """The qualities of a template, with what each means."""
    with TemporaryDirectory() as folder:
        design = write_template(template_of(name), Path(folder)).design
    return {quality: asked.definition for quality, asked in design.qualities.items()}


def study_place(folder: Path, name: str) -> Path:
    """Where a study of a name would lie.

    Raises:
        DialensError: A study cannot be called so, or something is there.
    """
    if not _NAME.fullmatch(name):
        raise DialensError(
            f"A study cannot be called {name!r}. Use up to 60 small letters, digits, - and _, "
            "beginning with a letter or digit."
        )
    place = folder / name
    if place.exists() or place.is_symlink():
        raise DialensError(f"{place} is there already, and is not touched. Choose another name.")
    return place


def planned_study(index: Index, drawn: Draw, wish: StudyWish) -> PlannedStudy:
    """The study that would be written; nothing is written into the folder.

    Raises:
        DialensError: The study's own check found something.
    """
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        study = _write(index, drawn, wish, folder)
        files = {path.name: path.read_text("utf-8") for path in sorted(folder.iterdir())}
    return PlannedStudy(study, estimate(study), files)


def write_study_of(index: Index, drawn: Draw, wish: StudyWish, folder: Path) -> Path:
    """Write the study into a folder of its own below a folder; gives its path.

    Raises:
        DialensError: Something is there already, or the study's own check found something; then
            nothing is left behind.
    """
    place = study_place(folder, wish.name)
    with atomic_folder(place) as scratch:
        _write(index, drawn, wish, scratch)
    return place


def _write(index: Index, drawn: Draw, wish: StudyWish, folder: Path) -> Study:
    study = write_template(template_of(wish.template), folder, called=wish.name)
    file = folder / STUDY
    for path in folder.iterdir():
        if path != file and path.suffix in (".jsonl", ".yaml", ".txt"):
            path.unlink()
    entries = list(_entries(index, drawn.items, wish))
    lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
    (folder / ITEMS).write_text("\n".join(lines) + "\n", "utf-8")
    text = edited(file.read_text("utf-8"), list(_changes(index, study, drawn, wish)))
    file.write_text(text, "utf-8")
    made = load_study(file)
    if wish.hourly > 0:
        longest = max(cell.minutes for cell in estimate(made).cells)
        reward = {"kind": "link", "reward": round(wish.hourly * longest / 60, 2),
                  "currency": wish.currency}  # fmt: skip
        file.write_text(edited(text, [Change(("recruiter",), reward)]), "utf-8")
        made = load_study(file)
    units = [
        {"item": entry["id"], "source": unit.source, "system": unit.system, "agent": unit.agent,
         "dialog": unit.dialog, "turn": unit.turn}
        for entry, item in zip(entries, drawn.items, strict=True)
        for unit in item
    ]  # fmt: skip
    gold = [
        {"item": _gold_name(place), "source": one.unit.source, "system": one.unit.system,
         "agent": one.unit.agent, "dialog": one.unit.dialog, "turn": one.unit.turn}
        for place, one in enumerate(wish.gold)
    ]  # fmt: skip
    write_drawn(folder, {**wish.record, "units": [*units, *gold]})
    return made


def _changes(index: Index, study: Study, drawn: Draw, wish: StudyWish) -> Iterator[Change]:
    design = study.design
    asked = list(wish.qualities or design.qualities)
    for name in asked:
        if name not in design.qualities:
            raise DialensError(
                f"The template {wish.template} has no quality {name}. "
                f"{did_you_mean(name, design.qualities)}Qualities: {', '.join(design.qualities)}."
            )
    each = max(1, min(wish.each, len(drawn.items)))
    items = {"file": ITEMS, "unit": _UNITS.get(wish.template, "response"),
             "lists": {"length": each, "annotators": wish.raters}}  # fmt: skip
    yield Change(("items",), items)
    if "targets" in design.model_fields_set:
        yield Change(("targets",), remove=True)
    for name, quality in design.qualities.items():
        if name not in asked:
            yield Change(("qualities", name), remove=True)
        elif len(asked) < len(design.qualities):  # it may refer to one that goes
            kept = quality.instrument.model_dump(exclude_unset=True)
            yield Change(("qualities", name, "instrument"), kept)
    if wish.contact:
        yield Change(("contact",), wish.contact)
    gold = [entry for entry in design.checks.gold
            if all(rule.quality in asked for rule in entry.expect)]  # fmt: skip
    if len(gold) < len(design.checks.gold):
        yield Change(("checks", "gold"), remove=True)
        start = 0
    else:
        start = len(gold)
    if wish.gold:
        added = list(_gold_entries(index, wish))
        if start == 0:
            yield Change(("checks", "gold"), added)
        else:
            for place, entry in enumerate(added):
                yield Change(("checks", "gold", start + place), entry)


def _entries(
    index: Index, items: Sequence[Sequence[DrawnUnit]], wish: StudyWish
) -> Iterator[dict[str, Any]]:
    talks = _talks(index, [unit.talk for item in items for unit in item])
    width = len(str(len(items)))
    for place, item in enumerate(items, start=1):
        yield _entry(f"i{place:0{width}d}", item, talks, wish)


def _gold_entries(index: Index, wish: StudyWish) -> Iterator[dict[str, Any]]:
    talks = _talks(index, [one.unit.talk for one in wish.gold])
    for place, one in enumerate(wish.gold):
        bounds = {"at_least": one.at_least, "at_most": one.at_most}
        rule: dict[str, Any] = {"quality": one.quality, "response": one.unit.agent or _AGENT}
        rule |= {name: bound for name, bound in bounds.items() if bound is not None}
        yield {**_entry(_gold_name(place), [one.unit], talks, wish), "expect": [rule]}


def _gold_name(place: int) -> str:
    return f"known-{place + 1}"


def _entry(
    name: str,
    units: Sequence[DrawnUnit],
    talks: Mapping[int, list[tuple[str, str]]],
    wish: StudyWish,
) -> dict[str, Any]:
    """An item as a study file holds it; nobody's name stands in what participants read."""
    first = units[0]
    said = talks[first.talk]
    if first.turn is None:
        origin = _origin(first)
        return {
            "id": name,
            "context": [{"speaker": who, "text": text} for who, text in said],
            "agent": _AGENT,
            "origins": {_AGENT: origin},
        }
    start = max(0, first.turn - wish.context) if wish.context else 0
    keys = _keys(units)
    return {
        "id": name,
        "context": [{"speaker": who, "text": text} for who, text in said[start : first.turn]],
        "responses": {
            key: talks[unit.talk][unit.turn or 0][1] for key, unit in zip(keys, units, strict=True)
        },
        "origins": {key: _origin(unit) for key, unit in zip(keys, units, strict=True)},
    }


def _keys(units: Sequence[DrawnUnit]) -> list[str]:
    keys: list[str] = []
    for unit in units:
        key = unit.agent or _AGENT
        while key in keys:
            key += "+"
        keys.append(key)
    return keys


def _origin(unit: DrawnUnit) -> dict[str, Any]:
    origin: dict[str, Any] = {"dialog": unit.dialog, "agent": unit.agent, "system": unit.system}
    return origin if unit.turn is None else {**origin, "turn": unit.turn}


def _talks(index: Index, talks: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    """What was said in some conversations, by whom in neutral words."""
    wanted = sorted(set(talks))
    rows = index.sql(
        "select talk, row, role, speaker from turns where talk in (select unnest(?::bigint[])) "
        "order by row",
        [wanted],
    )
    texts = index.texts([row for _, row, _, _ in rows])
    people: dict[int, list[str]] = {}
    made: dict[int, list[tuple[str, str]]] = {talk: [] for talk in wanted}
    for talk, row, role, speaker in rows:
        who = _AGENT
        if role != "agent":
            known = people.setdefault(talk, [])
            if speaker not in known:
                known.append(speaker)
            place = known.index(speaker)
            who = _PERSON if place == 0 else f"{_PERSON} {place + 1}"
        made[talk].append((who, texts.get(row, "").strip() or _NOTHING))
    return made
