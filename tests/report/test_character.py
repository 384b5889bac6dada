"""The section on character, and how many metrics stay readable."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from dialens import Corpus, Scores, score
from dialens.corpus import Dialogue, Turn
from dialens.metrics import (
    Definition,
    MetricCard,
    ModelChoice,
    Resources,
    ScorerContext,
    ScorerSet,
    TurnBatch,
    select,
    turn_mean,
)
from dialens.metrics._state import Floats
from dialens.models import traits
from dialens.report._digest import Digest
from dialens.report._drilldown import _turn_metrics
from dialens.report._model_emotion_chart import model_emotion_chart
from dialens.report.profile import character
from tests.report.conftest import Make, Visitor
from tests.report.material import two_agents

TRAITS = ["personality"]


def said(metric: str, part: int) -> Definition:
    """A metric that reads its value from the text: the n-th number in it."""

    def value(batch: TurnBatch) -> Floats:
        numbers = batch.turns["text"].str.split(" ").list.get(part, null_on_oob=True)
        return numbers.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()

    return turn_mean(metric, value, missing="no number was said")


def _feeling(number: int, _: Resources) -> Definition:
    return said(f"feeling {number}", number)


WARMTH = MetricCard(
    "warmth", "A number", "personality", lambda _: said("warmth", 0), describes="trait"
)
EMOTIONS = tuple(
    MetricCard(
        f"emotion_feeling_{n}",
        "A number",
        "mood",
        partial(_feeling, n),
        label=f"Feeling {n}",
    )
    for n in range(15)
)
OWN = (WARMTH, *EMOTIONS)


@pytest.fixture
def own_metrics(installed: Callable[[str, str], None]) -> None:
    """Metrics that an installed package brings."""
    installed("dialens.metrics", f"{__name__}:OWN")


def speaking(said: dict[tuple[str, str], list[str]], metrics: list[str]) -> Scores:
    talks = [
        Dialogue(system, agent, f"{system}-{agent}-{n}", [Turn("B", "agent", text)])
        for (system, agent), texts in said.items()
        for n, text in enumerate(texts)
    ]
    return score(Corpus.of(talks), metrics=metrics)


def warm(said: dict[tuple[str, str], list[str]]):
    scores = speaking(said, ["warmth"])
    return character(Digest.of(scores), scores)


def test_the_shipped_traits_say_what_their_models_are_worth(make: Make) -> None:
    """Figures as in the cards: r by person with its interval, and which are no better than none."""
    page = make(two_agents(), metrics=[*TRAITS, "length"]).path.read_text()
    assert "agrees with self-reports at r = 0.33" in page
    assert "r = 0.33 (0.26 to 0.40)" in page
    assert "research-grade" in page
    assert re.search(r"<summary>Openness and neuroticism <span.*cannot be told from chance", page)
    data = re.search(r'id="data">(.*?)</script>', page)
    assert data
    places = [place for place in json.loads(data[1])["figures"] if place.startswith("trait-")]
    assert len(places) == 7
    terms = (
        "Agreeableness, openness, conscientiousness, extraversion, neuroticism and empathic "
        "concern (writing style): for research only, not for products. The models were fitted on "
        "answers that the WASSA shared tasks gave out under no open licence"
    )
    assert terms in page
    assert "pip install dialens-traits" not in page


@pytest.mark.usefixtures("without_traits")
def test_without_the_research_models_the_report_says_so(make: Make) -> None:
    page = make(two_agents(), metrics=[*TRAITS, "length"]).path.read_text()
    absent = (
        "neuroticism and empathic concern (writing style): no values. The models, for research "
        "only, are not installed (pip install dialens-traits)."
    )
    assert absent in page
    assert "not for products" not in page
    places = set(re.findall(r'data-figure="(trait-[a-z_]+)"', page))
    assert places == {"trait-state_empathy"}
    assert page.count("Most of these models are a package of their own, for research only") == 2
    assert "Score with all levels" not in page


def test_a_model_of_ones_own_is_not_graded_by_the_one_that_ships(tmp_path: Path) -> None:
    """Before, the shipped model's r stood beside scores of another one."""
    own = tmp_path / "own"
    own.mkdir()
    model = traits.load("state_empathy")
    traits.save(replace(model, intercept=model.intercept + 1), own)
    for choice, graded in ((ModelChoice(), True), (ModelChoice(own={"state_empathy": own}), False)):
        context = ScorerContext(models=choice)
        scores = score(
            two_agents(), metrics=["state_empathy"], resources=Resources(scorers=ScorerSet(context))
        )
        found = character(Digest.of(scores), scores)
        assert found is not None
        (card,) = (*found.sound, *found.doubtful)
        assert (card.grade is not None) == graded


def test_without_traits_there_is_no_such_section(make: Make) -> None:
    page = make(two_agents(), metrics=["length"]).path.read_text()
    assert 'id="character"' not in page


@pytest.mark.usefixtures("own_metrics")
def test_facts_by_hand() -> None:
    """Agents 1, 3 and 7, 9: SSW = 4 on 2 degrees, MSB = 36, n0 = 2, so ICC = 17 / (17 + 2)."""
    found = warm({("s", "a"): ["1", "3"], ("s", "b"): ["7", "9"]})
    (card,) = found.sound
    (fact,) = card.facts
    assert (fact.stability, fact.between, fact.within) == ("0.89", "4.1", "1.4")
    assert "F(1, 2) = 18.00, p = 0.051" in fact.why
    assert card.verdict.startswith("The agents cannot be told apart")
    assert (card.grade, found.caution) == (None, [])
    chart = found.charts["trait-warmth"]
    assert [row[:2] for row in chart.rows] == [("a", "2.0"), ("b", "8.0")]
    assert [row["x"] for row in chart.data["dots"]] == [1.0, 3.0, 7.0, 9.0]


@pytest.mark.usefixtures("own_metrics")
def test_words_follow_the_shape_of_the_corpus() -> None:
    low, high = ["1", "2", "3", "2"], ["7", "8", "9", "8"]
    apart = warm({("s", "a"): low, ("s", "b"): high})
    assert apart.sentence.startswith("The agents differ most in warmth (stability 0.9")
    assert apart.sound[0].verdict.endswith("lie between the agents.")
    alike = warm({("s", "a"): low, ("s", "b"): low})
    assert alike.sentence == "The agents cannot be told apart in warmth."
    fact = alike.sound[0].facts[0]
    assert (fact.stability, fact.ends[:4]) == ("none", "0.00")
    assert fact.why.startswith("None: the estimate is −0.")
    one = warm({("s", "a"): low})
    assert one.sound[0].facts[0].stability == "–"
    assert one.sound[0].facts[0].why == "One agent only."
    assert one.sound[0].verdict == "4 dialogues, spread by 0.82 around a mean of 2.00."
    two = warm({("s", "a"): low, ("s", "b"): high, ("t", "c"): low, ("t", "d"): low})
    assert two.sound[0].verdict == "The agents differ beyond chance only in s."
    assert [fact.system for fact in two.sound[0].facts] == ["s", "t"]
    alone = warm({("s", "a"): low, ("t", "b"): high})
    assert alone.sound[0].verdict.endswith("lie between the agents.")
    assert alone.caution[0].startswith("Every system here has one agent")
    some = warm({("s", "a"): low, ("s", "b"): low, ("t", "c"): high})
    assert some.sentence.startswith("The agents differ most in warmth")
    assert some.caution[0].startswith("Some agents here are alone in their system")
    assert warm({("s", "a"): ["x"], ("s", "b"): ["y"]}) is None


@pytest.mark.usefixtures("own_metrics")
def test_many_agents_and_many_dialogues_stay_readable() -> None:
    many = warm({("s", f"bot {n}"): [str(n), str(n + 1)] for n in range(30)})
    chart = many.charts["trait-warmth"]
    assert len(chart.data["means"]) == 10
    assert chart.note == "The 5 highest and the 5 lowest of 30 agents."
    assert len(chart.rows) == 30
    long = warm({("s", a): [str(n) for n in range(400)] for a in "ab"})
    assert "dots" not in long.charts["trait-warmth"].data
    (first, _) = long.charts["trait-warmth"].data["bands"]
    assert (first["x"], first["to"]) == (40, 359)  # deciles of 0 … 399, nearest dialogue


@pytest.mark.usefixtures("own_metrics")
def test_the_strongest_classified_emotions_are_shown() -> None:
    text = " ".join(str(n / 100) for n in range(15))
    scores = speaking(
        {("s", "a"): [text, text], ("s", "b"): [text]}, [card.name for card in EMOTIONS]
    )
    chart = model_emotion_chart(Digest.of(scores))
    assert chart
    assert len(chart.data["rows"]) == 24
    assert {row["emotion"] for row in chart.data["rows"]} == {f"Feeling {n}" for n in range(3, 15)}
    assert chart.columns[1] == "Feeling 0"
    assert chart.rows[0][1:3] == ("0 %", "1 %")
    assert "3 weaker emotions stand in the numbers" in chart.note
    nothing = speaking({("s", "a"): ["hm"]}, ["emotion_feeling_1"])
    assert model_emotion_chart(Digest.of(nothing)) is None


def test_metrics_of_a_turn_are_folded_by_family() -> None:
    cards = select(["emotion", "style", "surface", "random"])
    groups = {row["name"]: row["group"] for row in _turn_metrics(cards, ["length"])}
    assert groups["length"] == groups["random"] == ""
    assert groups["joy_share"] == "Emotions"
    assert {row["group"] for row in _turn_metrics(cards[:5], [])} == {""}


def test_cards_in_a_browser(make: Make, visit: Visitor) -> None:
    path: Path = make(two_agents(), metrics=[*TRAITS, "length"]).path
    seen = visit(path, width=390, height=844, scheme="dark")
    page = seen.page
    seen.drawn()
    cards = page.locator(".traits > .trait")
    assert cards.locator("visible=true").count() > 0
    agreeable = page.locator("[data-figure=trait-agreeableness]")
    assert agreeable.locator(".drawing .mark-symbol path").count() == 24 + 2
    agreeable.locator(".grade").focus()
    assert "528 people" in page.locator("#hint").inner_text()
    agreeable.get_by_text("The numbers behind this chart").click()
    agreeable.locator(".behind tbody tr").nth(1).wait_for()
    assert agreeable.locator(".behind tbody tr").count() == 2
    page.locator("section[aria-labelledby=character] details.fold > summary").click()
    page.wait_for_selector("[data-figure=trait-openness] .drawing svg")
    assert seen.wide() <= 0
    dot = agreeable.locator(".drawing .mark-symbol path").first
    dot.click(force=True)
    assert "#dialogue=" in page.url


def test_a_turn_opens_its_families(two_agents_report: Path, visit: Visitor) -> None:
    page = visit(two_agents_report).page
    turn = page.locator(".turn.own").first
    turn.locator("summary").first.click()
    style = turn.locator(".deep details", has_text="Style matching")
    assert not style.locator("dl").is_visible()
    style.locator("summary").click()
    assert style.locator("dt", has_text="Style matching: articles").is_visible()
