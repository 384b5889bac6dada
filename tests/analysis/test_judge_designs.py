"""How steady judges are: variances by hand and by lme4, prices, holes, panels, the report."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dialens.analysis.bias import Resampling, analyse_study, study_data
from dialens.analysis.judges import (
    ALL_JUDGES,
    PEOPLE_ALONE,
    judge_designs,
    judges_joining,
    own_agreement,
)
from dialens.corpus import RATINGS
from dialens.report.bias import write_study
from dialens.statistics.agreement import generalizability
from dialens.studies import study_of
from dialens.studies._examples import TEA
from dialens.studies.judges import (
    JudgePlan,
    Judges,
    Ledger,
    ModelReply,
    Said,
    judge_ratings,
    judge_study,
)
from tests.statistics.test_mixed_published import penicillin

SIZES = (12, 3, 2, 2)
NAMES = ("item", "judge", "prompt", "repeat")


def long(values: np.ndarray, **columns: object) -> pl.DataFrame:
    """Items × judges × prompts × repeats as a table."""
    places = dict(zip(NAMES, np.indices(values.shape), strict=True))
    levels = {name: [f"{name}{x:02d}" for x in at.ravel()] for name, at in places.items()}
    return pl.DataFrame({**levels, "value": values.ravel(), "quality": "q"}).with_columns(
        **{name: pl.lit(value) for name, value in columns.items()}
    )


def judged(seed: int = 0, sizes: tuple[int, ...] = SIZES) -> np.ndarray:
    rng = np.random.default_rng(seed)
    i, j, p, _ = sizes
    values = rng.normal(size=(i, 1, 1, 1)) + 0.5 * rng.normal(size=(1, j, 1, 1))
    values = values + 0.4 * rng.normal(size=(i, j, 1, 1)) + 0.3 * rng.normal(size=(i, 1, p, 1))
    return values + 0.3 * rng.normal(size=(1, 1, p, 1)) + 0.4 * rng.normal(size=sizes)


def shares(found: pl.DataFrame, judge: str) -> dict[str, float]:
    mine = found.filter(pl.col("judge") == judge)
    return dict(mine.select("effect", "variance").drop_nulls().iter_rows())


def test_variances_are_those_of_expected_mean_squares_by_hand() -> None:
    """Cornfield and Tukey's rules for i × j × p with r within j × p, worked out for this table."""
    x = judged()
    i, j, p, r = SIZES
    m = x.mean()
    over = {
        "i": x.mean((1, 2, 3)), "j": x.mean((0, 2, 3)), "p": x.mean((0, 1, 3)),
        "ij": x.mean((2, 3)), "ip": x.mean((1, 3)), "jp": x.mean((0, 3)), "ijp": x.mean(3),
        "r": x.mean(0),
    }  # fmt: skip
    ij = over["ij"] - over["i"][:, None] - over["j"] + m
    ip = over["ip"] - over["i"][:, None] - over["p"] + m
    jp = over["jp"] - over["j"][:, None] - over["p"] + m
    main = over["i"][:, None, None] + over["j"][:, None] + over["p"] - 2 * m
    ijp = over["ijp"] - main - ij[:, :, None] - ip[:, None, :] - jp
    rest = x - over["ijp"][..., None] - over["r"] + over["jp"][..., None]
    ms = {
        "i": j * p * r * ((over["i"] - m) ** 2).sum() / (i - 1),
        "j": i * p * r * ((over["j"] - m) ** 2).sum() / (j - 1),
        "p": i * j * r * ((over["p"] - m) ** 2).sum() / (p - 1),
        "ij": p * r * (ij**2).sum() / ((i - 1) * (j - 1)),
        "ip": j * r * (ip**2).sum() / ((i - 1) * (p - 1)),
        "jp": i * r * (jp**2).sum() / ((j - 1) * (p - 1)),
        "ijp": r * (ijp**2).sum() / ((i - 1) * (j - 1) * (p - 1)),
        "r": i * ((over["r"] - over["jp"][..., None]) ** 2).sum() / (j * p * (r - 1)),
        "rest": (rest**2).sum() / ((i - 1) * j * p * (r - 1)),
    }
    by_hand = {
        "item": (ms["i"] - ms["ij"] - ms["ip"] + ms["ijp"]) / (j * p * r),
        "judge": (ms["j"] - ms["ij"] - ms["jp"] + ms["ijp"]) / (i * p * r),
        "prompt": (ms["p"] - ms["ip"] - ms["jp"] + ms["ijp"]) / (i * j * r),
        "item × judge": (ms["ij"] - ms["ijp"]) / (p * r),
        "item × prompt": (ms["ip"] - ms["ijp"]) / (j * r),
        "judge × prompt": (ms["jp"] - ms["ijp"] - ms["r"] + ms["rest"]) / (i * r),
        "item × judge × prompt": (ms["ijp"] - ms["rest"]) / r,
        "repeat within judge × prompt": (ms["r"] - ms["rest"]) / i,
        "item × repeat within judge × prompt (and the rest)": ms["rest"],
    }
    found = judge_designs(long(x))
    assert shares(found.variance, ALL_JUDGES) == pytest.approx(by_hand)
    now = found.designs.filter("now").row(0, named=True)
    part = {name: max(value, 0.0) for name, value in by_hand.items()}
    noise = (
        part["item × judge"] / 3
        + part["item × prompt"] / 2
        + part["item × judge × prompt"] / 6
        + ms["rest"] / 12
    )
    assert now["relative"] == pytest.approx(part["item"] / (part["item"] + noise))
    assert (now["judges"], now["prompts"], now["repeats"], now["ratings"]) == (3, 2, 2, 12)
    assert now["relative_low"] < now["relative"] < now["relative_high"]
    assert now["absolute"] < now["relative"]


def test_balanced_variances_are_lme4s() -> None:
    """Penicillin as lme4's authors publish it: plate .7169, sample 3.7311, residual .3024."""
    table = penicillin().select(
        dialog="plate", rater="sample", value="diameter", quality=pl.lit("q")
    )
    found = generalizability(table, ["rater"]).components["variance"].to_list()
    assert found == pytest.approx([0.7169, 3.7311, 0.3024], abs=0.0003)


def test_settings_of_one_judge() -> None:
    """Prompt and temperature vary, memory and thought do not."""
    rng = np.random.default_rng(1)
    noise = 0.3 * rng.normal(size=(50, 2, 2, 2))
    item, by_prompt = rng.normal(size=(50, 1, 1, 1)), 0.6 * rng.normal(size=(50, 2, 1, 1))
    values = item + by_prompt + noise
    table = long(values).rename({"judge": "prompt", "prompt": "temperature"})
    found = judge_designs(table.with_columns(judge=pl.lit("a"))).variance
    variances = shares(found, "a")
    assert list(variances) == [
        "item", "prompt", "temperature", "item × prompt", "item × temperature",
        "prompt × temperature", "item × prompt × temperature",
        "repeat within prompt × temperature",
        "item × repeat within prompt × temperature (and the rest)",
    ]  # fmt: skip
    assert variances["item × prompt"] == pytest.approx(0.36, abs=0.12)
    assert variances["item × temperature"] == pytest.approx(0, abs=0.03)
    still = found.filter(pl.col("judge") == "a", pl.col("variance").is_null())
    assert still.select("effect", "reason").rows() == [
        ("memory", "it was not varied"), ("think", "it was not varied")
    ]  # fmt: skip


def test_conditions_do_not_count_as_variance_of_items() -> None:
    """An anchor that lifts everything changes no coefficient; nor does a judge's own setting."""
    x = judged()
    alone = judge_designs(long(x)).designs
    lifted = pl.concat([long(x, condition="a"), long(x + 5, condition="b")])
    assert judge_designs(lifted).designs["relative"].to_list() == pytest.approx(
        alone["relative"].to_list()
    )
    own = long(x).with_columns(temperature=pl.col("judge").str.slice(-1).cast(pl.Float64))
    assert judge_designs(own).designs["relative"].to_list() == pytest.approx(
        alone["relative"].to_list()
    )
    mixed = pl.concat([long(x[:, :1], temperature=0.0), long(x[:, 1:], temperature=1.0)])
    mixed = mixed.with_columns(
        judge=pl.when(pl.col("temperature") == 1.0).then("x" + pl.col("judge")).otherwise("judge")
    )
    assert judge_designs(mixed).designs["relative"].null_count() == 0


def test_missing_answers() -> None:
    table = long(judged(sizes=(30, 3, 2, 2)))
    few = judge_designs(table.slice(1))
    row = few.designs.filter("now").row(0, named=True)
    assert row["n_items"] == 29
    assert row["relative_low"] is not None
    assert "1 of 30 items are left out: an answer is missing" in row["reason"]
    many = judge_designs(table.sample(fraction=0.7, seed=1)).designs.filter("now")
    assert many["relative"].is_not_null().all()
    assert many["relative_low"].null_count() == many.height
    assert "not balanced" in many["reason"][0]


def test_judges_that_share_no_setting() -> None:
    """One judge at two temperatures, the other at a third: no stratum holds both."""
    x = judged()
    parts = [long(x[:, :1], temperature=t) for t in (0.0, 0.7)]
    other = long(x[:, 1:2], temperature=0.3).with_columns(judge=pl.lit("other"))
    found = judge_designs(pl.concat([*parts, other]))
    assert found.designs["relative"].to_list() == [None]
    assert "judges were asked in different ways" in found.designs["reason"][0]
    assert shares(found.variance, "judge00")["item"] > 0


def test_judges_that_guess_are_never_enough(tmp_path: Path) -> None:
    """Items whose means are nearer to each other than chance lets expect: said, not hidden."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20, 2, 2, 2))
    values -= values.mean(axis=(1, 2, 3), keepdims=True)
    table = long(values, rater_kind="llm").with_columns(
        rater=pl.concat_str("judge", "prompt", "repeat")
    )
    columns = {name: pl.lit(None, dtype) for name, dtype in RATINGS.items() if name not in table}
    table = table.with_columns(**columns).with_columns(dialog="item").drop("item")
    found = analyse_study(study_data(table, normalise="none"), draws=Resampling(resamples=20))
    summary = write_study(found, tmp_path, title="Guesses")
    told = next(one.text for one in summary.findings if "tell items apart" in one.text)
    assert told.startswith("Judges do not tell items apart on q, so no number of them is enough")


def test_nothing_that_varies_is_said() -> None:
    found = judge_designs(long(judged()[:, :1, :1, :1]))
    assert found.designs["relative"].to_list() == [None]
    assert "nothing to generalise over" in found.designs["reason"][0]
    assert "asked once, in one way" in found.variance["reason"][0]


def test_an_ask_is_paid_once_however_often_it_stands() -> None:
    """Two items on a screen at .02, in two cells: .01 a rating of an item."""
    table = long(judged(), cost=0.02).with_columns(
        ask=pl.concat_str(
            pl.col("item").str.slice(4).cast(pl.Int64) // 2, "judge", "prompt", "repeat"
        )
    )
    both = pl.concat([table.with_columns(condition=pl.lit(c)) for c in ("a", "b")])
    row = judge_designs(both).designs.filter(ratings=1).row(0, named=True)
    assert row["price_item"] == pytest.approx(0.01)
    assert row["price"] == pytest.approx(0.12)
    unknown = judge_designs(long(judged())).designs.row(0, named=True)
    assert unknown["price"] is None
    assert "no costs are recorded" in unknown["reason"]


def test_levels_of_prompts_are_no_agreement_with_oneself() -> None:
    """A judge that guesses, higher with one prompt: its ratings do not repeat."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 1, 2, 2)) + np.array([0.0, 5.0])[:, None]
    found = own_agreement(long(values))
    assert found.value == pytest.approx(0, abs=0.2)
    assert found.low is not None
    steady = own_agreement(long(np.repeat(judged()[..., :1], 2, axis=3)[:, :1]))
    assert steady.value == pytest.approx(1)
    assert steady.low is None
    assert "perfect" in (steady.reason or "")


def test_a_judge_joins_people() -> None:
    """People who agree by a third; with a copy of two of them, by a half (by mean covariance)."""
    people = pl.DataFrame(
        [
            (f"i{n}", who, float((n + shift) % 5), "q")
            for n in range(200)
            for who, shift in (("a", 0), ("b", 1), ("c", 0))
        ],
        ["item", "rater", "value", "quality"],
        orient="row",
    )
    twin = people.filter(rater="a").drop("rater").with_columns(judge=pl.lit("twin"))
    odd = people.filter(rater="b").drop("rater").with_columns(judge=pl.lit("odd"))
    found = judges_joining(people, pl.concat([twin, odd]))
    icc = found.filter(statistic="ICC(2,1)")
    row = icc.filter(judge="twin", than=PEOPLE_ALONE).row(0, named=True)
    assert (row["other"], row["value"]) == pytest.approx((1 / 3, 1 / 2), abs=0.005)
    assert (row["n_items"], row["n_people"]) == (200, 3)
    beside = icc.filter(judge="odd", than="twin").row(0, named=True)
    assert (beside["value"], beside["other"]) == pytest.approx((1 / 3, 1 / 2), abs=0.005)
    assert found["statistic"].unique().sort().to_list() == ["ICC(2,1)", "alpha_ordinal"]
    labels = judges_joining(people, twin, kinds={"q": "choice"})
    assert labels["statistic"].to_list() == ["alpha_nominal"]
    nobody = judges_joining(people.filter(rater="a"), twin).row(0, named=True)
    assert nobody["change"] is None
    assert "fewer than 2 people" in nobody["reason"]


@dataclass(frozen=True)
class Planted:
    """A model whose numbers hang on what it reads, on the prompt, on itself and on the seed."""

    identity: str
    cost: float
    weighs: bool = False
    prices: tuple[float, float] | None = (1.0, 2.0)

    def tokens(self, text: str) -> int:
        return len(text) // 4

    def ask(
        self,
        said: Sequence[Said],
        *,
        seed: int,
        temperature: float | None,
        schema: Mapping[str, Any] | None,
    ) -> ModelReply:
        assert schema is not None
        text = said[-1].text
        strict = text.startswith("Be strict.")
        screen = text.removeprefix("Be strict.\n")
        told = {
            name: int(
                np.clip(
                    round(
                        3
                        + 1.3 * _drawn(screen, name)
                        + 0.4 * _drawn(screen, name, self.identity)
                        - strict
                        + 0.4 * _drawn(str(seed), name)
                    ),
                    1,
                    5,
                )
            )
            for name in schema["properties"]
        }
        return ModelReply(json.dumps(told), tokens_in=100, tokens_out=9, cost=self.cost)

    def weigh(self, *_: object, **__: object) -> Any:
        raise NotImplementedError


def _drawn(*parts: str) -> float:
    seed = int(sha256("|".join(parts).encode()).hexdigest()[:12], 16)
    return float(np.random.default_rng(seed).normal())


def test_from_the_ledger_to_the_report(tmp_path: Path) -> None:
    items = [
        {"id": f"i{n}", "context": [f"Tea {n}?"], "responses": {"a": f"Yes {n}", "b": f"No {n}"}}
        for n in range(16)
    ]
    kept = {name: TEA[name] for name in ("study", "title", "consent")}
    quality = {"instrument": {"kind": "likert", "points": 5}}
    study = study_of(
        {**kept, "instructions": {"text": "Judge."}, "qualities": {"good": quality}}
        | {"items": {"inline": items}}
    )
    judges = Judges.model_validate(
        {
            "judges": [{"name": name, "agent": "script:x"} for name in ("one", "two")],
            "prompts": {
                "plain": "{instructions}\n{screen}",
                "strict": "Be strict.\n{instructions}\n{screen}",
            },
            "repeats": 2,
        }
    )
    models = {"one": Planted("one", 0.001), "two": Planted("two", 0.003)}
    with Ledger.open(tmp_path / "judges.db", asking=True) as ledger:
        done = judge_study(JudgePlan(study, judges, models), ledger)
        ratings = judge_ratings(study, ledger)
    analysis = analyse_study(study_data(ratings), draws=Resampling(resamples=20))
    summary = write_study(analysis, tmp_path / "out", title="Judged")
    content = json.loads((tmp_path / "out" / "analysis.json").read_text())
    now = next(row for row in content["judge_designs"] if row["now"])
    assert (now["judges"], now["prompts"], now["repeats"]) == (2, 2, 2)
    assert now["price"] == pytest.approx(done.spent.cost)
    assert 0.6 < now["relative"] < 1
    effects = {row["effect"] for row in content["judge_variance"] if row["judge"] == "one"}
    assert {"item", "prompt", "item × prompt", "temperature", "memory", "think"} <= effects
    told = [finding.text for finding in summary.findings]
    first = next(text for text in told if "reach" in text)
    assert first.startswith("On good, ")
    assert "the cheapest design that does" in first
    assert any("Of the variance of one’s ratings, items hold" in text for text in told)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Judges: how steady they are" in page
    assert (tmp_path / "out" / "tables" / "judge_designs.csv").exists()


def test_costs_may_be_text() -> None:
    """As a table of text has them; one that is no number makes the price unknown."""
    text = judge_designs(long(judged(), cost="0.02")).designs
    numbers = judge_designs(long(judged(), cost=0.02)).designs
    assert text["price"].to_list() == pytest.approx(numbers["price"].to_list())
    odd = judge_designs(long(judged(), cost="free")).designs.row(0, named=True)
    assert odd["price"] is None
    assert "no costs are recorded" in odd["reason"]


def test_the_cheapest_design_named_is_the_cheapest(tmp_path: Path) -> None:
    """One rating .5: two are worth .667, three .75, four .8; five would be one too many."""
    rng = np.random.default_rng(0)
    grid = rng.normal(size=(40, 2))
    grid -= grid.mean(axis=0)
    item, noise = np.linalg.qr(grid)[0].T
    values = item[:, None] * 1.2288 + noise[:, None] / np.sqrt(2) * np.array([1.0, -1.0])
    table = long(values[:, None, None, :], rater_kind="llm").with_columns(
        rater=pl.concat_str("judge", "repeat")
    )
    row = judge_designs(table).designs.filter(repeats=4).row(0, named=True)
    assert row["relative"] > 0.8
    columns = {name: pl.lit(None, dtype) for name, dtype in RATINGS.items() if name not in table}
    table = table.with_columns(**columns).with_columns(dialog="item").drop("item")
    found = analyse_study(study_data(table, normalise="none"), draws=Resampling(resamples=20))
    summary = write_study(found, tmp_path, title="Repeats")
    told = next(one.text for one in summary.findings if "the cheapest design that does" in one.text)
    assert "1 judge × 1 prompt × 4 repeats reach 0.80" in told
