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
