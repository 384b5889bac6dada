"""`dialens study preview`: the author's page follows the file, edits it, and stores nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dialens.studies.templates import TEMPLATES, write_template
from dialens.web import StudyPreview, study_preview
from tests.studies.test_translation import GERMAN, written
from tests.web.people import Page, Person

Open = Callable[..., TestClient]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_template("likert", tmp_path / "mine")
    return tmp_path / "mine"


@pytest.fixture
def preview(folder: Path) -> Iterator[StudyPreview]:
    made = study_preview(folder)
    yield made
    made.close()


@pytest.fixture
def author(preview: StudyPreview) -> TestClient:
    """A browser that has opened the address that the command prints."""
    return opened(preview)


def opened(preview: StudyPreview) -> TestClient:
    client = TestClient(preview, base_url="http://127.0.0.1:8123")
    assert client.get(preview.address).status_code == 200
    return client


def rewrite(file: Path, old: str, new: str) -> None:
    """Save the file as an editor would, at another time."""
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")
    later = file.stat().st_mtime_ns + 1_000_000
    os.utime(file, ns=(later, later))


def screens(author: TestClient, **query: Any) -> list[dict[str, str]]:
    found: list[dict[str, str]] = author.get("/preview/outline", params=query).json()["screens"]
    return found


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_screen_of_every_template_is_shown(name: str, tmp_path: Path) -> None:
    write_template(name, tmp_path / "mine")
    preview = study_preview(tmp_path / "mine")
    author = opened(preview)
    outline = author.get("/preview/outline", params={"cell": ""}).json()
    assert outline["cells"] == [cell.name for cell in preview.site().study.cells]
    listed = outline["screens"]
    assert [listed[0]["kind"], listed[1]["kind"], listed[-1]["kind"]] == [
        "welcome",
        "consent",
        "end",
    ]
    for screen in [*listed[:12], listed[-1]]:
        query = {"cell": outline["cell"], "seed": 0, "screen": screen["id"]}
        page = author.get("/preview/screen", params=query)
        assert page.status_code == 200, screen
        assert "frame-ancestors 'self'" in page.headers["content-security-policy"]


def test_of_a_cell_or_screen_that_went_the_first_is_shown(author: TestClient) -> None:
    asked = {"cell": "tone=gone", "seed": "0"}
    shown = author.get("/preview/screen", params=asked | {"screen": "rate-003"})
    same = author.get("/preview/screen", params={"cell": "all", "seed": 0, "screen": "rate-003"})
    assert shown.status_code == 200
    assert Page(shown.text).inputs == Page(same.text).inputs != []
    welcome = author.get("/preview/screen", params=asked | {"screen": "gone"})
    assert "Begin" in welcome.text
    begun = author.post(Page(welcome.text).action, data=Page(welcome.text).hidden)
    assert Page(begun.text).inputs[0] == "a:consent"
    assert author.post("/preview/take", json={"cell": "tone=gone"}).status_code == 200


def test_gold_attention_and_practice_are_marked(tmp_path: Path) -> None:
    write_template("anchoring2020", tmp_path / "mine")
    listed = screens(opened(study_preview(tmp_path / "mine")), cell="")
    assert {s["kind"] for s in listed if s["mark"] == "practice"} == {"practice"}
    write_template("likert", tmp_path / "other")
    listed = screens(opened(study_preview(tmp_path / "other")), cell="")
    assert [s["label"] for s in listed if s["mark"] == "gold"] == ["gold-1"]
    attention = (
        "checks:\n  attention:\n    tea: {question: {kind: yes_no, prompt: Is tea hot?}, "
        "correct: 'yes', after: [1]}\n"
    )
    rewrite(tmp_path / "other" / "study.yaml", "checks:\n", attention)
    listed = screens(opened(study_preview(tmp_path / "other")), cell="")
    assert [s["label"] for s in listed if s["mark"] == "attention"] == ["tea"]


def test_answers_are_checked_as_for_participants(author: TestClient) -> None:
    rating = next(s["id"] for s in screens(author, cell="all") if s["kind"] == "rating")
    query = {"cell": "all", "screen": rating}
    page = Page(author.get("/preview/screen", params=query).text)
    refused = author.post(page.action, data=page.hidden)
    assert refused.status_code == 422
    assert "Please look at these again" in refused.text
    script = {"accept": "application/json"}
    answer = author.post(page.action, data=page.hidden, headers=script)
    assert set(answer.json()["errors"]) == {name[2:] for name in page.inputs}
    filled = page.hidden | dict.fromkeys(page.inputs, "3")
    following = author.post(page.action, data=filled, headers=script).json()["next"]
    assert following.startswith("/preview/screen?cell=all&seed=0&screen=rate-002")


def test_the_page_follows_the_file_and_keeps_the_last_valid_version(
    author: TestClient, folder: Path
) -> None:
    state = author.get("/preview/state").json()
    assert (state["errors"], state["shown"]) == ([], True)
    stamp = {"stamp": state["stamp"]}
    assert author.get("/preview/state", params=stamp).status_code == 204
    rewrite(folder / "study.yaml", "title: How good", "titel: How good")
    broken = author.get("/preview/state", params=stamp).json()
    assert {(e["line"], *e["where"]) for e in broken["errors"]} == {(1, "title"), (6, "titel")}
    assert any("Did you mean title?" in e["message"] for e in broken["errors"])
    assert author.get("/preview/outline?cell=all").json()["title"] == "How good are these replies?"
    rewrite(folder / "study.yaml", "titel: How good", "title: How very good")
    assert author.get("/preview/outline?cell=all").json()["title"].startswith("How very good")
    assert author.get("/preview/state", params=stamp).json()["errors"] == []


def test_files_that_the_study_names_are_followed(tmp_path: Path) -> None:
    write_template("anchoring2020", tmp_path / "mine")
    author = opened(study_preview(tmp_path / "mine"))
    stamp = author.get("/preview/state").json()["stamp"]
    rewrite(tmp_path / "mine" / "items.yaml", "cancelled again", "cancelled twice")
    assert author.get("/preview/state", params={"stamp": stamp}).json()["stamp"] != stamp
    rewrite(tmp_path / "mine" / "items.yaml", "- id:", "- ix:")
    (error,) = author.get("/preview/state").json()["errors"][:1]
    assert error["message"].startswith("items.yaml:")


def test_a_file_that_was_never_valid_shows_its_problems(folder: Path) -> None:
    (folder / "study.yaml").write_text("study: [\n")
    author = opened(study_preview(folder))
    state = author.get("/preview/state").json()
    assert state["shown"] is False
    assert "this is not YAML" in state["errors"][0]["message"]
    assert author.get("/preview/outline?cell=").status_code == 409
    document = author.get("/preview/document").json()
    assert (document["data"], document["text"]) == (None, "study: [\n")


def test_warnings_say_where(author: TestClient) -> None:
    warnings = author.get("/preview/state").json()["warnings"]
    (contact,) = [one for one in warnings if "PLEASE FILL IN" in one["message"]]
    assert (contact["where"], contact["line"]) == (["contact"], 60)


def test_the_study_is_taken_from_welcome_to_end_and_nothing_is_stored(
    preview: StudyPreview, author: TestClient, folder: Path
) -> None:
    before = sorted(folder.iterdir())
    address = author.post("/preview/take", json={"cell": "all", "seed": 5}).json()["address"]
    assert preview._taken is not None
    site, _ = preview._taken
    person = Person(site, author, 0)
    welcome = person.come(address)
    page = Page(author.post(welcome.action, data=welcome.hidden).text)
    code = person.finish(page)
    assert code
    seen = [screen.id for screen in site.planner.screens("all", 0)]
    assert seen == [screen.id for screen in preview.site().planner.screens("all", 5)]
    answers = site.store.answers_frame(site.study.hash)
    assert set(answers["screen"]) == set(seen) - {"instructions", "end"}
    assert sorted(folder.iterdir()) == before
    author.post("/preview/take", json={"cell": "all"})
    assert preview._taken[0].store.answers_frame(site.study.hash).is_empty()


@pytest.mark.parametrize("kind", ["prolific", "mturk", "connect", "provider", "personal", "kiosk"])
def test_studies_of_recruiters_can_be_taken(kind: str, folder: Path) -> None:
    rewrite(folder / "study.yaml", "kind: link", f"kind: {kind}, reward: 1")
    author = opened(study_preview(folder))
    address = author.post("/preview/take", json={"cell": "all"}).json()["address"]
    page = author.get(address)
    assert "Begin" in page.text
    assert "form-action 'self';" in page.headers["content-security-policy"]


def test_a_change_is_written_and_comments_stay(author: TestClient, folder: Path) -> None:
    before = author.get("/preview/document").json()
    change = {"at": ["qualities", "relevance", "label"], "value": "To the point"}
    after = author.post(
        "/preview/changes", json={"before": before["hash"], "changes": [change]}
    ).json()
    assert after["data"]["qualities"]["relevance"]["label"] == "To the point"
    text = (folder / "study.yaml").read_text("utf-8")
    assert text == after["text"]
    assert [line for line in text.splitlines() if line not in before["text"].splitlines()] == [
        "    label: To the point"
    ]
    undone = author.put(
        "/preview/document", json={"before": after["hash"], "text": before["text"]}
    ).json()
    assert undone["hash"] == before["hash"]


def test_a_file_that_was_changed_meanwhile_is_not_overwritten(
    author: TestClient, folder: Path
) -> None:
    before = author.get("/preview/document").json()["hash"]
    rewrite(folder / "study.yaml", "targets: 20", "targets: 30")
    text = (folder / "study.yaml").read_text("utf-8")
    change = {"before": before, "changes": [{"at": ["title"], "value": "Mine"}]}
    refused = author.post("/preview/changes", json=change)
    assert refused.status_code == 409
    assert "was changed on disk" in refused.json()["detail"]
    assert author.put("/preview/document", json={"before": before, "text": ""}).status_code == 409
    assert (folder / "study.yaml").read_text("utf-8") == text


def test_line_ends_and_byte_order_marks_stay(author: TestClient, folder: Path) -> None:
    file = folder / "study.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    before = author.get("/preview/document").json()["hash"]
    change = {"before": before, "changes": [{"at": ["title"], "value": "Mine"}]}
    assert author.post("/preview/changes", json=change).status_code == 200
    written = file.read_bytes()
    assert written.startswith(b"\xef\xbb\xbf")
    assert written.count(b"\n") == written.count(b"\r\n") > 50
    assert b"title: Mine\r\n" in written


def test_parts_can_be_edited_as_yaml(author: TestClient) -> None:
    at = '["qualities", "relevance", "instrument"]'
    text = author.get("/preview/fragment", params={"at": at}).json()["yaml"]
    assert "kind: likert" in text
    before = author.get("/preview/document").json()["hash"]
    change = {"at": ["qualities", "relevance", "instrument"], "yaml": "kind: [slider"}
    refused = author.post("/preview/changes", json={"before": before, "changes": [change]})
    assert (refused.status_code, "This is not YAML" in refused.json()["detail"]) == (422, True)


def test_nobody_else_gets_in(preview: StudyPreview, folder: Path) -> None:
    paths = ["/preview", "/preview/state", "/preview/document", "/preview/outline?cell=all"]
    stranger = TestClient(preview, base_url="http://127.0.0.1:8123")
    for path in paths:
        assert stranger.get(path).status_code == 401
    assert stranger.get("/preview?token=guess").status_code == 403
    author = opened(preview)
    before = author.get("/preview/document").json()["hash"]
    text = (folder / "study.yaml").read_text("utf-8")
    change = {"before": before, "changes": [{"at": ["title"], "value": "Theirs"}]}
    for headers in (
        {"origin": "https://example.org"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"host": "example.org:8123"},
        {"host": "127.0.0.1.example.org"},
    ):
        refused = author.post("/preview/changes", json=change, headers=headers)
        assert refused.status_code in (403, 421), headers
    form = author.post("/preview/changes", data={"before": before})
    assert form.status_code == 400
    assert (folder / "study.yaml").read_text("utf-8") == text
    cookie = author.get(preview.address).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_early_ends_and_skipped_screens_are_as_for_participants(
    author: TestClient, folder: Path
) -> None:
    asked = (
        "screening:\n  questions:\n    age: {kind: number, prompt: How old are you?}\n"
        "  rules: [{question: age, at_least: 18}]\n  end: {text: Only for adults.}\nconsent:\n"
    )
    rewrite(folder / "study.yaml", "consent:\n", asked)
    consent = {"cell": "all", "screen": "consent"}
    page = Page(author.get("/preview/screen", params=consent).text)
    declined = author.post(page.action, data=page.hidden | {"a:consent": "no"})
    assert "You chose not to take part" in declined.text
    page = Page(author.get("/preview/screen", params=consent | {"screen": "screening"}).text)
    young = author.post(page.action, data=page.hidden | {"a:age": "12"})
    assert "Only for adults." in young.text
    grown = author.post(page.action, data=page.hidden | {"a:age": "30"})
    assert Page(grown.text).hidden["screen"] != "screening"


def test_a_study_in_two_languages_is_shown_and_taken_in_both(tmp_path: Path) -> None:
    written(tmp_path, GERMAN)
    preview = study_preview(tmp_path)
    author = opened(preview)
    outline = author.get("/preview/outline", params={"cell": "", "language": "de"}).json()
    assert outline["languages"] == ["en", "de"]
    assert outline["title"] == "Wie gut sind diese Antworten?"
    query = {"cell": outline["cell"], "screen": "consent", "language": "de"}
    assert "Möchten Sie teilnehmen?" in author.get("/preview/screen", params=query).text
    sent = {"cell": outline["cell"], "language": "de"}
    address = author.post("/preview/take", json=sent).json()["address"]
    assert "Wie gut sind diese Antworten?" in author.get(address).text
    preview.close()
