"""YAML files as pydantic models, read with their line numbers, so that every error says where."""

import io
import re
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq, CommentedSet
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from dialens.base._errors import DialensError, did_you_mean
from dialens.base._plain_problems import in_plain_words

_MOST_ERRORS = 8
_DEEPEST = 60
_MOST_VALUES = 300_000
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")

Place = tuple[str | int, ...]
"""The way to a value: keys and places in lists."""

T = TypeVar("T")
_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


@dataclass(frozen=True)
class FileProblem:
    """One thing that is wrong with a file.

    Attributes:
        message: What it is and how it is mended, without the place.
        line: Where it stands, counted from 1.
        where: The way to it, keys and places in lists; empty if it is about the whole.
    """

    message: str
    line: int
    where: Place = ()


class InvalidFile(DialensError):
    """A file that cannot be read or says what it may not; each problem has its place.

    Examples:
        >>> str(InvalidFile(Path("study.yaml"), (FileProblem("title: is missing.", 3),)))
        'study.yaml:3: title: is missing.'
    """

    def __init__(self, path: Path, problems: tuple[FileProblem, ...]) -> None:
        told = [f"{path}:{problem.line}: {problem.message}" for problem in problems[:_MOST_ERRORS]]
        if len(problems) > _MOST_ERRORS:
            told.append(f"… and {len(problems) - _MOST_ERRORS} more.")
        super().__init__("\n".join(told))
        self.path = path
        self.problems = problems


def read_yaml(path: Path) -> tuple[Any, dict[Place, int]]:
    """The content of a YAML file as plain values, and the line of everything in it."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DialensError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DialensError(f"{path} is not UTF-8. Save it as UTF-8.") from error
    reader = YAML(typ="rt", pure=True)
    reader.max_depth = _DEEPEST
    try:
        loaded = reader.load(io.StringIO(text))
    except RecursionError as error:
        raise DialensError(f"{path}: this is nested too deeply. Mend its brackets.") from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = str(error.problem or error).split("\n")[0]
        if "maximum depth" in problem:
            problem = f"it is nested more than {_DEEPEST} deep"
        said = f"this is not YAML: {problem}. Check indentation, colons and quotes there."
        if mark is None:
            raise DialensError(f"{path}: {said}") from error
        raise InvalidFile(path, (FileProblem(said, mark.line + 1),)) from error
    except (YAMLError, ValueError, KeyError, TypeError, OverflowError) as error:
        said = " ".join(str(error).split())
        raise DialensError(f"{path}: this is not YAML: {said}. Mend the value.") from error
    lines: dict[Place, int] = {(): 1}
    return _plain(loaded, (), lines, path), lines


def _plain(value: Any, at: Place, lines: dict[Place, int], path: Path) -> Any:
    """Plain objects, with the lines of their parts noted on the way."""
    if len(at) > _DEEPEST:
        raise DialensError(f"{path}:{lines[at]}: this is nested too deeply (an alias in itself?).")
    if len(lines) > _MOST_VALUES:
        raise DialensError(
            f"{path}: this stands for more than {_MOST_VALUES:,} values, through aliases (*name) "
            "of aliases. Write them out, or put them into a file of their own."
        )
    tag = getattr(getattr(value, "tag", None), "value", None)
    if isinstance(value, bytes | CommentedSet):
        tag = "!!binary" if isinstance(value, bytes) else "!!set"
    if tag:
        tag = tag.replace("tag:yaml.org,2002:", "!!")
        raise InvalidFile(
            path, (FileProblem(f"the tag {tag} has no meaning here: leave it out.", lines[at], at),)
        )
    if isinstance(value, CommentedMap):
        result = {}
        for key in value:
            below = (*at, str(key))
            placed = key in (value.lc.data or ())  # what was merged (<<) has no place here
            lines[below] = value.lc.key(key)[0] + 1 if placed else lines[at]
            result[_plain_scalar(key, below, lines, path)] = _plain(value[key], below, lines, path)
        return result
    if isinstance(value, CommentedSeq):
        entries = []
        for place, entry in enumerate(value):
            below = (*at, place)
            lines[below] = value.lc.item(place)[0] + 1
            entries.append(_plain(entry, below, lines, path))
        return entries
    return _plain_scalar(value, at, lines, path)


def _plain_scalar(value: Any, at: Place, lines: dict[Place, int], path: Path) -> Any:
    scalar = _scalar(value)
    if isinstance(scalar, str) and _HALF_A_PAIR.search(scalar):
        said = "holds half of a surrogate pair (\\ud800), which is no character: mend it."
        raise InvalidFile(path, (FileProblem(said, lines[at], at),))
    return scalar


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    return str(value)  # ruamel's own strings, and dates, which our files have no use for


def validated(
    model: type[T], data: Any, lines: dict[Place, int], path: Path, *, first_line: int = 0
) -> T:
    """Data as a model; what is wrong with it becomes one error that lists up to eight places."""
    if not isinstance(data, dict) and get_origin(model) is not list:
        said = "keys and values are expected here, like `title: …`; "
        raise InvalidFile(
            path, (FileProblem(f"{said}seen: {type(data).__name__}.", first_line or 1),)
        )
    try:
        made: T = _adapter(model).validate_python(data)
        return made
    except ValidationError as error:
        places: dict[Place, Any] = {}
        for problem in error.errors(include_url=False):
            places.setdefault(_where(problem, data), problem)
        # Of the ways in which a union may fail, the one that came furthest is the one meant.
        problems = {
            where: problem
            for where, problem in places.items()
            if not any(other[: len(where)] == where and other != where for other in places)
        }
        placed = [
            FileProblem(_said(problem, where, model), first_line or _line(where, lines), where)
            for where, problem in problems.items()
        ]
        placed.sort(key=lambda entry: entry.line)
        raise InvalidFile(path, tuple(placed)) from error


def _adapter(model: Any) -> TypeAdapter[Any]:
    """Made once a model: files of items are validated line by line."""
    if model not in _ADAPTERS:
        _ADAPTERS[model] = TypeAdapter(model)
    return _ADAPTERS[model]


def _where(problem: Any, data: Any) -> Place:
    """The way to the problem through the user's data, without pydantic's own steps."""
    loc: Sequence[str | int] = problem["loc"]
    inner = problem.get("ctx", {}).get("at")
    if inner is not None:
        loc = [*loc, *(int(part) if part.isdigit() else part for part in inner.split("."))]
    way: list[str | int] = []
    current = data
    for place, step in enumerate(loc):
        last = place == len(loc) - 1
        if step == "[key]":
            continue
        if _holds(current, step):
            current = current[step]
        elif not (last and problem["type"] == "missing"):
            continue  # the tag of a union, or a shorthand
        way.append(step)
    return tuple(way)


def _holds(container: Any, step: str | int) -> bool:
    if isinstance(container, list):
        return isinstance(step, int) and step < len(container)
    return isinstance(container, dict) and step in container


def _line(where: Place, lines: dict[Place, int]) -> int:
    at: Place = tuple(step if isinstance(step, int) else str(step) for step in where)
    while at and at not in lines:
        at = at[:-1]
    return lines.get(at, 1)


def _said(problem: Any, where: Place, model: Any) -> str:
    """What is wrong, as a message for the user."""
    name = ".".join(str(step) for step in where) or "the file"
    kind, context, seen = problem["type"], problem.get("ctx", {}), problem["input"]
    if kind == "extra_forbidden":
        keys = _keys_at(model, problem["loc"][:-1])
        hint = did_you_mean(str(problem["loc"][-1]), keys)
        return f"{name}: there is no such key. {hint}Keys here: {', '.join(keys)}."
    if kind == "missing":
        return f"{name}: is missing."
    if kind == "union_tag_invalid":
        kinds = [tag.strip(" '") for tag in context["expected_tags"].split(",")]
        hint = did_you_mean(str(context["tag"]), kinds)
        return f"{name}: there is no kind {context['tag']!r}. {hint}Kinds: {', '.join(kinds)}."
    if kind == "union_tag_not_found":
        return f"{name}: `kind` is missing; it says what this is."
    if kind == "literal_error":
        words = [word.strip(" '") for word in context["expected"].replace(" or ", ",").split(",")]
        hint = did_you_mean(str(seen), words)
        return f"{name}: {seen!r} is not known here. {hint}Use one of: {', '.join(words)}."
    if kind in ("value_error", "misplaced"):
        message = str(context.get("said", context.get("error"))).strip()
        return f"{name}: {message if message.endswith(('.', '?')) else message + '.'}"
    message = in_plain_words(problem, _meaning_at(model, problem["loc"]))
    shown = repr(seen) if len(repr(seen)) <= 60 else repr(seen)[:59] + "…"
    return f"{name}: {message[:1].lower()}{message[1:]}; seen: {shown}."


def _keys_at(annotation: Any, loc: Sequence[str | int]) -> list[str]:
    """The keys that a section knows."""
    section = _section_at(annotation, loc)
    return [] if section is None else list(section.model_fields)


def _meaning_at(annotation: Any, loc: Sequence[str | int]) -> str:
    """What the key at the end of the way means, if it is one."""
    section = _section_at(annotation, loc[:-1])
    info = None if section is None else section.model_fields.get(str(loc[-1]))
    return "" if info is None else str(info.description or "").rstrip(".")


def _section_at(annotation: Any, loc: Sequence[str | int]) -> type[BaseModel] | None:
    """The section at the end of a way through the models."""
    current = _unwrapped(annotation)
    for step in loc:
        options = get_args(current) if _is_union(current) else (current,)
        for option in options:
            below = _below(_unwrapped(option), step)
            if below is not None:
                current = below
                break
    if _is_union(current):  # one that may be left out
        current = next((part for part in get_args(current) if part is not type(None)), None)
    return current if isinstance(current, type) and issubclass(current, BaseModel) else None


def _below(option: Any, step: str | int) -> Any:
    """What stands under a key of a model, in a list or a mapping; a union's tag names a member."""
    if isinstance(option, type) and issubclass(option, BaseModel):
        if step in option.model_fields:
            info = option.model_fields[str(step)]
            return _unwrapped(_union(info.metadata, info.annotation))
        kind = option.model_fields.get("kind")
        return option if kind is not None and kind.default == step else None
    if get_origin(option) is list and isinstance(step, int):
        return _unwrapped(get_args(option)[0])
    if get_origin(option) is dict:
        return _unwrapped(get_args(option)[1])
    return None


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, types.UnionType)


def _unwrapped(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        first, *about = get_args(annotation)
        annotation = _union(about, first)
    return annotation


def _union(about: Sequence[Any], annotation: Any) -> Any:
    """The annotation, or the union that stands for it when a file is read."""
    return next((one.union for one in about if hasattr(one, "union")), annotation)
