"""What agreement and study analyses leave for papers, R and SPSS; less is better; choices."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner, Result

from dialens.analysis.bias import read_study
from dialens.analysis.people import what_people_said
from dialens.base import DialensError
from dialens.cli._agreement import agreement
from dialens.cli.study._analyze import analyze
from dialens.report import difference_apa
from dialens.statistics import load_ratings
from dialens.statistics.agreement import analysed_ratings, measure_agreement

SHROUT_FLEISS = (
    (9, 2, 5, 8),
    (6, 1, 3, 2),
    (8, 4, 6, 8),
    (7, 1, 2, 6),
    (10, 5, 6, 9),
    (6, 2, 4, 7),
)
"""Table 2 of Shrout & Fleiss (1979): six targets, four judges."""


def run(command: Callable[..., None], *arguments: object) -> Result:
    app = typer.Typer()
    app.command()(command)
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, [str(one) for one in arguments])


def test_agreement_for_a_paper_and_for_r(tmp_path: Path) -> None:
    """ICC(2,4) = .62 and F(5, 15) = 11.03 are the published numbers."""
    path = tmp_path / "judges.csv"
    lines = ["item,judge1,judge2,judge3,judge4"]
    lines += [f"t{n}," + ",".join(map(str, row)) for n, row in enumerate(SHROUT_FLEISS)]
    path.write_text("\n".join(lines) + "\n")
    out = tmp_path / "out"
    ran = run(agreement, path, "-o", out)
    assert ran.exit_code == 0, ran.output
    assert "judges.csv is taken as a row an item (column item), a column a rater" in ran.output
    assert "F over items and raters" in ran.output
    text = (out / "text.md").read_text()
    assert "ICC(2,k) = .62, 95% CI [.07, .93], F(5, 15) = 11.03, p < .001" in text
    rows = json.loads((out / "agreement.json").read_text())
    assert next(r for r in rows if r["statistic"] == "ICC(2,1)")["apa"].startswith("ICC(2,1) = .29")
    tidy = pl.read_csv(out / "ratings.csv")
    cells = {(i, r): v for i, r, v in tidy.select("item", "rater", "value").iter_rows()}
    assert cells == {
        (f"t{n}", f"judge{j}"): value
        for n, row in enumerate(SHROUT_FLEISS)
        for j, value in enumerate(row, start=1)
    }
    again = measure_agreement(load_ratings(out / "ratings.csv")).rows
    assert again.filter(statistic="ICC(2,k)")["value"][0] == pytest.approx(0.6200505)
    assert 'read.csv("ratings.csv"' in (out / "analysis.R").read_text()
    syntax = (out / "ratings.sps").read_text()
    assert "/FILE='ratings.csv'" in syntax
    assert [
        line.split()[0] for line in syntax.splitlines() if line.startswith("    ")
    ] == tidy.columns


def test_words_and_unknown_raters_are_handed_over(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("item,value\na,red\na,blue\nb,red\nb,red\n")
    table = analysed_ratings(load_ratings(path))
    assert table.sort("item", "label")["label"].to_list() == ["blue", "red", "red", "red"]
    assert table.filter(item="b")["rater"].to_list() == ["1", "2"]


def ratings(path: Path, *, lower: float = 0.0) -> Path:
    rng = np.random.default_rng(7)
    rows = [
        (f"d{d}", f"r{r}", agent, quality, round(50 + shift * sign + rng.normal(0, 8), 2))
        for d in range(8)
        for r in range(6)
        for agent, shift in (("kind", 15.0), ("plain", 0.0))
        for quality, sign in (("warm", 1), ("insulting", -1))
    ]
    names = ["item", "rater", "agent", "quality", "value"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(path)
    return path


def test_less_may_be_better(tmp_path: Path) -> None:
    path = ratings(tmp_path / "r.csv")
    out = tmp_path / "out"
    ran = run(analyze, path, "-o", out, "--lower-is-better", "insulting", "--resamples", 100)
    assert ran.exit_code == 0, ran.output
    assert "People preferred kind to plain on warm" in ran.output
    assert "also on insulting" in ran.output
    found = json.loads((out / "analysis.json").read_text())
    ranks = {(r["quality"], r["agent"]): r["rank"] for r in found["agents"]}
    assert ranks["warm", "kind"] == ranks["insulting", "kind"] == 1
    assert found["lower_is_better"] == ["insulting"]
    difference = next(r for r in found["agent_differences"] if r["quality"] == "insulting")
    assert difference["difference"] < 0
    assert difference["apa"] == difference_apa(difference)
    assert "ΔM = −" in (out / "text.md").read_text()
    tidy = pl.read_csv(out / "ratings.csv")
    source = pl.read_csv(path)
    assert tidy.height == source.height
    assert tidy["value"].sum() == pytest.approx(source["value"].sum())
    assert (
        '"insulting" = list(kind = "slider", random = c("(1 | rater)"'
        in (out / "analysis.R").read_text()
    )
    refused = run(analyze, path, "-o", out, "--lower-is-better", "rude")
    assert "no rating has that quality" in str(refused.exception)


def battles(path: Path, *, broken: bool) -> Path:
    rng = np.random.default_rng(2)
    lines = ["item,rater,agent,quality,value"]
    for d in range(8):
        for r in range(5):
            first = int(rng.random() < 0.8)
            lines += [f"d{d},r{r},a,better,{first}", f"d{d},r{r},b,better,{1 - first}"]
    if broken:
        lines.pop(11)
    path.write_text("\n".join(lines) + "\n")
    return path


def test_battles_are_counted_once_and_a_broken_one_is_named(tmp_path: Path) -> None:
    said: list[str] = []
    whole = read_study(battles(tmp_path / "w.csv", broken=False), say=said.append)
    assert not said
    assert whole.choices == ["better"]
    broken = battles(tmp_path / "b.csv", broken=True)
    data = read_study(broken, say=said.append)
    assert not data.choices
    assert "39 pairs of rows are battles" in said[0]
    assert "1 pair is not whole, the first at line 12" in said[0]
    assert "--scale better=pairwise" in said[0]
    told = read_study(broken, kinds={"better": "pairwise"})
    assert told.choices == ["better"]
    people = what_people_said(told.ratings, scales={"better": "pairwise"})
    assert people.wins["n"].sum() == 39


def test_battles_may_be_read_as_yes_and_no(tmp_path: Path) -> None:
    data = read_study(battles(tmp_path / "w.csv", broken=False), kinds={"better": "yes_no"})
    assert not data.choices
    people = what_people_said(data.ratings, scales={"better": "yes_no"})
    assert people.agents["scale"].unique().to_list() == ["yes_no"]


def test_agreement_of_a_frame_with_other_columns() -> None:
    with pytest.raises(DialensError, match=r"item .or dialog. and value are not there.*a and b"):
        measure_agreement(pl.DataFrame({"a": [1], "b": [2]}))
    frame = pl.DataFrame(
        [(f"t{n}", f"j{j}", v) for n, row in enumerate(SHROUT_FLEISS) for j, v in enumerate(row)],
        schema=["item", "judge", "score"],
        orient="row",
    )
    found = measure_agreement(frame).rows.filter(statistic="ICC(2,1)")
    assert found["value"][0] == pytest.approx(0.2897638)
    with pytest.raises(DialensError, match="holds text"):
        measure_agreement(frame.with_columns(pl.col("score").cast(pl.String)))
