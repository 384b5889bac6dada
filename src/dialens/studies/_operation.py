"""Operation apart from definition: how a study is run, which may change while people take part.

The definition is what participants see before their last answer, and who they are (the kind of
recruiter): data from two definitions are not the same data, so it is hashed and fixed. Operation
is how many people are wanted, what they are paid, how long they have, and what they read once
everything is answered. Notes are for colleagues, and belong to neither; they are kept with the
operation, so that a preregistration can be held against them.
"""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path

from pydantic import BaseModel

from dialens.base import DialensError, did_you_mean, validated
from dialens.studies._types import JSON
from dialens.studies.design import EACH, Design

OPERATION: tuple[str, ...] = (
    "targets",
    "allocation",
    "items.lists.annotators",
    "limits",
    "retention",
    "resume",
    "admit_earlier",
    "entry",
    "completion",
    "recruiter",
    "waves.*.after_hours",
    "waves.*.within_hours",
)
"""Settings of a study file that may change while people take part; of the recruiter all but its
kind. A star stands for any name."""

NOTES: tuple[str, ...] = ("description", "hypotheses", "analysis_plan")
"""What a study file says for colleagues."""

TRANSLATIONS = "translations"
"""Where closing words in further languages stand in an operation: by language."""

_FIXED = ("recruiter", "kind")
_CLOSING: tuple[tuple[str, ...], ...] = (("completion", "title"), ("completion", "message"))

Place = tuple[str, ...]
Section = dict[str, JSON]


def split(design: Mapping[str, JSON]) -> tuple[Section, Section]:
    """The definition and the operation (with notes) of a study file's content.

    Examples:
        >>> split({"title": "Tea", "targets": {"each": 3}, "recruiter": {"kind": "link", "fee": 1}})
        ({'title': 'Tea', 'recruiter': {'kind': 'link'}},
         {'targets': {'each': 3}, 'recruiter': {'fee': 1}})
    """
    definition: Section = {}
    operation: Section = {}
    for place, value in leaves(design):
        put(operation if is_operation(place) else definition, place, value)
    return definition, operation


def joined(definition: Mapping[str, JSON], operation: Mapping[str, JSON]) -> Section:
    """What `split` took apart, together again; the operation's values win."""
    whole: Section = deepcopy(dict(definition))
    for place, value in leaves(operation):
        put(whole, place, value)
    return whole


def is_operation(place: Place) -> bool:
    """Whether a setting is apart from the definition.

    Examples:
        >>> is_operation(("recruiter", "reward")), is_operation(("recruiter", "kind"))
        (True, False)
    """
    if place[:2] == _FIXED:
        return False
    if place[0] == TRANSLATIONS:
        return place[2:] in _CLOSING
    return any(_leads(way, place) for way in _WAYS)


def leaves(section: Mapping[str, JSON], above: Place = ()) -> Iterator[tuple[Place, JSON]]:
    """Every value with its place; lists and empty sections are values."""
    for key, value in section.items():
        place = (*above, str(key))
        if isinstance(value, Mapping) and value:
            yield from leaves(value, place)
        else:
            yield place, value


def closing_words(operation: Mapping[str, JSON]) -> Section:
    """What participants read at the end, which each language has of its own.

    Examples:
        >>> closing_words({"targets": {"each": 3}, "completion": {"message": "Danke!"}})
        {'completion': {'message': 'Danke!'}}
    """
    made: Section = {}
    for place, value in leaves(operation):
        if place in _CLOSING:
            put(made, place, value)
    return made


def operation_in(operation: Mapping[str, JSON], language: str | None = None) -> Section:
    """An operation with the closing words of a further language; of the study's own if none.

    Examples:
        >>> run = {"completion": {"message": "Thanks!"}, "translations": {"de": {}}}
        >>> operation_in(run), operation_in(run, "de")
        ({'completion': {'message': 'Thanks!'}}, {})
    """
    made: Section = deepcopy(dict(operation))
    others = made.pop(TRANSLATIONS, {})
    if language is not None:
        for place in _CLOSING:
            drop(made, place)
        for place, value in leaves(others.get(language, {})):
            put(made, place, value)
    return made


def put(section: Section, place: Place, value: JSON) -> None:
    """Set a value; sections on the way are made."""
    for key in place[:-1]:
        inner = section.get(key)
        if not isinstance(inner, dict):
            inner = section[key] = {}
        section = inner
    section[place[-1]] = value


def drop(section: Section, place: Place) -> None:
    """Remove a value, and sections that are empty then."""
    if len(place) == 1:
        section.pop(place[0], None)
        return
    inner = section.get(place[0])
    if isinstance(inner, dict):
        drop(inner, place[1:])
        if not inner:
            section.pop(place[0])


def operation_values(design: Design) -> dict[Place, JSON]:
    """What holds of every setting of the operation, defaults included."""
    whole = design.model_dump(mode="json")
    return {place: value for place, value in leaves(whole) if is_operation(place)}


def named(place: Place) -> str:
    """A place as a study file's reader would name it.

    Examples:
        >>> named(("recruiter", "reward"))
        'recruiter.reward'
    """
    return ".".join(place)


def settings_from(entries: Mapping[str, JSON]) -> Section:
    """Settings by dotted names, as sections; what follows `targets.` is the name of a cell.

    Examples:
        >>> settings_from({"limits.idle_minutes": 40, "targets.deadline=2.5s": 12})
        {'limits': {'idle_minutes': 40}, 'targets': {'deadline=2.5s': 12}}
    """
    made: Section = {}
    for name, value in entries.items():
        head, dot, rest = name.partition(".")
        place = (head, rest) if dot and head == "targets" else tuple(name.split("."))
        put(made, place, value)
    return made


def operated(operation: Mapping[str, JSON], settings: Mapping[str, JSON]) -> Section:
    """An operation with some settings changed.

    A number for `targets` holds for every cell; a mapping changes the cells that it names.

    Raises:
        DialensError: A setting is part of the definition, or there is none of that name.
    """
    made: Section = deepcopy(dict(operation))
    changed = dict(settings)
    if isinstance(changed.get("targets"), int):
        made["targets"] = {EACH: changed.pop("targets")}
    elif "targets" in changed:
        made.setdefault(
            "targets", Design.model_fields["targets"].get_default(call_default_factory=True)
        )
    for place, value in leaves(changed):
        if not is_operation(place) or place[0] in NOTES:
            raise _not_operation(place)
        put(made, place, value)
    return made


def merged(operation: Mapping[str, JSON], before: Section, after: Section) -> Section:
    """An operation with what changed in the study file; what others changed stays.

    Args:
        operation: As it holds, with changes made by dashboard, API and command.
        before: As the file said it when it was last read.
        after: As the file says it now.

    Examples:
        >>> merged({"targets": {"each": 30}}, {"targets": {"each": 20}}, {"targets": {"each": 20}})
        {'targets': {'each': 30}}
    """
    made: Section = deepcopy(dict(operation))
    old, new = dict(leaves(before)), dict(leaves(after))
    for place in old:
        if place not in new:
            drop(made, place)
    for place, value in new.items():
        if place not in old or old[place] != value:
            put(made, place, value)
    return made


def checked(definition: Mapping[str, JSON], operation: Mapping[str, JSON]) -> Design:
    """The design of both, if they go together; errors name the setting."""
    try:
        return validated(Design, joined(definition, operation), {}, Path("operation"))
    except DialensError as error:
        raise DialensError(str(error).replace("operation:1: ", "")) from error


def as_text(operation: Mapping[str, JSON]) -> str:
    """An operation as a database keeps it."""
    return json.dumps(operation, ensure_ascii=False, separators=(",", ":"))


def _not_operation(place: Place) -> DialensError:
    name = named(place)
    known = Design.model_fields
    if place[0] in NOTES:
        return DialensError(f"{name} is for colleagues: change it in the study file.")
    if place[0] in known:
        return DialensError(
            f"{name} is part of the definition, which data are collected under: change it in the "
            f"study file and raise `version`. May change at any time: {', '.join(OPERATION)}."
        )
    # `reward` is meant as `recruiter.reward`: the last part is what people remember.
    lasts = {way[-1]: named(way) for way in _settings()}
    hint = f"Did you mean {lasts[name]}? " if name in lasts else did_you_mean(place[0], known)
    return DialensError(
        f"{name}: there is no such setting. {hint}May change at any time: {', '.join(OPERATION)}."
    )


def _settings() -> Iterator[Place]:
    """The settings below the sections of an operation."""
    for section in OPERATION:
        field = Design.model_fields.get(section)
        usual = None if field is None else field.get_default(call_default_factory=True)
        if isinstance(usual, BaseModel):
            yield from ((section, key) for key in type(usual).model_fields if key != "kind")


def _leads(way: Place, place: Place) -> bool:
    """Whether a place is the one that is named, or below it."""
    return len(way) <= len(place) and all(
        step in ("*", own) for step, own in zip(way, place, strict=False)
    )


_WAYS: tuple[Place, ...] = tuple(tuple(name.split(".")) for name in (*OPERATION, *NOTES))
