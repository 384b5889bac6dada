"""Names and tables fit the page, on a screen and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialens import Corpus, Resources, score
from dialens.corpus import Dialogue
from dialens.report import write_report
from tests.report.conftest import Visitor
from tests.report.material import ASKING, FLAT, record, talk

NAMES = {
    "tools / gpt-4o": ("tools", "gpt-4o"),
    "tools / gpt-4o-mini": ("tools", "gpt-4o-mini"),
    "m_a / gpt-4o": ("m_a", "gpt-4o"),
    "hf_messages": ("hf_messages", "hf_messages"),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four agents of three systems, with names as models have them."""
    talks: list[Dialogue] = []
    for place, (system, agent) in enumerate(NAMES.values()):
        lines = ASKING if place % 2 else FLAT
        talks += [talk(agent, 100 * place + n, lines, system) for n in range(6)]
    corpus, resources = Corpus.of(talks), Resources()
    scores = score(corpus, resources=resources)
    path = tmp_path_factory.mktemp("fit") / "report.html"
    write_report(scores, corpus, path, run=record(corpus, scores, resources), resources=resources)
    return path


@pytest.mark.parametrize("width", [1280, 390])
def test_no_name_is_cut_or_broken(report: Path, visit: Visitor, width: int) -> None:
    seen = visit(report, width=width)
    seen.drawn()
    assert seen.wide() <= 0
    page = seen.page
    place = "[data-figure=profile-traits] .drawing"
    texts = page.eval_on_selector_all(f"{place} svg text", "all => all.map((t) => t.textContent)")
    assert set(NAMES) <= set(texts)
    assert not [text for text in texts if "…" in text]
    assert any("Empathic concern" in text for text in texts)
    cut = """(all) => { const box = all[0].closest(".drawing").getBoundingClientRect();
      return all.map((t) => [t.textContent, t.getBoundingClientRect()])
        .filter(([, r]) => r.left < box.left - 1 || r.right > box.right + 1).map(([t]) => t); }"""
    assert page.eval_on_selector_all(f"{place} svg text", cut) == []
    lines = """(all) => all.filter((one) => one.getClientRects().length > 1)
      .map((one) => one.textContent)"""
    assert page.eval_on_selector_all("#table-agents .who .whole, .among .whole", lines) == []
    assert page.eval_on_selector_all(
        "#table-agents .who a", "a => a.map((x) => x.textContent)"
    ) == (list(NAMES))


def test_tables_of_few_agents_do_not_scroll_on_a_screen(report: Path, visit: Visitor) -> None:
    page = visit(report).page
    page.eval_on_selector_all(
        "section[aria-labelledby=agents] details", "a => a.map((d) => d.open = true)"
    )
    wide = """(all) => all.filter((s) => s.scrollWidth > s.clientWidth + 1)
      .map((s) => s.getAttribute("aria-labelledby"))"""
    assert page.eval_on_selector_all("section[aria-labelledby=agents] .scroller", wide) == []
    assert page.locator("#table-agents-2").count() == 1
    link = page.locator("a[download='agents.csv']")
    assert link.count() == 1
