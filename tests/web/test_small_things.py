"""Small things on participants' pages that told too much, too little, or the same twice."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dialens.web import Site
from tests.web.conftest import Make, Visit, tea
from tests.web.people import Page, Person


def at(site: Site, visit: Visit, kind: str) -> tuple[Person, Page]:
    """Somebody at their first screen of a kind."""
    person = visit(site)
    page = person.begin()
    while f'class="page {kind}"' not in page.html:
        page = person.answer(page)
    return person, page


def test_the_cookie_does_not_tell_the_hypothesis(make: Make, visit: Visit) -> None:
    person = visit(make(tea(study="warm-replies-win")))
    told = person.client.get("/").headers["set-cookie"]
    assert "warm" not in told.partition("=")[0]
    other = make(tea(study="cold-replies-win"))
    assert other.cookies.name != person.site.cookies.name


def test_a_unit_stands_there_once(make: Make, visit: Visit) -> None:
    question = {"kind": "number", "prompt": "How old are you?", "unit": "years", "low": 18}
    asked: dict[str, Any] = {"before": [{"title": "You", "questions": {"age": question}}]}
    _, page = at(make(tea(questionnaires=asked)), visit, "questions")
    assert len(re.findall(r">\s*years\s*<", page.html)) == 1
    unit = re.search(r'<span id="([^"]+)">years</span>', page.html)
    assert unit is not None
    assert f'aria-describedby="{unit[1]} ' in page.html


def test_a_slider_without_a_script_asks_for_a_number(make: Make, visit: Visit) -> None:
    slider = {"instrument": {"kind": "slider", "low": 0, "high": 10}}
    _, page = at(make(tea(factors={}, qualities={"warmth": slider})), visit, "rating")
    assert ">Type a number from 0 to 10.<" in page.html
    assert ">Click or tap on the line.<" not in page.html


def test_definitions_are_open_at_first_and_then_folded(make: Make, visit: Visit) -> None:
    quality = {"instrument": "magnitude", "definition": "It follows from what was said."}
    site = make(tea(factors={}, qualities={"coherence": quality}))
    person, page = at(site, visit, "rating")
    assert '<details class="definitions" open>' in page.html
    after = person.answer(page)
    assert '<details class="definitions">' in after.html
    assert "It follows from what was said." in after.html


@pytest.mark.parametrize(
    ("context", "shown"),
    [
        (["Hello there"], False),
        (["Hello there", "Hi"], True),
        ([{"speaker": "Anna", "text": "Hello there"}], True),
    ],
)
def test_a_letter_above_one_utterance_is_left_out(
    make: Make, visit: Visit, context: list[Any], shown: bool
) -> None:
    item = {"id": "one", "context": context, "responses": {"a": "Good.", "b": "Bad."}}
    site = make(tea(factors={}, items={"inline": [item]}))
    _, page = at(site, visit, "rating")
    assert ('class="speaker"' in page.html) is shown


def test_an_address_that_leads_nowhere_leads_back(make: Make, visit: Visit) -> None:
    person = visit(make(tea(contact="Dr. Ada, ada@example.org")))
    page = person.client.get("/studdy")
    assert page.status_code == 404
    assert "Please open the link again" in page.text
    assert '<a class="button" href="/">' in page.text
    assert 'Dr. Ada, <a href="mailto:ada@example.org"' in page.text


def test_who_is_not_let_in_reads_what_to_do(make: Make, visit: Visit) -> None:
    study = tea(targets=1, factors={}, presentation={}, contact="ada@example.org")
    site = make(study)
    person, late = visit(site), visit(site)
    early = late.come().hidden  # the page was opened while there was a place
    person.answer(person.begin())
    told = late.client.post("/begin", data=early).text
    assert "please return the task there" in told
    assert "ada@example.org" in told
