"""Where two definitions of a study differ, place by place."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dialens.studies._types import JSON

ITEMS = ("items", "practice", "gold")

_MOST = 60


@dataclass(frozen=True)
class Difference:
    """A place where a study is not as it was announced."""

    place: str
    announced: str
    found: str

    def __str__(self) -> str:
        return f"{self.place}: announced {self.announced}, found {self.found}"


def changed_places(before: Mapping[str, JSON], after: Mapping[str, JSON]) -> list[str]:
    """The places of a definition that changed."""
    return [difference.place for difference in definition_differences(before, after)]


def definition_differences(
    before: Mapping[str, JSON], after: Mapping[str, JSON]
) -> list[Difference]:
    """Where one definition is not the other: settings, and items by their ids."""
    found = list(compared(before["design"], after["design"]))
    for part in ITEMS:
        found += _items(part, before[part], after[part])
    own, other = before.get("translations", {}), after.get("translations", {})
    for language in dict.fromkeys((*own, *other)):
        old, new = own.get(language, {}), other.get(language, {})
        place = f"translations.{language}"
        found += compared(old.get("design"), new.get("design"), place)
        for part in ITEMS:
            if old.get(part, before[part]) != new.get(part, after[part]):
                found.append(Difference(f"{place}.{part}", f"other {part}", f"these {part}"))
    return found


def compared(before: JSON, after: JSON, place: str = "") -> Iterator[Difference]:
    """Where two values differ, section by section."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            inside = f"{place}.{key}" if place else str(key)
            yield from compared(before.get(key), after.get(key), inside)
    else:
        yield Difference(place, _short(before), _short(after))


def _items(part: str, before: list[JSON], after: list[JSON]) -> Iterator[Difference]:
    """Items by their ids: how many are new, gone, changed."""
    old, new = ({item["id"]: item for item in items} for items in (before, after))
    changed = [name for name in old if name in new and old[name] != new[name]]
    gone, added = [n for n in old if n not in new], [n for n in new if n not in old]
    for what, names in (("changed", changed), ("left out", gone), ("added", added)):
        if names:
            some = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
            yield Difference(part, f"{len(old)} {part}", f"{len(names)} {what} ({some})")


def _short(value: JSON) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST else f"{text[: _MOST - 2]} …"
