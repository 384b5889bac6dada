"""Which agent people preferred: the first sentence of a study's analysis names the right one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dialens.base import DialensError
from dialens.cli.study._group import app

FEW = ("--resamples", "100")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> str:
    done = CliRunner(env={"COLUMNS": "140"}).invoke(
        app, [str(part) for part in arguments], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.output


def answer(template: str, *options: object, participants: int) -> str:
    """The first sentence after a study was simulated with these preferences."""
    run("new", "--template", template, "-o", "s")
    run("simulate", "s", "-n", participants, "--agent-spread", 0, *options)
    run("analyze", "s", *FEW)
    return str(json.loads(Path("s/analysis/analysis.json").read_text())["answer"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "prefer", "winner", "people"),
    [
        (
            "three-bots",
            "thred=30",
            "Simulated raters preferred thred to both others on overall",
            63,
        ),
        ("pairwise", "agent_b=60", "Simulated raters preferred agent_b to agent_a on overall", 30),
        ("likert", "agent_a=-60", "preferred agent_b to agent_a on", 20),
        (
            "best-worst",
            "agent_c=80",
            "Simulated raters preferred agent_c to all 3 others on overall",
            20,
        ),
    ],
)
def test_the_preferred_agent_is_named(template: str, prefer: str, winner: str, people: int) -> None:
    assert winner in answer(template, "--prefer", prefer, participants=people)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "people"),
    [("three-bots", 63), ("best-worst", 20), ("likert", 20), ("pairwise", 30)],
)
def test_nobody_is_named_where_nobody_is_preferred(template: str, people: int) -> None:
    said = answer(template, participants=people)
    assert said.startswith("No clear difference between the")


@pytest.mark.slow
def test_one_agent_alone_is_preferred_to_nobody() -> None:
    said = answer("engagement-labels", participants=6)
    assert said.startswith("Simulated raters said yes to engaging in ")
    found = json.loads(Path("s/analysis/analysis.json").read_text())
    assert [row["agent"] for row in found["agents"]] == ["reply"]
    assert found["agent_differences"] == []


def test_preferences_are_for_agents_that_there_are() -> None:
    run("new", "--template", "likert", "-o", "s")
    done = CliRunner().invoke(app, ["simulate", "s", "--prefer", "agent_z=3"])
    assert isinstance(done.exception, DialensError)
    assert "agent_a, agent_b" in str(done.exception)


def table(path: Path) -> None:
    """Six raters, six items, and one of two agents fifteen points better."""
    rng = np.random.default_rng(1)
    lines = ["rater,item,agent,quality,value"]
    lines += [
        f"r{r},d{d},{agent},tone,{50 + better + rng.normal(0, 6):.1f}"
        for r in range(6)
        for d in range(6)
        for agent, better in (("kind", 15), ("blunt", 0))
    ]
    path.write_text("\n".join(lines) + "\n")


def test_any_table_has_its_answer_beside_it() -> None:
    table(Path("ratings.csv"))
    said = run("analyze", "ratings.csv", "--smallest", "tone=3", *FEW)
    assert "People preferred kind to blunt on tone by 1" in said
    folder = Path("ratings-analysis")
    found = json.loads((folder / "analysis.json").read_text())
    assert [row["agent"] for row in found["agents"]] == ["blunt", "kind"]
    keys = {"quality", "first", "second", "difference", "low", "high", "p", "p_adjusted"}
    assert keys <= set(found["agent_differences"][0])
    assert found["agent_differences"][0]["p_equivalence"] > 0.5
    for name in ("agents.csv", "agents.tex", "agent_differences.csv", "agent_differences.tex"):
        assert (folder / "tables" / name).exists()
    page = (folder / "report.html").read_text()
    assert page.index('id="people"') < page.index('id="participants"') < page.index('id="design"')
    assert "Who took part" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--smallest", "tone=much"), "--smallest takes a number"),
        (("--smallest", "3", "--smallest", "tone=3"), "one number for all"),
        (("--scale", "tone=stars"), "--scale takes QUALITY="),
        (("--scale", "style=slider"), "no rating has that quality"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: tuple[str, ...], message: str) -> None:
    table(Path("ratings.csv"))
    done = CliRunner().invoke(app, ["analyze", "ratings.csv", *options, *FEW])
    assert isinstance(done.exception, DialensError)
    assert message in str(done.exception)


def likert(raters: int, items: int) -> str:
    rng = np.random.default_rng(2)
    rows = [
        f"i{item},r{rater},{agent},{rng.integers(1, 8)}"
        for item in range(items)
        for agent in ("warm", "curt")
        for rater in range(raters)
    ]
    return "\n".join(["item,rater,agent,value", *rows]) + "\n"


def test_few_raters_are_said(here: Path) -> None:
    (here / "few.csv").write_text(likert(5, 12))
    assert (
        "Note (rating): with 5 raters of an agent, up to 8 of 100 tests find a difference"
        in run("analyze", "few.csv", "-o", "few", *FEW)
    )
    (here / "more.csv").write_text(likert(9, 12))
    assert "up to 8 of 100" not in run("analyze", "more.csv", "-o", "more", *FEW)


def test_ratings_without_an_agent_are_counted_for_each_quality(here: Path) -> None:
    rows = [f"i{i},r{r},{(i + r) % 5 + 1},{(i * r) % 5 + 1}" for i in range(8) for r in range(8)]
    (here / "two.csv").write_text("\n".join(["item,rater,warm,fluent", *rows]) + "\n")
    said = run("analyze", "two.csv", "-o", "two", *FEW)
    assert "128 ratings of 8 items" in said
    assert (
        "Note (warm and fluent, each): 64 ratings without agent, left out of the comparison" in said
    )
    methods = (here / "two" / "report.html").read_text()
    assert "The test of halo is over-careful" in methods


def test_rare_answers_are_said(here: Path) -> None:
    rows = [
        f"i{i},r{r},{a},{int((i, r) in ((1, 1), (2, 3), (5, 8), (6, 2)) and a == 'warm')}"
        for i in range(9)
        for r in range(9)
        for a in ("warm", "curt")
    ]
    (here / "rare.csv").write_text("\n".join(["item,rater,agent,value", *rows]) + "\n")
    said = run("analyze", "rare.csv", "-o", "rare", *FEW)
    assert "yes is rare (4 of 162 answers): the test is over-careful" in said


def test_people_who_did_not_finish_are_counted_and_said(here: Path) -> None:
    states = ["completed"] * 5 + ["live", "live", "expired"]
    rows = [
        f"i{i},r{r},{a},{(i * r + (a == 'warm')) % 7 + 1},{states[r]}"
        for i in range(6)
        for r in range(8)
        for a in ("warm", "curt")
    ]
    head = "item,rater,agent,value,session_state"
    (here / "half.csv").write_text("\n".join([head, *rows]) + "\n")
    said = run("analyze", "half.csv", "-o", "half", *FEW)
    words = (
        "Of 8 raters, 5 completed it, 1 left on the way and 2 are still at it; all their answers"
    )
    assert f"Not all finished: {words} count (--completed-only leaves out" in said
    assert words in (here / "half" / "text.md").read_text()
    done = run("analyze", "half.csv", "-o", "done", "--completed-only", *FEW)
    assert "\n5 raters, 60 ratings of" in done
    assert "Left out: 3 people who did not complete the study, and 36 ratings." in done
    (here / "plain.csv").write_text(likert(3, 3))
    failed = CliRunner().invoke(app, ["analyze", "plain.csv", "--completed-only", *FEW])
    assert "no column session_state" in str(failed.exception)


def test_an_icc_below_zero_is_told_in_words(here: Path) -> None:
    rng = np.random.default_rng(10)  # ICC(2,k) is −1.36, interval −27.66 to 0.63
    rows = [f"i{i},r{r},x,{rng.integers(1, 8)}" for i in range(7) for r in range(3)]
    (here / "odd.csv").write_text("\n".join(["item,rater,agent,value", *rows]) + "\n")
    said = run("analyze", "odd.csv", "-o", "odd", *FEW)
    assert "No agreement on rating can be seen" in said
    paper = (here / "odd" / "text.md").read_text()
    assert "rating: no agreement can be seen (raters differ about an item at least as much" in paper
    assert "below 0, at most 0.63 by its 95 % interval" in paper
    assert "ICC(2,k) = −" not in paper
    found = json.loads((here / "odd" / "analysis.json").read_text())
    sentences = [f["claim"] + f["numbers"] for f in found["findings"] if f["topic"] == "agreement"]
    assert not any("−" in sentence for sentence in sentences)
