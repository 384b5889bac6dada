"""Comparisons: what differs, the forest plot, and the dialogues that make a difference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import polars as pl
from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

from dialens.analysis.comparison import by_size, cards_as_compared
from dialens.base import DialensError, counted, first_line, number, p_value
from dialens.report import Scale, is_clear, scale_of, short_names
from dialens.web.workbench._desk import Desk
from dialens.web.workbench._difference_part import difference_part
from dialens.web.workbench._forest import Axis, Place
from dialens.workbench import (
    Comparison,
    Item,
    collections_of,
    compare_command,
    newest_first,
    not_compared,
    open_comparison,
    source_of_run,
)

_LIST, _ONE = "/comparisons", "/comparison"
_MOST = 30
_SORTS = {"size": "the largest first", "p": "the smallest p first", "name": "by name"}
_HEADLINE = "headline"
_COLUMNS = 6


@dataclass(frozen=True)
class Chosen:
    """What of a comparison is asked for: the parameters of its address."""

    name: str
    family: str = ""
    pair: str = ""
    clear: bool = False
    sort: str = "size"
    every: bool = False
    metric: str = ""
    a: str = ""
    b: str = ""

    def address(self, **changes: Any) -> str:
        """The address with some things changed; what is usual is left out."""
        asked = vars(self) | changes
        usual = vars(Chosen(self.name)) | {"name": None}
        flags = {key: "1" if value is True else value for key, value in asked.items()}
        return f"{_ONE}?{urlencode({k: v for k, v in flags.items() if asked[k] != usual[k]})}"


def routes(desk: Desk) -> APIRouter:
    """The list of comparisons, and one of them."""
    router = APIRouter()

    @router.get(_LIST)
    def comparisons() -> Response:
        desk.workbench.follow()
        items = newest_first(desk.workbench.catalogue.of("comparison"))
        looks = _quick_looks(desk)
        return desk.render(
            "comparisons",
            here=_LIST,
            answer=_list_answer(items, looks),
            entries=[_entry(desk, item) for item in items],
            looks=looks,
            amount=lambda value, percent: number(value, percent=percent),
        )

    @router.get(_ONE)
    def comparison(
        name: str,
        *,
        family: str = "",
        pair: str = "",
        clear: bool = False,
        sort: str = "size",
        every: bool = False,
        metric: str = "",
        a: str = "",
        b: str = "",
    ) -> Response:
        desk.workbench.follow()
        item = desk.item(name)
        if item.kind != "comparison":
            raise HTTPException(404, f"{name} is no comparison. All of them: {_LIST}")
        opened = open_comparison(item, desk.workbench.catalogue)
        sort = sort if sort in _SORTS else "size"
        asked = Chosen(name, family, pair, clear, sort, every, metric, a, b)
        return desk.render("comparison", here=_LIST, **_page(desk, opened, asked))

    return router


def _list_answer(items: Sequence[Item], looks: Sequence[Mapping[str, Any]]) -> str:
    if items:
        stale = sum(item.state == "stale" for item in items)
        of_them = f"; {counted(stale, 'is', 'are')} stale" if stale else ""
        return f"{counted(len(items), 'comparison')}, the newest first{of_them}."
    if looks:
        return "Nothing has been compared yet. Below are the plain means, which are not tested."
    return (
        "Nothing has been compared yet, and no scores here have several agents. Score "
        "conversations of two agents or more, then run dialens compare."
    )


def _entry(desk: Desk, item: Item) -> dict[str, Any]:
    """A comparison with its first sentence, or why it cannot be read."""
    try:
        sentence, broken = open_comparison(item, desk.workbench.catalogue).lines[0], False
    except DialensError as error:
        sentence, broken = first_line(error), True
    open_at = Chosen(item.name).address()
    return {"item": item, "sentence": sentence, "broken": broken, "open": open_at}


def _quick_looks(desk: Desk) -> list[dict[str, Any]]:
    """Means by agent of scores that nobody has compared yet; nothing is tested."""
    index = desk.workbench.index
    columns = index.columns("dialog")
    collections = collections_of(desk.workbench.catalogue)
    made = []
    for run in not_compared(desk.workbench.catalogue):
        own = [c for c in columns.values() if c.run == run.name and c.headline is not None]
        shown = sorted(own, key=lambda column: (column.headline, column.name))[:_COLUMNS]
        source = source_of_run(run, collections)
        if source is None or not shown:
            continue
        means = ", ".join(f'avg("{column.sql}")' for column in shown)
        rows = index.sql(
            f"select agent, count(*), {means} from dialogs where source = ? "
            "group by system, agent order by system, agent",
            (source,),
        )
        if len(rows) > 1:
            command = compare_command(run)
            made.append({"run": run, "columns": shown, "rows": rows, "command": command})
    return made


def _page(desk: Desk, opened: Comparison, asked: Chosen) -> dict[str, Any]:
    lines = opened.lines
    table = short_names(opened.table).with_columns(
        full_a=opened.table["a"], full_b=opened.table["b"]
    )
    cards = cards_as_compared(opened.table, opened.cards)
    families = list(dict.fromkeys(card.family_label for card in cards.values()))
    pairs = table.select("full_a", "full_b", "a", "b").unique(maintain_order=True).rows()
    kept = _kept(table, opened, asked)
    shown = kept if asked.every else kept.head(_MOST)
    scales = {
        name: scale_of(table.filter(metric=name), cards[name]) for name in shown["metric"].unique()
    }
    rows = shown.to_dicts()
    places = [Place.of(row) for row in rows]
    axis = Axis.of(places)
    return {
        "item": opened.item,
        "answer": lines[0],
        "lines": lines[1:],
        "asked": asked,
        "families": families,
        "pairs": [(_pair(*pair[:2]), f"{pair[2]} − {pair[3]}") for pair in pairs],
        "sorts": _SORTS,
        "axis": axis,
        "rows": [
            _row(row, cards[row["metric"]].long_label, scales[row["metric"]], axis, place, asked)
            for row, place in zip(rows, places, strict=True)
        ],
        "total": table.height,
        "kept": kept.height,
        "undrawn": sum(place is None for place in places),
        "part": difference_part(desk, opened, asked.metric, asked.a, asked.b),
        "back": asked.address(metric="", a="", b=""),
        "all_rows": asked.address(every=True),
        "unfiltered": Chosen(asked.name).address(),
    }


def _pair(a: str, b: str) -> str:
    """A pair as one value of a form; both names, told apart whatever they hold."""
    return urlencode({"a": a, "b": b})


def _kept(table: pl.DataFrame, opened: Comparison, asked: Chosen) -> pl.DataFrame:
    """The rows that the filters leave, in the order asked for."""
    label = pl.col("metric").replace_strict(
        {name: card.long_label for name, card in opened.cards.items()}, return_dtype=pl.String
    )
    if asked.family == _HEADLINE:
        table = table.filter("headline")
    elif asked.family:
        own = [n for n, card in opened.cards.items() if card.family_label == asked.family]
        table = table.filter(pl.col("metric").is_in(own))
    if asked.pair:
        written = [_pair(a, b) for a, b in table.select("full_a", "full_b").iter_rows()]
        table = table.filter(pl.Series(written, dtype=pl.String) == asked.pair)
    if asked.clear:
        table = table.filter([is_clear(row) for row in table.iter_rows(named=True)])
    if asked.sort == "p":
        return table.sort("p_adjusted", "p", nulls_last=True, maintain_order=True)
    if asked.sort == "name":
        return table.sort(label.str.to_lowercase(), "a", "b", maintain_order=True)
    return by_size(table)


def _row(
    row: Mapping[str, Any],
    label: str,
    scale: Scale,
    axis: Axis,
    place: Place | None,
    asked: Chosen,
) -> dict[str, Any]:
    """What the template shows of a row."""
    a, b = row["full_a"], row["full_b"]
    points = " points" if scale.percent else ""
    difference = row["difference"]
    open_at = asked.address(metric=row["metric"], a=a, b=b)
    return {
        "label": label,
        "pair": f"{row['a']} − {row['b']}",
        "values": f"{scale.text(row['value_a'])} and {scale.text(row['value_b'])}",
        "difference": "–" if difference is None else scale.number(difference) + points,
        "interval": scale.interval(row["low"], row["high"]),
        "p": p_value(row["p_adjusted"]),
        "reason": row["reason"] or "",
        "is_clear": is_clear(row),
        "svg": axis.draw(place, clear=is_clear(row)),
        "open": f"{open_at}#dialogues",
        "current": (asked.metric, asked.a, asked.b) == (row["metric"], a, b),
    }
