"""The comparison: sentences that name their family, charts and every test."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from dialens import Corpus, compare, score
from dialens.analysis.comparison import COMPARISONS
from dialens.base import p_value
from dialens.metrics import metrics
from dialens.report import write_comparison
from tests.report.conftest import Visitor
from tests.report.material import FLAT, HOSTILE, talk, two_agents


def test_every_claim_names_its_interval_and_family(tmp_path: Path) -> None:
    scores = score(two_agents())
    table = compare(scores)
    summary = write_comparison(table, tmp_path / "c.html", cards=scores.cards, title="Two")
    families = table.filter(pl.col("p").is_not_null())["headline"]
    first, rest = int(families.sum()), int((~families).sum())
    compared = table["metric"].n_unique()
    assert summary.scope.startswith(f"2 agents, 1 pair, {compared} metrics: ")
    told = (
        f"of {first + rest} tests ({first} of headline metrics, {rest} of others) have a "
        "corrected p below 0.05"
    )
    assert summary.scope.endswith(told)
    sentences = [finding.text for finding in summary.findings]
    (asked,) = (sentence for sentence in sentences if "asks in more" in sentence)
    assert asked.startswith("asker asks in more of its turns than teller. 100.0 % against 0.0 %, ")
    for sentence in sentences:
        assert "95 % interval" in sentence or "no interval, all dialogues say the same" in sentence
        assert "corrected p" in sentence
        assert f"family of {first} tests" in sentence
    assert "significant" not in (tmp_path / "c.html").read_text().split("<script>")[0]


def test_a_negative_difference_is_told_the_other_way_round(tmp_path: Path) -> None:
    row = {
        "level": "agent", "metric": "length", "a": "s / x", "b": "s / y", "value_a": 3.0,
        "value_b": 5.0, "difference": -2.0, "low": -3.0, "high": -1.0, "p": 0.01,
        "standard_error": 0.5, "effect_size": -1.25, "p_adjusted": 0.02, "headline": True,
        "family": 4, "n_a": 9, "n_b": 8, "paired": False, "n_shared": 0, "basis": "pooled",
        "test": "t", "reason": None,
    }  # fmt: skip
    table = pl.DataFrame([row], schema=COMPARISONS)
    summary = write_comparison(table, tmp_path / "c.html", cards=metrics(), title="x")
    (finding,) = summary.findings
    assert finding.text == (
        "y writes longer turns than x. 5.00 against 3.00, difference 2.00 "
        "(95 % interval 1.00 to 3.00), 1.25 standard deviations of dialogues, corrected p = 0.020, "
        "family of 4 tests."
    )
    assert summary.answer == (
        "y writes longer turns than x: 5.00 against 3.00, difference 2.00 "
        "(95 % interval 1.00 to 3.00)"
    )


def test_without_any_difference_nothing_is_claimed(tmp_path: Path) -> None:
    alike = [
        talk(agent, n, FLAT[: 1 + (n + shift) % 3])
        for shift, agent in enumerate(("one", "two"))
        for n in range(9)
    ]
    table = compare(score(Corpus.of(alike)))
    summary = write_comparison(table, tmp_path / "c.html", cards=metrics(), title="x")
    assert summary.findings == ()
    assert summary.answer.startswith("No difference on the headline metrics")
    assert "No difference on the headline metrics" in (tmp_path / "c.html").read_text()


def test_the_page_works_in_a_browser(tmp_path: Path, visit: Visitor) -> None:
    talks = [
        talk(a, n, FLAT[:k]) for k, a in enumerate((HOSTILE, "two", "three"), 1) for n in range(9)
    ]
    table = compare(score(Corpus.of(talks)))
    write_comparison(table, tmp_path / "c.html", cards=metrics(), title=HOSTILE)
    for width, scheme in ((1280, "light"), (390, "dark")):
        seen = visit(tmp_path / "c.html", width=width, scheme=scheme)
        page = seen.page
        page.wait_for_function("document.querySelectorAll('.drawing svg').length === 3")
        assert page.locator(".drawing svg .mark-symbol path").count() >= 9
        folded = page.locator("details.fold").last
        folded.locator("summary").first.click()
        folded.locator(".drawing svg").wait_for()
        assert seen.wide() <= 0
        assert page.evaluate("window.broken") is None
    page.locator("table.plain thead button", has_text="Corrected p").click()
    first = page.locator("table.plain tbody tr").first.locator("td").nth(8)
    assert first.inner_text() == p_value(table["p_adjusted"].drop_nulls().to_numpy().max())


def test_too_few_dialogues_are_said_to_be_too_few(tmp_path: Path) -> None:
    few = [talk(agent, n, FLAT) for agent in ("one", "two") for n in range(5)]
    table = compare(score(Corpus.of(few)))
    summary = write_comparison(table, tmp_path / "c.html", cards=metrics(), title="x")
    assert summary.answer == "Nothing could be tested: fewer than 6 dialogs or contexts"
    assert summary.scope.endswith("metrics: no test")
    page = (tmp_path / "c.html").read_text()
    assert "over 0 tests" not in page
    assert "Distinct word pairs (mean of dialogues)" in page
