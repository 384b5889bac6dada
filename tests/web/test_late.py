"""An answer after its screen's deadline is marked, whatever the browser says of the time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.analysis.bias import LATE, read_study
from dialens.studies import codebook
from dialens.studies.export import export
from dialens.studies.store import SLACK_S, Store
from dialens.web import Site
from tests.web.conftest import KEY, PASSWORD, Make, Visit, log_in, tea
from tests.web.people import Page, Person
from tests.web.test_participation import Clock

DEADLINE = 20.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def site(make: Make, clock: Clock) -> Site:
    # Everybody has four rating screens, whatever their cell.
    shown = {"deadline": DEADLINE, "layout": "separate"}
    study = tea(presentation=shown, factors={"anchor": ["none", "both"]})
    return make(study, clock=clock)


def at_ratings(person: Person, address: str = "/") -> Page:
    """The first screen with a deadline."""
    page = person.begin(address)
    while "data-left" not in page.html:
        page = person.answer(page)
    return page


def late(site: Site) -> list[float | None]:
    """Of the rating screens, in the order in which they were answered."""
    screens = site.store.screens_frame(site.study.hash).filter(pl.col("kind") == "rating")
    return screens["late"].to_list()


def test_lateness_is_counted_from_when_the_server_first_sent_the_screen(
    site: Site, visit: Visit, clock: Clock
) -> None:
    person = visit(site)
    page = at_ratings(person)
    clock.later(DEADLINE - 1)
    page = person.answer(page)  # in time
    clock.later(DEADLINE + SLACK_S)
    page = person.answer(page)  # the network's time
    clock.later(DEADLINE + 300)
    page = person.answer(page)
    clock.later(DEADLINE + SLACK_S + 0.25)
    person.answer(page)
    assert late(site) == [0.0, 0.0, 300.0, SLACK_S + 0.25]
    before = site.store.screens_frame(site.study.hash).filter(pl.col("kind") != "rating")
    assert before["late"].to_list() == [None] * before.height


def test_neither_reload_nor_another_browser_nor_old_cookies_win_time(
    site: Site, visit: Visit, clock: Clock
) -> None:
    """The start lay in a cookie: an older one, or none, began it anew."""
    person = visit(site)
    person.begin("/?participant=anna")
    old = dict(person.client.cookies)
    page = person.come("/study")
    while "data-left" not in page.html:
        page = person.answer(page)
    clock.later(5)
    assert f'data-left="{DEADLINE - 5}"' in person.come("/study").html
    other, older = visit(site), visit(site)
    assert f'data-left="{DEADLINE - 5}"' in other.begin("/?participant=anna").html
    older.client.cookies.update(old)
    assert f'data-left="{DEADLINE - 5}"' in older.come("/study").html
    clock.later(DEADLINE + 95)
    again = other.come("/study")
    assert 'data-left="0.0"' in again.html
    other.answer(again)
    assert late(site) == [100.0]


def test_the_first_showing_survives_a_restart_and_is_known_to_other_processes(
    site: Site, visit: Visit, clock: Clock
) -> None:
    person = visit(site)
    page = at_ratings(person)
    clock.later(50)
    file = site.store.database.file
    with Store.open(f"sqlite:///{file}", secrets=KEY) as store:
        another = Site.of(site.study, store, password=PASSWORD, clock=clock)
        elsewhere = visit(another)
        elsewhere.client.cookies.update(dict(person.client.cookies))
        blank = {name: value for name, value in page.hidden.items() if not name.startswith("a:")}
        sent = elsewhere.client.post("/study", data=blank)  # time is up: nothing has to be answered
        assert sent.status_code == 200
    assert late(site) == [30.0]


def test_programs_are_on_the_same_clock(site: Site, visit: Visit, clock: Clock) -> None:
    person = visit(site)
    at_ratings(person)
    shown: dict[str, Any] = person.client.get(
        "/study", headers={"accept": "application/json"}
    ).json()
    assert shown["left"] == DEADLINE
    clock.later(DEADLINE + 60)
    sent = {"ticket": shown["ticket"], "screen": shown["screen"]["id"], "index": shown["index"]}
    claimed = {"shown_at": clock().isoformat(), "submitted_at": clock().isoformat()}
    answer = person.client.post("/study", json={**sent, "key": "k", "answers": {}, **claimed})
    assert answer.status_code == 200
    assert late(site) == [60.0]


def test_researchers_see_it_in_page_export_codebook_and_analysis(
    site: Site, visit: Visit, clock: Clock, tmp_path: Path
) -> None:
    person = visit(site)
    page = at_ratings(person)
    clock.later(DEADLINE + 93.5)
    page = person.answer(page)
    person.finish(page)
    punctual = visit(site, seed=1)
    punctual.finish(punctual.begin())
    researcher = log_in(visit(site))
    told = researcher.get(f"/researcher/people/{person.session.participant}").text
    assert told.count("93.5 seconds late") == 1
    screen = site.screens(person.session)[int(page.hidden["index"]) - 1]
    replay = f"/researcher/people/{person.session.participant}/replay"
    at = {"attempt": 1, "index": int(page.hidden["index"]) - 1}
    assert "93.5 seconds after its deadline" in researcher.get(replay, params=at).text
    export(site.store, site.study.hash, tmp_path / "export")
    ratings = pl.read_parquet(tmp_path / "export" / "ratings.parquet")
    marked = ratings.filter(pl.col("late") > 0)
    assert set(marked["screen"]) == {screen.id}
    assert set(marked["late"]) == {93.5}
    assert ratings["late"].null_count() == 0
    book = codebook(site.study)
    assert "after the deadline" in book["ratings"]["late"]
    assert "after the deadline" in book["screens"]["late"]
    notes = [one.reason for one in read_study(tmp_path / "export").notes if one.part == LATE]
    assert len(notes) == 1
    assert notes[0].startswith(f"{marked.height} rating")
    assert notes[0].endswith(
        "of 1 person came after the deadline of their screen, up to 94 seconds; all count"
    )
