"""Participants meet the study in their language, from the first page to the last."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.studies import TEA, Study, load_study
from dialens.studies.export import export
from dialens.studies.texts import Texts, text_values
from dialens.web import Site
from tests.studies.test_translation import GERMAN, written
from tests.web.conftest import Make, Visit, log_in, tea
from tests.web.people import Page

INSTRUMENTS: dict[str, Any] = {
    "size": "magnitude",
    "place": {"kind": "slider"},
    "pair": {"kind": "best_worst"},
    "order": {"kind": "ranking"},
    "again": {"kind": "yes_no"},
}


def many(**changes: Any) -> dict[str, Any]:
    """A study with an instrument of most kinds, lines to practise on and a question."""
    made = tea(**changes)
    made["qualities"] = {
        name: {"label": "…", "instrument": used} for name, used in INSTRUMENTS.items()
    }
    made["factors"] = {"tone": [{"name": "a", "note": "…"}, {"name": "b", "note": "…"}]}
    made["practice"] = {"lines": [10, 20]}
    made["questionnaires"] = {
        "before": [{"questions": {"years": {"kind": "number", "prompt": "…", "low": 18}}}]
    }
    return made


def english(page: str) -> list[str]:
    """Sentences of the English catalogue that a page says."""
    said = unescape(page)
    return [
        text
        for text in Texts.of("en").texts.values()
        if text.count(" ") >= 2 and not text_values(text) and text in said
    ]


@pytest.mark.parametrize("language", ["ar", "de", "ja"])
def test_nothing_is_said_in_english_from_the_first_page_to_the_last(
    make: Make, visit: Visit, language: str
) -> None:
    person = visit(make(many(language=language)))
    pages = [person.come()]
    pages.append(person.begin())
    while "the-code" not in pages[-1].html:
        if pages[-1].inputs:
            empty = person.client.post("/study", data=pages[-1].hidden)
            assert empty.status_code == 422
            pages.append(Page(empty.text))
        pages.append(person.answer(pages[-1]))
    pages.append(person.come("/nowhere"))
    texts = Texts.of(language)
    for page in pages:
        assert english(page.html) == []
        assert f'<html lang="{language}" dir="{texts.direction}">' in page.html
    html = "".join(unescape(page.html) for page in pages)
    for key in ("consent_question", "practice_text", "slider_low", "error_required", "to_start"):
        assert texts.say(key) in html, key


def test_places_that_are_taken_and_declining_are_said_in_it(make: Make, visit: Visit) -> None:
    site = make(tea(language="fr", targets=1, factors={}))
    one, other, late = visit(site), visit(site), visit(site)
    page = other.begin()
    early = late.come().hidden
    one.answer(one.begin())
    assert "Toutes les places sont prises" in late.come().html
    told = late.client.post("/begin", data=early)
    assert "Toutes les places sont prises" in unescape(told.text)
    declined = other.client.post("/study", data=page.hidden | {"a:consent": "no"})
    assert "Vous avez choisi de ne pas participer" in unescape(declined.text)


def test_the_researchers_pages_stay_english(make: Make, visit: Visit) -> None:
    client = log_in(visit(make(tea(language="ar"))))
    assert '<html lang="en" dir="ltr">' in client.get("/researcher").text


@pytest.fixture
def both(tmp_path: Path) -> Study:
    return load_study(written(tmp_path, GERMAN))


def test_a_language_is_chosen_by_link_kept_and_exported(
    make: Make, visit: Visit, both: Study, tmp_path: Path
) -> None:
    site = make(both)
    german, plain, chooser = (visit(site, seed=number) for number in range(3))
    assert "Wie gut sind diese Antworten?" in german.come("/?lang=de&participant=anna").html
    page = german.begin("/?lang=de&participant=anna")
    assert "Möchten Sie teilnehmen?" in page.html
    german.client.get("/?lang=en&participant=anna")
    assert "Möchten Sie teilnehmen?" in german.come("/study").html
    german.finish(german.come("/study"))
    plain.finish(plain.begin("/?lang=xx"))
    welcome = chooser.come("/?participant=bea")
    assert 'href="/?participant=bea&amp;lang=de" lang="de"' in welcome.html
    chooser.finish(chooser.begin("/?participant=bea&lang=de"))
    assert [person.session.language for person in (german, plain, chooser)] == ["de", "en", "de"]
    assert german.session.seed == 0
    export(site.store, both.hash, tmp_path / "export")
    for table in ("ratings", "questionnaires", "answers"):
        frame = pl.read_parquet(tmp_path / "export" / f"{table}.parquet")
        by_rater = dict(frame.select("rater", "language").unique().iter_rows())
        assert sorted(by_rater.values()) == ["de", "de", "en"], table
        assert by_rater[german.session.participant] == "de"
    drinks = pl.read_parquet(tmp_path / "export" / "questionnaires.parquet")
    stored = drinks.filter(pl.col("question") == "drink")["answer"].to_list()
    assert set(stored) <= {"t", "c"}


def test_what_is_wrong_is_said_in_the_language_of_the_session(
    make: Make, visit: Visit, both: Study
) -> None:
    person = visit(make(both))
    page = person.begin("/?lang=de")
    wrong = person.client.post(
        "/study",
        json={"ticket": page.hidden["ticket"], "screen": "consent", "index": 0, "answers": {}},
        headers={"accept": "application/json"},
    )
    assert wrong.json() == {"errors": {"consent": "Bitte beantworten Sie diese Frage."}}


def test_a_study_in_one_language_offers_no_choice(site: Site, visit: Visit) -> None:
    assert "hreflang" not in visit(site).come().html


def test_a_greeting_is_in_the_language_of_the_conversation(tmp_path: Path) -> None:
    talk = {
        **{name: value for name, value in TEA.items() if name not in ("items", "factors")},
        "languages": ["en", "de"],
        "conversations": {
            "agents": [{"name": "a", "agent": "script:a.txt"}],
            "greeting": "Hello!",
        },
        "qualities": {"overall": {"label": "Overall", "level": "dialogue", "instrument": "likert"}},
    }
    german = {
        "title": "Tee",
        "consent": {"text": "…"},
        "instructions": {"text": "…"},
        "conversations": {"greeting": "Guten Tag!"},
        "qualities": {"overall": {"label": "Insgesamt"}},
    }
    study = load_study(written(tmp_path, german, talk))
    own = study.said_in("de").design.conversations
    assert own is not None
    assert own.greeting == "Guten Tag!"
