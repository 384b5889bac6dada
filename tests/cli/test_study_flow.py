"""A study from the template to the report, in the commands that a researcher types."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
import typer
from ruamel.yaml import YAML
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli.study._group import app
from dialens.studies import load_study, seen
from dialens.studies.plan import plan
from dialens.studies.store import KEY_VARIABLE, Store
from tests.studies.samples import load_template
from tests.studies.store.people import NOON, set_cell
from tests.studies.store.test_export import take

FEW = ("--resamples", "200")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> str:
    done = CliRunner(env={"COLUMNS": "140"}).invoke(
        app, [str(part) for part in arguments], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.output


def fails(*arguments: object) -> str:
    done: Result = CliRunner(env={"COLUMNS": "140"}).invoke(app, [str(part) for part in arguments])
    assert isinstance(done.exception, DialensError), done.output
    return str(done.exception)


def small(folder: Path, **changes: Any) -> Path:
    """The anchoring study with four of its items, and whatever is changed in its file."""
    run("new", "--template", "anchoring2020", "-o", folder)
    path = folder / "study.yaml"
    design = YAML(typ="safe").load(path.read_text())
    design["items"]["sample"] = {"count": 4, "by": "study"}
    design["checks"]["attention"]["reading"]["after"] = [2]
    path.write_text(json.dumps(design | changes, indent=1))  # JSON is YAML
    return folder


def analysis(folder: Path = Path("s/analysis")) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "analysis.json").read_text())
    return found


@pytest.mark.slow
def test_the_anchoring_study_in_one_go() -> None:
    run("new", "--template", "anchoring2020", "-o", "s")
    run("check", "s")
    said = run("simulate", "s", "--participants", 77, "--anchor-pull", 0.3)
    assert "77 completed" in said
    said = run("analyze", "s", *FEW)
    assert "Simulated data" in said
    assert "77 simulated raters, 23,100 ratings of 150 responses to 50 items" in said
    pull = next(
        row
        for row in analysis()["effects"]
        if (row["effect"], row["quality"]) == ("anchor pull", "all")
    )
    assert pull["low"] < 0.3 < pull["high"]


def test_simulated_is_said_everywhere() -> None:
    small(Path("s"))
    said = run("simulate", "s", "-n", 12, "--dropout", 0.2, "--seed", 4)
    assert re.search(r"12 simulated participants came: \d+ completed, \d left on the way", said)
    assert "simulated.db" in said
    assert not Path("s/study.db").exists()
    run("analyze", "s", *FEW)
    page = Path("s/analysis/report.html").read_text()
    assert "(simulated data)</h1>" in page
    assert "raters are simulated. Nobody was asked" in page
    assert "anchor pull 0.3" in page
    assert "12 participants with seed 4" in page
    assert "simulated raters gave" in page  # also in the paragraph for a paper
    assert analysis()["remarks"][0]["title"] == "Simulated data"
    ratings = pl.read_parquet("s/analysis/export/ratings.parquet")
    assert ratings["rater_kind"].unique().to_list() == ["simulated"]
    # An export says it as well.
    run("analyze", "s/analysis/export", "-o", "again", *FEW)
    assert "(simulated data)" in Path("again/report.html").read_text()


def test_people_come_first() -> None:
    small(Path("s"))
    run("simulate", "s", "-n", 8)
    study = load_study(Path("s"))
    with Store.open("sqlite:///s/study.db") as store:
        store.register(study, now=NOON)
    assert "Nobody has taken this study" in run("analyze", "s", *FEW)
    give = {
        "consent": "yes",
        "standard_length": 50.0,
        "length": 50.0,
        "reading": "A little",
        "preferred_scale": "likert",
    }
    ranked = ["readability", "coherence", "novelty", "diversity", "specificity", "engagement"]
    with Store.open("sqlite:///s/study.db") as store:
        for number in range(4):
            take(
                store,
                study,
                f"w{number}",
                lambda session, screen, field: (
                    40.0 + session.seed
                    if field.quality
                    else ranked
                    if field.instrument == "ranking"
                    else give.get(field.name, "no" if field.instrument == "yes_no" else None)
                ),
            )
    said = run("analyze", "s", *FEW)
    assert "simulated.db is left aside" in said
    assert "Simulated data" not in said
    assert "simulated data" not in Path("s/analysis/report.html").read_text()
    # And simulated participants do not come among them.
    assert "4 participants" in fails("simulate", "s", "--db", "sqlite:///s/study.db")


def test_labels_get_a_kappa() -> None:
    run("new", "--template", "engagement-labels", "-o", "e")
    run("simulate", "e", "-n", 6)
    said = run("analyze", "e", *FEW)
    assert "Fleiss’ kappa of engaging is" in said
    rows = analysis(Path("e/analysis"))["category_agreement"]
    kappa = next(row for row in rows if row["statistic"] == "fleiss_kappa")
    assert kappa["low"] <= kappa["value"] <= kappa["high"]
    # Fleiss (1971) by hand: agreement within items against agreement by chance.
    ratings = pl.read_parquet("e/analysis/export/ratings.parquet")
    counts = ratings.group_by("dialog", "agent").agg(
        yes=(pl.col("value") == 1).sum(), n=pl.len().cast(pl.Int64)
    )
    assert counts["n"].unique().to_list() == [3]
    yes = counts["yes"].cast(pl.Float64)
    within = ((yes * (yes - 1) + (3 - yes) * (2 - yes)) / 6).mean()
    share = yes.sum() / (3 * counts.height)
    chance = share**2 + (1 - share) ** 2
    assert kappa["value"] == pytest.approx((within - chance) / (1 - chance))
    labels = pl.read_csv("e/analysis/tables/labels.csv")
    assert labels.height == counts.height
    assert labels["label"].sum() == counts.filter(pl.col("yes") >= 2).height


def test_a_preregistered_study_is_known_again() -> None:
    small(Path("s"))
    run("simulate", "s", "-n", 8)
    said = run("preregister", "s")
    hash_ = re.search(r"hash ([0-9a-f]{64})", said)
    assert hash_ is not None
    assert hash_[1] in Path("s/preregistration.md").read_text()
    assert "a preregistration is not overwritten" in fails("preregister", "s")
    run("analyze", "s", *FEW)
    page = Path("s/analysis/report.html").read_text()
    assert "This is the study that was preregistered" in page
    assert hash_[1][:12] in page
    run(
        "analyze",
        "s/analysis/export",
        "--preregistration",
        "s/preregistration.json",
        "-o",
        "b",
        *FEW,
    )
    assert "This is the study that was preregistered" in Path("b/report.html").read_text()


def test_a_changed_study_is_not_the_one_preregistered() -> None:
    small(Path("s"))
    run("preregister", "s", "-o", "announced.json")
    path = Path("s/study.yaml")
    title = "How readable and coherent are these replies?"
    path.write_text(
        path.read_text()
        .replace('minutes": 180', 'minutes": 90')
        .replace("How good are these replies?", title)
    )
    run("simulate", "s", "-n", 8)
    said = run("analyze", "s", "--preregistration", "announced.json", *FEW)
    assert "This is not the study that was preregistered" in said
    assert "limits.session_minutes: announced 180.0, found 90.0" in said
    Path("announced.json").write_text(Path("announced.json").read_text().replace("180", "90"))
    assert "was changed after it was made" in fails(
        "analyze", "s", "--preregistration", "announced.json", *FEW
    )


def test_preregistration_comes_before_people() -> None:
    small(Path("s"))
    with Store.open("sqlite:///s/study.db") as store:
        study = load_study(Path("s"))
        store.register(study, now=NOON)
        store.begin(study.hash, recruiter="link", worker="w", now=NOON, seed_source=lambda: 0)
    assert "1 people have taken part" in fails("preregister", "s")
    assert not Path("s/preregistration.json").exists()
    run("preregister", "s", "--late")
    assert "had taken part by then" in Path("s/preregistration.md").read_text()


def test_nobody_took_it() -> None:
    small(Path("s"))
    assert "Nobody has taken this study" in fails("analyze", "s")
    run("simulate", "s", "-n", 1, "--dropout", 1, "--seed", 2)
    # Whoever leaves before the first rating leaves nothing to analyse.
    with Store.open("sqlite:///s/empty.db") as store:
        store.register(load_study(Path("s")), now=NOON)
    told = fails("analyze", "s", "--db", "sqlite:///s/empty.db")
    assert "no ratings yet: 0 people began it" in told
    assert not Path("s/analysis").exists()


def test_one_cell_is_empty() -> None:
    small(Path("s"))
    with Store.open("sqlite:///s/simulated.db") as store:
        study = load_study(Path("s"))
        store.register(study, now=NOON)
        set_cell(store, study.hash, "anchor=both,layout=separate", "closed")
    run("simulate", "s", "-n", 12)
    run("analyze", "s", *FEW)
    assert "simulated raters" in str(analysis()["headline"])


def test_everybody_dropped_out() -> None:
    small(Path("s"))
    said = run("simulate", "s", "-n", 16, "--dropout", 1)
    assert "16 left on the way" in said
    assert "0 of 80 completed" in run("status", "s", "--db", "sqlite:///s/simulated.db")
    run("analyze", "s", *FEW)  # as far as they got


def test_a_changed_file_begins_anew() -> None:
    small(Path("s"))
    run("simulate", "s", "-n", 8)
    path = Path("s/study.yaml")
    path.write_text(path.read_text().replace("How good are these", "How fitting are these"))
    assert "changed after the last simulation" in fails("simulate", "s", "-n", 8)
    assert "study file was changed after" in run("analyze", "s", *FEW)
    run("simulate", "s", "-n", 8, "--fresh")
    assert "study file was changed after" not in run("analyze", "s", *FEW)
    assert "leave out --db" in fails("simulate", "s", "--fresh", "--db", "sqlite:///s/simulated.db")


def test_fresh_throws_nobody_real_away() -> None:
    small(Path("s"))
    study = load_study(Path("s"))
    with Store.open("sqlite:///s/simulated.db") as store:
        store.register(study, now=NOON)
        store.begin(study.hash, recruiter="link", worker="w", now=NOON, seed_source=lambda: 0)
    assert "others than simulated" in fails("simulate", "s", "--fresh")
    assert Path("s/simulated.db").exists()


def test_without_its_key_a_database_still_says_that_nobody_took_part() -> None:
    small(Path("s"))
    run("simulate", "s", "-n", 8)
    with Store.open("sqlite:///s/study.db") as store:
        store.register(load_study(Path("s")), now=NOON)
    Path("s/study.db.key").unlink()
    assert "Nobody has taken this study; s/simulated.db is analysed" in run("analyze", "s", *FEW)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("simulate", "s", "--anchor-pull", "strong"), "takes a share such as 0.3"),
        (("simulate", "s", "--anchor-pull", "loud=0.3"), "An anchor is one of"),
        (("simulate", "s", "--anchor-pull", "3"), "share from 0 to 1"),
        (("simulate", "s", "--http", "http://127.0.0.1:9"), "No study is served"),
        (("simulate", "s", "--http", "http://127.0.0.1:9", "--add"), "leave out --db"),
        (("preregister", "s", "-o", "plan.txt"), "is a .json file"),
        (("analyze", "s/items.yaml"), ""),
        (("analyze", "none"), "none does not exist"),
        (("analyze", "t.csv", "--db", "sqlite:///x.db"), "--db goes with a study"),
    ],
)
def test_mistakes_are_named(arguments: tuple[str, ...], told: str) -> None:
    small(Path("s"))
    Path("t.csv").write_text("item,rater,value\na,r1,3\n")
    assert told in fails(*arguments)


def test_the_documentation_names_options_that_exist(repository: Path) -> None:
    page = (repository / "docs" / "simulation.md").read_text("utf-8")
    commands = cast(Any, typer.main.get_command(app)).commands
    option = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
    known = {name for command in commands for name in option.findall(run(command, "--help"))}
    told = set(option.findall(page))
    assert len(told) > 15
    assert told <= known
    block = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert block is not None
    made: dict[str, Any] = {}
    exec(block[1], made)
    screen = plan(load_template("likert"), "all", 0)[0]
    assert made["Fifty"]().reply(seen(screen)).answers == {"consent": "yes"}


def test_simulating_again() -> None:
    small(Path("s"))
    run("simulate", "s", "-n", 4)
    assert "4 of them had been through before" in run("simulate", "s", "-n", 6)
    assert "another seed or other options" in fails("simulate", "s", "-n", 4, "--seed", 1)
    run("simulate", "s", "-n", 4, "--seed", 1, "--add")
    said = run("analyze", "s", *FEW)
    assert "6 participants with seed 0" in said
    assert "4 participants with seed 1" in said
