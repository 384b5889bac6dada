"""Markdown: what it may say, what stays text, and where it is shown."""

import re
from typing import Any

import pytest

from dialens.studies import Screen, study_of
from dialens.studies.plan import plan
from dialens.web._markup import inline_markdown, markdown, reply_markdown, without_marks
from tests.web.conftest import Make, Visit, tea

EVERYTHING = (markdown, inline_markdown, reply_markdown)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*a* **b** `c`", "<p><em>a</em> <strong>b</strong> <code>c</code></p>"),
        ("one,\nstill one", "<p>one,\nstill one</p>"),
        ("# Title", "<p><strong>Title</strong></p>"),
        ("• a\n• b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("a < b & c", "<p>a &lt; b &amp; c</p>"),
        ("> quoted", "<blockquote>\n<p>quoted</p>\n</blockquote>"),
        ("    no code", "<p>no code</p>"),
        ("snake_case_name", "<p>snake_case_name</p>"),
    ],
)
def test_the_subset(text: str, html: str) -> None:
    assert markdown(text) == html


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("See https://example.org/info?a=1&b=2.", "https://example.org/info?a=1&amp;b=2"),
        ("Write to jane.doe@uni.example.org!", "mailto:jane.doe@uni.example.org"),
        ("[the sheet](https://example.org/sheet.pdf)", "https://example.org/sheet.pdf"),
        ("<https://example.org>", "https://example.org"),
    ],
)
def test_addresses_are_links_in_a_window_of_their_own(text: str, address: str) -> None:
    link = f'<a href="{address}" target="_blank" rel="noopener noreferrer">'
    assert link in markdown(text)
    assert markdown(text).count("<a ") == 1


def test_bare_addresses_in_replies_are_text() -> None:
    assert "<a " not in reply_markdown("Go to https://example.org or a@b.org")


def test_lines_of_a_reply_stay_lines() -> None:
    assert reply_markdown("one\ntwo") == "<p>one<br>\ntwo</p>"


def test_tables_set_no_style() -> None:
    made = markdown("| a | b |\n|:-:|--:|\n| 1 | 2 |")
    assert "<table>" in made
    assert '<th class="to-center">a</th>' in made
    assert "style" not in made


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](vbscript:x)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](//evil.example)",
    "[x](/researcher)",
    "<javascript:alert(1)>",
    "![x](https://evil.example/x.png)",
    "![x](data:image/png;base64,AAAA)",
    "[x]: javascript:alert(1)\n\n[x]",
    '[x](https://a.org "\\" onmouseover=alert(1) x=\\"")',
    'https://a.org/"onmouseover=alert(1)',
    "```<script>\n</code></pre><script>alert(1)</script>\n```",
    "<!-- --><style>*{display:none}</style>",
    "| <script>x</script> |\n|---|\n| <img src=x> |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "[" * 5_000,
    "*" * 5_000,
    ">" * 2_000 + "x",
    "a@" * 3_000,
    "\0<b>\0",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_makes_no_markup_of_its_own(text: str) -> None:
    allowed = "p|em|strong|ul|ol|li|code|pre|a|br|hr|blockquote|table|thead|tbody|tr|th|td|div"
    for made in (render(text) for render in EVERYTHING):
        for tag in re.findall(r"<[^>]*>", made):
            assert re.fullmatch(rf"</?(?:{allowed})(?: [^<>]*)?>", tag), tag
            assert not re.search(r"\son\w+\s*=|style\s*=", re.sub(r'"[^"]*"', '""', tag)), tag
        for address in re.findall(r'href="([^"]*)"', made):
            assert address.startswith(("https://", "http://", "mailto:")), address
        assert "src=" not in re.sub(r"&lt;.*?&gt;", "", made)


def test_words_without_marks() -> None:
    assert without_marks("Is *this*\n`it`, <b>?") == "Is this it, <b>?"


def body(screens: tuple[Screen, ...], kind: str) -> list[Any]:
    return [
        block.get("render")
        for screen in screens
        if screen.kind == "rating"
        for block in screen.body
        if block["kind"] == kind
    ]


def test_rendering_is_a_setting_or_a_factor() -> None:
    plain = plan(study_of(tea(factors={})), "all", 0)
    assert set(body(plain, "response")) == {None}
    always = study_of(tea(factors={}, presentation={"render": "markdown"}))
    assert set(body(plan(always, "all", 0), "response")) == {"markdown"}
    varied = study_of(tea(factors={"render": ["plain", "markdown"]}))
    for level, said in (("plain", None), ("markdown", "markdown")):
        screens = plan(varied, f"render={level}", 0)
        for kind in ("response", "dialogue"):
            assert set(body(screens, kind)) == {said}
        rated = next(screen for screen in screens if screen.kind == "rating")
        assert rated.state["factor.render"] == level


def with_marks(**changes: Any) -> dict[str, Any]:
    item = {
        "id": "a",
        "context": ["What is *good*?"],
        "responses": {"x": "**Bold** and\n\n- a list", "y": "<b>raw</b>"},
    }
    return tea(
        factors={},
        items={"inline": [item]},
        consent={"text": "Read [the sheet](https://example.org/sheet), write to jane@example.org."},
        **changes,
    )


def pages(make: Make, visit: Visit, study: dict[str, Any]) -> str:
    person = visit(make(study))
    page, seen = person.begin(), []
    while "the-code" not in page.html:
        seen.append(page.html)
        page = person.answer(page)
    return "\n".join(seen)


def test_participants_read_rendered_replies(make: Make, visit: Visit) -> None:
    seen = pages(make, visit, with_marks(presentation={"render": "markdown"}))
    assert "<strong>Bold</strong> and" in seen
    assert "<li>a list</li>" in seen
    assert "What is <em>good</em>?" in seen
    assert "&lt;b&gt;raw&lt;/b&gt;" in seen
    assert 'href="https://example.org/sheet"' in seen
    assert 'href="mailto:jane@example.org"' in seen


def test_participants_read_replies_as_they_were_written(make: Make, visit: Visit) -> None:
    seen = pages(make, visit, with_marks())
    assert "**Bold** and\n\n- a list" in seen
    assert "What is *good*?" in seen


def test_questions_and_definitions_may_have_marks(make: Make, visit: Visit) -> None:
    quality = {"definition": "It *fits*.", "question": "How **well**?", "instrument": "likert"}
    seen = pages(make, visit, with_marks(qualities={"fit": quality}))
    assert "It <em>fits</em>." in seen
    assert "How <strong>well</strong>?" in seen
