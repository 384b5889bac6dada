"""A metric is one file: whoever declares it sees it in table, report and comparison."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from dialens import Corpus, Resources, compare, score
from dialens.analysis.comparison import intervals
from dialens.metrics import Definition, Scores, TurnBatch, make_plan, metric, score_into, turn_mean
from dialens.report import write_comparison, write_report
from tests.report.material import record, two_agents


@metric(
    "asking",
    meaning="Share of turns that hold a question mark",
    family="own",
    range=(0.0, 1.0),
    label="Asks back",
    higher_reads="asks back more often",
    family_label="Metrics of mine",
    percent=True,
)
def asking(resources: Resources) -> Definition:
    def value(batch: TurnBatch) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return batch.turns["text"].str.contains("?", literal=True).to_numpy().astype(np.float64)

    return turn_mean("asking", value)


def seen_everywhere(scores: Scores, corpus: Corpus, folder: Path) -> None:
    """In the table, the intervals, the report and the comparison, in the card's own words."""
    assert scores.wide("agent")["asking"].to_list() == [1.0, 0.0]
    assert intervals(scores)["value"].to_list() == [1.0, 0.0]
    resources = Resources()
    summary = write_report(
        scores,
        corpus,
        folder / "report.html",
        run=record(corpus, scores, resources),
        resources=resources,
    )
    assert summary.findings[0].text.startswith("Asks back: asker 100.0 %")
    page = (folder / "report.html").read_text()
    assert "Share of turns that hold a question mark" in page
    compared = write_comparison(compare(scores), folder / "c.html", cards=scores.cards, title="x")
    assert compared.answer.startswith("asker asks back more often than teller: 100.0 % against")


def test_a_card_that_was_passed_to_score(tmp_path: Path) -> None:
    corpus = two_agents()
    seen_everywhere(score(corpus, metrics=[asking]), corpus, tmp_path)


def test_a_card_that_another_package_brings(
    installed: Callable[[str, str], None], tmp_path: Path
) -> None:
    installed("dialens.metrics", f"{__name__}:asking")
    corpus = two_agents()
    score_into(corpus, tmp_path / "scores", make_plan(["own"], Resources()))
    seen_everywhere(Scores.open(tmp_path / "scores"), corpus, tmp_path)


def test_a_folder_is_read_where_its_metric_is_not_installed(tmp_path: Path) -> None:
    corpus = two_agents()
    score_into(corpus, tmp_path, make_plan([asking], Resources()))
    scores = Scores.open(tmp_path)
    assert scores.cards["asking"].label == "Asks back"
    assert scores.why_not_resampled == "the metric asking is not installed here"
