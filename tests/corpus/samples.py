"""What a sample of a format is: the same conversations in it, and ways to break each."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ODD = "narrator"


@dataclass(frozen=True)
class Talk:
    """A conversation in which partner and agent alternate and the agent has the last word."""

    id: str
    texts: tuple[str, ...]

    @property
    def roles(self) -> tuple[str, ...]:
        count = len(self.texts)
        return tuple("agent" if (count - place) % 2 else "partner" for place in range(count))


TALKS = (
    Talk("d1", ("Grüße, 你好 👩‍👩‍👧!", "مرحبا — e\u0301clair")),
    Talk("d2", ("Is it raining?", "A little.", "Shall we go?", 'Yes: now, "dear" {friend}.')),
    Talk("d3", ("Say nothing", "")),
)


@dataclass(frozen=True)
class Break:
    """A broken file: its bytes, the line at fault, the field, and how many talks survive."""

    data: bytes
    line: int
    field: str
    survive: int


@dataclass(frozen=True)
class Sample:
    """How conversations look in one format."""

    name: str
    file: str
    encode: Callable[[tuple[Talk, ...]], bytes]
    only_response: bool = False
    has_ids: bool = True
    ids: tuple[str, ...] | None = None
    twice: bool = False
    folder: str | None = None
    beside: dict[str, str] = field(default_factory=dict)
    breaks: dict[str, Callable[[], Break]] = field(default_factory=dict)
    truncation_shows: bool = True

    def build(self, root: Path, talks: tuple[Talk, ...] = TALKS) -> tuple[Path, Path]:
        """Write the source; what to read, and the file in which its text stands."""
        return self.place(root, self.encode(talks))

    def place(self, root: Path, data: bytes) -> tuple[Path, Path]:
        home = root / self.folder if self.folder else root
        home.mkdir(parents=True, exist_ok=True)
        for name, text in self.beside.items():
            (home / name).write_text(text)
        path = home / self.file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return (home if self.folder else path), path

    def expected(self, talks: tuple[Talk, ...] = TALKS) -> list[tuple[str, str]]:
        """Role and text of every turn."""
        return [
            ("partner" if self.only_response and place < len(talk.texts) - 1 else role, text)
            for talk in talks
            for place, (role, text) in enumerate(zip(talk.roles, talk.texts, strict=True))
        ]


Record = dict[str, Any]
Path_ = tuple[str | int, ...]


def field_name(path: Path_) -> str:
    name = ""
    for step in path:
        name += f"[{step}]" if isinstance(step, int) else f".{step}" if name else step
    return name


def lines_of(records: list[Record]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def array_of(records: list[Record]) -> bytes:
    inside = ",\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    return f"[\n{inside}\n]\n".encode()


def json_sample(
    name: str,
    file: str,
    record: Callable[[Talk], Record],
    *,
    text: Path_,
    needed: Path_ | None = None,
    role: Path_ | None = None,
    array: bool = False,
    **options: Any,
) -> Sample:
    """A format of JSON records; `text`, `needed` and `role` say where to break one."""
    pack = array_of if array else lines_of
    first = 2 if array else 1

    def broken(change: Callable[[Any, Any], None], path: Path_) -> Callable[[], Break]:
        def build() -> Break:
            records = [copy.deepcopy(record(talk)) for talk in TALKS]
            target: Any = records[1]
            for step in path[:-1]:
                target = target[step]
            change(target, path[-1])
            return Break(pack(records), first + 1, field_name(path), len(TALKS) - 1)

        return build

    def wrong(target: Any, key: Any) -> None:
        target[key] = {"no": "text"}

    def drop(target: Any, key: Any) -> None:
        del target[key]

    def odd(target: Any, key: Any) -> None:
        target[key] = ODD

    breaks = {"wrong type": broken(wrong, text), "missing field": broken(drop, needed or text)}
    if role:
        breaks["odd role"] = broken(odd, role)
    return Sample(
        name, file, lambda talks: pack([record(t) for t in talks]), breaks=breaks, **options
    )
