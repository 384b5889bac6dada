"""A study below a path of its host, behind a proxy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from dialens.base import DialensError
from dialens.web import Site, root_path, study_app
from dialens.web._serving import PatientProtocol
from tests.web.conftest import PASSWORD, Make, Serve, Window, running, tea
from tests.web.people import Page, Person
from tests.web.proxies import nginx, plain_proxy
from tests.web.test_browser import begin, onward

ROOT = "/labs/warmth"
_ADDRESS = re.compile(r'(?:href|src|action)="([^"]*)"')


@pytest.fixture
def below(make: Make) -> Site:
    return make(root=ROOT)


@pytest.fixture(params=["strips", "keeps", "nginx"])
def address(below: Site, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a browser finds the study, behind a proxy that takes the path away or leaves it."""
    with ExitStack() as stack:
        port = stack.enter_context(running(study_app(below), PatientProtocol))
        if request.param == "nginx":
            yield stack.enter_context(nginx(port, ROOT, tmp_path))
        else:
            strips = request.param == "strips"
            yield stack.enter_context(plain_proxy(port, ROOT, strips=strips))


class Below(Person):
    """Follows addresses as pages give them, from the top of the host."""

    def post(self, page: Page, sent: dict[str, str]) -> Page:
        answer = self.client.post(page.action, data=sent)
        assert answer.status_code == 200, answer.text
        return Page(answer.text)

    def answer(self, page: Page) -> Page:
        return self.post(page, self.filled(page))


def test_every_address_of_a_participation_works_behind_a_proxy(below: Site, address: str) -> None:
    top = address.removesuffix(ROOT)
    with httpx.Client(base_url=top, follow_redirects=True) as client:
        person = Below(below, client)
        first = client.get(f"{ROOT}/")
        assert {cookie.path for cookie in client.cookies.jar} == {f"{ROOT}/"}
        led = _ADDRESS.findall(first.text)
        assert [one for one in led if not one.startswith((f"{ROOT}/", "#"))] == []
        assert all(client.get(one).status_code == 200 for one in led if "/assets/" in one)
        welcome = Page(first.text)
        code = person.finish(person.post(welcome, welcome.hidden))
        assert len(code) == 16
        again = client.get(f"{ROOT}/")
        assert urlsplit(str(again.url)).path == f"{ROOT}/study"
        assert code in again.text


def test_the_researcher_logs_in_behind_a_proxy(below: Site, address: str) -> None:
    with httpx.Client(base_url=address.removesuffix(ROOT), follow_redirects=True) as client:
        form = Page(client.get(f"{ROOT}/researcher").text)
        home = client.post(form.action, data=form.hidden | {"password": PASSWORD})
        assert (home.url.path, home.status_code) == (f"{ROOT}/researcher", 200)
        look = next(one for one in _ADDRESS.findall(home.text) if "/preview" in one)
        shell = client.get(look.replace("&amp;", "&"))
        assert f'data-home="{ROOT}/researcher/preview"' in shell.text
        cell = below.study.cells[0].name
        query = {"cell": cell, "screen": "consent"}
        screen = Page(client.get(f"{ROOT}/researcher/preview/screen", params=query).text)
        assert screen.action.startswith(f"{ROOT}/researcher/preview/screen?")
        sent = screen.hidden | {"a:consent": "yes"}
        led = client.post(screen.action.replace("&amp;", "&"), data=sent)
        assert (led.url.path, led.status_code) == (f"{ROOT}/researcher/preview/screen", 200)
        assert led.url.params["screen"] != "consent"
        out = Page(home.text)
        assert out.action == f"{ROOT}/researcher/logout"
        assert client.post(out.action, data=out.hidden).url.path == f"{ROOT}/researcher/login"
        assert {cookie.path for cookie in client.cookies.jar} == {f"{ROOT}/"}


def test_every_address_of_the_dashboard_is_below_the_path(below: Site) -> None:
    with (
        running(study_app(below), PatientProtocol) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", follow_redirects=True) as client,
    ):
        person = Below(below, client)
        welcome = Page(client.get(f"{ROOT}/").text)
        code = person.finish(person.post(welcome, welcome.hidden))
        form = Page(client.get(f"{ROOT}/researcher").text)
        home = client.post(form.action, data=form.hidden | {"password": PASSWORD})
        ticket = Page(home.text).hidden["ticket"]
        who = f"{ROOT}/researcher/people/{person.session.participant}"
        looked_up = client.get(f"{ROOT}/researcher/code", params={"code": code})
        assert looked_up.url.path == who
        sure = client.post(f"{ROOT}/researcher/cells", data={"ticket": ticket, "state": "closed"})
        paid = client.post(f"{who}/paid", data={"ticket": ticket})
        assert paid.url.path == who
        saved = client.post(f"{ROOT}/researcher/settings", data={"ticket": ticket, "targets": "9"})
        assert (saved.url.path, saved.status_code) == (f"{ROOT}/researcher/settings", 200)
        pages = [client.get(f"{ROOT}/researcher/{one}") for one in ("people", "screens")]
        replay = client.get(f"{who}/replay")
        for page in (home, looked_up, sure, saved, replay, *pages):
            assert page.status_code == 200
            assert [
                one
                for one in _ADDRESS.findall(page.text)
                if not one.startswith((f"{ROOT}/", "#")) and one
            ] == []
        lost = client.get(f"{ROOT}/researcher/nowhere")
        assert (lost.status_code, f'href="{ROOT}/"' in lost.text) == (404, True)


def test_programs_are_led_on_below_the_path(below: Site, address: str) -> None:
    with httpx.Client(base_url=address, headers={"accept": "application/json"}) as client:
        ticket = client.get("/").json()["ticket"]
        begun = client.post("/begin", data={"ticket": ticket})
        assert begun.json() == {"next": f"{ROOT}/study"}
        assert client.get("/nothing").json() == {"detail": "Not Found"}
        assert client.get("/api/study").status_code == 401


def test_the_path_without_its_slash_leads_to_the_first_page(below: Site) -> None:
    with running(study_app(below), PatientProtocol) as port:
        answer = httpx.get(f"http://127.0.0.1:{port}{ROOT}?participant=anna")
    assert (answer.status_code, answer.headers["location"]) == (307, f"{ROOT}/?participant=anna")


@pytest.mark.parametrize("root", ["/study", "/researcher", "/api", "/assets", "/begin"])
def test_a_path_that_is_one_of_our_addresses_is_refused(make: Make, root: str) -> None:
    site = make(root=root)
    with pytest.raises(DialensError, match="an address of the study's own pages"):
        study_app(site)


@pytest.mark.parametrize("text", ["/a b", "/a?b", '/"', "/../a", "//a//b"])
def test_a_path_that_no_proxy_could_have_is_refused(text: str) -> None:
    with pytest.raises(DialensError, match="--root-path takes a path"):
        root_path(text)


def test_scripts_and_templates_name_no_address_from_the_top_of_the_host() -> None:
    assets = files("dialens.web") / "assets"
    scripts = [one for one in assets.iterdir() if one.name.endswith(".js")]
    assert [one.name for one in scripts if 'fetch("/' in one.read_text("utf-8")] == []
    # What stands in an expression is not seen by the extension that puts the path before it.
    templates = [one for one in assets.iterdir() if one.name.endswith(".j2")]
    wrong = re.compile(r'\{\{[^}]*(?<!root \+ )"/[a-z]')
    assert [one.name for one in templates if wrong.search(one.read_text("utf-8"))] == []


def test_only_a_trusted_proxy_is_believed_and_the_command_knows_the_path(serve: Serve) -> None:
    """With the header of a stranger, the cookie is not marked as sent by https."""
    trusting = serve(tea(), "--proxy", "192.0.2.0/24,127.0.0.0/8", "--root-path", "warmth/")
    strangers = serve(tea(), "--proxy", "192.0.2.7")
    said = {"x-forwarded-proto": "https"}
    believed = httpx.get(f"{trusting.url}/warmth/", headers=said)
    assert "; Path=/warmth/;" in believed.headers["set-cookie"]
    assert "Secure" in believed.headers["set-cookie"]
    assert "Secure" not in httpx.get(f"{strangers.url}/", headers=said).headers["set-cookie"]


@pytest.mark.browser
def test_a_browser_takes_part_below_a_path(below: Site, window: Window) -> None:
    with (
        running(study_app(below), PatientProtocol) as port,
        plain_proxy(port, ROOT, strips=True) as address,
    ):
        page = window(f"{address}/")
        begin(page)
        page.locator("input[value=yes]").check(force=True)
        with page.expect_request(f"{address}/study") as sent:
            onward(page)
        assert sent.value.header_value("content-type") == "application/json"
        assert page.url == f"{address}/study"
        assert page.locator("form[data-screen=consent]").count() == 0
        page.goto("about:blank")  # with it go the last events
