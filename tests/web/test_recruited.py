"""People who come by personal link, from CloudResearch Connect or from any panel."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from dialens.base import DialensError
from dialens.cli.study._group import app
from dialens.studies import estimate, study_of
from dialens.studies.recruiters import personal_links, read_people
from dialens.studies.store import Secrets
from tests.web.conftest import KEY, PASSWORD, Make, Visit, tea

PANEL = {
    "kind": "provider",
    "name": "Panel House",
    "id_parameter": "rid",
    "other_parameters": ["wave"],
    "return_url": "https://panel.org/end?rid={rid}&wave={wave}&status=1&code={code}",
}
CONNECT_DONE = "https://connect.cloudresearch.com/participant/project/8F8EFE87A6/complete"


def _link(study: dict[str, Any], person: str) -> str:
    made = personal_links(study_of(study), KEY, "https://tea.org/", [{"id": person}])
    return made[0]["link"].removeprefix("https://tea.org")


def test_a_personal_link_lets_in_the_invited_alone(make: Make, visit: Visit) -> None:
    study = tea(recruiter={"kind": "personal"})
    site = make(study)
    good = _link(study, "anna@example.org")
    assert "anna" not in good
    person = visit(site)
    for wrong in (
        "/",
        "/?participant=anna@example.org",
        good[:-3] + "AAA",
        _link(study | {"study": "x"}, "anna"),
    ):
        refused = person.client.get(wrong)
        assert (refused.status_code, "by the link that you were sent" in refused.text) == (
            403,
            True,
        )
    person.begin(good)
    assert person.session.recruiter == "personal"


@pytest.mark.parametrize(
    ("resume", "goes_on"), [("resume", True), ("restart", True), ("block", False)]
)
def test_a_link_that_is_opened_twice_does_as_the_study_says(
    make: Make, visit: Visit, resume: str, goes_on: bool
) -> None:
    study = tea(recruiter={"kind": "personal"}, resume=resume)
    site = make(study)
    first, second = visit(site), visit(site)
    page = first.begin(_link(study, "anna"))
    first.answer(page)
    again = second.begin(_link(study, "anna"))
    assert ('name="screen"' in again.html) is goes_on
    if goes_on:
        assert second.session.participant == first.session.participant


def test_the_same_person_always_gets_the_same_link_and_others_another() -> None:
    study = study_of(tea(recruiter={"kind": "personal"}))
    people = [{"id": "anna"}, {"id": "ben"}]
    made = [one["link"] for one in personal_links(study, KEY, "https://t.org", people)]
    assert made == [one["link"] for one in personal_links(study, KEY, "https://t.org", people)]
    assert len(set(made)) == 2
    other = personal_links(study, Secrets(bytes(32)), "https://t.org", people)
    assert KEY.invited("tea", other[0]["link"].partition("invitation=")[2]) is None


def test_the_api_makes_links_that_let_people_in(make: Make, visit: Visit) -> None:
    study = tea(recruiter={"kind": "personal"})
    site = make(study, root="/tea")
    person = visit(site)
    told = {"authorization": f"Bearer {PASSWORD}"}

    def ask(*ids: str, **headers: str) -> Any:
        return person.client.post("/tea/api/links", json={"ids": ids}, headers=headers)

    assert ask("anna").status_code == 401
    made = ask("anna", "ben", **told).json()["links"]
    people = [{"id": "anna"}, {"id": "ben"}]
    assert made == personal_links(site.study, KEY, "http://testserver/tea/", people)
    assert person.client.get(made[0]["link"]).status_code == 200
    assert ask("é" * 100, **told).status_code == 409  # 200 bytes
    anybody = visit(make()).client.post("/api/links", json={"ids": ["anna"]}, headers=told)
    assert (anybody.status_code, "kind: personal" in anybody.text) == (409, True)


def _run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["links", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tea").mkdir()
    with (tmp_path / "tea" / "study.yaml").open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(tea(recruiter={"kind": "personal"}), file)
    return tmp_path / "tea"


def test_links_are_written_beside_the_columns_of_the_list(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,mail\nanna,a@x.org\nben,b@x.org\n", "utf-8")
    where = ("--url", "https://tea.org/s?x=1")
    done = _run(folder, "--ids", tmp_path / "people.csv", *where, "-o", tmp_path / "links.csv")
    assert done.exit_code == 0, done.output
    assert "2 links to How good are these replies?" in done.output
    with (tmp_path / "links.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["mail"]) for row in rows] == [("anna", "a@x.org"), ("ben", "b@x.org")]
    assert all(row["link"].startswith("https://tea.org/s?x=1&invitation=") for row in rows)
    assert (tmp_path / "links.csv").stat().st_mode & 0o077 == 0
    again = _run(folder, "-n", 3, *where, "-o", tmp_path / "links.csv")
    assert isinstance(again.exception, DialensError)


def test_numbered_links_are_printed(folder: Path) -> None:
    done = _run(folder, "-n", 3, "--url", "https://tea.org")
    lines = done.output.splitlines()
    assert lines[0] == "id,link"
    assert [line.partition(",")[0] for line in lines[1:]] == ["invited-1", "invited-2", "invited-3"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name\nanna\n", "`id` among them"),
        ("id\nanna\n\nanna\n", "line 4: 'anna' stands in line 2 already"),
        ("id,mail\nanna\n", "line 2: not as many columns"),
        ("id\n" + "x" * 101, "line 2: an id has 1 to 100 characters"),
    ],
)
def test_a_list_with_a_mistake_is_refused_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "people.csv").write_text(text, "utf-8")
    with pytest.raises(DialensError, match=message):
        read_people(tmp_path / "people.csv")


def test_links_to_a_study_that_is_open_to_all_are_refused() -> None:
    with pytest.raises(DialensError, match=r"recruiter: \{kind: personal\}"):
        personal_links(study_of(tea()), KEY, "https://tea.org/", [{"id": "anna"}])


def test_a_panel_gets_its_ids_and_the_code_back(make: Make, visit: Visit) -> None:
    person = visit(make(tea(recruiter=PANEL, completion={"codes": {"completed": "TEA-2026"}})))
    assert person.client.get("/?id=7").status_code == 403
    page = person.begin("/?rid=7%268&wave=2&extra=x")
    assert person.finish(page) == "TEA-2026"
    end = person.client.get("/study").text
    assert 'href="https://panel.org/end?rid=7%268&amp;wave=2&amp;status=1&amp;code=TEA-2026"' in end
    assert "Return to Panel House" in end


def test_connect_is_known_by_its_ids_and_takes_its_redirect(make: Make, visit: Visit) -> None:
    recruiter = {"kind": "connect", "reward": 2.0, "return_url": CONNECT_DONE}
    person = visit(make(tea(recruiter=recruiter)))
    assert "CloudResearch Connect" in person.client.get("/?participantId=").text
    page = person.begin("/?participantId=P1&assignmentId=A1&projectId=8F8EFE87A6")
    person.finish(page)
    end = person.client.get("/study").text
    assert f'href="{CONNECT_DONE}"' in end
    assert "Return to CloudResearch Connect" in end


def test_check_says_that_connect_could_not_tell_who_completed() -> None:
    bare = {"kind": "connect", "reward": 2.0}
    said = estimate(study_of(tea(recruiter=bare))).warnings
    assert any("CloudResearch Connect cannot tell" in line for line in said)
    for known in (
        tea(recruiter=bare | {"return_url": CONNECT_DONE}),
        tea(recruiter=bare, completion={"codes": {"completed": "C1M7"}}),
    ):
        assert not any("Connect" in line for line in estimate(study_of(known)).warnings)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"return_url": "http://panel.org/"}, "https address"),
        ({"return_url": "javascript:alert(1)"}, "https address"),
        ({"return_url": "https://user:pass@panel.org/"}, "https address"),
        ({"return_url": "https://{rid}/"}, "https address"),
        ({"return_url": "https://panel.org/{who}"}, r"may hold \{code\}, \{rid\}, \{wave\}"),
        ({"other_parameters": ["rid"]}, "must differ"),
    ],
)
def test_an_address_that_nobody_could_be_sent_to(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        study_of(tea(recruiter=PANEL | changed))
