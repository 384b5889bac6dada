"""Among people: dot, line and words of a strip say the same thing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dialens import Corpus, score
from dialens.metrics import PEOPLE, SYSTEMS, PlaceAmong
from dialens.report._digest import Digest
from dialens.report._people_strips import among
from tests.report.conftest import Make
from tests.report.material import ASKING, FLAT, talk, two_agents
from tests.report.test_among import html_of, one_agent

FAST = ["question", "length", "specificity", "distinct_2", "language_style_matching"]
LONG = " ".join(FLAT) * 6


def long_and_short(each: int = 9) -> Corpus:
    """One agent writes long turns, the other short ones, so they meet people of other lengths."""
    said = {"wordy": (LONG, LONG), "brief": (ASKING[1],)}
    return Corpus.of([talk(who, n, lines) for who, lines in said.items() for n in range(each)])


def drawn(html: str) -> list[tuple[float, float | None, float | None, str]]:
    """Of every strip the dot, both ends of its line, and the words beside it."""
    rows = re.findall(
        r'class="reach" style="--at:([\d.]+)%(?:;--low:([\d.]+)%;--wide:([\d.]+)%)?">.*?'
        r'<span class="share">higher than (.*?) <small>',
        html,
    )
    ends = [(float(at), float(low or -1), float(wide or 0), words) for at, low, wide, words in rows]
    return [
        (at, None, None, words) if low < 0 else (at, low, low + wide, words)
        for at, low, wide, words in ends
    ]


@pytest.mark.parametrize("corpus", [long_and_short(), one_agent()], ids=["two", "one"])
def test_the_share_in_words_is_the_place_of_the_dot(make: Make, corpus: Corpus) -> None:
    html = html_of(make(corpus, metrics=FAST).path)
    strips = drawn(html)
    assert len(strips) == 2 * len(FAST)  # two agents, or people and public systems
    for at, low, high, words in strips:
        share = re.search(r"(\d+) %", words)
        assert share
        if not words.startswith(("over", "under")):
            assert int(share[1]) == pytest.approx(at, abs=0.56)
        ends = re.search(r"\((\d+) to (\d+)\)", words)
        if ends and low is not None and high is not None:
            assert (int(ends[1]), int(ends[2])) == pytest.approx((low, high), abs=0.66)
            assert low <= at <= high
    # The grey is people themselves, on the same axis for every agent.
    assert "--p50" not in html
    assert html.count('class="band"') == len(strips)


def test_another_order_than_that_of_the_values_is_explained() -> None:
    corpus = two_agents()
    digest = Digest.of(score(corpus, metrics=["question"]))
    asker, teller = ((unit.number, "question", PEOPLE) for unit in digest.agents)
    low = PlaceAmong(40.0, 36.0, 44.0, 1.0, (0, 0, 0.5, 1, 1), 90, by_length=True)
    high = PlaceAmong(60.0, 56.0, 64.0, 0.0, (0, 0, 0, 0, 0.5), 90, by_length=True)
    turned = among(replace(digest, places={asker: low, teller: high}))
    assert turned
    assert "In questions agents stand in another order here than by their values" in turned.lead[1]
    assert "asker and teller did not write equally much" in turned.lead[1]
    straight = among(replace(digest, places={asker: high, teller: low}))
    assert straight
    assert len(straight.lead) == 1


def test_many_agents_share_a_strip() -> None:
    talks = [talk(f"bot{k}", n, (FLAT[0],) * (k + 1)) for k in range(8) for n in range(6)]
    found = among(Digest.of(score(Corpus.of(talks), metrics=["length"])))
    assert found
    (quality,) = found.qualities
    assert not quality.strips
    assert len(quality.crowd) == 8
    assert quality.line.startswith("From bot")


def test_where_people_may_lie_anywhere_they_are_left_out(make: Make) -> None:
    findings = make(one_agent(), metrics=["question", "length"]).findings
    asks = next(f for f in findings if "questions" in f.heading)
    meaning = "Share of the agent's turns that ask something"
    assert asks.numbers == f"{meaning}: 100.0 % in a typical dialogue"


def test_one_agent_stands_among_public_systems_too() -> None:
    digest = Digest.of(score(one_agent(), metrics=["length"]))
    found = among(digest)
    assert found
    people, systems = found.qualities[0].strips
    assert (people.name, systems.name) == ("Among people", "Among public systems")
    assert systems.place.at == round(digest.place(0, "length", SYSTEMS).percentile or 0, 1)
