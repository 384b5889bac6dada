"""Judges beside people, against published outputs, another package's figures and arithmetic."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dialens.base import DialensError
from dialens.statistics.judges import (
    alternative_test,
    both_orders,
    cheapest_mix,
    cross_fitted,
    error_for,
    prediction_powered,
    tuned_weight,
)

# Winning rate and advantage as printed in the notebook of the paper (arXiv:2501.10970).
PUBLISHED = {
    ("wax", "labels", 0.1): {
        "gemini_flash": (0.38, 0.69), "gemini_pro": (0.50, 0.74), "gpt-4o": (0.50, 0.73),
        "llama-31": (0.00, 0.57), "gpt-4o-mini": (0.00, 0.59), "mistral-v03": (0.00, 0.50),
    },
    ("10k_prompts", "numbers", 0.15): {
        "gemini_flash": (0.31, 0.67), "gemini_pro": (0.08, 0.63), "gpt-4o": (0.69, 0.76),
        "llama-31": (0.15, 0.67), "gpt-4o-mini": (0.92, 0.80), "mistral-v03": (0.15, 0.67),
    },
    ("cebab_stars", "numbers", 0.1): {
        "gemini_flash": (0.60, 0.82), "gemini_pro": (0.80, 0.87), "gpt-4o": (0.90, 0.90),
        "llama-31": (0.60, 0.85), "gpt-4o-mini": (0.90, 0.89), "mistral-v03": (0.50, 0.83),
    },
    ("summeval", "numbers", 0.2): {
        "gemini_flash": (0.00, 0.46), "gemini_pro": (0.00, 0.44), "gpt-4o": (0.00, 0.48),
        "llama-31": (0.00, 0.58), "gpt-4o-mini": (0.00, 0.54), "mistral-v03": (0.00, 0.62),
    },
}  # fmt: skip


@pytest.mark.parametrize("which", PUBLISHED, ids=lambda which: which[0])
def test_the_alternative_annotator_test_as_published(shared_data: Path, which: tuple) -> None:
    name, fit, epsilon = which
    table = pl.read_csv(shared_data / "judges" / f"alttest_{name}.csv.gz")
    table = table.with_columns(
        item=pl.concat_str(pl.col("item").cast(pl.String), "quality", separator="|"),
        value=pl.col("value").cast(pl.Float64 if fit == "numbers" else pl.String),
    )
    people = table.filter(pl.col("rater_kind") == "person")
    for judge, (rate, advantage) in PUBLISHED[which].items():
        done = alternative_test(
            people, table.filter(pl.col("rater") == judge), fit=fit, epsilon=epsilon
        )
        assert done.winning_rate == pytest.approx(rate, abs=0.0051)
        assert done.advantage == pytest.approx(advantage, abs=0.0051)


def test_a_judge_nobody_can_be_compared_with_has_no_rate() -> None:
    people = pl.DataFrame({"item": ["a", "b"], "rater": ["p", "q"], "value": [1.0, 2.0]})
    judge = pl.DataFrame({"item": ["a", "b"], "value": [1.0, 2.0]})
    done = alternative_test(people, judge, fit="numbers")
    assert (done.winning_rate, done.advantage, done.passed) == (None, None, None)
    assert done.reason == "no person shares 30 items with the judge and another person"


def test_the_verdict_by_hand() -> None:
    """40 items; the person left out is as near as the judge on 30, nearer on 10."""
    items = [f"i{n}" for n in range(40)]
    others = pl.DataFrame({"item": items, "rater": "b", "value": [1.0] * 40})
    person = pl.DataFrame({"item": items, "rater": "a", "value": [1.0] * 40})
    judge = pl.DataFrame({"item": items, "value": [1.0] * 30 + [2.0] * 10})
    done = alternative_test(pl.concat([person, others]), judge, fit="numbers", epsilon=0.2)
    # Mean of (person − judge) is .25, over an epsilon of .2: nobody is beaten.
    assert (done.winning_rate, done.advantage) == (0.0, 0.75)
    beaten = alternative_test(pl.concat([person, others]), judge, fit="numbers", epsilon=0.5)
    assert beaten.winning_rate == 1.0


def rated() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    i, u = np.arange(60), np.arange(400)
    people = np.sin(i * 1.7) + 0.01 * i
    judge = 0.8 * people + 0.5 * np.cos(i * 2.3)
    alone = 0.8 * (np.sin(u * 0.9) + 0.005 * u) + 0.5 * np.cos(u * 1.1) - 0.3
    return people, judge, alone


@pytest.mark.parametrize(
    ("weight", "value", "low", "high"),
    [(1.0, 0.55886062, 0.43262679, 0.68509445), (0.0, 0.29328675, 0.11220336, 0.47437014)],
)
def test_prediction_powered_means_as_another_package_has_them(
    weight: float, value: float, low: float, high: float
) -> None:
    """ppi-python 0.2.3; its interval is normal, with variances by n: undone here."""
    people, judge, alone = rated()
    done = prediction_powered(people, judge, alone, weight=weight)
    assert done.estimate.value == pytest.approx(value, abs=1e-7)
    n, more = len(people), len(alone)
    variance = np.var(people - weight * judge) / n + weight**2 * np.var(alone) / more
    assert (high - low) / 2 == pytest.approx(1.959964 * np.sqrt(variance), abs=1e-6)
    assert done.estimate.low is not None
    assert done.estimate.low < low  # Student's t, and variances by n − 1


def test_the_weight_has_the_smallest_variance() -> None:
    people, judge, alone = rated()
    chosen = tuned_weight(people, judge, alone)
    pooled = np.var(np.concatenate([judge, alone]), ddof=1)

    def variance(weight: float) -> float:
        together = np.cov(people, judge)[0, 1]
        own = np.var(people, ddof=1) - 2 * weight * together + weight**2 * pooled
        return float(own / 60 + weight**2 * pooled / 400)

    grid = np.linspace(0, 1, 1001)
    assert chosen == pytest.approx(grid[np.argmin([variance(one) for one in grid])], abs=0.001)


def test_a_judge_without_knowledge_saves_nothing_and_harms_little() -> None:
    rng = np.random.default_rng(3)
    people = rng.normal(size=200)
    done = prediction_powered(people, rng.normal(size=200), rng.normal(size=2_000))
    assert done.weight < 0.2
    assert done.saving is not None
    assert -0.02 < done.saving < 0.05


def test_what_is_saved_is_bounded_by_the_squared_correlation() -> None:
    people, judge, alone = rated()
    done = prediction_powered(people, judge, np.tile(alone, 50))
    assert done.r is not None
    assert done.saving is not None
    assert 0 < done.saving <= done.r**2 + 0.02


def test_dialogues_are_the_units_where_turns_are_rated() -> None:
    people, judge, alone = rated()
    one = prediction_powered(people, judge, alone)
    names = [f"d{n // 4}" for n in range(60)], [f"e{n // 4}" for n in range(400)]
    repeated = prediction_powered(
        np.repeat(people, 4), np.repeat(judge, 4), np.repeat(alone, 4),
        clusters=np.repeat(np.arange(60), 4).tolist(),
        clusters_alone=np.repeat(np.arange(100, 500), 4).tolist(),
        weight=one.weight,
    )  # fmt: skip
    same = prediction_powered(people, judge, alone, weight=one.weight)
    assert repeated.estimate.low == pytest.approx(same.estimate.low)
    with pytest.raises(DialensError, match="cluster for each unit"):
        prediction_powered(people, judge, alone, clusters=names[0], clusters_alone=["x"])


def test_too_few_ratings_have_no_interval() -> None:
    done = prediction_powered(np.arange(4.0), np.arange(4.0), np.arange(9.0))
    assert done.estimate.low is None
    assert done.estimate.reason == "people rated 4 independent units; 6 are needed"


def test_choosing_among_useless_judges_does_not_narrow_the_interval() -> None:
    """The best of 40 judges that know nothing, chosen on the same people: at most 7 % misses."""
    rng = np.random.default_rng(7)
    missed = {"chosen": 0, "cross-fitted": 0}
    for study in range(300):
        people, judges = rng.normal(size=30), rng.normal(size=(30, 40))
        alone = rng.normal(size=(300, 40))
        fitted = cross_fitted(people, judges, alone, seed=study)
        best = int(np.argmax([np.corrcoef(people, column)[0, 1] for column in judges.T]))
        for how, (one, rest) in {
            "chosen": (judges[:, best], alone[:, best]),
            "cross-fitted": (fitted.judge, fitted.alone),
        }.items():  # fmt: skip
            interval = prediction_powered(people, one, rest).estimate
            assert interval.low is not None
            assert interval.high is not None
            missed[how] += not interval.low <= 0 <= interval.high
    assert missed["cross-fitted"] / 300 <= 0.075
    assert missed["chosen"] > missed["cross-fitted"]


@pytest.mark.parametrize("r", [0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("judge_price", [0.001, 0.05, 0.5])
def test_the_cheapest_mix_by_trying_all(r: float, judge_price: float) -> None:
    found = cheapest_mix(1.0, 0.1, r, price=1.0, judge_price=judge_price)
    people, more = np.meshgrid(np.arange(2, 101), np.arange(0, 5_001, 5))
    variance = (1 - r**2 * more / (people + more)) / people
    price = people * 1.0 + (people + more) * judge_price * (more > 0)
    best = float(price[variance <= 0.01 + 1e-12].min())
    assert found.price == pytest.approx(best, rel=0.02)
    reached = (1 - r**2 * found.judged / (found.rated + found.judged)) / found.rated
    assert reached <= 0.01 * 1.001


def test_a_mix_takes_no_more_units_than_there_are() -> None:
    found = cheapest_mix(1.0, 0.1, 0.8, price=2.0, judge_price=0.0001, most=300)
    assert found.rated == 46  # 45 would need 305
    assert found.rated + found.judged <= 300
    assert (1 - 0.64 * found.judged / (found.rated + found.judged)) / found.rated <= 0.01 * 1.001
    free = cheapest_mix(1.0, 0.1, 0.8, price=2.0, judge_price=0.0)
    assert free.helps
    assert free.price == free.rated * 2.0


def test_the_error_an_effect_needs() -> None:
    """Arithmetic: (1.95996 + 0.84162) standard errors make an effect visible in 80 %."""
    assert error_for(0.5, power=0.8) == pytest.approx(0.5 / 2.801585, rel=1e-5)


def test_verdicts_in_both_orders_of_a_real_judge(shared_data: Path) -> None:
    """Claude 3 Haiku on JudgeBench, counted independently: consistent .53, first place 63 %."""
    table = pl.read_csv(shared_data / "judges" / "judgebench_claude-3-haiku.csv.gz")
    place = pl.col("decision").replace_strict({"A>B": 1, "B>A": 2, "A=B": 0}, default=None)
    done = both_orders(table.select("pair", order="presentation", place=place))
    assert done.flip_rate.value == pytest.approx(1 - 135 / 257)
    assert done.first.value == pytest.approx(212 / 335)
    assert (done.pairs, done.missing) == (257, 13)
    assert done.first.low is not None
    assert done.first.low > 0.5


def test_a_judge_that_always_takes_the_first_flips_every_time() -> None:
    pairs = [(f"p{n}", order, 1) for n in range(10) for order in ("ab", "ba")]
    done = both_orders(pl.DataFrame(pairs, ["pair", "order", "place"], orient="row"))
    assert (done.flip_rate.value, done.first.value) == (1.0, 1.0)
    none = both_orders(pl.DataFrame([("p", "ab", 0)], ["pair", "order", "place"], orient="row"))
    assert none.flip_rate.reason == "no pair has a verdict in both orders"
    assert none.first.reason == "every verdict is a tie"


def test_a_judge_that_has_only_ties_has_no_verdict_to_change() -> None:
    pairs = [(f"p{n}", order, 0) for n in range(10) for order in ("ab", "ba")]
    done = both_orders(pl.DataFrame(pairs, ["pair", "order", "place"], orient="row"))
    assert done.flip_rate.value is None
    assert done.flip_rate.reason == "every verdict is a tie"
