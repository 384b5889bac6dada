"""Effects on one language model: over items, repeats averaged, an answer counted once."""

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dialens.analysis.bias import Resampling, analyse_study, study_data
from dialens.analysis.judges import distinct_answers, judges_against_people, one_rater_a_judge
from dialens.report.bias import write_study
from dialens.statistics.judges import over_items

FEW = Resampling(resamples=50)
NONE = [4.0, 6.0, 5.0, 3.0, 7.0, 5.0, 4.0, 6.0, 5.0]
SHOWN = [6.0, 7.0, 8.0, 4.0, 8.0, 9.0, 5.0, 8.0, 6.0]


def judged(
    repeats: int = 1, *, none: list[float] = NONE, shown: list[float] = SHOWN, asks: bool = True
) -> list[dict[str, object]]:
    """One model under both conditions, with the same answers in every repeat."""
    return [
        {
            "rater": f"m#{repeat}", "rater_kind": "llm", "judge": "m", "repeat": repeat,
            "dialog": f"d{at}", "agent": "a", "quality": "q", "order": at, "value": value,
            "anchor": number, "factors": json.dumps({"anchor": level}), "condition": level,
            "ask": f"{repeat}-{level}-{at}" if asks else None,
        }
        for repeat in range(1, repeats + 1)
        for level, number, values in (("none", None, none), ("both", 10.0, shown))
        for at, value in enumerate(values)
    ]  # fmt: skip


def people(raters: int = 12, pull: float = 0.1) -> list[dict[str, object]]:
    rng = np.random.default_rng(3)
    rows: list[dict[str, object]] = []
    for rater in range(raters):
        level = ("none", "both")[rater % 2]
        for at, own in enumerate(NONE):
            value = own + rng.normal(0, 1)
            value += pull * (10 - value) if level == "both" else 0.0
            rows.append(
                {
                    "rater": f"p{rater}", "rater_kind": "human", "dialog": f"d{at}", "agent": "a",
                    "quality": "q", "order": at, "value": value, "condition": level,
                    "anchor": 10.0 if level == "both" else None,
                    "factors": json.dumps({"anchor": level}),
                }
            )  # fmt: skip
    return rows


def table(rows: list[dict[str, object]]) -> pl.DataFrame:
    from dialens.corpus import RATINGS

    more = {"judge": pl.String, "repeat": pl.Int64, "ask": pl.String}
    return pl.DataFrame(rows, schema={**RATINGS, **more})


def effect(rows: list[dict[str, object]], name: str = "anchor") -> dict[str, object]:
    found = analyse_study(study_data(table(rows)), draws=FEW)
    return found.judge_effects.filter(effect=name).row(0, named=True)


def test_the_effect_on_one_judge_is_the_paired_t_test_of_its_items() -> None:
    row = effect(judged())
    wanted = stats.ttest_rel(SHOWN, NONE)
    assert row["value"] == pytest.approx(np.mean(SHOWN) - np.mean(NONE))
    interval = wanted.confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
    assert row["p"] == pytest.approx(wanted.pvalue)
    assert row["degrees"] == pytest.approx(8)


@pytest.mark.parametrize("asks", [True, False])
def test_equal_repeats_make_no_interval_narrower(asks: bool) -> None:
    once, often = effect(judged(1)), effect(judged(6, asks=asks))
    for name in ("value", "low", "high", "p", "degrees"):
        assert often[name] == pytest.approx(once[name])


def test_the_pull_is_fiellers_ratio_over_items() -> None:
    row = effect(judged(), "anchor pull")
    # The set of all θ for which shown − none − θ (10 − none) could have mean 0, item by item.
    none, shown = np.array(NONE), np.array(SHOWN)
    assert row["value"] == pytest.approx((shown - none).sum() / (10 - none).sum())
    for end in (row["low"], row["high"]):
        p = stats.ttest_1samp(shown - none - end * (10 - none), 0.0).pvalue
        assert p == pytest.approx(0.05, abs=1e-6)


def test_items_of_one_request_are_left_out_together() -> None:
    x, y = [0.0, 1.0] * 6, np.array([1.0, 2, 2, 5, 3, 3, 1, 4, 2, 2, 4, 9])
    items, clusters = np.repeat(np.arange(6), 2), np.repeat(np.arange(3), 4)
    found = over_items(y, {"x": x}, items.tolist(), clusters.tolist()).effect("x")
    sums = (y[1::2] - y[::2]).reshape(3, 2).mean(axis=1)  # equal clusters: a t test of their means
    interval = stats.ttest_1samp(sums, 0.0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.n == 3


def test_conditions_with_items_of_their_own_are_compared_between_items() -> None:
    a, b = [1.0, 4, 2, 6, 3], [5.0, 9, 4, 8, 7]
    made = over_items([*a, *b], {"x": [0.0] * 5 + [1.0] * 5}, range(10), within=False)
    found = made.effect("x")
    assert found.value == pytest.approx(np.mean(b) - np.mean(a))
    welch = stats.ttest_ind(b, a, equal_var=False).confidence_interval()
    assert found.low == pytest.approx(welch.low, abs=0.25)
    assert found.low < welch.low  # a little wider
    inside = over_items([*a, *b], {"x": [0.0] * 5 + [1.0] * 5}, range(10)).effect("x")
    assert inside.value is None
    assert inside.reason is not None


def test_conditions_that_read_the_same_cannot_differ() -> None:
    rows = judged(2, shown=NONE)
    for row in rows:
        row["ask"] = f"{row['repeat']}-{row['dialog']}"
    row = effect(rows)
    assert row["value"] is None
    assert "read the same in both conditions" in str(row["reason"])


def test_a_judge_with_one_answer_to_everything_has_no_test() -> None:
    row = effect(judged(3, none=[5.0] * 9, shown=[5.0] * 9))
    assert (row["value"], row["low"], row["p"]) == (None, None, None)
    assert "no variance, and no test" in str(row["reason"])
    row = effect(judged(3, none=[5.0] * 9, shown=[7.0] * 9))  # moved, every time by two points
    assert row["value"] == pytest.approx(2.0)
    assert (row["low"], row["p"]) == (None, None)
    assert row["reason"] == "no interval: the effect is the same for every item"


def test_the_same_answer_in_several_cells_is_one_answer() -> None:
    """Test–retest by hand: five items that read the same in both cells are five, not ten."""
    first, second = [1.0, 2, 3, 4, 6], [2.0, 2, 4, 5, 5]
    rows = [
        {
            "item": f"i{at}", "rater": f"m#{repeat}", "rater_kind": "llm", "judge": "m",
            "quality": "q", "repeat": repeat, "condition": cell, "value": values[at],
            "ask": f"{repeat}-{at}",
        }
        for repeat, values in ((1, first), (2, second))
        for cell in ("a", "b")
        for at in range(5)
    ]  # fmt: skip
    twice = pl.DataFrame(rows)
    once = twice.filter(condition="a")
    columns = ["test_retest", "test_retest_low", "test_retest_high"]
    found, wanted = (judges_against_people(one).select(columns).row(0) for one in (twice, once))
    assert found == pytest.approx(wanted)
    assert distinct_answers(twice).height == 10
    assert distinct_answers(twice, ["condition"]).height == 20


def test_flips_of_repeats_are_flips_of_items() -> None:
    """Eight items, three equal repeats: the interval is that of eight, not of 24."""

    def rows(repeats: int) -> pl.DataFrame:
        made = [
            {
                "item": f"i{at}", "pair": f"i{at}", "rater": f"m#{repeat}", "rater_kind": "llm",
                "judge": "m", "quality": "q", "repeat": repeat, "screen": f"s{at}-{order}",
                "order_shown": order, "place": 1 if at < 2 else order, "value": 1.0,
                "ask": f"{repeat}-{at}-{order}",
            }
            for repeat in range(1, repeats + 1)
            for at in range(8)
            for order in (1, 2)
        ]  # fmt: skip
        return pl.DataFrame(made)

    one, three = (judges_against_people(rows(n)).row(0, named=True) for n in (1, 3))
    assert one["flip_rate"] == three["flip_rate"] == 0.25
    wilson = stats.binomtest(2, 8).proportion_ci(method="wilson")
    assert (one["flip_rate_low"], one["flip_rate_high"]) == pytest.approx((wilson.low, wilson.high))
    assert three["flip_rate_high"] - three["flip_rate_low"] > 0.9 * (wilson.high - wilson.low)


def test_people_stand_beside_each_judge(tmp_path: Path) -> None:
    rows = [*people(), *judged(2)]
    found = analyse_study(study_data(table(rows)), draws=FEW)
    pull = found.beside.filter(effect="anchor pull").row(0, named=True)
    own = found.judge_effects.filter(effect="anchor pull").row(0, named=True)
    assert pull["judge"] == "m"
    assert pull["models"] == pytest.approx(own["value"])
    assert pull["difference"] == pytest.approx(own["value"] - pull["people"])
    assert pull["low"] < pull["difference"] < pull["high"]
    write_study(found, tmp_path, title="Both")
    told = (tmp_path / "report.html").read_text("utf-8")
    assert "one model is no sample of models" in told
    assert "for m and" in told


@pytest.mark.parametrize("repeats", [1, 3])
def test_one_judge_alone_is_analysed(repeats: int, tmp_path: Path) -> None:
    found = analyse_study(study_data(table(judged(repeats))), draws=FEW)
    assert found.data.raters["rater"].to_list() == ["m"]
    anchor = found.effects.filter(effect="anchor").row(0, named=True)
    assert anchor["p_adjusted"] < 0.05
    summary = write_study(found, tmp_path, title="Alone")
    told = (tmp_path / "report.html").read_text("utf-8")
    assert "fewer than 5 participants" not in " ".join(line for line in [summary.answer])
    assert "1 language model took this study, and no person was asked" in told


def test_a_judge_is_one_rater_with_the_choice_it_made_most_often() -> None:
    rows = [
        {"rater": f"m#{k}", "judge": "m", "item": side, "screen": "s", "quality": "q", "value": v}
        for k, winner in enumerate("aab")
        for side in "ab"
        for v in [float(side == winner)]
    ]
    made = one_rater_a_judge(pl.DataFrame(rows), pl.Series([True] * 6))
    assert dict(made.select("item", "value").iter_rows()) == {"a": 1.0, "b": 0.0}
    tied = pl.DataFrame(rows[:2] + rows[4:])
    assert one_rater_a_judge(tied, pl.Series([True] * 4)).height == 0


def test_a_judge_of_one_number_is_told_and_compared_with_nobody(tmp_path: Path) -> None:
    rows = [*people(), *judged(3, none=[5.0] * 9, shown=[5.0] * 9)]
    found = analyse_study(study_data(table(rows)), draws=FEW)
    both = found.beside.filter(effect="anchor").row(0, named=True)
    assert both["people"] is not None
    assert (both["models"], both["difference"], both["p"]) == (None, None, None)
    write_study(found, tmp_path, title="Flat")
    content = json.loads((tmp_path / "analysis.json").read_text("utf-8"))
    (told,) = (f["claim"] for f in content["findings"] if "gave everything the same" in f["claim"])
    assert told == "m gave everything the same rating on q"
    assert not any("for m and" in f["claim"] for f in content["findings"])


def test_how_long_a_model_computes_is_no_time_of_reading() -> None:
    from datetime import UTC, datetime

    now = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [row | {"shown_at": now, "answered_at": now} for row in [*people(6), *judged(2)]]
    data = study_data(table(rows))
    models = data.ratings.filter(pl.col("rater_kind") == "llm")
    assert models["seconds"].null_count() == models.height
    assert data.ratings.filter(pl.col("rater_kind") == "human")["seconds"].null_count() == 0
    alone = analyse_study(study_data(table(rows[6 * 9 :])), draws=FEW)
    assert not alone.flags.any_flag


def test_a_judge_that_always_takes_the_first_has_an_interval_below_one() -> None:
    from dialens.statistics.judges import both_orders

    rows = [(f"p{n}", order, 1) for n in range(8) for order in (1, 2)]
    first = both_orders(pl.DataFrame(rows, ["pair", "order", "place"], orient="row")).first
    wilson = stats.binomtest(8, 8).proportion_ci(method="wilson")
    assert first.value == 1.0
    assert first.high == 1.0
    assert first.low == pytest.approx((1 + wilson.low) / 2)  # one half if half of them turned


def test_both_sides_of_a_choice_are_one_item() -> None:
    """Six pairs judged by a model and two people: six observations, not twelve."""
    rng = np.random.default_rng(4)
    rows = []
    for who, kind in (("m", "llm"), ("a", "human"), ("b", "human")):
        for at in range(6):
            first = float(rng.random() < 0.5)
            for agent, value in (("x", first), ("y", 1 - first)):
                rows.append(
                    {
                        "item": f"{agent} / d{at}", "dialog": f"d{at}", "agent": agent,
                        "rater": who, "rater_kind": kind, "quality": "q", "value": value,
                        "scale": '{"kind": "pairwise"}',
                    }
                )  # fmt: skip
    ratings = pl.DataFrame(rows)
    row = judges_against_people(ratings).row(0, named=True)
    assert row["n"] == 6
    part = ratings.filter(agent="x")
    judge = part.filter(rater="m").sort("item")["value"]
    mean = part.filter(rater_kind="human").group_by("item").agg(pl.col("value").mean())
    wanted = np.corrcoef(judge, mean.sort("item")["value"])[0, 1]
    assert row["r"] == pytest.approx(wanted)


def test_a_judge_that_answers_one_condition_only_is_told(tmp_path: Path) -> None:
    rows = [*people(), *(row for row in judged() if row["condition"] == "none")]
    found = analyse_study(study_data(table(rows)), draws=FEW)
    row = found.judge_effects.row(0, named=True)
    assert row["value"] is None
    assert row["reason"] == "of anchor it answered under “none” only"
    write_study(found, tmp_path, title="One cell")
    told = (tmp_path / "report.html").read_text("utf-8")
    assert "No effect of the design on m can be told" in told


def test_a_judge_that_answered_under_other_numbers_is_not_compared() -> None:
    """People saw 5 and 10, the judge refused wherever 5 was shown."""
    theirs = people(18)
    for row in theirs:
        if row["anchor"] is not None and int(str(row["rater"])[1:]) % 4 == 1:
            row["anchor"] = 5.0
    found = analyse_study(study_data(table([*theirs, *judged()])), draws=FEW)
    anchored = found.beside.filter(pl.col("effect").str.starts_with("anchor"))
    assert anchored.height > 0
    assert anchored["difference"].null_count() == anchored.height
    assert "this judge answered under other anchors than people did" in set(anchored["reason"])


def test_the_numbers_of_an_index_have_one_unit(tmp_path: Path) -> None:
    rows = []
    for rater in range(8):
        rng = np.random.default_rng(rater)
        for at in range(8):
            number = (20.0, 60.0)[(rater + at) % 2]
            value = 40 + 0.3 * number + rng.normal(0, 1)
            rows.append(
                {
                    "rater": f"p{rater}", "dialog": f"d{at}", "agent": "a", "quality": "q",
                    "value": value, "anchor": number, "order": at,
                }
            )  # fmt: skip
    found = analyse_study(study_data(table(rows)), draws=FEW)
    index = found.effects.filter(effect="anchoring index").row(0, named=True)
    write_study(found, tmp_path, title="Index")
    content = json.loads((tmp_path / "analysis.json").read_text("utf-8"))
    (told,) = (f for f in content["findings"] if "For every 10 points" in f["claim"])
    assert told["claim"].endswith(f"moved {10 * index['value']:.1f}")
    assert f"{10 * index['low']:.1f} to {10 * index['high']:.1f}" in told["numbers"]


def test_an_agreement_that_is_no_number_is_missing() -> None:
    """Means of items 2.5, 3.5, 3.5: the denominator of ICC(2,1) is 0."""
    values = {1: [2.0, 3.0, 5.0], 2: [3.0, 4.0, 2.0]}
    rows = [
        {
            "item": f"i{at}", "rater": f"m#{repeat}", "rater_kind": "llm", "judge": "m",
            "quality": "q", "repeat": repeat, "value": value,
        }
        for repeat, given in values.items()
        for at, value in enumerate(given)
    ]  # fmt: skip
    row = judges_against_people(pl.DataFrame(rows)).row(0, named=True)
    assert row["test_retest"] is None
    assert row["test_retest_low"] is None
    assert "test_retest: too few items" in row["reason"]


def test_bookkeeping_of_an_export_is_no_factor(tmp_path: Path) -> None:
    rows = [
        {
            "rater": f"p{r}", "dialog": f"d{i}", "agent": "a", "quality": "q", "order": i,
            "value": float((r + i) % 4),
        }
        for r in range(5)
        for i in range(4)
    ]  # fmt: skip
    made = table(rows).with_columns(screen=pl.col("dialog"))
    found = analyse_study(study_data(made), draws=FEW)
    assert "--factor" not in write_study(found, tmp_path, title="Plain").scope


def test_a_judges_category_is_the_most_frequent_one() -> None:
    scales = ('{"kind": "yes_no"}', '{"kind": "likert", "low": 1, "high": 7}')
    rows = [
        {"rater": f"m#{k}", "judge": "m", "item": "i", "quality": s, "scale": s, "value": v}
        for s in scales
        for k, v in enumerate((0.0, 1.0, 1.0))
    ]
    made = one_rater_a_judge(pl.DataFrame(rows), pl.Series([False] * 6))
    assert dict(made.select("quality", "value").iter_rows()) == {
        scales[0]: 1.0,
        scales[1]: pytest.approx(2 / 3),
    }


def test_two_people_have_no_interval_anywhere(tmp_path: Path) -> None:
    """No sentence says that nothing could be tested beside one that tests."""
    rows = []
    for rater in range(2):
        rng = np.random.default_rng(rater)
        for at in range(12):
            number = (20.0, 60.0)[(rater + at) % 2]
            rows.append(
                {
                    "rater": f"p{rater}", "dialog": f"d{at}", "agent": "a", "quality": "q",
                    "value": 40 + 0.3 * number + rng.normal(0, 1), "anchor": number, "order": at,
                    "tag": ("none", "ai")[(at // 2 + rater) % 2],
                }
            )  # fmt: skip
    tags = [str(row.pop("tag")) for row in rows]
    made = table(rows).with_columns(tag=pl.Series(tags))
    found = analyse_study(study_data(made), draws=FEW)
    index = found.effects.filter(effect="anchoring index").row(0, named=True)
    tag = found.leanings.filter(bias="tag").row(0, named=True)
    for row in (index, tag):
        assert row["value"] is not None
        assert (row["low"], row["high"], row["p"]) == (None, None, None)
        assert "fewer than 5" in row["reason"]
    write_study(found, tmp_path, title="Two")
    content = json.loads((tmp_path / "analysis.json").read_text("utf-8"))
    assert not [f for f in content["findings"] if "corrected p" in f["numbers"]]


def test_repeats_of_a_judge_keep_their_verdicts_apart() -> None:
    """Two repeats of eight pairs: three flip in both, so 3 of 8, with an interval over items."""
    rows: list[dict[str, object]] = []
    for repeat in (1, 2):
        for at in range(8):
            for order in (1, 2):
                winner = "x" if at >= 3 or order == 1 else "y"
                for place, agent in enumerate("xy" if order == 1 else "yx"):
                    rows.append(
                        {
                            "rater": f"m#{repeat}", "rater_kind": "llm", "judge": "m",
                            "repeat": repeat, "dialog": f"d{at}", "agent": agent, "quality": "q",
                            "position": place, "value": 5.0 if agent == winner else 3.0,
                            "order": 2 * at + order, "ask": f"{repeat}-{at}-{order}",
                        }
                    )  # fmt: skip
    shown: dict[str, list[object]] = {
        "pair": [row["dialog"] for row in rows],
        "order_shown": [1 + (at // 2) % 2 for at in range(len(rows))],
        "screen": [f"s{at // 2 % 16}" for at in range(len(rows))],
    }
    made = table(rows).with_columns(pl.Series(name, given) for name, given in shown.items())
    found = analyse_study(study_data(made), draws=FEW).leanings
    flips = found.filter(bias="order").row(0, named=True)
    assert flips["raters"] == "m"
    assert flips["value"] == pytest.approx(3 / 8)
    wilson = stats.binomtest(3, 8).proportion_ci(method="wilson")
    assert flips["high"] - flips["low"] > 0.9 * (wilson.high - wilson.low)


def test_all_judges_lie_among_their_members() -> None:
    """Five judges, three repeats that choose at random for one place: flips and the first place
    of all are the mean of the members', and a judge with only ties is in neither."""
    rng = np.random.default_rng(3)
    rows: list[dict[str, object]] = []
    for judge in "abcde":
        for repeat, at, order in itertools.product((1, 2, 3), range(12), (1, 2)):
            won = int(rng.random() < 0.3 + at / 40)
            for place, agent in enumerate("xy" if order == 1 else "yx"):
                value = 7.0 if judge == "e" else 5.0 if place == won else 3.0
                rows.append(
                    {
                        "rater": f"{judge}#{repeat}", "rater_kind": "llm", "judge": judge,
                        "repeat": repeat, "dialog": f"d{at}", "agent": agent, "quality": "q",
                        "position": place, "value": value, "order": 2 * at + order,
                        "ask": f"{judge}-{repeat}-{at}-{order}", "pair": f"d{at}",
                        "order_shown": order, "screen": f"s{at}-{order}",
                    }
                )  # fmt: skip
    columns = {name: [row[name] for row in rows] for name in ("pair", "order_shown", "screen")}
    made = table(rows).with_columns(pl.Series(name, given) for name, given in columns.items())
    found = analyse_study(study_data(made), draws=FEW).leanings
    for bias in ("order", "first place"):
        values = dict(found.filter(bias=bias).select("raters", "value").iter_rows())
        flat = found.filter(bias=bias, raters="e").row(0, named=True)
        assert (flat["value"], flat["reason"]) == (None, "every verdict is a tie")
        members = [values[judge] for judge in "abcd"]
        assert values["all 5 models"] == pytest.approx(np.mean(members))


def test_few_items_carry_a_warning() -> None:
    def noted(items: int) -> list[str]:
        rows = judged(none=NONE[:items], shown=SHOWN[:items])
        found = analyse_study(study_data(table(rows)), draws=FEW)
        return [note.reason for note in found.notes if note.part == "judge m"]

    assert noted(8) == []
    assert "fewer than 8 items" in noted(7)[0]
