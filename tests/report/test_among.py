"""One agent gets an answer: its place among people, in words, strips, examples and numbers."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest

from dialens import Corpus, Resources
from dialens.report._word_marks import marked_from
from dialens.text import Lexicon
from tests.report.conftest import Make
from tests.report.material import ASKING, FLAT, talk, two_agents

FAST = ["question", "length", "specificity", "distinct_2"]


def one_agent(each: int = 9) -> Corpus:
    """An agent that asks in every turn; lengths of the dialogues vary."""
    return Corpus.of(
        [
            talk("asker", number, tuple(ASKING[(number + i) % 3] for i in range(2 + number % 2)))
            for number in range(each)
        ]
    )


def html_of(path: Path) -> str:
    """The page without its scripts."""
    return re.sub(r"<script.*?</script>", "", path.read_text("utf-8"), flags=re.DOTALL)


def test_one_agent_begins_with_an_answer(make: Make) -> None:
    summary = make(one_agent(), metrics=FAST)
    assert re.match(r"asker .* than only \d+ % of people.* and \d+ % of public", summary.answer)
    unlike = [finding for finding in summary.findings if finding.heading.startswith("Unlike")]
    asks = next(finding for finding in unlike if "questions" in finding.heading)
    assert re.search(r"asks in more of its turns than (9\d|over 99) % of people", asks.claim)
    assert "Share of the agent's turns that ask something" in asks.numbers
    html = html_of(summary.path)
    assert html.count('class="strip"') == 2 * len(FAST)  # among people and public systems


def test_one_agent_without_reference_values_says_so(make: Make) -> None:
    summary = make(one_agent(), metrics=["random"])
    assert "none of its metrics has reference values" in summary.answer
    assert 'class="strip"' not in html_of(summary.path)


def test_first_cards_say_what_they_measure_and_on_which_scale(make: Make) -> None:
    html = html_of(make(two_agents(), metrics=FAST).path)
    cards = html[html.index('<ol class="findings">') : html.index("</ol>")]
    assert "Share of the agent&#39;s turns that ask something." in cards
    assert "<span>0.0 %</span><span>100.0 %</span>" in cards
    assert 'class="band"' not in cards
    assert cards.count('class="axis') == cards.count("<li>")


def test_best_and_worst_replies_are_quoted(make: Make) -> None:
    html = html_of(make(two_agents(), metrics=["specificity", "length"]).path)
    section = html[html.index('id="examples"') : html.index('id="agents"')]
    quotes = re.findall(r'<blockquote dir="auto">(.*?)</blockquote>', section)
    # Content words by hand: afraid, road, closed; castle, stands, hill / think.
    assert quotes[0] in FLAT
    assert quotes[-1] in (ASKING[1], FLAT[1])
    assert section.index("Highest") < section.index("Lowest")
    assert "I was so glad about number" in section
    assert 'href="#dialogue=' in section
    assert "of replies by people" in section


def test_the_numbers_can_be_taken_along(make: Make) -> None:
    html = html_of(make(two_agents(), metrics=["question", "length"]).path)
    link = re.search(r'href="data:text/csv;charset=utf-8,([^"]*)" download="agents.csv"', html)
    assert link
    rows = list(csv.DictReader(io.StringIO(unquote(link[1]))))
    asked = {row["agent"]: row for row in rows if row["metric"] == "question"}
    assert float(asked["asker"]["value"]) == 1.0
    assert float(asked["teller"]["value"]) == 0.0
    assert float(asked["asker"]["percentile_people"]) > float(asked["teller"]["percentile_people"])


def test_words_that_weigh_like_function_words_are_left_plain() -> None:
    resources = Resources()
    bound = marked_from(resources)
    words = resources.stop.entries["term"].unique()
    weights = abs(resources.emotion.weights(words)).max(axis=1)
    known = weights[weights > 0]
    assert (known < bound).mean() == pytest.approx(0.9, abs=0.01)
    telling = pl.Series(["afraid", "happy", "hate", "thank", "worried", "surprise", "lovely"])
    assert (resources.emotion.weights(telling).max(axis=1) >= bound).all()
    empty = pl.Series(["the", "people", "monday", "road", "work", "day"])
    assert (resources.emotion.weights(empty).max(axis=1) < bound).all()


def test_a_lexicon_of_plain_words_marks_all_of_them() -> None:
    alike = Lexicon.from_entries("alike", [("the", "joy", 1), ("happy", "joy", 1)])
    assert marked_from(Resources(emotion=alike)) == 0
    none = Lexicon.from_entries("none", [("happy", "joy", 1)])
    assert marked_from(Resources(emotion=none)) == 0


def test_lines_over_the_turns_stay_within_their_axis(make: Make) -> None:
    """A single long dialogue has points of its own, faint ones, and they are within the axis."""
    talks = [talk("bot", n, (FLAT[0],) * 2) for n in range(14)]
    talks.append(talk("bot", 99, (*(FLAT[0],) * 5, "No. " * 60)))
    path = make(Corpus.of(talks), metrics=["length"]).path
    from dialens import score
    from dialens.report._digest import Digest
    from dialens.report._movement_chart import movement_chart

    chart = movement_chart(Digest.of(score(Corpus.of(talks), metrics=["length"])), "length")
    assert chart is not None
    assert path.exists()
    low, high = chart.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    values = [row["y"] for row in chart.data["rows"]]
    assert max(values) == 60
    assert low < min(values)
    assert high > max(values)
