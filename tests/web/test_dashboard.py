"""The dashboard on the day: people, their pages, decisions, settings; everything is logged."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

from httpx import Client
from starlette.testclient import TestClient

from dialens.studies.store import IS_CHANGE, OperationStore
from dialens.web import Site
from tests.web.conftest import Make, Visit, log_in, tea
from tests.web.people import Page

ROW = re.compile(r'<tr data-key="(p[a-z0-9]+)">')


def ticket(client: TestClient | Client, path: str = "/researcher") -> str:
    return Page(client.get(path).text).hidden["ticket"]


def crowd(site: Site, visit: Visit, n: int = 3) -> list[tuple[str, str]]:
    """So many people complete; pseudonym and code of each."""
    made = []
    for number in range(n):
        person = visit(site, seed=number)
        code = person.finish(person.begin())
        made.append((person.session.participant, code))
    return made


def changes(site: Site) -> list[tuple[Any, ...]]:
    table = OperationStore(site.store, "dashboard").changes_frame(site.study.hash)
    return table.filter(IS_CHANGE).select("by", "what", "rater", "before", "after", "why").rows()


def test_every_page_wants_the_password(site: Site, visit: Visit) -> None:
    name = crowd(site, visit, 1)[0][0]
    stranger = visit(site).client
    for path in ("people", "people.csv", "code?code=x", "screens", "settings", "payment"):
        assert stranger.get(f"/researcher/{path}").url.path == "/researcher/login"
    for path in ("", "/replay"):
        asked = stranger.get(f"/researcher/people/{name}{path}")
        assert asked.url.path == "/researcher/login"
    for path in (f"people/{name}/excluded", f"people/{name}/paid", "settings", "payment/approve"):
        assert stranger.post(f"/researcher/{path}", data={}).url.path == "/researcher/login"
    logged_in = log_in(visit(site))
    for path in (f"people/{name}/excluded", f"people/{name}/paid", "settings", "cells"):
        forged = logged_in.post(f"/researcher/{path}", data={"ticket": "0" * 64, "why": "x"})
        assert forged.status_code == 403
    assert changes(site) == []


def test_it_says_as_of_when(site: Site, visit: Visit, researcher: TestClient) -> None:
    for path in ("", "/people", "/screens", "/settings"):
        assert re.search(
            r"As of <time [^>]*>\d\d:\d\d:\d\d UTC</time>",
            researcher.get(f"/researcher{path}").text,
        )


def test_people_are_filtered_sorted_and_downloaded(
    site: Site, visit: Visit, researcher: TestClient
) -> None:
    people = crowd(site, visit)
    visit(site).begin()

    def shown(**query: str) -> list[str]:
        return ROW.findall(researcher.get("/researcher/people", params=query).text)

    names = [name for name, _ in people]
    assert shown(state="completed", sort="begun", order="asc") == names
    assert len(shown()) == 4
    assert shown(find=people[1][1].lower()[:10]) == [names[1]]
    assert shown(state="completed", sort="participant", order="desc") == sorted(names)[::-1]
    assert shown(sort="minutes", order="asc")[0] not in names  # under way: no minutes yet
    assert shown(version="2") == []
    got = researcher.get("/researcher/people.csv", params={"state": "completed", "order": "asc"})
    rows = list(csv.DictReader(io.StringIO(got.text)))
    assert [(row["participant"], row["code"]) for row in rows] == people
    assert "attachment" in got.headers["content-disposition"]
    why = "=HYPERLINK(1)"
    OperationStore(site.store, "command").exclude(names[0], why, now=site.clock())
    got = researcher.get("/researcher/people.csv", params={"find": names[0]})
    (row,) = csv.DictReader(io.StringIO(got.text))
    assert row["excluded_why"] == f"'{why}"


def test_somebody_is_excluded_replaced_and_taken_back(make: Make, visit: Visit) -> None:
    site = make(tea(targets=1))
    people = crowd(site, visit, 4)
    client = log_in(visit(site))
    name = people[0][0]
    page = f"/researcher/people/{name}"
    form = {"ticket": ticket(client, page)}
    assert "All places are taken" in visit(site).come().html
    refused = client.post(f"{page}/excluded", data=form | {"why": " "})
    assert (refused.status_code, "needs a reason" in refused.text) == (409, True)
    done = client.post(f"{page}/excluded", data=form | {"why": "Did not read"})
    assert "Did not read" in done.text
    assert "Undo the exclusion" in done.text
    late = visit(site)
    late.finish(late.begin())  # the place is open again
    assert ROW.findall(client.get("/researcher/people?state=excluded").text) == [name]
    client.post(f"{page}/excluded", data=form | {"excluded": "no"})
    assert changes(site) == [
        ("dashboard", "excluded", name, "false", "true", "Did not read"),
        ("dashboard", "excluded", name, "true", "false", None),
    ]


def test_changes_name_who_made_them(make: Make, visit: Visit) -> None:
    site = make()
    name = crowd(site, visit, 1)[0][0]
    ada, nobody = (log_in(visit(site), who=who) for who in ("  Ada\tLovelace ", ""))
    page = f"/researcher/people/{name}"
    ada.post(f"{page}/excluded", data={"ticket": ticket(ada, page), "why": "Did not read"})
    nobody.post(f"{page}/paid", data={"ticket": ticket(nobody, page)})
    cell = {"ticket": ticket(ada, page), "cell": site.study.cells[0].name, "state": "paused"}
    ada.post("/researcher/cells", data=cell)
    log = OperationStore(site.store, "dashboard").changes_frame(site.study.hash)
    logged = log.filter(IS_CHANGE)
    assert logged.select("by", "who").rows() == [
        ("dashboard", "Ada Lovelace"),
        ("dashboard", None),
        ("dashboard", "Ada Lovelace"),
    ]
    assert "Ada Lovelace (dashboard)" in ada.get("/researcher/settings").text


def test_a_persons_page_has_answers_and_replay_shows_them(make: Make, visit: Visit) -> None:
    asked = {"why": {"kind": "free_text", "prompt": "Why so?"}}
    site = make(tea(questionnaires={"after": [{"questions": asked}]}))
    person = visit(site, seed=4)
    page = person.begin()
    numbers: dict[str, str] = {}
    while "the-code" not in page.html:
        form = person.filled(page)
        for place, name in enumerate(n for n in form if n.startswith("a:") and "-" in n):
            numbers[name] = form[name] = str(40 + place)
        if "a:why" in form:
            form["a:why"] = "Because <b>tea</b>."
        page = Page(person.client.post("/study", data=form).text)
    name = person.session.participant
    client = log_in(visit(site))
    html = client.get(f"/researcher/people/{name}").text
    assert "Because &lt;b&gt;tea&lt;/b&gt;." in html
    assert "Why so?" in html
    replay = client.get(f"/researcher/people/{name}/replay", params={"index": 2}).text
    fields = re.findall(r'name="(a:[^"]+)" value="([^"]+)"', replay)
    assert fields
    assert all(numbers[field] == value for field, value in fields)
    assert re.search(r"<fieldset[^>]* disabled>", replay)
    assert "Nothing can be changed here" in replay
    total = len(site.screens(person.session)) - 1
    for index in range(total):
        query: dict[str, str | int] = {"index": index}
        shown = client.get(f"/researcher/people/{name}/replay", params=query)
        assert f"Screen {index + 1} of {total}" in shown.text
    assert client.get("/researcher/people/pnobody").status_code == 404
    assert client.get(f"/researcher/people/{name}/replay?attempt=9").status_code == 404


def test_a_code_leads_to_its_owner(site: Site, visit: Visit, researcher: TestClient) -> None:
    (name, code), *_ = crowd(site, visit, 2)
    found = researcher.get("/researcher/code", params={"code": f" {code.lower()} "})
    assert found.url.path == f"/researcher/people/{name}"
    assert "is this person’s" in found.text
    other = researcher.get(f"/researcher/people/{name}", params={"code": "AAAABBBB"})
    assert "is this person’s" not in other.text
    nobody = researcher.get("/researcher/code", params={"code": "AAAABBBB"})
    assert nobody.status_code == 404
    assert "Nobody has the completion code" in nobody.text
    form = {"ticket": ticket(researcher), "paid": "yes"}
    researcher.post(f"/researcher/people/{name}/paid", data=form)
    assert changes(site) == [("dashboard", "paid", name, "false", "true", None)]


def test_settings_are_changed_and_listed(site: Site, researcher: TestClient) -> None:
    page = researcher.get("/researcher/settings").text
    form = {"ticket": ticket(researcher)}

    def save(**entries: str) -> Any:
        return researcher.post("/researcher/settings", data=form | entries)

    assert "Nothing has been changed" in page
    saved = save(
        **{
            "targets": "25",
            "recruiter.reward": "2,5",
            "limits.idle_minutes": "30",  # as it is
            "completion.message": "Thanks.\r\nBye.",
        }
    )
    assert saved.url.path == "/researcher/settings"
    assert ">Saved." in saved.text
    assert ">Saved." not in save(targets="").text  # nothing was changed
    assert sorted(changes(site)) == [
        ("dashboard", "completion.message", None, "null", '"Thanks.\\nBye."', None),
        ("dashboard", "recruiter.reward", None, "0.0", "2.5", None),
        ("dashboard", "targets.each", None, "20", "25", None),
    ]
    assert [cell.target for cell in site.store.progress(site.study.hash)] == [25] * 4
    assert "for each" in researcher.get("/researcher").text  # a reward: money is in the sentence
    first = site.study.cells[0].name
    save(**{f"targets.{first}": "30"})
    assert [cell.target for cell in site.store.progress(site.study.hash)] == [30, 25, 25, 25]
    for wrong, word in (
        ({"targets": "many"}, "has to be a whole number"),
        ({"targets": "0"}, "targets"),
        ({"targets": "9", f"targets.{first}": "8"}, "not both"),
        ({"recruiter.reward": "-1"}, "reward"),
    ):
        refused = save(**wrong)
        assert refused.status_code == 409
        assert word in refused.text
    assert len(changes(site)) == 4


def test_all_cells_are_closed_once_somebody_is_sure(site: Site, researcher: TestClient) -> None:
    form = {"ticket": ticket(researcher), "state": "closed"}

    def states() -> set[str]:
        return {cell.state for cell in site.store.progress(site.study.hash)}

    asked = researcher.post("/researcher/cells", data=form)
    assert "Close every cell?" in asked.text
    assert states() == {"open"}
    one = researcher.post("/researcher/cells", data=form | {"cell": site.study.cells[0].name})
    assert "Close anchor=" in one.text
    assert states() == {"open"}
    researcher.post("/researcher/cells", data=Page(asked.text).hidden | form | {"sure": "yes"})
    assert states() == {"closed"}
    assert len(changes(site)) == 4


def test_screens_stand_under_their_cell(site: Site, visit: Visit) -> None:
    crowd(site, visit, 4)
    html = log_in(visit(site)).get("/researcher/screens").text
    for cell in site.study.cells:
        part = html.split(f">{cell.name}</h2>")[1].split("</section>")[0]
        screens = re.findall(r'<th scope="row">([^<]+)</th>', part)
        assert screens == [screen.id for screen in site.planner.screens(cell.name, 0)[:-1]]


def test_simulated_data_are_said_to_be_simulated(site: Site, visit: Visit) -> None:
    client = log_in(visit(site))
    assert "Simulated data" not in client.get("/researcher").text
    site.store.begin(
        site.study.hash,
        recruiter="link",
        worker="robot",
        rater_kind="simulated",
        now=site.clock(),
        seed_source=lambda: 7,
    )
    for path in ("", "/people", "/screens", "/settings"):
        html = client.get(f"/researcher{path}").text
        assert "1 of the 1 who took part are simulated: nobody was asked" in html
