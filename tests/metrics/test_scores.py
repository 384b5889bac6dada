"""Scores carry themselves: cards, reasons, and what resampling needs."""

import json
from pathlib import Path

import polars as pl
import pytest

from dialens import Resources, Scores, compare, score
from dialens.analysis.comparison import intervals
from dialens.analysis.profiles import agent_profile, trait_profile
from dialens.base import DialensError
from dialens.metrics import ModelChoice, ScorerContext, ScorerSet, make_plan, score_into
from dialens.metrics._score_tables import reason_column
from dialens.metrics._scored_metric import METRICS
from dialens.report import write_comparison, write_report
from dialens.report._digest import Digest
from tests.metrics.tiny_models import tiny_folder
from tests.report.material import record, two_agents

FACTS = ("label", "long_label", "higher_reads", "family_label", "headline", "side", "range")


def written(folder: Path, *metrics: str) -> Scores:
    score_into(two_agents(6), folder, make_plan(list(metrics), Resources()))
    return Scores.open(folder)


def test_a_folder_gives_the_cards_back(tmp_path: Path) -> None:
    opened = written(tmp_path, "emotion", "style", "length", "random")
    fresh = score(two_agents(6), metrics=["emotion", "style", "length", "random"])
    assert opened.signatures == fresh.signatures
    for name, card in fresh.cards.items():
        again = opened.cards[name]
        assert [getattr(again, fact) for fact in FACTS] == [getattr(card, fact) for fact in FACTS]
        assert again.levels == card.levels
        assert again.needs == card.needs
    assert intervals(opened).equals(intervals(fresh))


def test_dialogues_have_values_and_reasons_whatever_levels_are_kept() -> None:
    every = score(two_agents(3), metrics=["emotion_matching", "length"])
    few = score(two_agents(3), metrics=["emotion_matching", "length"], levels=["agent"])
    assert few.dialogs.collect().equals(every.dialogs.collect())
    rows = every.table.filter(pl.col("level") == "dialog", pl.col("metric") == "length").collect()
    assert few.dialog_values(["length"])["length"].to_list() == rows["value"].to_list()
    values = few.dialog_values(["emotion_matching"])["emotion_matching"]
    reasons = few.dialogs.collect()[reason_column("emotion_matching")]
    assert (values.is_null() == reasons.is_not_null()).all()


def test_after_a_model_failed_everything_gives_the_same_reason(tmp_path: Path) -> None:
    corpus = two_agents(6)
    models = ModelChoice(own={"toxicity": "/nowhere"}, folder=tiny_folder())
    resources = Resources(scorers=ScorerSet(ScorerContext(models=models)))
    plan = make_plan(["toxicity", "length"], resources)
    in_memory = score_into(corpus, tmp_path / "scores", plan)
    for scores in (in_memory, Scores.open(tmp_path / "scores")):
        rows = scores.table.filter(pl.col("metric") == "toxicity").collect()
        (why,) = rows.filter(pl.col("level") == "turn")["reason"].unique()
        assert "/nowhere" in why
        of_agents = intervals(scores).filter(pl.col("metric") == "toxicity")
        assert of_agents["reason"].unique().to_list() == [why]
        assert compare(scores).filter(pl.col("metric") == "toxicity")["reason"].to_list() == [why]
        (silent,) = Digest.of(scores).silent
        assert silent == "toxicity"
        assert why in (Digest.of(scores).agents[0].estimates["toxicity"].reason or "")
        path = tmp_path / "report.html"
        run = record(corpus, scores, resources)
        write_report(scores, corpus, path, run=run, resources=resources)
        assert "/nowhere" in path.read_text()


def older(folder: Path, name: str) -> Scores:
    """The scores of a folder as an older version of a metric would have signed them."""
    path = folder / METRICS
    facts = json.loads(path.read_text())
    for entry in facts["metrics"]:
        if entry["card"]["name"] == name:
            entry["signature"] = entry["signature"].replace("|v1", "|v0")
    path.write_text(json.dumps(facts))
    return Scores.open(folder)


def test_scores_of_another_version_are_read_and_not_resampled(tmp_path: Path) -> None:
    corpus = two_agents(6)
    fresh = written(tmp_path, "length", "language_style_matching")
    old = older(tmp_path, "length")
    assert old.wide("agent").equals(fresh.wide("agent"))
    assert old.dialogs.collect().equals(fresh.dialogs.collect())
    for recompute in (intervals, compare):
        with pytest.raises(DialensError, match=r"length was scored by another version.*v0.*v1"):
            recompute(old)
        with pytest.raises(DialensError, match="Score the corpus again with `dialens score`"):
            recompute(old)
    page = tmp_path / "report.html"
    resources = Resources()
    write_report(old, corpus, page, run=record(corpus, old, resources), resources=resources)
    assert "another version of the metric" in page.read_text()
    assert trait_profile(old, traits=["length"]).table.height
    assert "another version" in agent_profile(old).matching["reason"][0]


def test_a_folder_of_another_layout_says_what_to_do(tmp_path: Path) -> None:
    written(tmp_path, "length")
    (tmp_path / METRICS).write_text('{"length": "length|v1|tok:dialens-1"}')
    with pytest.raises(DialensError, match="Score again: dialens score CORPUS"):
        Scores.open(tmp_path)


@pytest.mark.parametrize("content", ["[]", "[" * 5000, "{", '{"layout": %s, "metrics": [7]}'])
def test_odd_facts_of_a_folder_are_damage(tmp_path: Path, content: str) -> None:
    written(tmp_path, "length")
    path = tmp_path / METRICS
    layout = json.dumps(json.loads(path.read_text())["layout"])
    path.write_text(content.replace("%s", layout))
    with pytest.raises(DialensError, match=r"are damaged: metrics\.json cannot be read"):
        Scores.open(tmp_path)


def test_only_what_was_scored_can_be_compared(tmp_path: Path) -> None:
    scores = written(tmp_path, "length", "question")
    assert scores.select(["surface"]) == ["length", "question"]
    with pytest.raises(DialensError, match=r"hold no metric or family 'toxicity'.*They hold"):
        compare(scores, metrics=["toxicity"])
    table = compare(scores, metrics=["length"])
    summary = write_comparison(table, tmp_path / "c.html", cards=scores.cards, title="x")
    assert summary.findings[0].text.count("writes longer turns") == 1
