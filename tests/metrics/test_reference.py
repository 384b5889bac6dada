"""Reference values: places among people, against SciPy, by simulation, and of what ships."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import (
    PEOPLE,
    PLACES,
    REFERENCE,
    SYSTEMS,
    References,
    Scores,
    place_agents,
    place_values,
    reference_values,
    score,
    select,
)
from recipes.reference.table import PROBABILITIES, distributions

WITHOUT_MODELS = ["question", "length", "distinct_2", "emotional_entropy"]


def units(
    values: np.ndarray, source: str, *, level: str = "dialog", words: int = 50
) -> pl.DataFrame:
    """Values of people as the recipe hands them on."""
    return pl.DataFrame(
        {
            "metric": ["m"] * len(values),
            "signature": ["m|v1"] * len(values),
            "level": [level] * len(values),
            "group": [PEOPLE] * len(values),
            "source": [source] * len(values),
            "value": values,
            "words": [words] * len(values),
            "weight": [1 / len(values)] * len(values),
        }
    )


def table_of(*frames: pl.DataFrame) -> References:
    return References(distributions(pl.concat(frames)), {"probabilities": PROBABILITIES})


@pytest.mark.parametrize("digits", [1, 6], ids=["many ties", "hardly any"])
def test_places_are_those_of_scipy(digits: int) -> None:
    rng = np.random.default_rng(1)
    people = np.round(rng.gamma(2, 1, 4000), digits)
    (known, *_) = table_of(units(people, "a")).distributions("m", "dialog", PEOPLE)
    tried = np.concatenate([people[:200], [-1.0, 99.0]])
    expected = [stats.percentileofscore(people, value, kind="mean") for value in tried]
    # The table has a value every 2.5 per cent.
    assert np.abs(known.percentiles(tried) - expected).max() < 2.5


def test_values_that_many_share_count_half() -> None:
    people = np.array([0.0] * 60 + [1 / 3] * 20 + [1.0] * 20)
    (known, *_) = table_of(units(people, "a")).distributions("m", "dialog", PEOPLE)
    found = known.percentiles(np.array([0.0, 0.1, 1 / 3, 0.5, 1.0]))
    assert np.allclose(found, [30, 60, 70, 80, 90], atol=2.6)


def test_sources_count_alike_whatever_their_size() -> None:
    known = table_of(units(np.zeros(10), "small"), units(np.ones(1000), "large"))
    (whole, *_) = known.distributions("m", "dialog", PEOPLE)
    assert whole.percentiles(np.array([0.5]))[0] == pytest.approx(50, abs=2.6)


def test_a_dialogue_is_held_against_such_of_like_length() -> None:
    short, long = units(np.zeros(100), "a", words=30), units(np.ones(100), "a", words=200)
    known = table_of(short, long)
    value, turns = np.full(10, 0.5), np.full(10, 4.0)
    for words, expected in ((30.0, 100.0), (200.0, 0.0), (5000.0, 0.0), (2.0, 100.0)):
        place = place_values(known, "m", PEOPLE, value, np.full(10, words), turns)
        assert place.percentile == expected
        assert place.by_length


def test_a_dialogue_of_one_turn_is_held_against_turns() -> None:
    known = table_of(units(np.zeros(100), "a"), units(np.ones(100), "a", level="turn", words=10))
    value, words = np.full(8, 0.5), np.full(8, 12.0)
    assert place_values(known, "m", PEOPLE, value, words, np.ones(8)).percentile == 0
    assert place_values(known, "m", PEOPLE, value, words, np.full(8, 3.0)).percentile == 100


def test_people_left_out_stand_in_the_middle() -> None:
    """Agents drawn from people: 50 on average, and inside the interval in 95 of 100 draws."""
    rng = np.random.default_rng(2)

    def people(count: int) -> np.ndarray:
        return np.round(rng.lognormal(0, 1, count), 3)

    known = table_of(units(people(800), "a"), units(people(300), "b"))
    places = [place_values(known, "m", PEOPLE, people(20)) for _ in range(300)]
    assert np.mean([place.percentile for place in places]) == pytest.approx(50, abs=2)
    held = [place.low <= 50 <= place.high for place in places if place.low and place.high]
    assert len(held) == 300
    assert 0.91 < np.mean(held) < 0.99


def test_few_dialogues_have_a_place_without_an_interval() -> None:
    known = table_of(units(np.arange(100.0), "a"))
    place = place_values(known, "m", PEOPLE, np.array([49.0, 50.0]))
    assert place.percentile == pytest.approx(50, abs=2)
    assert (place.low, place.high) == (None, None)
    assert place.reason == "fewer than 6 dialogs, so the place has no interval"


def talks(words: int, count: int = 8) -> Corpus:
    text = "We walked along the river and talked about old times and new plans. " * (words // 13)
    return Corpus.of(
        [
            Dialogue(
                "s",
                "bot",
                f"d{number}",
                [
                    turn
                    for _ in range(3)
                    for turn in (
                        Turn("U", "partner", "What did you do today?"),
                        Turn("B", "agent", text + "And you " * number),
                    )
                ],
            )
            for number in range(count)
        ]
    )


@pytest.fixture(scope="module")
def scores() -> Scores:
    return score(talks(300), metrics=WITHOUT_MODELS)


def test_scores_know_their_places(scores: Scores) -> None:
    table = scores.reference()
    assert table.schema == PLACES
    assert table.height == 2 * len(WITHOUT_MODELS)
    row = table.row(
        by_predicate=(pl.col("metric") == "length") & (pl.col("group") == PEOPLE), named=True
    )
    assert row["percentile"] > 95
    assert row["p05"] <= row["p25"] <= row["p50"] <= row["p75"] <= row["p95"] < row["value"]
    assert row["n_dialogs"] == 8
    assert scores.reference(["convai2"])["group"].unique().to_list() == ["convai2"]


def test_without_the_length_all_lengths_are_taken_together() -> None:
    (row,) = score(talks(300), metrics=["question"]).reference([PEOPLE]).to_dicts()
    assert row["percentile"] is not None
    assert row["by_length"] is False


def test_another_lexicon_or_version_is_not_compared(scores: Scores) -> None:
    shipped = reference_values()
    changed = shipped.table.with_columns(
        pl.col("signature").str.replace("length|v1", "length|v0", literal=True)
    )
    table = place_agents(scores, references=References(changed, shipped.card))
    rows = table.filter(pl.col("metric") == "length")
    assert rows["percentile"].null_count() == 2
    assert "length|v0" in rows["reason"][0]
    assert "length|v1" in rows["reason"][0]
    assert table.filter(pl.col("metric") == "question")["percentile"].null_count() == 0


@pytest.mark.parametrize("arithmetic", ["fp32", "fp16x2"])
def test_other_arithmetic_is_held_against_people_too(arithmetic: str) -> None:
    """The table was computed in int8; those with a graphics card, or in floats, have places."""
    shipped = reference_values()
    known = shipped.signatures["empathy"]
    assert "/int8/" in known
    asked = known.replace("/int8/", f"/{arithmetic}/")
    assert shipped.why_not("empathy", asked) is None
    assert shipped.fitting({"empathy": asked}).signatures["empathy"] == known
    assert shipped.why_not("empathy", asked.replace("empathy|v", "empathy|w")) is not None


def test_every_first_metric_has_reference_values() -> None:
    """After adding one: `python -m recipes.reference.score --metrics NAME`, then `build --add`."""
    shipped = reference_values()
    first = [card.name for card in select() if card.headline is not None and card.headline < 100]
    for name in first:
        for level in ("turn", "dialog"):
            for group in (PEOPLE, SYSTEMS):
                assert shipped.distributions(name, level, group), (name, level, group)


@pytest.mark.slow
def test_the_default_models_are_those_of_the_table() -> None:
    table = score(talks(40, count=2)).reference([PEOPLE])
    random = pl.col("metric") == "random"
    why = table.filter(~random & pl.col("reason").str.contains("reference values"))
    assert why.to_dicts() == []


def test_what_ships_is_figures_and_their_sources() -> None:
    shipped = reference_values()
    assert shipped.table.schema == REFERENCE
    assert shipped.table["n"].min() >= 60
    names = {source["name"] for source in shipped.card["sources"]}
    assert set(shipped.table["group"]) == names | {PEOPLE, SYSTEMS}
    for source in shipped.card["sources"]:
        assert source["licence"]
        assert source["found"]
        assert source["speakers"] >= 60
    found = shipped.card["calibration"]["metrics"].values()
    assert np.mean([each["percentile"] for each in found]) == pytest.approx(50, abs=1)
    assert np.mean([each["interval_holds_50"] for each in found]) > 0.93
