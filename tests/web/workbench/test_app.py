"""The pages of a folder: who gets in, what is said where something is wrong, hostile names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fastapi import APIRouter
from fastapi.responses import Response
from starlette.testclient import TestClient

from dialens.base import DialensError
from dialens.web.workbench import WorkbenchApp, workbench_app
from dialens.web.workbench import _app as application
from dialens.web.workbench._desk import NAV, Desk
from dialens.workbench import Workbench
from tests.web.workbench.conftest import BASE
from tests.workbench.folders import print_of, write_chats

PATHS = ("/", "/assets/workbench.css", "/assets/keys.js", "/reports/out", "/nowhere")


def test_every_request_needs_the_token(app: WorkbenchApp, stranger: TestClient) -> None:
    for path in PATHS:
        refused = stranger.get(path)
        assert refused.status_code == 401, path
        assert "dialens open" in refused.text
        assert "project" not in refused.text, "strangers do not learn what is open"
        assert stranger.get(path, params={"token": "guess"}).status_code == 403
        assert stranger.post(path).status_code == 401
    stranger.cookies.set(app.key.cookie, "guess")
    assert stranger.get("/").status_code == 403


def test_the_token_is_kept_in_a_cookie_that_no_script_and_no_other_site_sees(
    app: WorkbenchApp, stranger: TestClient
) -> None:
    first = stranger.get(app.address)
    assert first.status_code == 200
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert app.key.token not in first.text, "addresses in the page do not hold it"
    for path in PATHS[:4]:
        assert stranger.get(path).status_code == 200, path
    assert "set-cookie" not in stranger.get("/").headers


def test_two_workbenches_do_not_know_each_others_token(
    app: WorkbenchApp, owner: TestClient
) -> None:
    other = workbench_app(app.workbench)
    assert other.key.token != app.key.token
    client = TestClient(other, base_url=BASE, cookies=owner.cookies)
    assert client.get("/").status_code == 401


@pytest.mark.parametrize(
    "host", ["example.org", "example.org:8123", "127.0.0.1.example.org:80", ""]
)
def test_a_foreign_name_for_this_machine_is_refused(owner: TestClient, host: str) -> None:
    assert owner.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost:8123", "127.0.0.1:1", "[::1]:8123"])
def test_names_of_this_machine_are_answered(app: WorkbenchApp, host: str) -> None:
    client = TestClient(app, base_url=BASE)
    assert client.get(app.address, headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        {"origin": "https://example.org"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    ],
)
def test_pages_of_other_sites_are_refused(owner: TestClient, sent: dict[str, str]) -> None:
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE"):
        assert owner.request(method, "/", headers=sent).status_code == 403, method
    form = {**sent, "sec-fetch-mode": "navigate"}
    assert owner.post("/", headers=form, data={"a": "b"}).status_code == 403


def test_a_link_elsewhere_may_be_followed_with_the_token(
    app: WorkbenchApp, stranger: TestClient
) -> None:
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert stranger.get(app.address, headers=followed).status_code == 200


def test_pages_are_guarded_by_headers(owner: TestClient) -> None:
    headers = owner.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    page = owner.get("/").text
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=)", page)


def test_head_is_answered_as_get(owner: TestClient) -> None:
    for path in PATHS[:4]:
        assert owner.head(path).status_code == 200, path
    assert owner.head("/nowhere").status_code == 404


def test_what_is_not_there_is_said_as_a_page_or_as_json(owner: TestClient) -> None:
    page = owner.get("/nowhere")
    assert page.status_code == 404
    assert "Nothing is found at this address" in page.text
    assert 'href="/"' in page.text
    told = owner.get("/nowhere", headers={"accept": "application/json"})
    assert told.status_code == 404
    assert "Nothing is found" in told.json()["detail"]
    unknown = owner.get("/reports/otu")
    assert unknown.status_code == 404
    assert "Did you mean out?" in unknown.text
    assert owner.post("/").status_code == 405
    for path in ("/assets/..%2f_app.py", "/assets/base.html.j2", "/assets/%2e%2e/_app.py"):
        assert owner.get(path).status_code == 404, path


def _with_faults(desk: Desk) -> APIRouter:
    router = APIRouter()

    @router.get("/mendable")
    def mendable() -> Response:
        raise DialensError("The corpus <b>x</b> is empty. Name another.")

    @router.get("/broken")
    def broken(number: int = 0) -> Response:
        raise RuntimeError("secret detail\nsecond line")

    return router


def test_errors_are_sentences_and_faults_one_line_in_the_terminal(
    app: WorkbenchApp, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(application, "ROUTERS", (*application.ROUTERS, _with_faults))
    broken = workbench_app(app.workbench)
    client = TestClient(broken, base_url=BASE)
    client.get(broken.address)
    page = client.get("/mendable")
    assert page.status_code == 422
    assert "The corpus &lt;b&gt;x&lt;/b&gt; is empty. Name another." in page.text
    fetched = client.get("/mendable", headers={"sec-fetch-dest": "empty"})
    assert fetched.json() == {"detail": "The corpus <b>x</b> is empty. Name another."}
    capsys.readouterr()
    page = client.get("/broken")
    assert page.status_code == 500
    assert "secret" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    told = capsys.readouterr().err
    assert told == "Fault at /broken: RuntimeError: secret detail\n"
    assert client.get("/broken?number=x").status_code == 400
    assert client.get("/").status_code == 200


def test_only_pages_with_a_route_are_linked(app: WorkbenchApp, owner: TestClient) -> None:
    nav = owner.get("/").text.partition("<nav")[2].partition("</nav>")[0]
    linked = re.findall(r'<a href="([^"]*)"', nav)
    assert linked[0] == "/"
    assert set(linked) <= {path for _, path in NAV}
    for path in linked:
        assert owner.get(path).status_code == 200, path
    assert nav.count('aria-current="page"') == 1


def test_the_overview_says_what_is_there_and_what_is_stale(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_chats(project / "chats.jsonl", more=1)
    workbench = Workbench.open(project)
    app = workbench_app(workbench)
    client = TestClient(app, base_url=BASE)
    text = client.get(app.address).text
    assert "18 conversations of 2 agents, scored with 2 metrics" in text
    assert "5 items are stale" in text
    scores = workbench.catalogue.get("out")
    assert scores.command is not None
    assert scores.command in text
    workbench.close()


def test_the_overview_follows_the_folder(
    app: WorkbenchApp, owner: TestClient, project: Path
) -> None:
    assert "Nothing is stale." in owner.get("/").text
    write_chats(project / "chats.jsonl", more=1)
    assert "5 items are stale." in owner.get("/").text


def test_reports_are_shown_without_an_origin(owner: TestClient, project: Path) -> None:
    for name, file in (
        ("out", "out/report.html"),
        ("compared", "compared/comparison.html"),
        ("out/comparison", "out/comparison.html"),
    ):
        page = owner.get(f"/reports/{name}")
        assert page.status_code == 200
        assert page.content == (project / file).read_bytes()
        policy = page.headers["content-security-policy"]
        assert policy.startswith("sandbox allow-scripts ")
        assert "allow-same-origin" not in policy
        assert "connect-src" not in policy, "nothing beyond default-src 'none'"
        assert page.headers["content-type"] == "text/html; charset=utf-8"
    for name in ("chats.jsonl", "out/report.html", "out/run.json", "../x", "..%2f..%2fetc/passwd"):
        assert owner.get(f"/reports/{name}").status_code == 404, name
    (project / "out" / "report.html").unlink()
    (project / "out" / "report.html").symlink_to(project / "chats.jsonl")
    assert owner.get("/reports/out").status_code == 404


HOSTILE = """<img src=x onerror=alert(1)> "'&amp; {{ 7 * 7 }} #?x=1"""


def test_hostile_names_stay_text(project: Path) -> None:
    (project / "compared").rename(project / HOSTILE)
    record = project / HOSTILE / "run.json"
    content = json.loads(record.read_text("utf-8"))
    content["arguments"]["runs"] = ["out", "<script>alert(2)</script>"]
    record.write_text(json.dumps(content), "utf-8")
    workbench = Workbench.open(project)
    app = workbench_app(workbench)
    client = TestClient(app, base_url=BASE)
    text = client.get(app.address).text
    assert "<img src=x" not in text
    assert "<script>alert" not in text
    assert "{{ 7 * 7 }}" in text
    (link,) = re.findall(r'href="(/reports/%3Cimg[^"]*)"', text)
    page = client.get(link)
    assert page.status_code == 200
    assert page.content == (project / HOSTILE / "comparison.html").read_bytes()
    assert "&lt;script&gt;" in client.get("/reports/<script>alert(1)</script>").text
    workbench.close()


def test_pages_change_no_file(owner: TestClient, project: Path) -> None:
    before = print_of(project)
    for path in PATHS:
        owner.get(path)
    after = {
        name: seen for name, seen in print_of(project).items() if "workbench.sqlite" not in name
    }
    assert {name for name in before if before[name] != after.get(name)} <= {"."}


def test_scripts_stay_small() -> None:
    folder = Path(application.__file__).parent / "assets"
    assert sum(path.stat().st_size for path in folder.glob("*.js")) < 60_000
