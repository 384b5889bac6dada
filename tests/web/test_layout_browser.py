"""Where things stand on a page: nothing moves under the pointer, boxes are what they seem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.web.conftest import Hosting, Window, tea
from tests.web.test_browser import begin, fill, onward

if TYPE_CHECKING:
    from playwright.sync_api import Page

AGREEMENT = (
    "Strongly disagree",
    "Disagree",
    "Somewhat disagree",
    "Neither agree nor disagree",
    "Somewhat agree",
    "Agree",
    "Strongly agree",
)


def scales(points: int) -> dict[str, Any]:
    """Four scales for each of three replies on one screen, with more and more words."""
    middle = (points + 1) // 2
    words: dict[str, dict[int, str]] = {
        "none": {},
        "ends": {1: "not at all", points: "completely"},
        "three": {1: "not at all", middle: "somewhat", points: "completely"},
        "all": {place + 1: AGREEMENT[place % 7] for place in range(points)},
    }
    return tea(
        factors={},
        presentation={"layout": "together"},
        qualities={
            name: {"instrument": {"kind": "likert", "points": points, "labels": labels}}
            for name, labels in words.items()
        },
    )


def to_rating(page: Page) -> None:
    begin(page)
    while page.locator("main.rating").count() == 0:
        fill(page)
        onward(page)


@pytest.mark.parametrize("wrong", ["number", "text"])
def test_the_first_click_after_a_correction_sends(
    host: Hosting, window: Window, wrong: str
) -> None:
    kind = "magnitude" if wrong == "number" else {"kind": "free_text"}
    quality = {"instrument": kind, "definition": "How it is."}
    server = host(tea(factors={}, qualities={"coherence": quality}))
    page = window(server.url, expected=("422",), viewport={"width": 1280, "height": 1800})
    to_rating(page)
    fields = page.locator("[data-field] input, [data-field] textarea")
    for field in fields.all()[:-1]:
        field.fill("40")
    if wrong == "number":
        fields.last.fill("abc")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_selector("#summary:not([hidden])")
    fields.last.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("80")
    button = page.get_by_role("button", name="Continue")
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box is not None
    key = page.evaluate("document.querySelector('[name=key]').value")
    # Near the lower edge: a button that moves up is no longer there when the mouse comes up.
    page.mouse.move(box["x"] + 40, box["y"] + box["height"] - 4)
    page.mouse.down()
    page.mouse.up()
    page.wait_for_function(
        "key => document.querySelector('.the-code')"
        " || document.querySelector('[name=key]')?.value !== key",
        arg=key,
        timeout=5000,
    )


@pytest.mark.parametrize("points", [5, 7, 11])
def test_the_box_of_a_point_is_where_it_is_clicked(
    host: Hosting, window: Window, points: int
) -> None:
    server = host(scales(points))
    page = window(server.url)
    to_rating(page)
    assert page.locator(".points").count() == 4 * 3
    for width in (1280, 390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        assert (width, page.evaluate(_WRONG_BOXES)) == (width, [])
        assert (width, page.evaluate(_SPLIT_WORDS)) == (width, [])
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


_WRONG_BOXES = """() => {
  const wrong = [];
  for (const scale of document.querySelectorAll(".points")) {
    const points = [...scale.querySelectorAll(".point")];
    const around = scale.closest(".card").getBoundingClientRect();
    const seen = points.map((point) => {
      const framed = getComputedStyle(point).borderTopWidth !== "0px";
      return (framed ? point : point.querySelector("span")).getBoundingClientRect();
    });
    seen.forEach((box, place) => {
      const named = `point ${place + 1}`;
      if (box.width < 24 || box.height < 44)
        wrong.push(`${named} is ${box.width} by ${box.height}`);
      if (box.left < around.left || box.right > around.right)
        wrong.push(`${named} leaves the card`);
      const after = seen[place + 1];
      if (after && after.left < box.right - 0.5 && after.top < box.bottom - 0.5)
        wrong.push(`${named} overlaps the next`);
      const own = points[place].querySelector("input");
      points[place].scrollIntoView({ block: "center" });
      const now = (getComputedStyle(points[place]).borderTopWidth !== "0px"
        ? points[place] : points[place].querySelector("span")).getBoundingClientRect();
      for (const x of [now.left + 4, (now.left + now.right) / 2, now.right - 4])
        for (const y of [now.top + 4, (now.top + now.bottom) / 2, now.bottom - 4]) {
          const hit = document.elementFromPoint(x, y)?.closest("label")?.querySelector("input");
          if (hit !== own) wrong.push(`${named} is not clicked at ${x - now.left}, ${y - now.top}`);
        }
    });
  }
  return [...new Set(wrong)];
}"""

# A word that is split has boxes on two lines; words of one scale may not lie on each other either.
_SPLIT_WORDS = """() => {
  const wrong = [];
  for (const scale of document.querySelectorAll(".points")) {
    const words = [];
    for (const small of scale.querySelectorAll("small")) {
      const text = small.firstChild, range = document.createRange();
      for (const word of text.data.matchAll(/\\S+/g)) {
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (lines.size > 1) wrong.push(`${word[0]} is split`);
        small.scrollIntoView({ block: "center" });
        const box = range.getBoundingClientRect();
        const x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
        const hit = document.elementFromPoint(x, y)?.closest("label");
        if (hit !== small.closest("label")) wrong.push(`${word[0]} is another's`);
        box.y += scrollY;
        words.push([word[0], small, box]);
      }
    }
    for (const [a, from, one] of words)
      for (const [b, other, two] of words)
        if (from !== other && one.left < two.right - 1 && two.left < one.right - 1
          && one.top < two.bottom - 1 && two.top < one.bottom - 1) wrong.push(`${a} lies on ${b}`);
  }
  return [...new Set(wrong)];
}"""


@pytest.mark.parametrize(("kept", "selector"), [("context", ".talk"), ("standard", ".standard")])
def test_what_is_to_stay_in_view_stays(
    host: Hosting, window: Window, kept: str, selector: str
) -> None:
    presentation = {"anchor": "both", "layout": "together", "sticky": kept}
    server = host(tea(factors={}, presentation=presentation))
    page = window(server.url, viewport={"width": 390, "height": 700})
    to_rating(page)
    page.locator("[data-field] input").last.focus()
    page.mouse.wheel(0, 5000)
    page.wait_for_timeout(200)
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    assert page.evaluate("() => scrollY") > 300
    assert 0 <= box["y"] < 350


LONG = "Haftpflichtversicherungsbedingungen"
# Text that is wider than what it stands in; of a figure, with a pixel of air on both sides.
_OUTSIDE = """() => {
  const outside = [], range = document.createRange();
  for (const box of document.querySelectorAll(".prompt, .option, .point > span, .grid .head")) {
    const around = box.getBoundingClientRect(), air = box.matches(".point > span") ? 2 : 0;
    range.selectNodeContents(box);
    for (const line of range.getClientRects())
      if (line.left < around.left + air - 0.5 || line.right > around.right - air + 0.5)
        outside.push(`${box.className} ${box.textContent.trim()}`);
  }
  const heads = [...document.querySelectorAll(".grid .head")].map((head) => {
    range.selectNodeContents(head);
    return range.getBoundingClientRect();
  });
  if (heads.length > 1 && heads[1].left - heads[0].right < 8) outside.push("heads touch");
  return [...new Set(outside)];
}"""


def test_long_words_and_figures_stay_where_they_belong(host: Hosting, window: Window) -> None:
    """German words of 35 letters, eleven boxes on a phone, and two words side by side."""
    ends = {"kind": "best_worst"}
    figures = {"kind": "likert", "points": 11}
    choices = {"kind": "check_boxes", "choices": {"a": LONG, "b": "b"}, "prompt": f"{LONG}?"}
    made = tea(
        language="de",
        factors={},
        consent={"text": LONG, "statements": {"agreed": f"{LONG}: gelesen."}},
        questionnaires={"before": [{"questions": {"which": choices}}]},
        qualities={"ends": {"instrument": ends}, "figures": {"instrument": figures}},
    )
    page = window(host(made).url, viewport={"width": 390, "height": 844})
    begin(page, "Beginnen")
    while not page.locator("main.rating").count():
        assert page.evaluate(_OUTSIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        fill(page)
        onward(page, "Weiter")
    assert page.evaluate(_OUTSIDE) == []
