"""Tables for spreadsheets and figures for papers, as other programs read them."""

import csv
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.cli._app import app
from dialens.corpus import demo_path
from dialens.metrics import Scores

_METRICS = "length,question,language_style_matching"


def _run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "out"
    _run("score", demo_path(), "-o", out, "-m", _METRICS, "--csv", "--figures", "svg")
    return out


def test_agents_are_a_table_for_spreadsheets(folder: Path) -> None:
    rows = _rows(folder / "agents.csv")
    wide = Scores.open(folder).wide("agent")
    assert [row["agent"] for row in rows] == wide["agent"].to_list()
    assert [float(row["length"]) for row in rows] == pytest.approx(wide["length"].to_list())
    dialogs = pl.read_parquet(folder / "dialogs.parquet")
    assert sum(int(row["dialogs"]) for row in rows) == dialogs.height


def test_every_value_is_in_the_csv(folder: Path) -> None:
    rows = _rows(folder / "scores.csv")
    table = pl.read_parquet(folder / "scores.parquet")
    assert list(rows[0]) == table.columns
    assert len(rows) == table.height
    known = sum(float(row["value"]) for row in rows if row["value"])
    assert known == pytest.approx(table["value"].sum())
    missing = [row["reason"] for row in rows if not row["value"]]
    assert len(missing) == table["value"].null_count()
    assert all(missing)


def test_figures_are_whole_without_the_page(folder: Path) -> None:
    figures = sorted((folder / "figures").glob("*.svg"))
    assert figures
    text = ""
    for path in figures:
        root = ElementTree.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        content = path.read_text(encoding="utf-8")
        assert "var(--" not in content
        assert "http" not in content.replace("http://www.w3.org", "")
        text += "".join(root.itertext())
    assert all(agent in text for agent in Scores.open(folder).wide("agent")["agent"])
    captions = (folder / "figures" / "captions.md").read_text(encoding="utf-8")
    assert all(f"`{path.name}`: " in captions for path in figures)


@pytest.mark.parametrize(("kind", "start"), [("pdf", b"%PDF-"), ("png", b"\x89PNG\r\n")])
def test_comparisons_are_drawn(folder: Path, tmp_path: Path, kind: str, start: bytes) -> None:
    out = tmp_path / "compared"
    said = _run("compare", folder, "-o", out, "--csv", "--figures", kind)
    drawn = sorted((out / "comparison_figures").glob(f"*.{kind}"))
    assert f"{len(drawn)} files" in said
    assert "difference-length" in {path.stem for path in drawn}
    assert all(path.read_bytes().startswith(start) for path in drawn)
    assert len(_rows(out / "comparison.csv")) == pl.read_parquet(out / "comparison.parquet").height


def test_comparing_in_place_takes_away_only_what_is_ours(folder: Path) -> None:
    (folder / "comparison.csv").write_text("mine")
    _run("compare", folder, "--csv", "--figures", "svg", "-m", "length")
    assert (folder / "comparison.csv.1").read_text() == "mine"
    assert (folder / "comparison_figures" / "difference-length.svg").exists()
    _run("compare", folder, "-m", "question")
    assert not (folder / "comparison.csv").exists()  # it would tell of the earlier comparison
    assert not (folder / "comparison_figures").exists()
    assert (folder / "comparison.csv.1").read_text() == "mine"


def test_an_unknown_format_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    arguments = ["score", str(demo_path()), "-o", str(tmp_path / "out"), "--figures", "gif"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "gif" in result.output
    assert not (tmp_path / "out").exists()


def test_agreement_is_drawn(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "dialog": [f"d{item}" for item in range(12) for _ in range(4)],
            "rater": [f"r{rater}" for _ in range(12) for rater in range(4)],
            "quality": ["tone"] * 48,
            "value": [
                float((item * 3 + rater % 2) % 7) for item in range(12) for rater in range(4)
            ],
        }
    )
    table.write_csv(tmp_path / "ratings.csv")
    _run("agreement", tmp_path / "ratings.csv", "-o", tmp_path / "out", "--figures", "svg")
    drawn = list((tmp_path / "out" / "figures").glob("*.svg"))
    assert drawn
    assert all(ElementTree.parse(path).getroot() is not None for path in drawn)


def test_a_study_is_drawn(tmp_path: Path) -> None:
    cells = [(a, d, r) for a in ("plain", "warm") for d in range(8) for r in range(6)]
    table = pl.DataFrame(
        {
            "dialog": [f"{agent}{dialog}" for agent, dialog, _ in cells],
            "agent": [agent for agent, _, _ in cells],
            "rater": [f"r{rater}" for _, _, rater in cells],
            "quality": ["tone"] * len(cells),
            "value": [1 + (d * 5 + r * 3 + (a == "warm")) % 5 for a, d, r in cells],
        }
    )
    table.write_csv(tmp_path / "ratings.csv")
    out = tmp_path / "out"
    options = ("--scale", "tone=likert", "--resamples", 100, "--figures", "svg")
    _run("study", "analyze", tmp_path / "ratings.csv", "-o", out, *options)
    text = "".join(
        "".join(ElementTree.parse(path).getroot().itertext())
        for path in (out / "figures").glob("*.svg")
    )
    assert "plain" in text
    assert "warm" in text
