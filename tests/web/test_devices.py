"""Who may take part on what, and in which colours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.studies import read_design, study_of
from dialens.web import Site
from tests.web.conftest import Make, Visit, tea
from tests.web.people import Page

PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148"
TABLET = "Mozilla/5.0 (Linux; Android 15; SM-X210) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15"


def live(site: Site) -> int:
    return sum(cell.live for cell in site.store.progress(site.study.hash))


@pytest.mark.parametrize(("agent", "let_in"), [(PHONE, False), (TABLET, False), (MAC, True)])
def test_a_study_for_desktops(make: Make, visit: Visit, agent: str, let_in: bool) -> None:
    person = visit(make(tea(presentation={"devices": "desktop"})))
    person.client.headers["user-agent"] = agent
    page = person.client.get("/")
    assert ("Please use another device" in page.text) is not let_in
    assert ("This study can be taken on a computer only." in page.text) is not let_in
    assert (Page(page.text).action == "/begin") is let_in


def test_a_tablet_that_calls_itself_a_desktop_takes_no_place(make: Make, visit: Visit) -> None:
    site = make(tea(presentation={"devices": ["desktop"]}))
    person = visit(site)
    person.client.headers["user-agent"] = MAC
    welcome = person.come()
    told = person.client.post("/begin", data=welcome.hidden | {"device": "tablet"})
    assert "Please use another device" in told.text
    assert live(site) == 0
    begun = person.client.post("/begin", data=welcome.hidden | {"device": "desktop"})
    person.answer(Page(begun.text))
    assert live(site) == 1


def test_who_goes_on_elsewhere_reads_so_and_loses_nothing(make: Make, visit: Visit) -> None:
    site = make(tea(presentation={"devices": "desktop"}))
    person = visit(site)
    person.client.headers["user-agent"] = MAC
    page = person.answer(person.begin("/?participant=anna"))
    person.client.headers["user-agent"] = PHONE
    assert "Please use another device" in person.client.get("/study").text
    person.client.headers["user-agent"] = MAC
    assert Page(person.client.get("/study").text).hidden["screen"] == page.hidden["screen"]


def test_programs_are_told_why(make: Make, visit: Visit) -> None:
    person = visit(make(tea(presentation={"devices": ["phone", "tablet"]})))
    answer = person.client.get("/", headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["reason"]) == (409, "device")
    assert "a phone, a tablet" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("theme", "dark"),
    [
        (None, 'media="(prefers-color-scheme: dark)"'),
        ("dark", 'media="all"'),
        ("light", None),
    ],
)
def test_one_theme_for_everybody(
    make: Make, visit: Visit, theme: str | None, dark: str | None
) -> None:
    page = visit(make(tea(presentation={"theme": theme}))).come().html
    assert f'<meta name="color-scheme" content="{theme or "light dark"}">' in page
    assert ("dark.css" in page) is (dark is not None)
    assert dark is None or dark in page


@pytest.mark.parametrize(
    ("presentation", "told"),
    [
        ({"sticky": "standard"}, "no standard is shown: set presentation.anchor"),
        ({"devices": "toaster"}, "presentation.devices.*desktop"),
        ({"devices": []}, "presentation.devices"),
        ({"theme": "blue"}, "presentation.theme.*light"),
    ],
)
def test_what_cannot_be_is_told(tmp_path: Path, presentation: dict[str, object], told: str) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps(tea(factors={}, presentation=presentation)), "utf-8")
    with pytest.raises(DialensError, match=told):
        read_design(file)


def test_a_standard_that_varies_can_stay_in_view() -> None:
    assert study_of(tea(presentation={"sticky": "standard"})).design.presentation.sticky
