"""The first page: what the folder holds, how it hangs together, and what is stale."""

import shlex
from collections.abc import Collection
from dataclasses import dataclass

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse, Response

from dialens.base import counted
from dialens.web.workbench._desk import Desk, address
from dialens.workbench import (
    KIND_WORDS,
    Catalogue,
    Item,
    compare_command,
    not_compared,
    sentence,
    shown_path,
)

_MOST_UNREAD = 20

_REPORT_HEADERS = {
    "content-security-policy": "sandbox allow-scripts allow-downloads allow-popups; "
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    # Browsers refuse a sandboxed page that wants to be alone with its openers.
    "cross-origin-opener-policy": "unsafe-none",
}
"""A report has scripts of its own; here it has no origin, so that it can ask nothing of us."""


@dataclass(frozen=True)
class Node:
    """An item, and what was made from it.

    Attributes:
        item: The item.
        number: Its place in the catalogue.
        word: What it is called.
        children: Made from it, each shown once.
        also: Names of the further items that it was made from.
        elsewhere: Whether it lies outside of the folder.
        page: Words and address of the page that shows it, if one does.
        files: Files that it was made from and that are no items.
    """

    item: Item
    number: int
    word: str
    children: tuple["Node", ...]
    also: tuple[str, ...]
    elsewhere: bool
    page: tuple[str, str] | None = None
    files: tuple[str, ...] = ()


def routes(desk: Desk) -> APIRouter:
    """The overview, and the reports of items."""
    router = APIRouter()

    @router.get("/")
    def overview() -> Response:
        desk.workbench.look()
        catalogue = desk.workbench.catalogue
        return desk.render(
            "overview",
            here="/",
            sentence=sentence(catalogue),
            nodes=forest(catalogue, _sources_read(desk)),
            stale=[item for item in catalogue.items if item.state != "current"],
            catalogue=catalogue,
            unread=catalogue.unread[:_MOST_UNREAD],
            more_unread=max(0, len(catalogue.unread) - _MOST_UNREAD),
            notes=(*catalogue.notes, *desk.workbench.index.notes),
            trouble=desk.workbench.trouble,
            step=next_step(catalogue, flags=desk.workbench.notebook.flags().height),
        )

    @router.get("/reports/{name:path}")
    def report(name: str) -> Response:
        item = desk.item(name)
        page = item.report
        home = item.path if item.path.is_dir() else item.path.parent
        if page is None or not page.is_file() or page.resolve().parent != home.resolve():
            raise HTTPException(404, f"{item.name} has no report.")
        return FileResponse(page, media_type="text/html; charset=utf-8", headers=_REPORT_HEADERS)

    return router


@dataclass(frozen=True)
class Step:
    """What could be done next.

    Attributes:
        sentence: In words.
        link: What leads to the page on which it is done.
        address: Of that page.
        command: The command that does the same, if there is one.
    """

    sentence: str
    link: str
    address: str
    command: str | None = None


def next_step(catalogue: Catalogue, *, flags: int = 0) -> Step | None:
    """What to do next with a folder; None where there are no conversations, or all is done.

    Args:
        catalogue: What the folder holds.
        flags: How many flags were set.
    """
    talks, scores = catalogue.of("corpus"), catalogue.of("scores")
    if talks and not scores:
        folder = catalogue.folder / "scores"
        command = ["dialens", "score", shown_path(talks[-1].path), "-o", shown_path(folder)]
        return Step("Nothing is scored yet.", "Score it under Runs", "/runs", shlex.join(command))
    several = [item for item in not_compared(catalogue) if item.counts.get("agents", 0) > 1]
    if several and not catalogue.of("comparison"):
        words = "The agents are scored and not compared yet."
        return Step(words, "Compare them under Runs", "/runs", compare_command(several[0]))
    if flags and not catalogue.of("study"):
        words = f"{counted(flags, 'flag')} set: ask people about those turns."
        return Step(words, "Choose them, and make a study", "/conversations")
    return None


def _sources_read(desk: Desk) -> set[str]:
    return {
        str(name) for (name,) in desk.workbench.index.sql("SELECT DISTINCT source FROM dialogs")
    }


def _page(item: Item, read: Collection[str]) -> tuple[str, str] | None:
    """The page that shows an item, with the words of the link."""
    if item.kind == "corpus" and item.name in read:
        return "Read them", address("/conversations", source=item.name)
    if item.kind == "scores":
        return "See them by turn", address("/conversations")
    if item.kind in ("comparison", "study"):
        return f"See the {item.kind}", address(f"/{item.kind}", name=item.name)
    return None


def forest(catalogue: Catalogue, read: Collection[str] = ()) -> tuple[Node, ...]:
    """The items as trees: what was made from something stands below it.

    What was made from several stands below the one that is furthest on: a validation below the
    scores rather than below their conversations. Conversations lead to their page where they are
    among those that were `read`.
    """
    order = {item.name: number for number, item in enumerate(catalogue.items)}
    parent: dict[str, str] = {}
    for item in catalogue.items:
        above = [name for name in _sources(item) if order[name] < order[item.name]]
        if above:
            parent[item.name] = max(above, key=lambda name: order[name])

    def node(item: Item) -> Node:
        below = [child for child in catalogue.items if parent.get(child.name) == item.name]
        others = (name for name in _sources(item) if name != parent.get(item.name))
        return Node(
            item,
            order[item.name],
            KIND_WORDS[item.kind][0],
            tuple(map(node, below)),
            tuple(dict.fromkeys(others)),
            not item.path.is_relative_to(catalogue.folder),
            _page(item, read),
            tuple(dict.fromkeys(one.path.name for one in item.sources if one.item is None)),
        )

    return tuple(node(item) for item in catalogue.items if item.name not in parent)


def _sources(item: Item) -> list[str]:
    names = [source.item for source in item.sources]
    return [name for name in names if name is not None and name != item.name]
