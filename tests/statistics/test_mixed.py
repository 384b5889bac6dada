"""Mixed models: against an independent library, on hard shapes of data, and on bad input."""

from importlib import import_module

import numpy as np
import polars as pl
import pytest

from dialens.base import DialensError
from dialens.statistics.mixed import fit_mixed


def crossed(
    raters: int, items: int, share: float, seed: int, *, sd: tuple[float, float, float] = (4, 7, 9)
) -> pl.DataFrame:
    """Ratings of items by raters, a part of the cells filled, half the raters with an anchor."""
    rng = np.random.default_rng(seed)
    rater, item = (grid.ravel() for grid in np.meshgrid(range(raters), range(items)))
    kept = rng.random(len(rater)) < share
    rater, item = rater[kept], item[kept]
    value = (
        50
        + 6.0 * (rater % 2)
        + rng.normal(0, sd[0], raters)[rater]
        + rng.normal(0, sd[1], items)[item]
        + rng.normal(0, sd[2], len(rater))
    )
    return pl.DataFrame(
        {
            "rater": [f"r{i}" for i in rater],
            "item": [f"i{i}" for i in item],
            "anchor": np.where(rater % 2, "yes", "no"),
            "value": value,
        }
    )


@pytest.mark.parametrize("reml", [True, False])
def test_crossed_with_missing_cells_agrees_with_statsmodels(reml: bool):
    models = import_module("statsmodels.regression.mixed_linear_model")
    pandas = import_module("pandas")
    table = crossed(12, 20, 0.7, seed=3)
    fit = fit_mixed(table, fixed=["anchor"], reml=reml)
    frame = pandas.DataFrame(table.to_dict(as_series=False)).assign(all=1)
    other = models.MixedLM.from_formula(
        "value ~ anchor",
        frame,
        groups="all",
        re_formula="0",
        vc_formula={"item": "0 + C(item)", "rater": "0 + C(rater)"},
    ).fit(reml=reml)
    # statsmodels leaves log |X′X| out of its restricted likelihood; estimates are the same
    assert fit.component("item").variance == pytest.approx(other.vcomp[0], rel=2e-3)
    assert fit.component("rater").variance == pytest.approx(other.vcomp[1], rel=2e-3)
    assert fit.component("residual").variance == pytest.approx(other.scale, rel=1e-3)
    assert fit.effect("anchor[yes]").value == pytest.approx(other.fe_params.iloc[1], rel=1e-4)
    assert fit.effect("anchor[yes]").error == pytest.approx(other.bse_fe.iloc[1], rel=1e-3)
    if not reml:
        assert fit.loglik == pytest.approx(other.llf, abs=1e-3)


def test_every_way_of_eliminating_gives_the_same_likelihood(monkeypatch: pytest.MonkeyPatch):
    table = crossed(15, 40, 0.5, seed=5)
    dense = fit_mixed(table, fixed=["anchor"])
    monkeypatch.setattr("dialens.statistics.mixed._solver._DENSE_BLOCK", 0)
    assert fit_mixed(table, fixed=["anchor"]).loglik == pytest.approx(dense.loglik, abs=1e-6)
    monkeypatch.setattr("dialens.statistics.mixed._solver._MOST_DENSE", 0)
    assert fit_mixed(table, fixed=["anchor"]).loglik == pytest.approx(dense.loglik, abs=1e-6)


def test_without_random_effects_it_is_least_squares():
    table = crossed(10, 20, 1.0, seed=1)
    fit = fit_mixed(table, fixed=["anchor"], random=[])
    means = table.group_by("anchor").agg(pl.col("value").mean()).sort("anchor")["value"]
    assert fit.effect("anchor[yes]").value == pytest.approx(means[1] - means[0])
    assert fit.effect("anchor[yes]").degrees == pytest.approx(table.height - 2, rel=1e-6)
    assert [part.term for part in fit.components] == ["residual"]


def test_recovers_nested_levels_crossed_with_raters():
    rng = np.random.default_rng(11)
    system, agent, dialog, turn = (g.ravel() for g in np.meshgrid(*map(range, (6, 5, 8, 4))))
    each = np.repeat(np.arange(len(system)), 6)
    rater = rng.integers(0, 40, len(each))
    agents, dialogs = system * 5 + agent, (system * 5 + agent) * 8 + dialog
    turns = np.arange(len(system))
    value = (
        rng.normal(0, 3, 6)[system[each]]
        + rng.normal(0, 2, 30)[agents[each]]
        + rng.normal(0, 4, 240)[dialogs[each]]
        + rng.normal(0, 1.5, 960)[turns[each]]
        + rng.normal(0, 2.5, 40)[rater]
        + rng.normal(0, 3, len(each))
    )
    names = {"system": system, "agent": agent, "dialog": dialog, "turn": turn}
    table = pl.DataFrame({name: part[each].astype(str) for name, part in names.items()})
    table = table.with_columns(rater=pl.Series(rater.astype(str)), value=pl.Series(value))
    fit = fit_mixed(table, random=["system/agent/dialog/turn", "rater"])
    truth = {
        "system": 3,
        "system/agent": 2,
        "system/agent/dialog": 4,
        "system/agent/dialog/turn": 1.5,
        "rater": 2.5,
        "residual": 3,
    }
    for term, sd in truth.items():
        part = fit.component(term)
        assert part.low is not None
        assert part.high is not None
        assert part.low <= sd <= part.high, term
    assert sum(part.share for part in fit.components) == pytest.approx(1)


@pytest.mark.slow
def test_intervals_of_an_effect_between_raters_cover():
    """With few raters, normal intervals would be too narrow; Satterthwaite's are not."""
    inside = 0
    for seed in range(100):
        table = crossed(8, 12, 0.8, seed=seed + 100, sd=(8, 4, 4))
        effect = fit_mixed(table, fixed=["anchor"]).effect("anchor[yes]")
        inside += effect.low <= 6.0 <= effect.high
    assert 89 <= inside <= 100


def test_sum_coding_gives_averages_over_the_other_factor():
    rng = np.random.default_rng(2)
    table = crossed(24, 10, 1.0, seed=2).with_columns(
        layout=pl.col("rater").str.slice(1).cast(pl.Int64) % 4 < 2
    )
    table = table.with_columns(value=pl.col("value") + rng.normal(0, 1, table.height))
    fit = fit_mixed(table, fixed=["anchor*layout"], coding="sum")
    cells = table.group_by("anchor", "layout").agg(pl.col("value").mean())
    sides = cells.group_by("anchor").agg(pl.col("value").mean()).sort("anchor")["value"]
    assert 2 * fit.effect("anchor[yes]").value == pytest.approx(sides[1] - sides[0], rel=1e-6)
    plain = fit_mixed(table, fixed=["anchor*layout"])
    mean = plain.contrast({"anchor[yes]": 1, "anchor[yes]:layout[true]": 0.5})
    assert mean.value == pytest.approx(2 * fit.effect("anchor[yes]").value)
    assert mean.p == pytest.approx(fit.effect("anchor[yes]").p, rel=1e-3)


def test_order_of_rows_and_scale_of_the_response_do_not_matter():
    table = crossed(9, 15, 0.8, seed=4)
    fit = fit_mixed(table, fixed=["anchor"])
    other = fit_mixed(
        table.sample(fraction=1, shuffle=True, seed=0).with_columns(pl.col("value") * 1e4 + 1e9),
        fixed=["anchor"],
    )
    for part, same in zip(fit.components, other.components, strict=True):
        assert part.share == pytest.approx(same.share, abs=1e-4)
    ours, theirs = fit.effect("anchor[yes]"), other.effect("anchor[yes]")
    assert theirs.value == pytest.approx(ours.value * 1e4, rel=1e-4)


def test_a_variance_of_zero_stays_zero_and_is_said():
    rng = np.random.default_rng(8)
    table = pl.DataFrame(
        {
            "rater": [f"r{i % 6}" for i in range(90)],
            "item": [f"i{i // 6}" for i in range(90)],
        }
    )
    noise = rng.normal(size=(15, 6))
    noise -= noise.mean(axis=0)  # raters do not differ at all
    table = table.with_columns(value=pl.Series(noise.ravel()))
    fit = fit_mixed(table)
    assert fit.singular
    assert fit.component("rater").variance == 0
    assert fit.component("rater").low is None


def test_terms_that_cannot_be_estimated_are_named_and_the_rest_is_fitted():
    table = crossed(10, 20, 1.0, seed=6).with_columns(
        study=pl.lit("one"), row=pl.int_range(200).cast(pl.String), twin=pl.col("rater") + "!"
    )
    fit = fit_mixed(table, fixed=["anchor", "study"], random=["rater", "twin", "study", "row"])
    assert set(fit.dropped) == {"twin", "study", "row"}
    assert "one level" in fit.dropped["study"]
    assert {part.term for part in fit.components} == {"rater", "residual"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"value": pl.lit(3.0)}, "without variance"),
        ({"value": pl.lit("good")}, "not a number"),
        ({"value": pl.lit(None, dtype=pl.Float64)}, "No row has all"),
    ],
)
def test_bad_responses_are_explained(change: dict[str, pl.Expr], says: str):
    with pytest.raises(DialensError, match=says):
        fit_mixed(crossed(4, 5, 1.0, seed=0).with_columns(**change))


def test_unknown_names_are_explained():
    table = crossed(4, 5, 1.0, seed=0)
    with pytest.raises(DialensError, match="no such column"):
        fit_mixed(table, fixed=["layout"])
    with pytest.raises(DialensError, match="no level"):
        fit_mixed(table, fixed=["anchor"], reference={"anchor": "maybe"})
    with pytest.raises(DialensError, match="no fixed effect"):
        fit_mixed(table).effect("anchor")
    with pytest.raises(DialensError, match="no random term"):
        fit_mixed(table).blups("dialog")


@pytest.mark.slow
def test_a_hundred_thousand_ratings():
    fit = fit_mixed(crossed(500, 2000, 0.1, seed=9), fixed=["anchor"])
    assert fit.n > 95_000
    assert fit.component("item").sd == pytest.approx(7, rel=0.06)
    assert fit.component("rater").sd == pytest.approx(4, rel=0.12)
    effect = fit.effect("anchor[yes]")
    assert effect.low < 6 < effect.high


def test_a_small_variance_is_not_taken_for_zero():
    """A search that starts far away ends at zero here, where the slope is zero but not the best."""
    rng = np.random.default_rng(97)
    rater, item = np.divmod(np.arange(450), 15)
    noise = rng.normal(0, 0.08, 30)[rater] + rng.normal(0, 0.5, 15)[item] + rng.normal(0, 1, 450)
    table = pl.DataFrame(
        {
            "rater": [f"r{at}" for at in rater],
            "item": [f"i{at}" for at in item],
            "arm": [("a", "b")[at % 2] for at in rater],
            "value": noise,
        }
    )
    fit = fit_mixed(table, fixed=["arm"])
    assert not fit.singular
    assert fit.effect("arm[b]").degrees == pytest.approx(28, abs=3)
    # The largest grouping comes first: raters, then items.
    grid = [
        fit._system.criterion(np.array([by_rater, by_item]), reml=True)
        for by_rater in np.linspace(0, 0.4, 41)
        for by_item in np.linspace(0.3, 0.9, 13)
    ]
    assert fit.criterion <= min(grid)


def test_a_factor_with_one_level_is_named_as_left_out():
    table = pl.DataFrame(
        {
            "rater": [f"r{at % 5}" for at in range(40)],
            "only": ["x"] * 40,
            "agent": ["ab"[at // 5 % 2] for at in range(40)],
            "value": [float(at * 7 % 11) for at in range(40)],
        }
    )
    fit = fit_mixed(table, "value ~ agent + only + (1 | rater)")
    assert fit.dropped == {"only": "has one level only, so there is nothing to compare"}
    assert [effect.name for effect in fit.fixed] == ["(intercept)", "agent[b]"]


def test_interactions_without_main_effects_have_every_level():
    """As in R: `y ~ 0 + a:b` has a mean for each combination."""
    table = pl.DataFrame(
        {"a": list("ppqq") * 3, "b": list("uvuv") * 3, "value": [float(at) for at in range(12)]}
    )
    fit = fit_mixed(table, "value ~ 0 + a:b")
    means = table.group_by("a", "b").agg(pl.col("value").mean()).sort("a", "b")["value"]
    assert [effect.name for effect in fit.fixed] == [
        "a[p]:b[u]", "a[p]:b[v]", "a[q]:b[u]", "a[q]:b[v]"
    ]  # fmt: skip
    assert [effect.value for effect in fit.fixed] == pytest.approx(means.to_list())
