"""Finished reports, and a browser that opens them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from dialens import Corpus, Resources, score
from dialens.report import Summary, write_report
from tests.report.material import record, two_agents

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Make = Callable[..., Summary]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Scores a corpus and writes its report."""

    def made(
        corpus: Corpus, *, metrics: list[str] | None = None, hour: int = 9, **options: Any
    ) -> Summary:
        resources = Resources()
        scores = score(corpus, metrics=metrics, resources=resources)
        return write_report(
            scores,
            corpus,
            tmp_path / f"report-{hour}.html",
            run=record(corpus, scores, resources, hour),
            resources=resources,
            **options,
        )

    return made


@pytest.fixture(scope="session")
def two_agents_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two agents, made once."""
    corpus, resources = two_agents(), Resources()
    scores = score(corpus, resources=resources)
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(
        scores,
        corpus,
        path,
        run=record(corpus, scores, resources),
        resources=resources,
        title="Two",
    )
    return path


class Visit:
    """A page in a browser that writes down what goes wrong."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda m: self.complaints.append(f"{m.type}: {m.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_function("document.querySelectorAll('.drawing svg').length > 0")

    def drawn(self) -> None:
        """Waits until every chart is there that is not folded away."""
        self.page.wait_for_function(
            """() => [...document.querySelectorAll('[data-figure]')]
              .filter((figure) => !figure.closest('details.fold:not([open])'))
              .every((figure) => figure.querySelector('.drawing').textContent)"""
        )

    @property
    def foreign(self) -> list[str]:
        return [u for u in self.requests if not u.startswith(("file:", "data:", "blob:"))]

    def wide(self) -> int:
        """By how many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


Visitor = Callable[..., Visit]


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visitor]:
    """Opens a report as a file; at the end nothing may have complained or gone out."""
    visits: list[Visit] = []
    contexts = []

    def opened(
        path: Path,
        *,
        width: int = 1280,
        height: int = 800,
        scheme: Literal["light", "dark"] = "light",
    ) -> Visit:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
        )
        contexts.append(context)
        visits.append(Visit(context.new_page(), path))
        return visits[-1]

    yield opened
    complaints = [complaint for visit in visits for complaint in visit.complaints]
    foreign = [url for visit in visits for url in visit.foreign]
    for context in contexts:
        context.close()
    assert complaints == []
    assert foreign == []
