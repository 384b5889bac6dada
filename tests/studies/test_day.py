"""A day of a study, lived through with the real server and the commands that researchers type."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from dialens.cli._app import app
from tests.studies.store.cluster import Cluster
from tests.studies.store.conftest import cluster  # noqa: F401 — a fixture
from tests.web.servers import KEY, PASSWORD, Command

STUDY = """\
study: warmth
title: How good are these replies?
version: 1
targets: 15
items:
  inline:
    - {id: key, context: [I am locked out.], responses: {plain: I see., warm: "Oh no, again?"}}
    - {id: exam, context: [I passed!], responses: {plain: Good., warm: Congratulations!}}
    - {id: rain, context: [It rains.], responses: {plain: Yes., warm: "Then tea, and a book."}}
qualities:
  warmth:
    definition: The reply is friendly.
    question: How warm is this reply?
    instrument: {kind: likert, points: 5, labels: {1: not at all, 3: partly, 5: fully}}
factors: {layout: [together, single]}
contact: Jane Doe, jane@example.org
consent: {text: We store your answers and how long each screen was visible.}
instructions: {text: Judge each reply.}
questionnaires:
  after:
    - questions:
        age: {kind: number, prompt: How old are you?, low: 18, high: 99, whole: true}
        remark: {kind: free_text, prompt: Anything else?, required: false}
recruiter: {kind: personal, reward: 1.50}
"""
SECOND = STUDY.replace("version: 1", "version: 2").replace(
    "How warm is this reply?", "How friendly is this reply?"
)
RATINGS = 3 * 2
"""Items and replies: what one person rates."""

TABLES = ("participants", "ratings", "questionnaires", "answers", "events", "screens", "consents")


class Day:
    """A study in a folder, its server, and whoever looks after it."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder = folder
        self.database = database
        self.server: Command | None = None

    def serve(self, text: str) -> None:
        """Write the study file, and serve it anew."""
        (self.folder / "study.yaml").write_text(text)
        self.stop()
        self.server = Command(self.folder, self.database)

    def stop(self) -> None:
        if self.server is not None:
            self.server.stop()

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"http://127.0.0.1:{self.server.port}"

    def run(self, *words: object) -> str:
        """A command of `dialens study`, as somebody would type it."""
        done = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["study", *map(str, words)])
        assert done.exit_code == 0, (words, done.output, done.exception)
        return done.output

    def command(self, name: str, *words: object) -> str:
        """A command about the study."""
        return self.run(name, self.folder, *words, "--db", self.database)

    def about(self, name: str, *words: object) -> str:
        """A command about a person of the study."""
        return self.run(name, *words, "--study", self.folder, "--db", self.database)

    def come(self, people: int, seed: int) -> Counter[str]:
        """So many people come through the pages, eight at a time; what became of them."""
        said = self.run(
            "simulate", self.folder, "--http", self.url, "-n", people, "--seed", seed,
            "--speeders", 0.1, "--inattentive", 0.1,
        )  # fmt: skip
        told = re.search(r"came: (.*)\.", said)
        assert told is not None, said
        parts = [part.split(" ", 1) for part in told[1].split(", ")]
        return Counter({outcome: int(count) for count, outcome in parts})

    def ask(self, method: str, path: str, **body: Any) -> httpx.Response:
        """The API, as a researcher's program asks it."""
        return httpx.request(
            method,
            f"{self.url}/api/{path}",
            headers={"authorization": f"Bearer {PASSWORD}"},
            json=body or None,
            timeout=60.0,
            trust_env=False,
        )

    def cells(self) -> dict[str, tuple[int, int, int]]:
        """Target, completed and excluded by cell."""
        return {
            cell["cell"]: (cell["target"], cell["completed"], cell["excluded"])
            for cell in self.ask("GET", "cells").json()
        }

    def people(self) -> list[dict[str, str]]:
        """The dashboard's table, downloaded after logging in with the form."""
        with httpx.Client(base_url=self.url, trust_env=False, follow_redirects=True) as browser:
            page = browser.get("/researcher/login").text
            (ticket,) = re.findall(r'name="ticket" value="([^"]+)"', page)[:1]
            browser.post("/researcher/login", data={"ticket": ticket, "password": PASSWORD})
            return list(csv.DictReader(io.StringIO(browser.get("/researcher/people.csv").text)))


@pytest.fixture(params=["sqlite", "postgresql"])
def day(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Day]:
    monkeypatch.setenv("DIALENS_STUDY_KEY", KEY.to_text())
    monkeypatch.setenv("DIALENS_STUDY_PASSWORD", PASSWORD)
    url = f"sqlite:///{tmp_path / 'warmth' / 'study.db'}"
    if request.param == "postgresql":
        running: Cluster = request.getfixturevalue("cluster")
        url = running.database()
    (tmp_path / "warmth").mkdir()
    made = Day(tmp_path / "warmth", url)
    yield made
    made.stop()


def table(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / f"{name}.parquet")


def same(one: Path, other: Path) -> None:
    """Two exports hold the same, whatever the order of rows."""
    for name in (*TABLES, "changes"):
        frames = [table(folder, name) for folder in (one, other)]
        assert_frame_equal(*frames, check_row_order=False)


def restored(day: Day, request: pytest.FixtureRequest, copy: Path, elsewhere: Path) -> Day:
    """The study of a backup, in another place."""
    if not day.database.startswith("postgresql"):
        said = day.run("restore", copy, elsewhere)
        assert said.startswith(f"{copy} is restored: 41 participants and ")
        return Day(elsewhere, f"sqlite:///{elsewhere / 'study.db'}")
    running: Cluster = request.getfixturevalue("cluster")
    url = running.database()
    assert "41 participants and " in day.run("restore", copy, elsewhere, "--db", url)
    return Day(elsewhere, url)


@pytest.mark.slow
def test_a_day_from_the_first_participant_to_the_shared_data(
    day: Day, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Sixty people, more places, one replaced, a code, a backup, a second version, an analysis."""
    day.serve(STUDY)
    together, single = "layout=together", "layout=single"

    # Morning: 32 people come to 30 places.
    came = day.come(32, seed=1)
    assert came == {"completed": 30, "found no place free": 2}
    assert day.cells() == {together: (15, 15, 0), single: (15, 15, 0)}

    # Ten more places, one half by command, the other by the API; the next ten find them.
    raised = day.command("operate", "--set", "targets=18")
    assert raised.startswith("warmth is run like this from now on, 1 change:")
    answer = day.ask("PUT", "operation", targets={"each": 18, single: 22})
    assert answer.status_code == 200, answer.text
    assert day.come(10, seed=2) == {"completed": 10}
    assert day.cells() == {together: (18, 18, 0), single: (22, 22, 0)}
    assert day.come(1, seed=3) == {"found no place free": 1}

    # Somebody did not read. Their place is given again, with the same order of items.
    careless = next(row for row in day.people() if row["cell"] == together)
    said = day.about("exclude", careless["participant"], "--why", "Did not read")
    assert "the place is open again" in said
    assert day.cells()[together] == (18, 17, 1)
    assert day.come(1, seed=4) == {"completed": 1}
    assert day.cells() == {together: (18, 18, 1), single: (22, 22, 0)}
    people = day.people()
    newest = max(people, key=lambda row: row["begun_at"])
    assert (newest["cell"], newest["excluded"]) == (together, "false")

    # A code is verified and paid; one that was made up is not.
    paid = people[3]
    assert f"{paid['code']}: {paid['participant']}, completed at" in day.about("code", paid["code"])
    assert ", paid at" in day.about("code", paid["code"], "--paid")
    assert day.ask("GET", "codes/MADEUP").json() == []

    # A backup of the live database, restored elsewhere, exports what the original did.
    copy = tmp_path / "noon.copy"
    assert str(copy) in day.command("backup", "-o", copy)
    day.command("export", "-o", tmp_path / "noon")
    assert day.come(1, seed=5) == {"found no place free": 1}  # life goes on
    other = restored(day, request, copy, tmp_path / "elsewhere")
    other.command("export", "-o", tmp_path / "restored")
    same(tmp_path / "noon", tmp_path / "restored")

    # Afternoon: a question is reworded, which is another version. The first is left as it was.
    day.serve(SECOND)
    assert day.come(20, seed=6) == {"completed": 20}
    assert day.cells() == {together: (15, 10, 0), single: (15, 10, 0)}
    status = day.command("status").splitlines()
    assert status[0] == "warmth, version 2: 20 of 30 completed"
    assert "There is also version 1 (41 people)" in status[-1]

    # Both versions are exported together, and nothing is lost.
    folder = tmp_path / "export"
    said = day.command("export", "-o", folder, "--worker-ids", tmp_path / "ids.csv")
    told = f"Exported {61 * RATINGS} ratings by 61 participants of versions 1 and 2 to "
    assert said.startswith(told)
    check_tables(day, folder, careless["participant"], paid)
    with zipfile.ZipFile(io.BytesIO(day.ask("GET", "export.zip").content)) as archive:
        archive.extractall(tmp_path / "download")
    for name in ("participants", "ratings", "questionnaires"):
        frames = [table(one, name) for one in (folder, tmp_path / "download" / "warmth")]
        assert_frame_equal(*frames, check_row_order=False)
    ids = pl.read_csv(tmp_path / "ids.csv")
    assert (ids.height, ids["worker"].n_unique(), ids["recruiter"].unique().to_list()) == (
        61,
        61,
        ["personal"],
    )

    # Analysed together, without the person who was excluded; and one version alone.
    few = ("--resamples", 100)
    both = day.run("analyze", folder, "-o", tmp_path / "both", *few)
    assert "Versions 1 and 2 are analysed together" in both
    assert f"60 simulated raters, {60 * RATINGS} ratings of 6 responses to 3 items" in both
    alone = day.command("analyze", "--version", 2, "-o", tmp_path / "second", *few)
    assert f"20 simulated raters, {20 * RATINGS} ratings" in alone


def check_tables(day: Day, folder: Path, careless: str, paid: dict[str, str]) -> None:
    """The tables of both versions, counted by hand."""
    people = table(folder, "participants")
    counts = people.group_by("version", "cell", "excluded").len().sort("version", "cell")
    assert sorted(counts.rows()) == [
        ("1", "layout=single", False, 22),
        ("1", "layout=together", False, 18),
        ("1", "layout=together", True, 1),
        ("2", "layout=single", False, 10),
        ("2", "layout=together", False, 10),
    ]
    assert set(people["state"]) == {"completed"}
    assert people.filter("excluded").select("rater", "excluded_why").rows() == [
        (careless, "Did not read")
    ]
    known = people.filter(pl.col("paid_at").is_not_null())
    digest = hashlib.sha256(paid["code"].encode()).hexdigest()
    assert known.select("rater", "code_sha256").rows() == [(paid["participant"], digest)]
    assert people["code_sha256"].n_unique() == 61

    ratings = table(folder, "ratings")
    assert set(ratings.group_by("rater").len()["len"]) == {RATINGS}
    assert ratings.group_by("version").len().sort("version").rows() == [
        ("1", 41 * RATINGS),
        ("2", 20 * RATINGS),
    ]
    assert set(ratings["value"]) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert ratings.filter("excluded")["rater"].unique().to_list() == [careless]
    # Each layout asks the same; single has a screen a reply, together a screen an item.
    screens = ratings.group_by("rater", "layout").agg(pl.col("screen").n_unique())
    assert set(screens.select("layout", "screen").rows()) == {("together", 3), ("single", 6)}
    ages = table(folder, "questionnaires").filter(question="age")
    assert (ages.height, ages["answer"].cast(pl.Int64).is_between(18, 99).all()) == (61, True)
    assert table(folder, "consents").filter(pl.col("agreed"))["rater"].n_unique() == 61

    # Who took the place of the excluded person met the same order of items.
    shown = dict(
        ratings.filter(layout="together", version="1")
        .group_by("rater")
        .agg(pl.col("dialog").sort_by("shown_at"))
        .rows()
    )
    last = people.filter(version="1").sort("begun_at")["rater"][-1]
    assert shown[last] == shown[careless]

    # Everything that was changed is in the log, with who did it.
    changes = table(folder, "changes").sort("at")
    told = [
        (row["version"], row["by"], row["what"], row["rater"], row["before"], row["after"])
        for row in changes.iter_rows(named=True)
    ]
    person = paid["participant"]
    assert told[:3] == [
        ("1", "command", "targets.each", None, "15", "18"),
        ("1", "api", "targets.layout=single", None, "null", "22"),
        ("1", "command", "excluded", careless, "false", "true"),
    ]
    assert told[3][:4] == ("1", "command", "paid", person)
    assert {row[2] for row in told[4:]} <= {"identities exported"}

    # For SPSS and R the same rows as text.
    for name in ("participants", "ratings", "questionnaires"):
        assert pl.read_csv(folder / "csv" / f"{name}.csv").height == table(folder, name).height
        assert (folder / "csv" / f"{name}.sps").exists()
