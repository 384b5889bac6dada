"""What `dialens study analyze` writes: sentences, tables, one self-contained page."""

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.analysis.bias import (
    Resampling,
    SimulatedStudy,
    StudyAnalysis,
    analyse_study,
    study_data,
)
from dialens.base import DialensError
from dialens.cli.study._group import app
from dialens.report.bias import write_study
from dialens.report.bias._findings import _effect, _pace, findings
from dialens.report.bias._methods import methods
from dialens.report.bias._remarks import how_taken
from dialens.report.bias._tables import study_tables

FEW = Resampling(resamples=300)


@pytest.fixture(scope="module")
def analysis() -> StudyAnalysis:
    study = SimulatedStudy(
        raters=12, items=12, dropout=0.1, speeders=0.1, straight_liners=0.05, sd_rater=4
    )
    return analyse_study(study_data(*study.run(1)), draws=FEW)


@pytest.fixture(scope="module")
def folder(analysis: StudyAnalysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("study")
    write_study(analysis, made, title="A <study> & more")
    return made


def test_first_sentence_says_what_the_anchor_did(analysis: StudyAnalysis):
    first = findings(analysis)[0]
    row = analysis.effects.row(0, named=True)
    assert first.claim == f"Raters who saw the anchor rated {row['value']:.1f} points higher"
    assert "95 % interval" in first.numbers


def test_nothing_is_called_clear_without_its_family(analysis: StudyAnalysis):
    for found in findings(analysis):
        if "corrected p" in found.numbers:
            assert re.search(r"family of \d+ tests?$", found.numbers)
        assert "significant" not in found.text
    doubtful = [found for found in findings(analysis) if not found.clear]
    assert doubtful
    assert all("corrected p" in found.numbers for found in doubtful)


def test_methods_say_that_the_anchor_was_repeated(analysis: StudyAnalysis):
    repeated = "again below each question"
    assert repeated not in " ".join(methods(analysis))
    levels = pl.lit(json.dumps({"anchor": "both", "anchor_repeated": "yes"}))
    data = replace(analysis.data, ratings=analysis.data.ratings.with_columns(factors=levels))
    assert repeated in " ".join(methods(replace(analysis, data=data)))


def test_json_is_strict_and_complete(folder: Path):
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    text = (folder / "analysis.json").read_text(encoding="utf-8")
    told = json.loads(text, parse_constant=refuse)
    assert {
        "effects",
        "paper",
        "response_biases",
        "robustness",
        "notes",
        "methods",
        "codebook",
    } <= set(told)
    assert set(told["paper"]) >= {"table2", "table8", "figure3", "figure9"}
    row = told["effects"][0]
    assert {"value", "low", "high", "p", "p_adjusted", "family"} <= set(row)


def test_tables_as_csv_and_latex(folder: Path, analysis: StudyAnalysis):
    for key, table in study_tables(analysis).items():
        assert table.data is not None
        again = pl.read_csv(folder / "tables" / f"{key}.csv", infer_schema_length=None)
        assert again.height == table.data.height
        paper = table.for_paper()
        file = folder / "tables" / f"{key}.tex"
        assert file.exists() == bool(paper.rows)
        if not paper.rows:
            continue
        tex = file.read_text(encoding="utf-8")
        assert "Why not" not in tex
        for line in tex.splitlines():
            if line.endswith(r"\\") and "toprule" not in line:
                assert len(re.findall(r"(?<!\\)&", line)) == len(paper.heads) - 1
        assert tex.count(r"\begin{") == tex.count(r"\end{")


def test_page_is_self_contained_and_escapes(folder: Path):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "A &lt;study&gt; &amp; more" in page
    assert "Methods, for a paper" in page
    assert "Codebook" in page
    head = page[: page.index("<script")]
    assert "http://" not in head
    assert "https://" not in head


def test_command_line(tmp_path: Path):
    ratings, answers = SimulatedStudy(raters=5, items=5).run(2)
    export = tmp_path / "export"
    export.mkdir()
    ratings.write_parquet(export / "ratings.parquet")
    answers.write_parquet(export / "questionnaires.parquet")
    out = tmp_path / "out"
    ran = CliRunner().invoke(
        app, ["analyze", str(export), "-o", str(out), "--resamples", "200"], catch_exceptions=False
    )
    assert ran.exit_code == 0
    assert "Raters who saw the anchor" in ran.output
    assert (out / "report.html").exists()
    again = CliRunner().invoke(app, ["analyze", str(export), "-o", str(out), "--resamples", "200"])
    assert again.exit_code == 0


def test_factors_by_other_names_and_a_part_of_the_table(tmp_path: Path):
    ratings, _ = SimulatedStudy(raters=8, items=6, anchors={"none": 0.0}).run(2)
    told = ratings.with_columns(
        setup=pl.when(pl.col("condition").str.contains("together")).then(pl.lit("1")).otherwise(pl.lit("2")),
        method=pl.lit("me"),
    ).drop("factors")  # fmt: skip
    told.write_csv(tmp_path / "ratings.csv")
    out = tmp_path / "out"
    command = ["analyze", str(tmp_path / "ratings.csv"), "-o", str(out), "--resamples", "200"]
    asked = [*command, "--factor", "layout=setup", "--where", "method=me"]
    ran = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert ran.exit_code == 0
    told_json = json.loads((out / "analysis.json").read_text(encoding="utf-8"))
    assert told_json["study"]["factors"] == {"layout": ["1", "2"]}
    wrong = CliRunner().invoke(app, [*command, "--where", "method=likert"])
    assert isinstance(wrong.exception, DialensError)
    assert "No rating has method" in str(wrong.exception)


def test_pace_is_in_percent_at_both_ends():
    """Doublings: 2^−0.30 is 0.81, 2^−0.48 is 0.72 and 2^−0.12 is 0.92."""
    row = {"value": -0.30, "low": -0.48, "high": -0.12, "p_adjusted": 0.01, "family": 7}
    found = _pace(row | {"bias": "fatigue", "of": "time"}).finding
    assert found.claim == "Over the session, raters become 19 % faster"
    assert found.numbers.startswith("95 % interval 8 to 28 %")


def test_what_cannot_be_told_from_chance_is_one_sentence_a_topic(analysis: StudyAnalysis):
    told = findings(analysis)
    for topic in ("design", "agreement", "pushes"):
        assert sum(not found.clear for found in told if found.topic == topic) <= 1


def test_a_table_without_a_scale_says_first_how_it_was_taken():
    ratings, _ = SimulatedStudy(raters=6, items=6).run(1)
    data = study_data(ratings.with_columns(scale=pl.lit(None, dtype=pl.String)))
    (remark,) = how_taken(data)
    assert "taken as points; --normalise log for magnitudes" in remark.text
    assert how_taken(study_data(ratings)) == []


def test_an_effect_on_one_quality_names_it():
    row = {
        "effect": "agent", "question": "agent “b” against “a”", "quality": "fluency",
        "value": 0.32, "low": 0.27, "high": 0.37, "p_adjusted": 0.001, "family": 5,
    }  # fmt: skip
    claim = "With agent “b” instead of “a”, ratings of fluency were 0.32 points higher"
    assert _effect(row).claim == claim


def test_ratings_that_are_all_the_same_get_a_page_that_says_so(tmp_path: Path) -> None:
    rows = [
        {"rater": f"r{r}", "item": f"i{i}", "agent": a, "quality": "tone", "value": 4}
        for r in range(6)
        for i in range(4)
        for a in "xy"
    ]
    table = tmp_path / "same.csv"
    pl.DataFrame(rows).write_csv(table)
    done = CliRunner().invoke(app, ["analyze", str(table)], catch_exceptions=False)
    assert "agents cannot be compared: every rater gave everything the same rating" in done.output
    assert "6 raters, 48 ratings of 8 responses to 4 items" in done.output


def test_ratings_left_out_are_counted_before_the_first_number():
    ratings, answers = SimulatedStudy(raters=6, items=6).run()
    row = pl.int_range(pl.len())
    holes = ratings.with_columns(
        value=pl.when(row >= 5).then("value"),
        rater=pl.when((row < 5) | (row >= 8)).then("rater"),
        label=pl.when(row < 2).then(pl.lit("good")),
    )
    data = study_data(holes, answers)
    total = f"{ratings.height} ratings"
    said = {remark.text for remark in how_taken(data) if remark.title == "Left out"}
    assert said == {
        f"2 of {total} in words, not numbers.",
        f"3 of {total} without a value (empty or NA).",
        f"3 of {total} that do not say who rated.",
    }
    assert data.ratings.height == ratings.height - 8
