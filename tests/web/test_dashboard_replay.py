"""The replay of every kind of question, of media and Markdown, and of screens that were skipped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dialens.studies import load_study
from dialens.studies.texts import Texts
from dialens.web import Site
from tests.web.conftest import Make, Visit, log_in, tea
from tests.web.people import Page, Person
from tests.web.test_media import with_media

QUESTIONS = {
    "faults": {
        "kind": "check_boxes",
        "prompt": "Which **faults** have you met?",
        "choices": {"rude": "Rude replies", "wrong": "Wrong replies"},
        "other": "Something else, namely",
    },
    "drink": {
        "kind": "choice",
        "prompt": "What do you drink?",
        "choices": ["Tea", "Coffee"],
        "other": "Another, namely:",
    },
    "self": {
        "kind": "matrix",
        "prompt": "How far do you agree?",
        "statements": {"loud": "I *often* talk.", "calm": "I stay calm."},
        "points": 7,
        "labels": {1: "not at all"},
    },
}
ANSWERS = {
    "a:faults:wrong": "1",
    "a:faults:other": "too long",
    "a:drink:choice": "other",
    "a:drink:other": "milk",
    "a:self:loud": "1",
    "a:self:calm": "6",
}


def finish(person: Person, answers: dict[str, str]) -> None:
    page = person.begin()
    while "the-code" not in page.html:
        form = person.filled(page)
        if any(name in form or name in page.html for name in answers):
            form = {n: v for n, v in form.items() if not n.startswith("a:")} | answers
        page = Page(person.client.post("/study", data=form).text)


def place_of(site: Site, person: Person, sought: str) -> int:
    """The number of the first screen of a kind."""
    screens = site.screens(person.session)
    return next(i for i, screen in enumerate(screens) if screen.kind == sought)


def replayed(client: Any, person: Person, index: int) -> str:
    path = f"/researcher/people/{person.session.participant}/replay"
    return str(client.get(path, params={"index": index}).text)


def test_several_answers_a_matrix_and_own_words(make: Make, visit: Visit) -> None:
    site = make(tea(questionnaires={"before": [{"questions": QUESTIONS}]}))
    person = visit(site)
    finish(person, ANSWERS)
    client = log_in(visit(site))
    page = client.get(f"/researcher/people/{person.session.participant}").text
    for said in (
        "Which faults have you met?",
        "Wrong replies, Something else, namely: too long",
        "Another, namely: milk",
        "I often talk: not at all; I stay calm: 6",
    ):
        assert said in page
    html = replayed(client, person, place_of(site, person, "questions"))
    ticked = re.findall(r'name="(a:[^"]+)" value="([^"]*)" checked', html)
    assert dict(ticked) == {n: v for n, v in ANSWERS.items() if "other" not in n} | {
        "a:drink:choice": "other"
    }
    assert 'name="a:faults:other" value="too long"' in html
    assert 'name="a:drink:other" value="milk"' in html
    assert "Which <strong>faults</strong> have you met?" in html


def test_media_and_markdown_as_they_were_seen(make: Make, visit: Visit, tmp_path: Path) -> None:
    study = load_study(with_media(tmp_path))
    site = make(study, folder=tmp_path)
    person = visit(site)
    finish(person, {})
    html = replayed(log_in(visit(site)), person, place_of(site, person, "rating"))
    names = [one.name for one in study.items[0].media]
    assert f'<img src="/media/{names[0]}" alt="A grey cat">' in html
    assert all(f'src="/media/{name}"' in html for name in names)


def test_a_reply_in_markdown_is_rendered(make: Make, visit: Visit) -> None:
    made = tea(presentation={"render": "markdown"})
    for item in made["items"]["inline"]:
        item["responses"] = dict.fromkeys(item["responses"], "A **fine** cup.")
    site = make(made)
    person = visit(site)
    finish(person, {})
    html = replayed(log_in(visit(site)), person, place_of(site, person, "rating"))
    assert "A <strong>fine</strong> cup." in html


def test_controls_speak_the_language_of_the_person(make: Make, visit: Visit) -> None:
    made = tea(
        language="de",
        factors={},
        questionnaires={
            "before": [
                {
                    "questions": {
                        "sure": {"kind": "slider", "prompt": "Wie sicher?"},
                        "why": {"kind": "free_text", "prompt": "Warum?", "required": False},
                    }
                }
            ]
        },
        qualities={"order": {"instrument": "ranking", "label": "Folge", "definition": "Wie gut."}},
    )
    site = make(made)
    person = visit(site)
    finish(person, {})
    client, say = log_in(visit(site)), Texts.of("de").say
    asked = replayed(client, person, place_of(site, person, "questions"))
    assert say("optional") in asked
    assert say("slider_touch") in asked
    rated = replayed(client, person, place_of(site, person, "rating"))
    assert say("definitions") in rated
    assert say("rank_of", label="Antwort 1") in rated
    english = Texts.of("en").say
    for key in ("optional", "slider_touch", "definitions", "please_note"):
        assert english(key) not in asked + rated
    assert "Nothing can be changed here." in rated
    assert '<div lang="de" dir="ltr">' in rated
