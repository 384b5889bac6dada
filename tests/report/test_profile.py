"""The agent's profile: four questions, answered or not, in words, pictures and a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dialens import Corpus, Resources, score
from dialens.analysis.profiles import trait_profile
from dialens.corpus import Dialogue, Turn
from dialens.metrics import (
    Definition,
    MetricCard,
    ModelChoice,
    ScorerContext,
    ScorerSet,
    TurnBatch,
    turn_mean,
)
from dialens.metrics._state import Floats
from dialens.report._digest import Digest
from dialens.report.profile import ProfileSection, profile_section
from tests.report.conftest import Make, Visitor
from tests.report.material import HOSTILE, two_agents

GLAD, AFRAID = "happy joy delighted smile", "afraid terrified scared fear"
FUNCTION_WORDS = (
    *("I", "you", "we", "the", "a", "and", "of", "to"),
    *("not", "very", "some", "all", "is", "was", "this", "that"),
)
PLAIN = "the car is on a road and it stops"
METRICS = ["warmth", "emotion", "style"]


def warmth(_: Resources) -> Definition:
    """A trait that reads its value from the first word."""

    def value(batch: TurnBatch) -> Floats:
        numbers = batch.turns["text"].str.split(" ").list.first()
        return numbers.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()

    return turn_mean("warmth", value, missing="no number was said")


WARMTH = MetricCard("warmth", "A number", "personality", warmth, describes="trait")


@pytest.fixture(autouse=True)
def own_metric(installed: Callable[[str, str], None]) -> None:
    """A trait that an installed package brings."""
    installed("dialens.metrics", f"{__name__}:WARMTH")


def section(
    talks: list[Dialogue], metrics: list[str] | None = None, manifest: dict[str, Any] | None = None
) -> ProfileSection:
    corpus = replace(Corpus.of(talks), manifest=manifest or {})
    scores = score(
        corpus,
        metrics=metrics or METRICS,
        resources=Resources(scorers=ScorerSet(ScorerContext(models=ModelChoice("none")))),
    )
    digest = Digest.of(scores)
    return profile_section(digest, scores, corpus, trait_profile(scores))


def simulated(
    agents: dict[str, float],
    *,
    drift: float = 0.0,
    moods: bool = False,
    echo: bool = False,
    dialogues: int = 24,
    turns: int = 6,
    seed: int = 0,
) -> list[Dialogue]:
    """Agents of given warmth; with drift, with a mood a dialogue, echoing their partners' words.

    Without moods, every turn is glad or afraid by itself.
    """
    rng = np.random.default_rng(seed)
    words = list(FUNCTION_WORDS)
    made = []
    for agent, mean in agents.items():
        for number in range(dialogues):
            level = mean + drift * rng.normal()
            mood = rng.integers(2)
            partner = rng.choice(words, 12)
            said = [Turn("A", "partner", " ".join(partner))]
            for _ in range(turns):
                feeling = GLAD if (mood if moods else rng.integers(2)) else AFRAID
                own = rng.choice(partner if echo else words, 12)
                text = f"{level + rng.normal():.6f} {feeling} {' '.join(own)}"
                said.append(Turn(agent, "agent", text))
            made.append(Dialogue("s", agent, f"{agent}-{number}", said))
    return made


def test_what_was_put_in_is_said() -> None:
    """Different, steady agents whose states move and who echo their partners."""
    found = section(simulated({"cold": -1.5, "mild": 0.0, "warm": 1.5}, echo=True))
    differ, stable, states, match = found.answers
    assert (differ.tone, differ.verdict) == ("yes", "Yes")
    assert "differ beyond chance in warmth (1 of 1 traits)" in differ.sentences[0]
    assert re.search(
        r"from −1\.\d\d \(.* to .*\) for cold to 1\.\d\d .* for warm", differ.sentences[1]
    )
    assert re.search(r"\d\d % \(\d\d to \d\d\) .*3 agents, 72 dialogues", differ.sentences[1])
    assert (stable.tone, stable.verdict) == ("yes", "Yes")
    assert re.search(
        r"drift by 0\.\d\d \(0\.00 to 0\.\d\d\); the agents differ by 1\.[45]", stable.sentences[1]
    )
    assert (states.tone, states.verdict) == ("yes", "Yes")
    assert re.search(r"(9\d|100) % \(\d\d to (9\d|100)\) of the changes", states.sentences[0])
    assert match.tone == "yes"
    assert match.verdict == "Their own partners"
    assert re.search(
        r"In style, .* by 0\.\d\d \(0\.\d\d to 0\.\d\d\) more than others’", match.sentences[0]
    )
    assert set(found.charts) == {
        "profile-traits", "profile-stability", "profile-states", "profile-matching"
    }  # fmt: skip


def test_the_reverse_is_said_as_well() -> None:
    """Agents of one kind that drift, keep a mood for a dialogue, and do not listen."""
    found = section(simulated({"a": 0.0, "b": 0.0, "c": 0.0}, drift=2.0, moods=True, seed=5))
    differ, stable, states, match = found.answers
    assert differ.tone == "no"
    assert differ.sentences[0] == "In none of 1 trait do the agents differ beyond chance."
    assert (stable.tone, stable.verdict) == ("no", "No")
    assert (
        "3 of 3 pairs of agent and trait drift by more than the agents differ"
        in stable.sentences[0]
    )
    assert (states.tone, states.verdict) == ("no", "Hardly")
    assert (match.tone, match.verdict) == ("no", "Nobody in particular")
    assert "no agent matches its own partner more than others’" in match.sentences[0]


def test_little_data_is_not_taken_for_stability() -> None:
    """Five short dialogues show no drift, but could not have shown it either."""
    found = section(simulated({"a": 0.0, "b": 0.3}, dialogues=5, turns=2, seed=1))
    stable = found.answers[1]
    assert (stable.tone, stable.verdict) == ("partly", "No drift seen")
    assert "cannot be ruled out" in stable.sentences[0]


def test_one_agent_is_told_what_can_be_told() -> None:
    found = section(simulated({"only": 1.0}, echo=True, turns=10, dialogues=40))
    differ, stable, states, match = found.answers
    assert found.heading == "The agent’s profile"
    assert (differ.tone, differ.charts) == ("unknown", {})
    assert "one agent here" in differ.sentences[0]
    assert stable.question == "Is the agent stable across dialogues?"
    assert stable.verdict == "Yes"
    assert states.tone == "yes"
    assert match.verdict == "Its own partner"
    assert [len(answer.picks) for answer in found.answers] == [0, 0, 0, 0]
    # One agent: rows are emotions and kinds of matching instead.
    names = [row["label"] for row in states.charts[""].data["marks"]]
    assert names[:3] == ["Anger", "Anticipation", "Disgust"]
    assert [row["label"] for row in match.charts[""].data["marks"]] == [
        "Style matching",
        "Emotion matching",
    ]


def speak(agent: str, number: int, *texts: str, partner: str = "") -> Dialogue:
    turns = [Turn("A", "partner", partner)] if partner else []
    turns += [Turn(agent, "agent", text) for text in texts]
    return Dialogue("s", agent, f"{agent}-{number}", turns)


def why(found: ProfileSection) -> list[str]:
    """The reasons of questions without an answer; they draw nothing."""
    closed = [answer for answer in found.answers if answer.tone == "unknown" and not answer.charts]
    assert all(answer.verdict == "Cannot be told here" for answer in closed)
    return [" ".join(answer.sentences) for answer in closed]


def test_what_cannot_be_told_says_why() -> None:
    talk = f"1 {GLAD} {PLAIN}"
    nobody = why(
        section([speak(a, n, f"{n} {GLAD}", f"2 {AFRAID}") for a in "ab" for n in range(4)])
    )
    assert nobody == [
        "Nobody but the agent speaks in these dialogues, so there is no one to match."
    ]
    once = why(section([speak(a, 0, talk, f"2 {AFRAID}", partner=GLAD) for a in "abc"]))
    assert [reason[:32] for reason in once] == [
        "No agent has two dialogues, so w",
        "No agent has two dialogues, so t",
        "No agent has two dialogues with ",
    ]
    short = why(section([speak(a, n, f"{n} {GLAD}", partner=GLAD) for a in "ab" for n in range(4)]))
    assert short[0].startswith("Every dialogue holds one turn of the agent, so what changes")
    assert short[1].startswith("Every dialogue holds one turn of the agent that carries")
    nothing = why(section([speak("a", 0, talk)], ["length"]))
    assert len(nothing) == 4
    assert "No trait was scored" in nothing[0]
    assert "No trait was scored" in nothing[1]
    assert "No emotion was scored" in nothing[2]
    assert "No matching was scored" in nothing[3]
    mute = why(section([speak(a, n, "") for a in "ab" for n in range(3)]))
    assert len(mute) == 4


def test_one_dialogue_an_agent_still_shows_how_states_move() -> None:
    found = section([speak(a, 0, f"1 {GLAD}", f"2 {AFRAID}", partner=GLAD) for a in "abc"])
    states = found.answers[2]
    assert states.verdict == "They move"
    assert "no agent has two dialogues to compare (3 dialogues, 6 turns" in states.sentences[0]
    assert states.charts


def test_every_picked_chart_is_there() -> None:
    for talks in (
        simulated({"a": 0.0, "b": 1.0}, dialogues=4, turns=2),
        simulated({f"bot {n}": n / 3 for n in range(13)}, dialogues=4, turns=2),
        [*simulated({"a": 0.0}, dialogues=4, turns=2), speak("quiet", 0, "")],
    ):
        found = section(talks)
        for answer in found.answers:
            offered = [name for name, _ in answer.picks if name in answer.charts]
            assert not answer.charts or (offered or [""])[0] in answer.charts
            for chart in answer.charts.values():
                assert chart.rows
                assert len(next(iter(chart.data.values()))) > 0


def test_many_agents_show_their_ends() -> None:
    found = section(simulated({f"bot {n}": n / 3 for n in range(13)}, dialogues=4, turns=2))
    traits, stability = found.answers[0].charts[""], found.answers[1].charts["warmth"]
    assert traits.pick
    assert len(traits.data["rows"]) == 13
    assert len(stability.data["marks"]) == 10
    assert len(stability.rows) == 13
    assert "5 highest and the 5 lowest of 13" in stability.note


def collected(parameters: dict[str, Any]) -> dict[str, Any]:
    """A manifest as `dialens agents collect` writes it."""
    agent = {"system": "s", "kind": "openai", "target": "tiny"}
    return {
        "source": {
            "format": "agents collect",
            "agents": [
                agent | {"agent": "a", "parameters": parameters},
                agent | {"agent": "elsewhere", "parameters": {}},
            ],
        }
    }


def test_parameters_stand_beside_the_name() -> None:
    persona = "You are a gardener who has seen it all. " * 4
    talks = [speak(a, 0, f"1 {GLAD}") for a in "ab"]
    found = section(talks, manifest=collected({"temperature": 0.2, "persona": persona}))
    (told,) = found.told
    assert (told.name, told.kind) == ("a", "openai tiny")
    first, second = told.settings
    assert (first.name, first.text, first.whole) == ("temperature", "0.2", "")
    assert second.text.endswith("…")
    assert len(second.text) <= 70
    assert second.whole == persona.strip()
    for odd in (
        {},
        {"source": "a file"},
        {"source": {"agents": "two"}},
        {"source": {"agents": [1]}},
    ):
        assert section(talks, manifest=odd).told == []


def test_the_page_holds_the_section_and_no_empty_chart(make: Make) -> None:
    page = make(two_agents(), metrics=["length"]).path.read_text()
    assert '<h2 id="profile">The agents’ profile</h2>' in page
    assert page.count("Cannot be told here") == 4
    assert 'data-figure="profile-' not in page
    corpus = Corpus.of(simulated({HOSTILE: 0.0, "b": 1.0}, dialogues=6, turns=3))
    manifest = collected({"persona": HOSTILE * 3})
    manifest["source"]["agents"][0]["agent"] = HOSTILE
    page = make(replace(corpus, manifest=manifest), metrics=METRICS, hour=10).path.read_text()
    assert HOSTILE not in page
    data = re.search(r'id="data">(.*?)</script>', page)
    assert data
    places = json.loads(data[1])["figures"]
    assert set(re.findall(r'data-figure="(profile-[a-z]+)"', page)) <= set(places)


def test_the_same_data_give_the_same_section() -> None:
    talks = simulated({"a": 0.0, "b": 1.0}, dialogues=6)
    assert section(talks) == section(talks)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_profile_in_a_browser(make: Make, visit: Visitor, width: int, scheme: str) -> None:
    corpus = Corpus.of(simulated({"cold": -1.0, "warm": 1.0}, echo=True, dialogues=8))
    manifest = collected({"persona": "a gardener of old roses " * 5})
    manifest["source"]["agents"][0]["agent"] = "cold"
    path: Path = make(replace(corpus, manifest=manifest), metrics=METRICS).path
    seen = visit(path, width=width, scheme=scheme)
    seen.drawn()
    page = seen.page
    cards = page.locator(".answers > .answer")
    assert cards.count() == 4
    assert cards.locator(".drawing svg").count() == 4
    matching = page.locator("[data-figure=profile-matching]")
    before = matching.locator(".drawing").get_attribute("aria-label")
    matching.locator("select[data-choice]").select_option("emotion_matching")
    page.wait_for_function(
        "old => document.querySelector('[data-figure=profile-matching] .drawing')"
        ".getAttribute('aria-label') !== old",
        arg=before,
    )
    matching.get_by_text("The numbers behind this chart").click()
    matching.locator(".behind tbody tr").nth(1).wait_for()
    page.locator(".cast .why").focus()
    assert "old roses a gardener" in page.locator("#hint").inner_text()
    assert seen.wide() <= 0
