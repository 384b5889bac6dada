"""The template `judge-bias` from the command line: what was planted is said again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dialens.base import DialensError
from dialens.cli.study._group import app


def run(*words: str | Path) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.slow
def test_planted_leanings_are_found_again(tmp_path: Path) -> None:
    study = tmp_path / "jb"
    run("new", "-t", "judge-bias", "-o", study)
    planted = ("--tag-effect", "ai=-20", "--length-effect", "12", "--first-place", "8")
    told = run("simulate", study, "-n", "24", "--anchor-pull", "0.4", *planted)
    assert "first place 8, doubled length 12, tag ai -20" in told
    run("analyze", study, "--resamples", "100")
    found = json.loads((study / "analysis" / "analysis.json").read_text("utf-8"))
    (index,) = (row for row in found["effects"] if row["effect"] == "anchoring index")
    assert index["low"] < 0.4 < index["high"]
    rows = {(row["bias"], row["of"], row["measure"]): row for row in found["leanings"]}
    tag = rows["tag", "ai against none", "points"]
    # seven points are 6 apart for 100; two thirds of the screens pull 40 % of it away
    put_in = -20 * 0.06 * (1 - 0.4 * 2 / 3)
    assert tag["low"] - 0.1 < put_in < tag["high"] + 0.1
    assert rows["tag", "person against none", "points"]["p_adjusted"] > 0.01
    assert rows["length", "twice as long", "points"]["low"] > 0
    flips = [row for row in found["leanings"] if row["bias"] == "order"]
    assert {row["quality"] for row in flips} == {"helpfulness", "overall"}
    assert all(0 < row["low"] < row["value"] < row["high"] < 1 for row in flips)
    assert [row["quality"] for row in found["equal_length"]] == ["helpfulness", "overall"]


def test_a_tag_that_is_not_there_is_named(tmp_path: Path) -> None:
    study = tmp_path / "jb"
    run("new", "-t", "judge-bias", "-o", study)
    with pytest.raises(DialensError, match="with one of person, ai; seen: 'robot=3'"):
        run("simulate", study, "--tag-effect", "robot=3")
    other = tmp_path / "pw"
    run("new", "-t", "pairwise", "-o", other)
    with pytest.raises(DialensError, match="has no factor `tag`"):
        run("simulate", other, "--tag-effect", "ai=3")
