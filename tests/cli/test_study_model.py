"""`dialens study model` as a user runs it."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli.study._model import _degrees, model
from dialens.statistics.mixed import _effects

FORMULA = "value ~ agent + (1 | rater) + (1 | item)"


def run(*arguments: object) -> Result:
    app = typer.Typer()
    app.command()(model)
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, [str(part) for part in arguments])


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Agent b is rated a point higher than agent a on fluency, and alike on humour."""
    rng = np.random.default_rng(0)
    raters, items = rng.normal(0, 0.5, 8), rng.normal(0, 0.5, 8)
    rows = []
    for quality, gain in (("fluency", 1.5), ("humour", 0.0)):
        for r in range(8):
            for i in range(8):
                for agent in "ab":
                    judged = raters[r] + items[i] + gain * (agent == "b") + rng.normal()
                    answer = int(np.digitize(judged, [-1, 0, 1, 2])) + 1
                    rows.append((f"r{r}", f"i{i}", agent, quality, r * 5, answer))
    path = tmp_path / "ratings.csv"
    columns = ["rater", "item", "agent", "quality", "age", "value"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(path)
    return path


def test_the_answer_comes_first_and_tables_are_written(ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = run(ratings, FORMULA, "--where", "quality=fluency", "-o", out)
    assert ran.exit_code == 0, ran.output
    assert ran.output.startswith("value is higher with agent[b] than with a: ")
    assert "128 ratings" in ran.output
    result = json.loads((out / "model.json").read_text())
    assert [effect["name"] for effect in result["fixed"]] == ["(intercept)", "agent[b]"]
    assert result["fixed"][1]["low"] > 0
    assert pl.read_csv(out / "variance.csv")["term"].to_list()[-1] == "residual"
    assert pl.read_csv(out / "fixed.csv").height == 2
    assert json.loads((out / "run.json").read_text())["command"] == "study model"


def test_an_ordinal_model_against_a_smaller_one(ratings: Path, tmp_path: Path) -> None:
    smaller = "value ~ 1 + (1 | rater) + (1 | item)"
    ran = run(
        ratings, FORMULA, "--where", "quality=fluency", "--family", "ordinal",
        "--against", smaller, "-o", tmp_path / "out",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    assert ran.output.startswith(f"{FORMULA} explains value better than {smaller}: χ²(1) = ")
    assert "odds ratio" in ran.output
    result = json.loads((tmp_path / "out" / "model.json").read_text())
    assert [row["name"] for row in result["thresholds"]] == ["1|2", "2|3", "3|4", "4|5"]
    assert result["fixed"][0]["degrees"] > 2
    assert result["against"]["p"] < 0.001


def test_no_effect_is_said_to_be_none(ratings: Path) -> None:
    ran = run(ratings, "value ~ agent + age + (1 | rater)", "--where", "quality=humour")
    assert ran.exit_code == 0, ran.output
    assert ran.output.startswith("No effect on value is clear; the largest is ")
    assert "age " in ran.output  # a number is a covariate, not a factor


@pytest.mark.parametrize(
    ("formula", "options", "says"),
    [
        (FORMULA, (), "--where quality=fluency"),
        ("", (), "a formula needs ~"),
        ("value agent", (), "a formula needs ~"),
        (
            "value ~ agnt + (1 | rater)",
            ("--where", "quality=fluency"),
            "Did you mean agent? Columns: rater, agent, quality, value, age, item.",
        ),
        (FORMULA, ("--where", "quality=speed"), "keeps no rating"),
        (FORMULA, ("--where", "qualty=fluency"), "Did you mean quality?"),
        (FORMULA, ("--where", "quality"), "takes COLUMN=VALUE"),
        ("value ~ agent +", ("--where", "quality=fluency"), "character 16"),
        ("value ~ bot + (1 | rater)", ("--where", "quality=fluency"), "no column 'bot'"),
        ("value ~ agnet + (1 | rater)", (), "no column 'agnet'. Did you mean agent?"),
    ],
)
def test_mistakes_are_explained(
    ratings: Path, formula: str, options: tuple[str, ...], says: str
) -> None:
    ran = run(ratings, formula, *options)
    assert isinstance(ran.exception, DialensError)
    assert says in str(ran.exception)


def test_degrees_of_freedom_are_a_number_or_infinite(ratings: Path) -> None:
    def shown(degrees: float) -> str:
        return _degrees(_effects.tested("x", 1.0, 0.5, degrees, 0.95))

    assert [shown(value) for value in (12.0, 2e6, np.inf, np.nan)] == ["12.0", "∞", "∞", "–"]
    ran = run(ratings, "value ~ agent + (1 | agent)", "--where", "quality=fluency")
    assert ran.exit_code == 0, ran.output
    assert "nan" not in ran.output
    assert "left out: agent differs in the fixed part already" in ran.output
    assert "Linear model, without random effects" in ran.output
