"""The part of a comparison's page that shows which dialogues make one difference."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from dialens.base import counted, number
from dialens.report import Scale, scale_of, short_names
from dialens.web.workbench._desk import Desk
from dialens.workbench import (
    Behind,
    Comparison,
    Index,
    Part,
    Parts,
    View,
    behind,
    collections_of,
)

_TEXT = 160


def difference_part(
    desk: Desk, opened: Comparison, metric: str, a: str, b: str
) -> dict[str, Any] | None:
    """What the template shows of the dialogues behind a row; None if no row is asked for."""
    if not metric:
        return None
    row = opened.row(metric, a, b)
    if row is None:
        return {"title": "Dialogues", "unseen": "This comparison has no such row."}
    rows = short_names(opened.table).filter(metric=metric)
    scale = scale_of(rows, opened.cards[metric])
    short = _short(opened, a, b)
    label = opened.cards[metric].long_label
    title = f"{label}: the dialogues behind {short[0]} − {short[1]}"
    if row["difference"] is None:
        return {"title": title, "unseen": f"There is no difference here: {row['reason']}."}
    index = desk.workbench.index  # the same throughout: numbers of dialogues are an index's own
    found = behind(opened, row, index, collections_of(desk.workbench.catalogue))
    if isinstance(found, str):
        return {"title": title, "unseen": found}
    if not found.parts:
        return {"title": title, "unseen": "No dialogue of a side has a value of this metric."}
    return {
        "title": title,
        "unseen": "",
        "paired": found.paired,
        "names": short,
        "sentence": _sentence(row, found, short, scale),
        "changed": found.changed,
        "blocks": [
            _block(index, found, place, parts, short, scale)
            for place, parts in enumerate(found.parts)
        ],
        "metric_page": f"/metric?{urlencode({'name': found.columns[0].name, 'level': 'dialog'})}",
    }


def _short(opened: Comparison, a: str, b: str) -> tuple[str, str]:
    names = short_names(opened.table)
    at = opened.table.with_row_index().filter(a=a, b=b)["index"][0]
    return names["a"][at], names["b"][at]


def _sentence(row: Mapping[str, Any], found: Behind, names: tuple[str, str], scale: Scale) -> str:
    """The answer: where the difference comes from."""
    parts = found.parts[0]
    unit = "shared opening" if found.paired else "dialogue"
    way = "above" if parts.difference >= 0 else "below"
    points = " points" if scale.percent else ""
    size = f"{scale.number(abs(parts.difference))}{points}"
    if found.paired:
        said = (
            f"Over {counted(parts.units, unit)}, {names[0]} is on average {size} {way} {names[1]}; "
            f"{_so_many(parts)} go that way."
        )
    else:
        said = (
            f"{names[0]}’s {counted(parts.units, 'dialogue')} are on average {size} {way} the mean "
            f"of {names[1]}; {_so_many(parts)} lie on that side."
        )
    tested = row["difference"]
    if tested * parts.difference < 0:
        return (
            f"{said} The tested difference ({scale.number(tested)}{points}), which counts "
            "turns rather than dialogues alike, goes the other way."
        )
    return f"{said} The tested difference is {scale.number(tested)}{points}."


def _so_many(parts: Parts) -> str:
    return "all" if parts.for_it == parts.units else f"{parts.for_it:,} of them"


def _block(
    index: Index,
    found: Behind,
    place: int,
    parts: Parts,
    names: tuple[str, str],
    scale: Scale,
) -> dict[str, Any]:
    """A table of units: all where they are paired, else those of one side."""
    numbers = [part.talk for part in (*parts.first, *parts.against)]
    talks = _talks(index, numbers)
    source, agents = found.sources[place], found.agents[place]
    column = found.columns[place]
    higher = (parts.difference >= 0) == (place == 0)
    view = View(
        level="dialog",
        sort=column.name,
        descending=higher,
        choices={"source": (source,)} | ({"agent": agents} if agents else {}),
        columns=("agent", "turns", column.name),
    )
    share = parts.first_share
    return {
        "head": "" if found.paired else f"{names[place]}’s dialogues",
        "note": _share_note(parts, share, paired=found.paired),
        "shares": share is not None,
        "first": [_unit(part, talks, found, place, scale) for part in parts.first],
        "against": [_unit(part, talks, found, place, scale) for part in parts.against],
        "more": "" if found.paired else f"/conversations?{view.address()}",
        "missing": parts.missing,
        "units": parts.units,
    }


def _share_note(parts: Parts, share: float | None, *, paired: bool) -> str:
    unit = "opening" if paired else "dialogue"
    if share is None:
        return (
            f"The {unit}s differ in both directions and nearly cancel out, so shares in the "
            "difference would say nothing. These are the largest."
        )
    shown = len(parts.first)
    even = shown / parts.units
    return (
        f"The first {counted(shown, unit)} of {parts.units:,} make "
        f"{number(share, percent=True)} of the difference; were all alike it would be "
        f"{number(even, percent=True)}."
    )


def _talks(index: Index, numbers: list[int]) -> dict[int, dict[str, Any]]:
    if not numbers:
        return {}
    marks = ",".join("?" * len(numbers))
    rows = index.sql(
        f"select talk, source, dialog, opening, opening_text from dialogs where talk in ({marks})",
        numbers,
    )
    names = ("talk", "source", "dialog", "opening", "text")
    return {row[0]: dict(zip(names, row, strict=True)) for row in rows}


def _unit(
    part: Part,
    talks: Mapping[int, Mapping[str, Any]],
    found: Behind,
    place: int,
    scale: Scale,
) -> dict[str, Any]:
    talk = talks[part.talk]
    link = [("source", talk["source"]), ("dialog", talk["dialog"])]
    open_at = f"/dialogue?{urlencode(link)}"
    if found.paired and talk["opening"] is not None:
        agents = [("agent", name) for own in found.agents for name in own]
        asked = [
            ("opening", talk["opening"]),
            *dict.fromkeys(agents),
            ("metric", found.columns[0].name),
        ]
        open_at = f"/side-by-side?{urlencode(asked)}"
    text = " ".join((talk["text"] or "").split())
    points = " points" if scale.percent else ""
    own, gap = (part.value_a, part.difference) if place == 0 else (part.value_b, -part.difference)
    return {
        "open": open_at,
        "dialog": talk["dialog"],
        "text": text[:_TEXT] + (" …" if len(text) > _TEXT else ""),
        "value_a": scale.text(part.value_a),
        "value_b": scale.text(part.value_b),
        "own": scale.text(own),
        "difference": f"{scale.number(gap)}{points}",
        "share": "–" if part.share is None else number(part.share, percent=True),
    }
