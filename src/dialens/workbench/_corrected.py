"""What analyses of studies say of agents, as columns: means by the models, and with a judge's help.

`dialens study analyze` estimates each agent's mean with raters and items as samples (`agents`),
and, where a judge rated more replies than people, what people would have said of all of them
(`judged_agents`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import polars as pl

from dialens.workbench._catalogue import Catalogue, Item
from dialens.workbench._columns import PEOPLE, Column

ANALYSIS = "analysis.json"
_GROUP = "From analyses of studies"
_MOST_BYTES = 64 * 1_048_576
_TABLES = {
    "agents": ("analysed", "mean", "{quality} (analysed, {item})",
               "Mean of {quality} by the model of {item}, which takes raters and items as samples"),
    "judged_agents": ("corrected", "estimate", "{quality} (people and judge, {item})",
                      "What people say of {quality}, corrected with a judge, by {item}"),
}  # fmt: skip


@dataclass(frozen=True)
class Corrected:
    """Values of agents, and the columns that they stand in.

    Attributes:
        agents: A row an agent, with `source` (null: any), `agent` and the columns.
        columns: What they mean.
    """

    agents: pl.DataFrame
    columns: tuple[Column, ...]

    @classmethod
    def none(cls) -> Self:
        """No analysis has said anything."""
        return cls(pl.DataFrame(schema={"source": pl.String, "agent": pl.String}), ())


@dataclass
class Analyses:
    """The analyses of a folder, each read once."""

    _read: dict[Path, tuple[tuple[int, int], Mapping[str, Any]]] = field(default_factory=dict)

    def follow(self, catalogue: Catalogue) -> tuple[Corrected, tuple[object, ...]]:
        """What they say now, and what changes with it."""
        items = [item for item in catalogue.of("analysis") if (item.path / ANALYSIS).is_file()]
        token: list[object] = []
        rows: dict[str, dict[str, Any]] = {}
        columns: list[Column] = []
        for item in items:
            stamp, content = self._content(item.path / ANALYSIS)
            token.append((item.name, *stamp))
            for table, (kind, value, label, about) in _TABLES.items():
                found = _means(content.get(table), value)
                for quality, means in found.items():
                    column = _column(kind, quality, item, label, about, len(columns))
                    columns.append(column)
                    for agent, mean in means.items():
                        row = rows.setdefault(agent, {"source": None, "agent": agent})
                        row[column.sql] = mean
        schema = {"source": pl.String, "agent": pl.String}
        kinds = schema | {column.sql: pl.Float64 for column in columns}
        return Corrected(pl.DataFrame(list(rows.values()), schema=kinds), tuple(columns)), tuple(
            token
        )

    def _content(self, path: Path) -> tuple[tuple[int, int], Mapping[str, Any]]:
        try:
            found = path.stat()
            stamp = (found.st_size, found.st_mtime_ns)
            if path in self._read and self._read[path][0] == stamp:
                return self._read[path]
            content = json.loads(path.read_text("utf-8")) if stamp[0] <= _MOST_BYTES else {}
        except (OSError, ValueError, RecursionError):
            return (-1, -1), {}
        self._read[path] = stamp, content if isinstance(content, Mapping) else {}
        return self._read[path]


def _means(table: object, value: str) -> dict[str, dict[str, float]]:
    """Means by quality and agent; rows of pairs of agents are differences and left out."""
    found: dict[str, dict[str, float]] = {}
    rows: Sequence[Any] = table if isinstance(table, list) else ()
    for row in rows:
        if not isinstance(row, Mapping) or row.get("other") is not None:
            continue
        mean, agent, quality = row.get(value), row.get("agent"), row.get("quality")
        if isinstance(mean, int | float) and isinstance(agent, str) and isinstance(quality, str):
            found.setdefault(quality, {})[agent] = float(mean)
    return found


def _column(kind: str, quality: str, item: Item, label: str, about: str, place: int) -> Column:
    names = {"quality": quality, "item": item.name}
    return Column(
        name=f"{kind}:{quality}@{item.name}",
        label=label.format(**names),
        kind=PEOPLE,
        group=_GROUP,
        sql=f"c{place}",
        live=True,
        about=about.format(**names),
        run=item.name,
    )
