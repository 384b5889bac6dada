"""What a report says, and that it says the same twice."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest

from dialens import Corpus, DialensError, Resources, score
from dialens.base import Recorder
from dialens.corpus import Dialogue, Turn
from dialens.metrics import select
from dialens.report import write_report
from dialens.report._score_report import _title
from dialens.text import Lexicon
from tests.report.conftest import Make
from tests.report.material import ASKING, FLAT, HOSTILE, record, silent, talk, two_agents


def embedded(path: Path) -> dict[str, Any]:
    """The data a report carries."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text())
    assert found
    loaded: dict[str, Any] = json.loads(found[1])
    return loaded


def test_the_summary_counts_and_finds(make: Make) -> None:
    summary = make(two_agents())
    assert (
        summary.scope
        == f"2 agents, 48 turns of their own in 24 dialogues, scored on {len(select())} metrics"
    )
    asked = [finding.text for finding in summary.findings if finding.heading == "Questions"]
    assert asked == [
        "Questions: asker 100.0 % (73.5 to 100.0) differs from teller 0.0 % (0.0 to 26.5). "
        "12 dialogues each."
    ]
    warmth, interest, manners = re.findall(r"[\d.]+(?: %)? against [\d.]+(?: %)?", summary.answer)
    assert summary.answer == (
        f"asker answers feelings more warmly than teller (empathy {warmth}), is more engaging "
        f"(engagement {interest}) and scores lower on toxicity ({manners})"
    )
    assert summary.answer in summary.path.read_text()
    better = "Higher is better in empathy and engagement and lower is better in toxicity; neither"
    assert better in summary.path.read_text()
    assert summary.size == summary.path.stat().st_size
    assert not any(
        word in summary.path.read_text().split("<script>")[0] for word in ("significant",)
    )


def test_without_a_better_one_the_answer_says_so_before_what_differs(make: Make) -> None:
    differing = "asker asks in more of its turns than teller (100.0 % against 0.0 %)"
    described = make(two_agents(), metrics=["question"])
    assert described.answer == differing
    assert "differ, not which is better" in described.path.read_text()
    alike = [talk(who, n, ("Yes?" if who == "asker" else "Yes.",)) for who in ("asker", "teller")
             for n in range(12)]  # fmt: skip
    judged = make(Corpus.of(alike), metrics=["question", "toxicity"], hour=10)
    assert judged.answer == f"No agent is clearly ahead in toxicity; {differing}"


@pytest.mark.parametrize(
    ("data", "title"),
    [
        ({"name": "talks.jsonl.gz"}, "talks"),
        ({"name": "a.jsonl, b.tsv", "inputs": [{"name": "a.jsonl"}, {"name": "b.tsv"}]}, "a, b"),
        ({"name": "gpt-4.1"}, "gpt-4.1"),
        ({}, "Conversations"),
    ],
)
def test_the_title_has_no_endings(data: dict[str, Any], title: str) -> None:
    assert _title(replace(Recorder("score").record(), data=data)) == title


def test_agents_that_are_alike_are_not_told_apart(make: Make) -> None:
    alike = [talk(agent, n, FLAT) for agent in ("one", "two") for n in range(6)]
    summary = make(Corpus.of(alike))
    assert summary.findings == ()
    assert summary.answer == "Nothing tells 2 agents apart more than chance would"
    assert "nothing stands out" in summary.path.read_text()


def test_one_agent_one_dialogue_one_turn(make: Make) -> None:
    corpus = Corpus.of([Dialogue("s", "only", "d", [Turn("B", "agent", "Hello there.")])])
    summary = make(corpus)
    everything = f"scored on {len(select())} metrics"
    assert summary.answer == (
        "only has 1 dialogue here, too few to say how it comes across: it takes 6"
    )
    assert summary.scope == f"only, 1 turn of its own in 1 dialogue, {everything}"
    page = summary.path.read_text()
    assert "nothing to follow from turn to turn" in page
    assert "nothing to answer" in page


def test_a_metric_that_no_agent_has_does_not_come_first(make: Make) -> None:
    """Nobody speaks before the agent, so there is nothing to match."""
    talks = [Dialogue("s", "bot", f"d{n}", [Turn("B", "agent", FLAT[n])]) for n in range(3)]
    path = make(Corpus.of(talks), metrics=["language_style_matching", "length"]).path
    assert list(embedded(path)["figures"]["distribution"]) == ["length"]
    told = path.read_text().split("<script>")[0]
    assert "Not shown, since no agent has a value: style matching (nothing to answer)." in told


def test_a_handful_of_metrics_is_enough(make: Make) -> None:
    summary = make(two_agents(3), metrics=["joy_share"])
    data = embedded(summary.path)
    assert list(data["figures"]["distribution"]) == ["joy_share"]
    assert list(data["talks"]["lenses"]) == ["emotion"]


def test_an_agent_that_says_nothing(make: Make) -> None:
    summary = make(Corpus.of(silent(3)))
    assert "no emotion word" in summary.path.read_text()


def test_hundreds_of_agents(make: Make) -> None:
    talks = [talk(f"bot {a:03}", n, FLAT[: 1 + a % 3]) for a in range(90) for n in range(2)]
    summary = make(Corpus.of(talks), max_dialogs=40)
    data = embedded(summary.path)
    assert len(data["talks"]["dialogs"]) == 40
    assert len({dialog["agent"] for dialog in data["talks"]["dialogs"]}) == 40
    chart = data["figures"]["distribution"]["length"]
    assert len(chart["rows"]) == 24
    assert "of 90 agents" in chart["note"]
    assert data["figures"]["emotions"][""]["pick"] is True


def test_several_systems_are_named(make: Make) -> None:
    talks = [talk("bot", n, FLAT, system) for n, system in enumerate(["north", "north", "south"])]
    page = make(Corpus.of(talks)).path.read_text()
    assert "north / bot" in page
    assert "2 systems, their agents pooled" in page


def test_the_same_run_gives_the_same_bytes_but_for_the_time(make: Make) -> None:
    first, again, later = (make(two_agents(), seed=3, hour=h) for h in (9, 10, 11))
    assert make(two_agents(), seed=3, hour=9).path.read_bytes() == first.path.read_bytes()
    before, after = (made.path.read_text().split("\n") for made in (again, later))
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    assert len(changed) == 2
    assert all("<dt>When</dt>" in line for line in changed)


def test_a_sample_is_even_seeded_and_said(make: Make) -> None:
    summary = make(two_agents(40), max_dialogs=10, seed=1, hour=1)
    talks = embedded(summary.path)["talks"]["dialogs"]
    assert [dialog["agent"] for dialog in talks].count(0) == 5
    assert "10 dialogues of 80 can be opened here: a random sample" in summary.path.read_text()
    other = make(two_agents(40), max_dialogs=10, seed=2, hour=2)
    assert [d["id"] for d in talks] != [d["id"] for d in embedded(other.path)["talks"]["dialogs"]]


def test_embedded_scores_are_those_of_the_run(make: Make) -> None:
    corpus = two_agents()
    talks = embedded(make(corpus).path)["talks"]
    table = score(corpus).table.filter(pl.col("level") == "turn").collect()
    expected = {
        (d, t, m): v for d, t, m, v in table.select("dialog", "turn", "metric", "value").rows()
    }
    seen = 0
    for dialog in talks["dialogs"]:
        for number, turn in enumerate(dialog["turns"]):
            for metric, value in zip(talks["turnMetrics"], turn.get("values", ()), strict=False):
                wanted = expected[dialog["id"], number, metric["name"]]
                assert (
                    value == pytest.approx(wanted, rel=1e-4)
                    if wanted is not None
                    else value is None
                )
                seen += 1
    assert seen == table.height


def test_marked_words_are_exactly_those_the_scores_counted(make: Make) -> None:
    lines = (
        "Café 😀 naïve, isn’t it? See http://x.org/?q=1 – happy days!",
        "İstanbul is lovely 👍🏽?!",
    )
    corpus = Corpus.of([talk("bot", 0, lines)])
    talks = embedded(make(corpus).path)["talks"]
    rows = score(corpus).table.filter(pl.col("level") == "turn").collect()
    value = {(t, m): v for t, m, v in rows.select("turn", "metric", "value").rows()}
    for number, turn in enumerate(talks["dialogs"][0]["turns"]):
        if not turn.get("own"):
            continue
        utf16 = turn["text"].encode("utf-16-le")
        tokens = turn["tokens"]
        content, marks, feelings = 0, 0, [0.0] * 8
        for start, length, word in zip(tokens[::3], tokens[1::3], tokens[2::3], strict=True):
            token, emotions, _, flags = talks["words"][word]
            shown = utf16[2 * start : 2 * (start + length)].decode("utf-16-le")
            assert shown.lower().replace("’", "'") == token
            content += bool(flags & 2)
            marks += bool(flags & 4)
            for place, weight in emotions.items():
                feelings[int(place)] += weight
        assert content == value[number, "specificity"]
        assert float(marks > 0) == value[number, "question"]
        joy = feelings[talks["emotions"].index("joy")] / sum(feelings)
        assert joy == pytest.approx(value[number, "joy_share"], abs=0.02)


def test_long_turns_and_dialogues_are_cut_and_said(make: Make) -> None:
    turns = [Turn("B", "agent", "word " * 3000), *[Turn("B", "agent", "and")] * 300]
    path = make(Corpus.of([Dialogue("s", "bot", "d", turns)])).path
    (dialog,) = embedded(path)["talks"]["dialogs"]
    assert dialog["more"] == 101
    assert dialog["turns"][0]["cut"] == 9000
    assert len(dialog["turns"][0]["text"]) == 6000


def test_text_cannot_leave_its_place(make: Make) -> None:
    hostile = Dialogue(HOSTILE, HOSTILE, HOSTILE, [Turn(HOSTILE, "agent", HOSTILE)])
    other = Dialogue("b", "{{ 7 * 7 }}", "<!--<script>", [Turn("x", "agent", "<!--<script>")])
    page = make(Corpus.of([hostile, other]), title=HOSTILE).path.read_text()
    assert "<img src=x" not in page
    assert "window.broken=1</script>" not in page
    assert page.count("</script>") == 3  # the data, the charting library, our own
    assert "{{ 7 * 7 }}" in page


def test_every_chart_is_valid_vega_lite_and_has_words_beside_it(make: Make) -> None:
    few = embedded(make(two_agents(), hour=1).path)["figures"]
    many = Corpus.of([talk(f"b{a}", n, FLAT) for a in range(8) for n in range(25)])
    more = embedded(make(many, hour=2).path)["figures"]
    charts = [chart for made in (few, more) for place in made.values() for chart in place.values()]
    assert len(charts) > 20
    for chart in charts:
        alt.LayerChart.from_dict(chart["spec"], validate=True)
        assert all(data["rows"] for data in chart["data"].values())
        assert chart["alt"].endswith("The numbers stand in the table below the chart.")
        assert chart["columns"]
        assert chart["rows"]


def test_other_resources_than_those_of_the_scores_are_refused(tmp_path: Path) -> None:
    corpus = two_agents(2)
    scores = score(corpus)
    other = Resources(prompt="last")
    run = record(corpus, scores, other)
    with pytest.raises(DialensError, match=r"prompt:context.*prompt:last"):
        write_report(scores, corpus, tmp_path / "r.html", run=run, resources=other)
    assert list(tmp_path.iterdir()) == []


def test_a_lexicon_of_ones_own_is_named_and_marks(tmp_path: Path) -> None:
    mood = Lexicon.from_entries(
        "my-mood",
        [("castle", "joy", 2.0), ("stone", "fear", 1.0)],
        categories=Resources().emotion.categories,
        licence="mine",
    )
    corpus, resources = Corpus.of([talk("bot", 0, FLAT)]), Resources(emotion=mood)
    scores = score(corpus, resources=resources)
    path = tmp_path / "r.html"
    write_report(scores, corpus, path, run=record(corpus, scores, resources), resources=resources)
    assert "my-mood" in path.read_text()
    felt = {word for word, emotions, _, _ in embedded(path)["talks"]["words"] if emotions}
    assert felt == {"castle", "stone"}


def test_a_corpus_on_disk_is_read_lazily(tmp_path: Path, make: Make) -> None:
    corpus = two_agents(5)
    corpus.turns.collect().write_parquet(tmp_path / "turns.parquet")
    lazy = Corpus(
        pl.scan_parquet(tmp_path / "turns.parquet"),
        corpus.ratings,
        corpus.references,
        corpus.manifest,
    )
    assert len(embedded(make(lazy).path)["talks"]["dialogs"]) == 10


def test_many_agents_of_one_kind_do_not_stand_out_by_chance(make: Make) -> None:
    rng = np.random.default_rng(5)
    lines = (*ASKING, *FLAT)
    talks = [
        talk(f"bot {a}", n, tuple(lines[i] for i in rng.integers(0, len(lines), 3)))
        for a in range(40)
        for n in range(10)
    ]
    summary = make(Corpus.of(talks), metrics=["length", "question", "specificity"], max_dialogs=5)
    assert summary.findings == ()
