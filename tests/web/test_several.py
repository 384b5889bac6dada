"""Several studies in one server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from dialens.base import DialensError
from dialens.studies import study_of
from dialens.studies.store import Secrets, Store
from dialens.web import Index, ServedStudy, studies_app
from dialens.web._serving import PatientProtocol
from tests.web.conftest import PASSWORD, Window, running, tea
from tests.web.people import Page

TITLES = {"tea": "How good is the tea?", "coffee": "How good is the coffee?"}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """Two studies with a database and a key each, below a path."""
    stores = {name: Store.open(f"sqlite:///{tmp_path / name}.db") for name in TITLES}
    studies = [
        ServedStudy(study_of(tea(study=name, title=title)), stores[name])
        for name, title in TITLES.items()
    ]
    yield Index.of(studies, password=PASSWORD, root="/labs")
    for store in stores.values():
        store.close()


@pytest.fixture
def client(index: Index) -> Iterator[TestClient]:
    with TestClient(studies_app(index)) as made:
        yield made


def _log_in(client: TestClient, address: str) -> str:
    form = Page(client.get(address).text)
    answer = client.post(form.action, data=form.hidden | {"password": PASSWORD})
    assert answer.status_code == 200
    return answer.text


def test_participants_take_part_below_the_name_of_their_study(client: TestClient) -> None:
    for name, title in TITLES.items():
        welcome = Page(client.get(f"/labs/{name}").text)
        assert title in welcome.text
        begun = client.post(welcome.action, data=welcome.hidden)
        assert (begun.url.path, begun.status_code) == (f"/labs/{name}/study", 200)
    paths = {cookie.path for cookie in client.cookies.jar}
    assert paths == {"/labs/tea/", "/labs/coffee/"}
    assert client.get("/labs/tea/study").status_code == 200


@pytest.mark.parametrize(
    "address", ["/labs/", "/", "/labs/milk/", "/labs/assets/", "/labs/api/study"]
)
def test_nothing_tells_participants_of_other_studies(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    assert not any(name in answer.text for name in (*TITLES, *TITLES.values()))
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_one_login_counts_for_the_index_and_all_studies(client: TestClient) -> None:
    home = _log_in(client, "/labs/researcher")
    assert all(title in home for title in TITLES.values())
    for name in TITLES:
        page = client.get(f"/labs/{name}/researcher")
        assert page.url.path == f"/labs/{name}/researcher"
        assert 'href="/labs/researcher"' in page.text
    form = Page(home)
    client.post(form.action, data=form.hidden)
    assert client.get("/labs/tea/researcher").url.path == "/labs/tea/researcher/login"


def test_a_login_at_one_study_counts_at_the_others(client: TestClient) -> None:
    _log_in(client, "/labs/coffee/researcher")
    assert client.get("/labs/tea/researcher").url.path == "/labs/tea/researcher"
    assert client.get("/labs/researcher").url.path == "/labs/researcher"


def test_without_a_login_the_index_is_not_shown(client: TestClient) -> None:
    answer = client.get("/labs/researcher")
    assert answer.url.path == "/labs/researcher/login"
    assert not any(title in answer.text for title in TITLES.values())


def test_mistakes_at_one_study_count_at_all(client: TestClient) -> None:
    for _ in range(5):
        form = Page(client.get("/labs/tea/researcher/login").text)
        client.post(form.action, data=form.hidden | {"password": "not this one"})
    form = Page(client.get("/labs/coffee/researcher/login").text)
    assert client.post(form.action, data=form.hidden | {"password": PASSWORD}).status_code == 429


def test_health_is_that_of_all_databases(client: TestClient) -> None:
    assert client.get("/labs/healthz").json() == {"status": "ok"}
    assert client.get("/healthz").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("names", "message"),
    [(("tea", "tea"), "Two of the studies are called tea"), (("researcher", "tea"), "cannot be")],
)
def test_studies_that_cannot_have_an_address_each(
    tmp_path: Path, names: tuple[str, ...], message: str
) -> None:
    with Store.open(f"sqlite:///{tmp_path}/one.db", secrets=Secrets(bytes(32))) as store:
        studies = [ServedStudy(study_of(tea(study=name)), store) for name in names]
        with pytest.raises(DialensError, match=message):
            Index.of(studies, password=PASSWORD)


def test_a_study_in_a_frame_keeps_the_headers_of_its_own(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/one.db", secrets=Secrets(bytes(32))) as store:
        turk = study_of(tea(study="turk", recruiter={"kind": "mturk", "reward": 1.0}))
        studies = [ServedStudy(turk, store), ServedStudy(study_of(tea()), store)]
        app = studies_app(Index.of(studies, password=PASSWORD))
        with TestClient(app, base_url="https://lab.org") as client:
            framed, plain = client.get("/turk/"), client.get("/tea/")
    assert "x-frame-options" not in framed.headers
    assert plain.headers["x-frame-options"] == "DENY"
    assert plain.headers.get_list("strict-transport-security") == ["max-age=31536000"]


@pytest.mark.browser
def test_the_index_is_accessible_and_leads_to_each_study(index: Index, window: Window) -> None:
    with running(studies_app(index), PatientProtocol) as port:
        page = window(f"http://127.0.0.1:{port}/labs/researcher")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("link", name=TITLES["coffee"]).click()
        page.wait_for_url("**/labs/coffee/researcher")
        page.get_by_role("link", name="All studies").click()
        page.wait_for_url("**/labs/researcher")
        assert page.get_by_role("row").count() == 3
