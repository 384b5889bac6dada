"""`dialens agreement` as a user runs it, and the page it leaves."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner, Result

from dialens.base import DialensError, interval, number
from dialens.cli._agreement import agreement
from dialens.statistics.agreement import STATISTICS

CORE = (
    "quality", "group", "statistic", "value", "low", "high",
    "n_items", "n_raters", "n_ratings", "n_missing",
)  # fmt: skip


def run(*arguments: object, columns: int = 120) -> Result:
    app = typer.Typer()
    app.command()(agreement)
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, [str(part) for part in arguments])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = []
    for arm in ("anchor", "none"):
        for quality in ("readable", "coherent"):
            items = rng.normal(size=12)
            raters = rng.normal(size=5)
            for i, item in enumerate(items):
                for j, rater in enumerate(raters):
                    value = 100 * np.exp(item + rater + 0.5 * rng.normal())
                    if (i * j) % 7 != 3:
                        rows.append((f"d{i}", f"{arm}{j}", quality, arm, round(value, 2)))
    path = tmp_path / "ratings.csv"
    columns = ["dialog", "rater", "quality", "condition", "value"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(path)
    return path


def test_rows_page_and_record(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = run(table, "--by", "condition", "--normalise", "log", "-o", out, "--seed", 3)
    assert ran.exit_code == 0, ran.output
    rows = json.loads((out / "agreement.json").read_text())
    assert len(rows) == 4 * len(STATISTICS)
    assert all(set(CORE) <= row.keys() for row in rows)
    assert {row["group"] for row in rows} == {"condition=anchor", "condition=none"}
    assert all(row["value"] is not None or row["reason"] for row in rows)
    forms = [row for row in rows if row["statistic"] == "ICC(2,k)"]
    assert all(row["low"] < row["value"] < row["high"] for row in forms)
    assert json.loads((out / "run.json").read_text())["seed"] == 3
    assert {row["rater"] for row in json.loads((out / "raters.json").read_text())} == {
        f"{arm}{j}" for arm in ("anchor", "none") for j in range(5)
    }
    assert {row["target"] for row in json.loads((out / "panel.json").read_text())} == {
        0.7,
        0.8,
        0.9,
    }
    assert pl.read_csv(out / "agreement.csv").height == len(rows)
    assert "coherent, condition=anchor: 5" in ran.output
    assert "ICC(2,k) 0." in ran.output
    page = (out / "agreement.html").read_text()
    assert "reliability is" in page
    assert "http://" not in page.split("<script")[0]


def test_one_quality_prints_everything(table: Path, tmp_path: Path) -> None:
    ran = run(table, "-q", "readable", "-o", tmp_path / "out", "--target", 0.95)
    assert ran.exit_code == 0, ran.output
    assert "alpha_ordinal" in ran.output
    assert "jackknife over items and raters" in ran.output
    assert "Pairs of raters" in (tmp_path / "out" / "agreement.html").read_text()
    assert "Not computed: cohen_kappa, cohen_kappa_linear, cohen_kappa_quadratic" in ran.output
    again = run(table, "-q", "readable", "-o", tmp_path / "out")
    assert again.exit_code == 0, "our own output is replaced"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "arm"], "no column or factor 'arm'.*condition"),
        (["-q", "witty"], "No ratings of 'witty'"),
        (["--normalise", "rank"], "normalised by `log`"),
        (["--target", "1.5"], "--target lies between 0 and 1"),
    ],
)
def test_mistakes_are_explained(table: Path, options: list[str], message: str) -> None:
    out = table.parent / "out"
    ran = run(table, *options, "-o", out)
    assert isinstance(ran.exception, DialensError)
    with pytest.raises(DialensError, match=message):
        raise ran.exception
    assert not out.exists()


def test_nothing_of_somebody_elses_is_replaced(table: Path) -> None:
    theirs = table.parent / "theirs"
    theirs.mkdir()
    (theirs / "thesis.tex").touch()
    ran = run(table, "-o", theirs)
    assert isinstance(ran.exception, DialensError)
    assert (theirs / "thesis.tex").exists()


def test_numbers_nobody_can_agree_on_still_give_a_page(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("item,rater,quality,value\na,r,<b>odd</b>,1\nb,r,<b>odd</b>,2\n")
    ran = run(path, "-o", tmp_path / "out")
    assert ran.exit_code == 0, ran.output
    assert "there is only one rater" in ran.output
    page = (tmp_path / "out" / "agreement.html").read_text()
    assert "agreement cannot be computed" in page
    assert "<b>odd</b>" not in page


def test_the_page_draws_its_charts(table: Path, tmp_path: Path, chromium) -> None:
    out = tmp_path / "out"
    assert run(table, "--by", "condition", "-o", out).exit_code == 0
    page = chromium.new_page(viewport={"width": 400, "height": 800})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.goto((out / "agreement.html").as_uri())
    page.wait_for_selector(".drawing svg")
    page.wait_for_function("document.querySelectorAll('.drawing svg').length === 3")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
    assert not faults


def test_facets_give_variances_and_other_designs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    items, raters = rng.normal(size=20), rng.normal(size=4)
    rows = [
        (f"d{i:02d}", f"r{j}", f"o{k}", round(3 * items[i] + raters[j] + rng.normal(), 3))
        for i in range(20)
        for j in range(4)
        for k in range(2)
    ]
    path = tmp_path / "twice.csv"
    pl.DataFrame(rows, ["item", "rater", "occasion", "value"], orient="row").write_csv(path)
    ran = run(path, "--facets", "rater,occasion", "-o", tmp_path / "out")
    assert ran.exit_code == 0, ran.output
    assert "4 rater × 2 occasion: Eρ² 0.9" in ran.output
    variances = json.loads((tmp_path / "out" / "variances.json").read_text())
    assert variances[0]["effect"] == "item"
    assert variances[0]["share"] > 0.5
    assert len(json.loads((tmp_path / "out" / "decisions.json").read_text())) == 20
    assert "Items, raters and other facets" in (tmp_path / "out" / "agreement.html").read_text()


def test_a_number_of_raters_is_given_with_its_interval_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("item,rater,value\na,r,1\na,s,2\nb,r,3\nb,s,3\nc,r,5\nc,s,4\n")
    ran = run(path, "-o", tmp_path / "out", "--target", 0.99)
    assert ran.exit_code == 0, ran.output
    assert "needs" not in ran.output, "three items cannot tell"


def labelled(path: Path, labels: list[str]) -> Path:
    """Items with one letter for each of three raters."""
    rows = [
        (f"i{i}", f"r{j}", word) for i, word in enumerate(labels) for j, word in enumerate(word)
    ]
    lines = [f"{item},{rater},emotion,{word}" for item, rater, word in rows]
    path.write_text("\n".join(["item,rater,quality,value", *lines]) + "\n")
    return path


def test_few_raters_are_not_said_to_agree_by_chance(tmp_path: Path) -> None:
    """By hand: 2/3 of the pairs are the same, by chance 1/2 are: kappa is (2/3 - 1/2) / (1/2)."""
    path = labelled(tmp_path / "r.csv", ["aaa", "bbb", "aab", "bba"] * 5)
    ran = run(path, "-o", tmp_path / "out")
    assert ran.exit_code == 0, ran.output
    assert ran.output.startswith("emotion: Fleiss' kappa is 0.33, but with only 3 raters its")
    assert "chance cannot be ruled out" in ran.output.splitlines()[0]


def test_perfect_agreement_is_called_so(tmp_path: Path) -> None:
    ran = run(labelled(tmp_path / "r.csv", ["aaa", "bbb", "ccc"] * 6), "-o", tmp_path / "out")
    assert ran.output.startswith("emotion: all raters gave the same label, item by item.")
    ran = run(labelled(tmp_path / "n.csv", ["111", "222", "333"] * 6), "-o", tmp_path / "numbers")
    assert ran.output.startswith("emotion: all raters gave the same rating, item by item.")


def test_ratings_without_a_value_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    values = ["1", "2", "NA", "", "3", "4", "5", "5"]
    lines = [f"i{n // 2},r{n % 2},{value}" for n, value in enumerate(values)]
    path.write_text("\n".join(["item,rater,value", *lines]) + "\n")
    ran = run(path, "-o", tmp_path / "out")
    assert "Note: Left out: 2 of 8 ratings without a value (empty or NA)." in ran.output
    assert "2 of 8 ratings without a value" in (tmp_path / "out" / "agreement.html").read_text()


def test_a_narrow_terminal_keeps_numbers_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 1)) + rng.normal(size=(30, 8))
    lines = [f"i{i},r{j},{value:.1f}" for (i, j), value in np.ndenumerate(values)]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(["item,rater,value", *lines]) + "\n")
    out = tmp_path / "out"
    ran = run(path, "-o", out, columns=60)
    assert "…" not in ran.output.split("Not computed")[0]
    rows = {row["statistic"]: row for row in json.loads((out / "agreement.json").read_text())}
    for name in ("ICC(2,1)", "ICC(2,k)", "alpha_ordinal"):
        row = rows[name]
        assert f"{number(row['value'], 3)}  {interval(row['low'], row['high'], 3)}" in ran.output


def test_groups_are_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    items = 1.5 * rng.normal(size=40)
    rows = [
        (f"d{i}", f"{group}{j}", group, float(np.clip(round(3 + x + noise * rng.normal()), 1, 5)))
        for group, noise in (("clear", 0.3), ("vague", 2.5))
        for i, x in enumerate(items)
        for j in range(5)
    ]
    path, out = tmp_path / "ratings.csv", tmp_path / "out"
    names = ["dialog", "rater", "condition", "value"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(path)
    ran = run(path, "--by", "condition", "-o", out)
    assert ran.exit_code == 0, ran.output
    found = json.loads((out / "differences.json").read_text())
    assert [row["statistic"] for row in found] == ["fleiss_kappa", "alpha_ordinal"]
    by_group = {
        row["group"]: row["value"]
        for row in json.loads((out / "agreement.json").read_text())
        if row["statistic"] == "alpha_ordinal"
    }
    gap = by_group["condition=clear"] - by_group["condition=vague"]
    assert found[1]["difference"] == pytest.approx(gap)
    told = " ".join(ran.output.split())
    assert "with condition=clear than with condition=vague: fleiss_kappa" in told
    assert "Groups compared" in (out / "agreement.html").read_text()
    run(path, "-o", tmp_path / "out2")
    assert not (tmp_path / "out2" / "differences.json").exists()


def test_people_and_models_are_never_taken_together(tmp_path: Path) -> None:
    """The numbers of a mixed table are those of its people by themselves, and of models alone."""
    rng = np.random.default_rng(4)
    rows = list[tuple[object, ...]]()
    for item in range(20):
        truth = rng.normal()
        for j in range(4):
            rows.append((f"d{item}", f"p{j}", "simulated", None, None, truth + rng.normal()))
        for repeat, occasion in ((1, 1), (2, 1), (1, 2)):
            name = f"m{repeat}-{occasion}"
            rows.append((f"d{item}", name, "llm", repeat, occasion, rng.normal()))
    columns = ["dialog", "rater", "rater_kind", "repeat", "occasion", "value"]
    mixed = pl.DataFrame(rows, schema=columns, orient="row").with_columns(judge=pl.lit("m"))
    files = {}
    for name, part in {
        "mixed": mixed,
        "people": mixed.filter(pl.col("rater_kind") == "simulated"),
        "models": mixed.filter(pl.col("rater_kind") == "llm", pl.col("occasion") == 1),
    }.items():
        files[name] = tmp_path / f"{name}.csv"
        part.write_csv(files[name])

    def numbers(*arguments: object) -> tuple[str, list[dict[str, object]]]:
        out = tmp_path / "out"
        ran = run(*arguments, "-o", out, "--force")
        assert ran.exit_code == 0, ran.output
        return ran.output, json.loads((out / "agreement.json").read_text())

    said, found = numbers(files["mixed"])
    first = " ".join(said.splitlines()[:2])
    assert "simulated raters alone (4 simulated raters); 1 language model is left out" in first
    assert "--raters llm" in first
    assert found == numbers(files["people"])[1]
    said, found = numbers(files["mixed"], "--raters", "llm")
    assert "Measured are language models alone (1 language model), a model once a repeat" in said
    assert found == numbers(files["models"])[1]
    assert {row["n_raters"] for row in found} == {2}
    refused = run(files["people"], "--raters", "human", "-o", tmp_path / "no")
    assert isinstance(refused.exception, DialensError)
    assert "--raters simulated" in str(refused.exception)
