"""Among people: dot, line and words of a strip say the same thing."""

from __future__ import annotations

import re

import pytest

from dialens import Corpus, score
from dialens.corpus import Dialogue
from dialens.metrics import SYSTEMS
from dialens.report._digest import Digest
from dialens.report._people_strips import among
from tests.report.conftest import Make
from tests.report.material import ASKING, FLAT, talk
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


ASKS, TELLS = "Do you think that the old road is closed?", "I am told that the old road is closed."


def asking(agent: str, shares: list[int], lines: int = 4) -> list[Dialogue]:
    """A dialogue for each number, of so many turns that ask; all turns have nine words."""
    return [
        talk(agent, n, (ASKS,) * asks + (TELLS,) * (lines - asks)) for n, asks in enumerate(shares)
    ]


def words(count: int, first: int = 0) -> str:
    """Text without a word that comes twice."""
    return " ".join(chr(97 + n // 26) + chr(97 + n % 26) + "o" for n in range(first, first + count))


def lead(talks: list[Dialogue], metric: str) -> tuple[Digest, list[str]]:
    """A digest of one metric, and what its section says after how to read it."""
    digest = Digest.of(score(Corpus.of(talks), metrics=[metric, "length"]))
    section = among(digest)
    assert section
    return digest, list(section.lead[1:])


def order(digest: Digest, metric: str) -> tuple[list[str], list[str]]:
    """Agents from low to high by place, and by typical dialogue."""
    known = {
        unit.name: (
            digest.place(unit.number, metric).percentile or 0.0,
            digest.typical(unit.number, metric) or 0.0,
        )
        for unit in digest.agents
    }
    by_place, by_typical = (sorted(known, key=lambda name: known[name][at]) for at in (0, 1))
    return by_place, by_typical


MEAN = (
    "In questions agents stand in another order here than by their typical dialogues: a place is "
    "the average over all dialogues, a typical dialogue the middle one."
)


@pytest.mark.parametrize("lines", [4, 24], ids=["equally much", "six times as much"])
def test_an_order_that_turns_with_a_mean_is_not_laid_to_length(lines: int) -> None:
    # The middle one of gamma's asks more; most of beta's others ask in every turn.
    each = lines // 4
    gamma = asking("gamma", [2 * each] * 7 + [0] * 5, lines)
    digest, said = lead([*gamma, *asking("beta", [1] * 7 + [4] * 6)], "question")
    assert order(digest, "question") == (["gamma", "beta"], ["beta", "gamma"])
    assert said == [MEAN]


BRIEF = (words(10), words(10, 10))
WORDY = (words(150), words(141, 150) + " a b c a b c a b c")
BY_LENGTH = (
    "In distinct word pairs agents stand in another order here than by their typical dialogues, "
    "since each dialogue is held against people who wrote about as much"
)


def test_an_order_that_turns_with_length_names_the_amounts() -> None:
    # In 300 words people repeat many pairs, in 20 none.
    wordy = [talk("wordy", n, WORDY) for n in range(8)]
    digest, said = lead([*wordy, *(talk("brief", n, BRIEF) for n in range(9))], "distinct_2")
    assert order(digest, "distinct_2") == (["brief", "wordy"], ["wordy", "brief"])
    amounts = "brief wrote 20 words in its typical dialogue, wordy 300"
    assert said == [f"{BY_LENGTH}: {amounts}."]


def test_amounts_that_are_alike_are_not_named() -> None:
    # Most dialogues of both have 20 words, but not all.
    again = (words(10), f"{words(8, 10)} {words(2, 10)}")
    mixed = [BRIEF] * 4 + [again] + [WORDY] * 4
    talks = [talk("mixed", n, lines) for n, lines in enumerate(mixed)]
    digest, said = lead([*talks, *(talk("brief", n, BRIEF) for n in range(9))], "distinct_2")
    assert order(digest, "distinct_2") == (["brief", "mixed"], ["mixed", "brief"])
    assert said == [f"{BY_LENGTH}."]


def test_the_same_order_is_not_explained() -> None:
    for talks in ([*asking("a", [3] * 9), *asking("b", [1] * 9)], [*asking("a", [4] * 9)]):
        assert lead(talks, "question")[1] == []


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
