"""The page that all reports share, whatever fills it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import altair as alt
import polars as pl
import pytest

from dialens.report import Finding, Page, Remark, Section, write_page
from dialens.report._charts import Chart
from dialens.report._interval_chart import Mark, interval_chart
from dialens.report._page import Block, Fact, Facts, Findings, Fold, Notes, Plot, Text, folded
from dialens.report._table import Cell, Column, Place, Table
from tests.report.conftest import Visitor
from tests.report.material import HOSTILE

MARKS = [
    Mark("one", 0.5, 0.1, 0.9, "a", details={"p": "0.010"}),
    Mark("one", 0.4, None, None, "b", clear=False),
    Mark(HOSTILE, -0.2, -0.4, 0.1, "a"),
]


def chart(names: str = "above", marks: list[Mark] = MARKS) -> Chart:
    return interval_chart(
        marks, axis="Difference", alt_text="Two.", row="Pair", names=names, lines={"zero": [0.0]}
    )


def page(text: str = HOSTILE) -> Page:
    table = Table(
        "numbers",
        text,
        (Column(text, "text"), Column("n", "number", text, "Group"), Column("m", group="Group")),
        [
            (Cell(text, text), Cell("2", 2, text, text, "why?", Place(50, 20, 80)), text),
            (Cell("z", "z"), Cell("–", None, hint="no value"), "–"),
        ],
        text,
        pl.DataFrame({"a": [1.5, None], "nested": [[1], [2]]}),
    )
    blocks: list[Block] = [
        Findings([Finding(text, text), Finding("No clear effect", "p = 0.3", clear=False)]),
        Text(text),
        Notes("Notes", [text] * 5),
        Plot("two", {name: chart(name) for name in ("above", "beside", "none")}, "Names"),
        Facts([Fact(text, text, text, [text], [text])]),
        Fold("Folded", [folded(table), Plot("one", {"": chart()})], text),
    ]
    section = Section("only", text, blocks)
    return Page(text, text, text, [section], [Remark(text, text, [text], warning=True)])


def test_a_page_begins_with_its_answer_and_says_the_same_on_a_terminal(tmp_path: Path) -> None:
    summary = write_page(page("x & y"), tmp_path / "p.html")
    html = (tmp_path / "p.html").read_text()
    first = html.index("x &amp; y.</p>", html.index("<h1>"))
    assert html.index("<h1>") < first < html.index("<nav")
    assert summary.size == (tmp_path / "p.html").stat().st_size
    assert summary.lines() == [
        "x & y: x & y",
        "  x & y",
        "x & y.",
        "x & y.",
        "  x & y. x & y.",
        "  No clear effect. p = 0.3.",
    ]


def test_text_cannot_leave_its_place(tmp_path: Path) -> None:
    write_page(page(), tmp_path / "p.html")
    html = (tmp_path / "p.html").read_text()
    assert "<img src=x" not in html
    assert html.count("</script>") == 3  # the data, the charting library, our own


def test_every_block_is_reached_also_when_folded(tmp_path: Path) -> None:
    made = page()
    assert [table.key for table in made.blocks() if isinstance(table, Table)] == ["numbers"]
    assert list(made.figures) == ["two", "one"]
    assert len(made.findings) == 2
    write_page(made, tmp_path / "p.html")
    found = re.search(r'id="data">(.*?)</script>', (tmp_path / "p.html").read_text())
    assert found
    assert set(json.loads(found[1])["figures"]["two"]) == {"above", "beside", "none"}


def test_a_table_is_written_as_csv_and_latex(tmp_path: Path) -> None:
    blocks = page("50 % of a_b").blocks()
    (table,) = (block for block in blocks if isinstance(block, Table))
    table.write(tmp_path)
    assert pl.read_csv(tmp_path / "numbers.csv").columns == ["a"]
    tex = (tmp_path / "numbers.tex").read_text()
    assert r" & \multicolumn{2}{c}{Group} \\" in tex
    assert r"50 \% of a\_b & 2 & 50 \% of a\_b \\" in tex
    Table("none", "Without numbers", ("a",), [("x",)]).write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"numbers.csv", "numbers.tex"}


@pytest.mark.parametrize("names", ["above", "beside", "none"])
def test_the_interval_chart_is_valid_and_has_its_numbers_beside_it(names: str) -> None:
    drawn = chart(names)
    alt.LayerChart.from_dict(drawn.spec, validate=True)
    assert drawn.alt == "Two. The numbers stand in the table below the chart."
    assert drawn.columns == ("Pair", "Series", "Estimate", "95 % interval", "p")
    assert drawn.rows[1] == ("one", "b", "0.40", "–", "–")
    places = [(row["label"], row["y"]) for row in drawn.data["marks"]]
    assert len({y for _, y in places}) == 3
    assert HOSTILE not in json.dumps({k: v for k, v in drawn.spec.items() if k != "params"})


def test_a_mark_a_row_needs_no_series() -> None:
    drawn = chart(marks=[Mark("x", 1.0, 0.5, 1.5), Mark("y", 2.0, None, None)])
    assert drawn.columns == ("Pair", "Estimate", "95 % interval")
    assert all("," not in row["label"] for row in drawn.data["marks"])


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_page_works_in_a_browser(tmp_path: Path, visit: Visitor, width: int, scheme: str) -> None:
    write_page(page(), tmp_path / "p.html")
    seen = visit(tmp_path / "p.html", width=width, scheme=scheme)
    shown = seen.page
    seen.drawn()
    assert shown.locator("[data-figure=two] .mark-symbol path").count() >= 3
    shown.get_by_label("Names").select_option("beside")
    for fold in shown.locator("details.fold > summary").all():
        fold.click()
    shown.locator("[data-figure=one] .drawing svg").wait_for()
    shown.locator("#table-numbers thead button").nth(1).click()
    assert shown.locator("#table-numbers th[aria-sort=descending]").count() == 1
    assert shown.evaluate("window.broken") is None
    assert shown.locator("main img").count() == 0
    assert seen.wide() <= 0
