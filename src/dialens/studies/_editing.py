"""Changes to a study file that leave the rest of its text alone: comments, order, blank lines.

ruamel.yaml reads the text and writes the new entries; entries come, go and are replaced as lines.
Written as a whole, a comment between two entries would belong to the one before: it would go with
it, or end up in front of what is appended.
"""

import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import LiteralScalarString, ScalarString
from ruamel.yaml.util import load_yaml_guess_indent

from dialens.base import DialensError, first_line
from dialens.studies._types import JSON

Place = tuple[str | int, ...]
"""The way to a value: keys and places in lists."""

_WIDE = 4096  # lines are not broken anew


@dataclass(frozen=True)
class Change:
    """One change to a study file.

    Attributes:
        at: What is changed: keys and places in lists. A place after the last appends.
        value: What it becomes.
        remove: Whether it is taken out instead; what holds nothing then goes, too.
        rename: The key that it gets instead; its value stays.
    """

    at: Place
    value: JSON = None
    remove: bool = False
    rename: str | None = None


def edited(text: str, changes: Sequence[Change]) -> str:
    r"""The text of a study file after some changes.

    Args:
        text: The text before.
        changes: In the order in which they are made.

    Raises:
        DialensError: The text is no YAML, or there is no such place in it.

    Examples:
        >>> before = "title: Tea  # for all\n\n# Who judges?\ntargets: 20\n"
        >>> print(edited(before, [Change(("title",), "Coffee"), Change(("version",), 2)]))
        title: Coffee  # for all
        <BLANKLINE>
        # Who judges?
        targets: 20
        version: 2
        <BLANKLINE>
    """
    for change in changes:
        if not change.at:
            raise DialensError("The whole study file cannot be replaced by a value.")
        text = _edited(text if text.endswith("\n") else f"{text}\n", change)
    return text


def fragment(text: str, at: Place) -> str:
    r"""The YAML of one part of a study file, with the comments in it.

    Examples:
        >>> fragment("targets:\n  each: 20  # so many\n", ("targets",))
        'each: 20  # so many\n'
    """
    document = _Document(text)
    place = document.keys(at)
    value = document.value(place)
    blocks = isinstance(value, CommentedMap | CommentedSeq) and not value.fa.flow_style()
    if (
        not place
        or not blocks
        or any(place in others for _, *others in document.aliases().values())
    ):
        return document.dumped(_bare(value, anchors=False)).removesuffix("...\n")
    start, end, _ = document.entry(place)
    lines = document.lines[start + 1 : end]
    if isinstance(place[-1], int):
        lines.insert(0, document.lines[start].replace("-", " ", 1))
    return textwrap.dedent("".join(lines))


def yaml_value(text: str) -> JSON:
    """What a YAML text says, its comments and order kept for `Change.value`.

    Raises:
        DialensError: It is no YAML; the message says where.
    """
    return _Document(text).root


class _Document:
    """A YAML text, its values, and the lines that they stand on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        try:
            _, sequence, offset = load_yaml_guess_indent(text)
            self._yaml = YAML(typ="rt", pure=True)
            self._yaml.preserve_quotes = True
            self._yaml.width = _WIDE
            offset = 2 if offset is None else offset
            # Without any list in the text the guess may leave no room for what follows the dash.
            self._yaml.indent(mapping=2, sequence=max(sequence or 4, offset + 2), offset=offset)
            self.root = self._yaml.load(io.StringIO(text))
        except YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            place = "" if mark is None else f" in line {mark.line + 1}"
            said = getattr(error, "problem", None) or first_line(error)
            raise DialensError(f"This is not YAML{place}: {said}.") from error

    def keys(self, at: Place) -> Place:
        """A place with the keys as the file has them: numbers may have come as texts."""
        current, found = self.root, []
        for step in at:
            if isinstance(current, CommentedMap) and step not in current:
                step = next((key for key in current if str(key) == str(step)), step)
                if str(step).isdecimal() and all(isinstance(key, int) for key in current):
                    step = int(step)
            found.append(step)
            current = current[step] if _holds(current, step) else None
        return tuple(found)

    def value(self, at: Place) -> Any:
        """What stands at a place."""
        current = self.root
        for number, step in enumerate(at, start=1):
            if not _holds(current, step):
                raise DialensError(f"There is no {_named(at[:number])} in the study file.")
            current = current[step]
        return current

    def dumped(self, value: Any) -> str:
        """A value as YAML."""
        stream = io.StringIO()
        self._yaml.dump(value, stream)
        return stream.getvalue()

    def entry(self, at: Place) -> tuple[int, int, int]:
        """First line, line after the last, and column of a block entry.

        Comments and blank lines after it are not part of it.
        """
        holder = self.value(at[:-1])
        if isinstance(holder, CommentedSeq):
            line = holder.lc.item(at[-1])[0]
            column = _indent(self.lines[line])
        else:
            line, column = holder.lc.key(at[-1])
        end = line + 1
        last = end
        while end < len(self.lines):
            written = self.lines[end].strip()
            same = isinstance(holder, CommentedMap) and written.startswith("- ")
            if written and not written.startswith("#"):
                depth = _indent(self.lines[end])
                if depth < column or (depth == column and not same):
                    break
                last = end + 1
            end += 1
        return line, last, column

    def comment(self, at: Place, line: int) -> str:
        """The comment at the end of the line on which an entry begins."""
        tokens = self.value(at[:-1]).ca.items.get(at[-1]) or []
        for token in tokens:
            mark = getattr(token, "start_mark", None)
            written = "" if mark is None or mark.line != line else self.lines[line][mark.column :]
            if written.startswith("#"):
                return written.strip()
        return ""

    def aliases(self) -> dict[int, list[Place]]:
        """Of values that stand in several places: the places, in the order of the file."""
        seen: dict[int, list[Place]] = {}

        def walk(value: Any, at: Place) -> None:
            if not isinstance(value, CommentedMap | CommentedSeq):
                return
            if value.anchor.value is not None:
                seen.setdefault(id(value), []).append(at)
                if len(seen[id(value)]) > 1:
                    return
            steps = list(value) if isinstance(value, CommentedMap) else range(len(value))
            for step in steps:
                walk(value[step], (*at, step))

        walk(self.root, ())
        return {value: places for value, places in seen.items() if len(places) > 1}


def _edited(text: str, change: Change) -> str:
    at, value = _Document(text).keys(change.at), change.value
    container = change.remove or isinstance(value, Mapping | list)
    text = _independent(text, at, whole=container and change.rename is None)
    document = _Document(text)
    if change.remove:
        return _removed(document, at)
    if change.rename is not None:
        return _renamed(document, at, change.rename)
    known = 0
    while known < len(at) and _holds(document.value(at[:known]), at[known]):
        known += 1
    if known == len(at):
        return _replaced(document, at, value)
    for step in reversed(at[known + 1 :]):
        value = [value] if isinstance(step, int) else {step: value}
    holder = document.value(at[:known])
    if not isinstance(holder, CommentedMap | CommentedSeq) or not len(holder):
        # Nothing yet, or an empty list: the key itself is written anew.
        whole = [value] if isinstance(at[known], int) else {at[known]: value}
        if known == 0:
            return text + document.dumped(whole)
        return _replaced(document, at[:known], whole)
    return _appended(document, at[: known + 1], value)


def _independent(text: str, at: Place, *, whole: bool) -> str:
    """The text with aliases written out that a change would touch or leave without their anchor."""
    while True:
        document = _Document(text)
        for first, *others in document.aliases().values():
            written_out = [place for place in others if at[: len(place)] == place]
            if whole and first[: len(at)] == at:
                written_out += [place for place in others if place[: len(at)] != at]
            if written_out:
                place = written_out[0]
                text = _replaced(document, place, _bare(document.value(place), anchors=False))
                break
        else:
            return text


def _replaced(document: _Document, at: Place, value: Any) -> str:
    holder = document.value(at[:-1])
    if not holder.fa.flow_style():
        return _lines_replaced(document, at, value)
    holder[at[-1]] = _flow(value)
    return _flow_replaced(document, at[:-1])


def _flow_replaced(document: _Document, at: Place) -> str:
    """Write a mapping or list in brackets anew, which may be part of a larger one."""
    while at and document.value(at[:-1]).fa.flow_style():
        at = at[:-1]
    if not at:
        return document.dumped(document.root)
    return _lines_replaced(document, at, _bare(document.value(at)))


def _lines_replaced(document: _Document, at: Place, value: Any) -> str:
    start, end, column = document.entry(at)
    made = _entry_lines(document, at, value, column)
    before = document.lines[start][:column]
    if before.strip():  # the first key of a list's entry stands after its dash
        made[0] = before + made[0][column:]
    comment = document.comment(at, start)
    if comment and "#" not in made[0]:
        made[0] = f"{made[0].rstrip()}  {comment}\n"
    return "".join([*document.lines[:start], *made, *document.lines[end:]])


def _appended(document: _Document, at: Place, value: Any) -> str:
    holder = document.value(at[:-1])
    if holder.fa.flow_style():
        if isinstance(holder, CommentedSeq):
            holder.append(_flow(value))
        else:
            holder[at[-1]] = _flow(value)
        return _flow_replaced(document, at[:-1])
    last = len(holder) - 1 if isinstance(holder, CommentedSeq) else list(holder)[-1]
    _, end, column = document.entry((*at[:-1], last))
    made = _entry_lines(document, at, value, column)
    if not document.lines[end - 1].endswith("\n"):
        document.lines[end - 1] += "\n"
    return "".join([*document.lines[:end], *made, *document.lines[end:]])


def _removed(document: _Document, at: Place) -> str:
    holder = document.value(at[:-1])
    document.value(at)
    if len(holder) == 1 and len(at) > 1:
        return _removed(document, at[:-1])
    if holder.fa.flow_style():
        del holder[at[-1]]
        return _flow_replaced(document, at[:-1])
    start, end, column = document.entry(at)
    kept = [*document.lines[:start], *document.lines[end:]]
    before = document.lines[start][:column]
    if before.strip():  # the next key moves behind the dash
        place = next(n for n in range(start, len(kept)) if kept[n].strip().partition("#")[0])
        kept[place] = before + kept[place][column:]
    return "".join(kept)


def _renamed(document: _Document, at: Place, name: str) -> str:
    holder = document.value(at[:-1])
    document.value(at)
    if not isinstance(holder, CommentedMap):
        raise DialensError(f"{_named(at)} is in a list and has no name.")
    if name in holder:
        raise DialensError(f"There is a {_named((*at[:-1], name))} already. Choose another name.")
    line, column = holder.lc.key(at[-1])
    old = document.lines[line]
    after = old[column:].partition(":")[2] if not old[column:].startswith(('"', "'")) else None
    if after is None:
        raise DialensError(f"{_named(at)} is in quotes; rename it in the file.")
    key = document.dumped({name: 0}).partition(": ")[0]
    document.lines[line] = f"{old[:column]}{key}:{after}"
    return "".join(document.lines)


def _entry_lines(document: _Document, at: Place, value: Any, column: int) -> list[str]:
    written = _written(value)
    whole = [written] if isinstance(at[-1], int) else {at[-1]: written}
    made = document.dumped(whole).splitlines(keepends=True)
    shift = column - _indent(made[0])
    return [_shifted(line, shift) if line.strip() else line for line in made]


def _shifted(line: str, shift: int) -> str:
    return " " * shift + line if shift >= 0 else line[-shift:]


def _written(value: Any) -> Any:
    """A value as it is written by hand: texts of several lines as blocks."""
    if isinstance(value, CommentedMap | CommentedSeq | ScalarString):
        return value
    if isinstance(value, str) and "\n" in value:
        lines = [line.rstrip() for line in value.replace("\r\n", "\n").split("\n")]
        return LiteralScalarString("\n".join(lines))
    if isinstance(value, Mapping):
        return {key: _written(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_written(part) for part in value]
    return value


def _flow(value: Any) -> Any:
    return value.replace("\n", " ") if isinstance(value, str) else value


def _bare(value: Any, *, anchors: bool = True) -> Any:
    """A copy without comments; those behind the value stay in the text as lines."""
    made: CommentedMap | CommentedSeq
    if isinstance(value, CommentedMap):
        made = CommentedMap((key, _bare(part, anchors=anchors)) for key, part in value.items())
    elif isinstance(value, CommentedSeq):
        made = CommentedSeq(_bare(part, anchors=anchors) for part in value)
    else:
        return value
    if value.fa.flow_style():
        made.fa.set_flow_style()
    if anchors and value.anchor.value is not None:
        made.yaml_set_anchor(value.anchor.value, always_dump=True)
    return made


def _holds(container: Any, step: str | int) -> bool:
    if isinstance(container, CommentedSeq):
        return isinstance(step, int) and 0 <= step < len(container)
    return isinstance(container, CommentedMap) and step in container


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _named(at: Place) -> str:
    return ".".join(map(str, at))
