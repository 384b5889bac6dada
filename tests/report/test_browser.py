"""The report in a real browser: opened from disk, used by mouse, by keyboard, on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialens import Corpus
from dialens.corpus import Dialogue, Turn
from tests.report.conftest import Make, Visitor
from tests.report.material import FLAT, HOSTILE, silent, talk


def test_opens_from_disk_with_all_its_charts(two_agents_report: Path, visit: Visitor) -> None:
    seen = visit(two_agents_report)
    page = seen.page
    seen.drawn()
    assert page.title() == "Two · dialens"
    assert page.locator("[data-figure=distribution] .mark-symbol path").count() >= 24
    assert page.locator("[data-figure=emotions] .mark-symbol path").count() >= 16
    assert page.locator("[data-figure=movement] .mark-symbol path").count() >= 6
    for drawing in page.locator(".drawing").all():
        assert drawing.get_attribute("role") == "img"
        assert len(drawing.get_attribute("aria-label") or "") > 40
    assert seen.requests == [two_agents_report.as_uri()]


def test_a_chart_can_be_switched_and_read_as_numbers(
    two_agents_report: Path, visit: Visitor
) -> None:
    page = visit(two_agents_report).page
    figure = page.locator("[data-figure=distribution]")
    before = figure.locator(".drawing").get_attribute("aria-label")
    figure.get_by_label("Metric").select_option("length")
    page.wait_for_function(
        "old => document.querySelector('[data-figure=distribution] .drawing').ariaLabel !== old",
        arg=before,
    )
    figure.get_by_text("The numbers behind this chart").click()
    page.wait_for_function(
        "document.querySelectorAll('[data-figure=distribution] tbody tr').length === 2"
    )
    assert figure.locator("thead").inner_text().startswith("Agent")


def test_drill_down_by_mouse(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report).page
    page.locator("#table-agents a", has_text="teller").click()
    page.wait_for_function(
        "document.querySelector('[data-found]').textContent === '12 of 24 dialogues'"
    )
    page.locator(".item").nth(2).click()
    assert page.locator(".talk h3").inner_text() == "teller-2"
    own = page.locator(".turn.own")
    assert own.count() == 3
    own.first.locator("summary").click()
    deep = own.first.locator(".deep")
    deep.wait_for()  # the browser tells of an opened element a little later
    assert deep.locator("dt:text-is('Emotional entropy')").count() == 1
    assert "Counted:" in deep.inner_text()
    assert page.url.endswith("#dialogue=teller-2")


def test_drill_down_by_keyboard(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("[data-filter=search]").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "item"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    opened = page.locator(".talk h3").inner_text()
    assert opened == "asker-2"
    assert page.evaluate("document.activeElement.tagName") == "H3"
    while page.evaluate("document.activeElement.name") != "lens":
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.value") == "style"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.getAttribute('aria-current')") == "true"


def test_marks_follow_the_lens(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report).page
    page.locator(".item", has_text="asker-2").click()
    own = page.locator(".turn.own")

    def marked(lens: str) -> list[str]:
        page.locator(f"input[name=lens][value={lens}]").check(force=True)
        return own.first.locator("mark").all_inner_texts()

    assert own.first.locator(".bubble").inner_text() == "Was it a lovely surprise?"
    assert "lovely" in marked("emotion")
    assert marked("style") == ["Was", "it", "a"]
    assert marked("content") == ["lovely", "surprise"]
    assert marked("question") == ["?"]
    assert marked("none") == []
    assert page.locator(".turn:not(.own) mark").count() == 0
    marked("style")
    assert page.locator(".turn:not(.own) mark").count() > 0
    page.locator(".legend button", has_text="articles").click()
    assert own.first.locator("mark").all_inner_texts() == ["a"]
    title = own.first.locator("mark").get_attribute("title")
    assert title == "a: articles"


def test_list_can_be_searched_and_ordered(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report).page
    page.get_by_label("Order").select_option(label="Words a turn, highest first")
    figures = [float(t) for t in page.locator(".item .figure").all_inner_texts()]
    assert figures == sorted(figures, reverse=True)
    page.get_by_label("Search").fill("CASTLE")
    assert "of 24 dialogues" in page.locator("[data-found]").inner_text()
    assert page.locator(".item", has_text="asker").count() == 0
    page.get_by_label("Search").fill("nobody says this")
    assert page.locator(".item").count() == 0


def test_tables_sort_by_keyboard_and_tell_why(make: Make, visit: Visitor) -> None:
    talks = [
        talk(a, n, FLAT[:k]) for k, a in enumerate(("one", "two", "three"), 1) for n in range(4)
    ]
    page = visit(make(Corpus.of([*talks, *silent(3)])).path).page
    head = page.locator("#table-agents thead button:text-is('Emotional entropy')")
    head.focus()
    page.keyboard.press("Enter")
    assert page.locator("#table-agents th[aria-sort=descending]").count() == 1
    names = page.locator("#table-agents tbody th")
    assert names.last.inner_text() == "silent"
    page.keyboard.press("Enter")
    assert page.locator("#table-agents th[aria-sort=ascending]").count() == 1
    assert names.last.inner_text() == "silent"
    why = page.locator("#table-agents .why[aria-label*='no emotion word']").first
    why.focus()
    assert "without a value" in page.locator("#hint").inner_text()
    assert "no emotion word" in (why.get_attribute("aria-label") or "")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_readable_in_both_schemes(two_agents_report: Path, visit: Visitor, scheme: str) -> None:
    page = visit(two_agents_report, scheme=scheme).page
    contrasts = page.evaluate(
        """() => {
          const light = (c) => {
            const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map((v) => {
              v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
          const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
            return (x + 0.05) / (y + 0.05); };
          const style = (s) => getComputedStyle(document.querySelector(s));
          const behind = style('.chart').backgroundColor;
          return {
            text: ratio(style('body').color, style('body').backgroundColor),
            soft: ratio(style('.soft').color, style('body').backgroundColor),
            axis: ratio(style('.drawing svg .role-axis-label text').fill, behind),
            bubble: ratio(style('.bubble').color, style('.own .bubble').backgroundColor),
          };
        }"""
    )
    assert all(ratio > 4.5 for ratio in contrasts.values()), contrasts
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 23, 26)"
    assert dark is (scheme == "dark")


def test_charts_follow_the_scheme_while_open(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report).page
    colour = "getComputedStyle(document.querySelector('.drawing svg .role-axis-label text')).fill"
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(colour) != light


def test_phone(two_agents_report: Path, visit: Visitor) -> None:
    seen = visit(two_agents_report, width=390, height=844, scheme="dark")
    page = seen.page
    seen.drawn()
    assert seen.wide() <= 0
    assert not page.locator(".talk").is_visible()
    page.locator(".item").nth(1).click()
    assert page.locator(".talk").is_visible()
    assert not page.locator(".list").is_visible()
    assert seen.wide() <= 0
    page.get_by_role("button", name="All dialogues").click()
    assert page.locator(".list").is_visible()
    for fold in page.locator("details.fold > summary").all():
        fold.click()
    assert seen.wide() <= 0


def test_going_back_on_a_phone_leads_to_the_list(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report, width=390, height=844).page
    before = page.evaluate("history.length")
    page.locator(".item").nth(1).click()
    assert page.evaluate("history.length") == before + 1
    page.go_back()
    page.locator(".list").wait_for()
    assert not page.locator(".talk").is_visible()
    assert page.title() == "Two · dialens"
    page.locator(".item").nth(2).click()
    page.get_by_role("button", name="All dialogues").click()
    page.locator(".list").wait_for()
    assert page.evaluate("history.state") is None


def test_a_wide_table_says_that_it_goes_on(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report, width=390, height=844).page
    scroller = page.locator(".scroller:has(#table-agents)")
    cue = page.locator(".cue:has(+ .scroller > #table-agents)")
    assert cue.is_visible()
    assert "scroll" in cue.inner_text()
    assert "more-right" in (scroller.get_attribute("class") or "")
    scroller.evaluate("(element) => { element.scrollLeft = element.scrollWidth; }")
    page.wait_for_function(
        "!document.querySelector('.scroller:has(#table-agents)').classList.contains('more-right')"
    )


def test_titles_of_axes_fit_a_phone(two_agents_report: Path, visit: Visitor) -> None:
    seen = visit(two_agents_report, width=390, height=844)
    seen.drawn()
    cut = seen.page.evaluate(
        """() => [...document.querySelectorAll('.drawing svg')].flatMap((svg) => {
          const box = svg.getBoundingClientRect();
          return [...svg.querySelectorAll('.role-axis-title text, .role-axis-title tspan')]
            .filter((text) => text.textContent.includes('…') ||
              text.getBoundingClientRect().right > box.right + 1 ||
              text.getBoundingClientRect().left < box.left - 1)
            .map((text) => text.textContent);
        })"""
    )
    assert cut == []


def test_only_words_that_weigh_something_are_marked(make: Make, visit: Visitor) -> None:
    line = "On Monday the people were afraid."
    talks = [talk("bot", n, (line, line)) for n in range(3)]
    page = visit(make(Corpus.of(talks)).path).page
    page.locator(".item").first.click()
    own = page.locator(".turn.own").first
    assert own.locator("mark").all_inner_texts() == ["afraid"]
    own.locator("summary").click()
    counted = own.locator(".deep p", has_text="Counted:")
    counted.wait_for()
    assert "people: anger" in counted.inner_text()


def test_an_example_leads_to_its_dialogue(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report).page
    link = page.locator("a[data-dialog]").first
    name = link.get_attribute("data-dialog")
    link.click()
    assert page.locator(".talk h3").inner_text() == name


def test_on_paper_hints_are_gone_and_colours_stay(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report).page
    page.evaluate("document.getElementById('hint').hidden = false")
    page.evaluate("document.getElementById('hint').textContent = 'open when printed'")
    assert page.locator("#hint").is_visible()
    page.emulate_media(media="print")
    assert not page.locator("#hint").is_visible()
    adjust = "getComputedStyle(document.querySelector('.band i')).printColorAdjust"
    assert page.evaluate(adjust) == "exact"


def test_hostile_text_does_nothing(make: Make, visit: Visitor) -> None:
    bad = [talk(f"{HOSTILE}{a}", n, (HOSTILE, "Happy?")) for a in range(2) for n in range(3)]
    long = Dialogue("s", "x" * 300, "y" * 300, [Turn("z" * 300, "agent", "w" * 3000)])
    seen = visit(make(Corpus.of([*bad, long]), title=HOSTILE).path, width=390, height=844)
    page = seen.page
    seen.drawn()
    page.locator(".item").first.click()
    assert HOSTILE in page.locator(".turn.own .bubble").first.inner_text()
    page.locator(".turn.own summary").first.click()
    page.locator("[data-figure=distribution] .mark-symbol path").first.hover(force=True)
    page.locator("#vg-tooltip-element.visible").wait_for()
    assert page.locator("#vg-tooltip-element img").count() == 0
    page.goto(page.url.split("#")[0] + "#dialogue=%3Cimg%20src=x%20onerror=window.broken=3%3E")
    assert page.evaluate("window.broken") is None
    assert page.locator("main img").count() == 0
    assert seen.wide() <= 0


def test_a_dot_leads_to_its_dialogue(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report).page
    page.locator("[data-figure=distribution] .mark-symbol path").first.click(force=True)
    assert page.evaluate("document.activeElement.tagName") == "H3"
    assert page.locator(".talk h3").inner_text().startswith("asker-")
    assert "#dialogue=asker-" in page.url


def test_an_address_opens_its_dialogue(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report).page
    page.goto(two_agents_report.as_uri() + "#dialogue=teller-4")
    page.reload()
    assert page.locator(".talk h3").inner_text() == "teller-4"


def test_hundreds_of_agents_are_folded(make: Make, visit: Visitor) -> None:
    talks = [talk(f"bot {a:03}", n, FLAT[: 1 + a % 3]) for a in range(60) for n in range(2)]
    page = visit(make(Corpus.of(talks)).path).page
    assert page.locator("#table-agents tbody tr:visible").count() == 20
    page.get_by_role("button", name="Show all 60 rows").first.click()
    assert page.locator("#table-agents tbody tr:visible").count() == 60
    pick = page.locator("[data-figure=emotions] [data-pick] select")
    before = page.locator("[data-figure=emotions] .drawing svg").inner_html()
    pick.select_option("2")
    page.wait_for_function(
        "old => document.querySelector('[data-figure=emotions] .drawing svg').innerHTML !== old",
        arg=before,
    )
