"""`dialens power` as a user runs it, for every outcome and design."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli._power import power
from dialens.studies import TEA

app = typer.Typer()
app.command("power")(power)


@app.callback()
def _root() -> None:
    """So that `power` is named."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


def planned(tmp_path: Path, *arguments: object) -> tuple[str, dict[str, Any]]:
    """What was printed, without line breaks, and power.json."""
    done = run("power", *arguments, "--simulations", 200, "-o", tmp_path / "p", "--force")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "p" / "report.html").read_text()
    assert "What it takes" in page
    return " ".join(done.output.split()), json.loads((tmp_path / "p" / "power.json").read_text())


def test_raters_are_recommended_where_they_are_the_bottleneck(tmp_path: Path) -> None:
    said, made = planned(
        tmp_path, "--shared-raters", "--rater-agent-sd", 0.3, "--residual-sd", 0.8, "--effect", 0.5,
        "--raters", 6, "--items", 30, "--price", 0.25,
    )  # fmt: skip
    assert said.startswith("A difference of 0.5 between two agents is seen with a power of 0.")
    assert "by 30 items, 6 raters for all, less than the 0.8 wanted" in said
    assert "360 ratings (90.00) in all" in said
    assert "2 more raters: +0." in said
    assert "for 120 ratings (30.00)" in said
    assert "10 more items: " in said
    assert "More raters are the cheaper way" in said
    assert made["advice"][0]["better"] == "raters"
    assert made["advice"][0]["raters"]["more"] == 2


def test_items_are_recommended_where_raters_are_alike(tmp_path: Path) -> None:
    said, made = planned(
        tmp_path, "--dialog-sd", 0.8, "--residual-sd", 0.3, "--effect", 0.3, "--raters", 5,
        "--items", 30,
    )  # fmt: skip
    assert "More items are the cheaper way" in said
    assert "raters alone do not get there" in said
    assert made["advice"][0]["better"] == "items"


def test_cells_of_a_study(tmp_path: Path) -> None:
    said, made = planned(
        tmp_path, "--design", "between", "--rater-sd", 0.6, "--residual-sd", 0.9, "--effect", 0.4,
        "--raters", 20, "--items", 20, "--each", 10,
    )  # fmt: skip
    assert "between two cells is seen with a power of 0.46 by 20 raters a cell" in said
    assert "of which each rater rates 10" in said
    assert "computed in closed form" in said
    assert made["rows"][0]["simulations"] == 0
    assert made["rows"][0]["ratings"] == 400


def test_a_scale_between_cells_is_simulated(tmp_path: Path) -> None:
    _, made = planned(
        tmp_path, "--design", "between", "--residual-sd", 1, "--effect", 0.5, "--scale", "1,5",
        "--raters", 10, "--items", 10,
    )  # fmt: skip
    assert made["rows"][0]["simulations"] == 200
    assert made["rows"][0]["power_exact"] is None


def test_shares_win_rates_and_reliability(tmp_path: Path) -> None:
    said, made = planned(
        tmp_path, "--outcome", "binary", "--shares", "0.5,0.75", "--raters", 1, "--items", 50
    )
    assert "A difference between shares of 50 % and 75 % is seen with a power of 0.74" in said
    assert made["rows"][0]["power_exact"] == pytest.approx(0.740, abs=1e-3)
    said, _ = planned(
        tmp_path, "--outcome", "pairwise", "--win-rate", 0.9, "--raters", 1, "--items", 10
    )
    assert "A win rate of 90 % is seen with a power of 0.74 by 10 items, 1 rater a pair" in said
    said, _ = planned(tmp_path, "--outcome", "icc", "--icc", 0.7, "--width", 0.2, "--raters", 3)
    assert "The interval of an ICC of 0.7 no wider than 0.2 takes 68 items" in said


def test_equivalence_and_several_comparisons(tmp_path: Path) -> None:
    arguments = ("--residual-sd", 0.8, "--raters", 5, "--items", 40)
    said, one = planned(tmp_path, *arguments, "--equivalence", 0.3)
    assert said.startswith("That two agents differ by less than 0.3 is shown with a power of 0.")
    _, three = planned(tmp_path, *arguments, "--equivalence", 0.3, "--comparisons", 3)
    assert three["alpha"] == pytest.approx(0.05 / 3)
    assert three["rows"][0]["power_exact"] < one["rows"][0]["power_exact"]


def study(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(json.dumps({**TEA, **changes}))  # JSON is YAML
    return path


def test_a_study_as_it_stands(tmp_path: Path) -> None:
    """TEA: 4 cells of 20, 6 items with 3 replies: 18 ratings of a quality a participant."""
    done = run(
        "power", "--study", study(tmp_path), "--rater-sd", 0.6, "--residual-sd", 0.9,
        "--effect", 0.4, "--item-cell-sd", 0,
    )  # fmt: skip
    said = " ".join(done.output.split())
    assert "Between two agents, a difference of 0.4 is seen with a power of" in said
    assert "80 participants and 6 items each; 960 ratings a quality" in said
    of_means = 0.4 / (0.6**2 + 0.9**2 / 18) ** 0.5
    wanted = import_module("statsmodels.stats.power").TTestIndPower().power(of_means, 20, 0.05)
    assert f"Between two cells, a difference of 0.4 is seen with a power of {wanted:.2f}" in said
    assert "20 participants a cell and 18 replies each; 720 ratings a quality" in said
    assert "More raters are the cheaper way" in said
    assert "with only 6 items the test has 5 degrees of freedom at most" in said
    assert not (tmp_path / "power").exists()


def test_a_study_writes_no_folder_and_says_so(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="leave -o out"):
        run(
            "power", "--study", study(tmp_path), "--residual-sd", 0.9, "--effect", 0.4,
            "-o", tmp_path / "p",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--outcome", "binary"), "--shares takes"),
        (("--outcome", "pairwise"), "needs --win-rate"),
        (("--outcome", "icc"), "needs --icc"),
        (("--outcome", "icc", "--icc", 0.6, "--rater-sd", 1), "no place beside"),
        (("--outcome", "binary", "--shares", "0.5,0.6", "--residual-sd", 1), "--outcome mean"),
        (("--outcome", "binary", "--effect", 1), "--effect belongs to --outcome mean"),
        (("--outcome", "pairwise", "--win-rate", 0.6, "--equivalence", 0.1), "no place beside"),
        (("--residual-sd", 1, "--each", 3), "no place beside"),
        (("--residual-sd", 1, "--ties", 0.3), "--ties has no place"),
        (("--residual-sd", 1, "--equivalence", 0.3, "--effect", 0.4), "larger than the true"),
        (("--design", "between", "--rater-agent-sd", 1), "--rater-agent-sd has no place"),
        (("--design", "between", "--residual-sd", 1, "--dialogs", 2), "--dialogs has no place"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    with pytest.raises(DialensError, match=message):
        run("power", *arguments, "-o", tmp_path / "p")


def test_a_study_of_pairs_is_sent_to_the_right_outcome(tmp_path: Path) -> None:
    quality = {"overall": {"definition": "Better.", "instrument": "pairwise"}}
    with pytest.raises(DialensError, match="--outcome pairwise"):
        run(
            "power", "--study", study(tmp_path, qualities=quality, factors={}),
            "--residual-sd", 1, "--effect", 0.4,
        )  # fmt: skip


MIXED = ("--dialog-sd", 0.6, "--residual-sd", 0.6, "--effect", 0.3, "--items", "20,40")


def test_the_cheapest_mix_of_people_and_judge_comes_first(tmp_path: Path) -> None:
    said, made = planned(
        tmp_path, *MIXED, "--price", 0.5, "--judge-r", 0.7, "--judge-price", 0.01
    )  # fmt: skip
    assert said.startswith(
        "A difference of 0.3 between two agents takes 152 human ratings (76 items) and 1,042 by "
        "the judge (these and 445 more) for 86.42, instead of 256 human ratings for 128.00. "
        "r = 0.70; 1 rater a dialogue; saves 41 % of human ratings, and no judge of that r more "
        "than 49 %; power 0.80, 0.8 wanted."
    )
    assert made["judge"][0]["items"] == 76
    assert "instead of 256 human ratings" in (tmp_path / "p" / "report.html").read_text()


def test_a_judge_is_left_out_where_it_does_not_help(tmp_path: Path) -> None:
    said, _ = planned(tmp_path, *MIXED, "--price", 0.5, "--judge-r", 0.2, "--judge-price", 0.01)
    assert said.startswith("Leave the judge out: a difference of 0.3 between two agents takes 256")
    assert "r² is 0.04" in said


def judged_pilot(path: Path) -> Path:
    """Two agents on 60 items, three people and a judge whose ratings are 50 higher."""
    import numpy as np

    rng = np.random.default_rng(0)
    lines = ["dialog,agent,rater,rater_kind,quality,value"]
    for n in range(60):
        for agent in "xy":
            truth = rng.normal()
            lines += [f"d{n},{agent},p{k},human,tone,{truth + rng.normal()}" for k in range(3)]
            lines.append(f"d{n},{agent},m,llm,tone,{50 + truth + rng.normal()}")
    path.write_text("\n".join(lines))
    return path


def test_how_far_a_judge_goes_with_people_comes_from_an_earlier_study(tmp_path: Path) -> None:
    """True r of differences: 1 / √((1 + 1/3)(1 + 1)) = .61 with three raters, .5 with one."""
    pilot = judged_pilot(tmp_path / "pilot.csv")
    asked = ("--effect", 0.4, "--price", 0.5, "--judge-price", 0.005, "--items", "20,40")
    said, made = planned(tmp_path, pilot, *asked)
    assert made["judge"][0]["r"] == pytest.approx(0.61, abs=0.12)
    assert made["judge"][0]["raters"] == 3
    assert "3 raters a dialogue" in said
    _, one = planned(tmp_path, pilot, *asked, "--raters", 1)
    assert one["judge"][0]["r"] < made["judge"][0]["r"]
    assert one["judge"][0]["raters"] == 1


def test_which_of_several_judges_is_planned_with_is_said(tmp_path: Path) -> None:
    """A second judge that rates at random is not the one, and the one that is has its name."""
    pilot = judged_pilot(tmp_path / "pilot.csv")
    rows = pilot.read_text().splitlines()
    rows += [f"d{n},{a},z,llm,tone,{(n * 7919 + ord(a)) % 13}" for n in range(60) for a in "xy"]
    pilot.write_text("\n".join(rows))
    asked = ("--effect", 0.4, "--price", 0.5, "--judge-price", 0.005, "--items", "20,40")
    said, made = planned(tmp_path, pilot, *asked)
    assert "judge: m, of 2 judges what goes best with people in these very ratings" in said
    assert made["judge"][0]["judge"] == "m"
    assert "these very ratings" in made["judge"][0]["chosen"]
    said, made = planned(tmp_path, pilot, *asked, "--judge", "m")
    assert "judge: m." in said
    assert made["judge"][0]["chosen"] is None


def test_variances_are_those_of_people_not_of_judges_beside_them(tmp_path: Path) -> None:
    """A judge 50 points above people made raters differ by 25 before."""
    pilot = judged_pilot(tmp_path / "pilot.csv")
    _, made = planned(tmp_path, pilot, "--effect", 0.4, "--items", "20,40", "--raters", 1)
    assert made["parts"]["rater"] < 0.5
    assert made["fitted"]["n"] == 360


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--judge-r", 0.5), "needs both prices"),
        (("--judge-r", 0.5, "--judge-price", 0.1, "--price", 1, "--raters", "1,2"), "one number"),
        (("--judge-r", 0.5, "--scale", "1,5"), "no place beside --scale"),
        (("--judge-price", 0.1, "--price", 1), "State --judge-r"),
    ],
)
def test_a_judge_that_cannot_be_planned_with(options: tuple[object, ...], message: str) -> None:
    with pytest.raises(DialensError, match=message):
        run("power", *MIXED, *options)
