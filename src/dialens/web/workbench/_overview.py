"""The first page: what the folder holds, how it hangs together, and what is stale."""

from dataclasses import dataclass

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse, Response

from dialens.web.workbench._desk import Desk
from dialens.workbench import KIND_WORDS, Catalogue, Item, sentence

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
    """

    item: Item
    number: int
    word: str
    children: tuple["Node", ...]
    also: tuple[str, ...]
    elsewhere: bool


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
            nodes=forest(catalogue),
            stale=[item for item in catalogue.items if item.state != "current"],
            catalogue=catalogue,
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


def forest(catalogue: Catalogue) -> tuple[Node, ...]:
    """The items as trees: what was made from something stands below it.

    What was made from several stands below the one that is furthest on: a validation below the
    scores rather than below their conversations.
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
        )

    return tuple(node(item) for item in catalogue.items if item.name not in parent)


def _sources(item: Item) -> list[str]:
    names = [source.item for source in item.sources]
    return [name for name in names if name is not None and name != item.name]
