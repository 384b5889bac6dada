"""Tag, form, length and place: found where planted, said where not known."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special

from dialens.analysis.bias import Resampling, analyse_study, effects, leanings, study_data
from dialens.analysis.judges import judges_against_people, order_shares, verdicts
from dialens.corpus import RATINGS
from dialens.report.bias import write_study
from dialens.statistics.choices import FIRST, fit_pair_covariates

LIKERT = json.dumps({"kind": "slider", "low": 0, "high": 100})
CHOICE = json.dumps({"kind": "pairwise", "low": 0, "high": 1, "ties": False})
BESIDE = {
    "tag": pl.String, "variant": pl.String, "length": pl.Int64, "pair": pl.String,
    "order_shown": pl.Int64, "place": pl.Int64, "screen": pl.String,
}  # fmt: skip
ENOUGH = Resampling(resamples=60)


def ratings(
    *,
    raters: int = 14,
    items: int = 10,
    tag: float = 0.0,
    length: float = 0.0,
    first: float = 0.0,
    noise: float = 6.0,
    seed: int = 0,
    kind: str = "human",
) -> pl.DataFrame:
    """Two agents, `long` one and a half times as long; each item in both orders."""
    rng = np.random.default_rng(seed)
    good = {(i, a): rng.normal(50, 8) for i in range(items) for a in ("long", "short")}
    size = {i: int(rng.integers(60, 140)) for i in range(items)}
    rows = []
    for r in range(raters):
        level = rng.normal(0, 5)
        for at in range(2 * items):
            item, turn = at % items, at // items
            agents = ["long", "short"] if (item + r + turn) % 2 == 0 else ["short", "long"]
            felt, shared = [], []
            for position, agent in enumerate(agents):
                tagged = (item // 2 + r + (agent == "long")) % 2 == 0
                form = "padded" if (item // 3 + r // 2 + (agent == "long")) % 2 else "plain"
                n = round(size[item] * (1.5 if agent == "long" else 1.0)) + 40 * (form == "padded")
                felt.append(
                    good[item, agent] + level + tag * tagged + length * math.log2(n / 100)
                    + first * (position == 0) + rng.normal(0, noise)
                )  # fmt: skip
                shared.append(
                    {
                        "study": "s", "rater": f"{kind}{r}", "rater_kind": kind, "level": "turn",
                        "system": "s", "agent": agent, "dialog": f"d{item}", "turn": 1,
                        "position": position, "order": at, "tag": "ai" if tagged else "none",
                        "variant": form, "length": n, "pair": f"d{item}",
                        "order_shown": 1 if agents[0] == "long" else 2, "screen": f"rate-{at}",
                    }
                )  # fmt: skip
            won = int(felt[1] > felt[0])
            for position, row in enumerate(shared):
                rows.append(row | {"quality": "good", "scale": LIKERT, "value": felt[position]})
                rows.append(
                    row | {"quality": "better", "scale": CHOICE, "place": won + 1,
                           "value": float(position == won)}
                )  # fmt: skip
    return pl.DataFrame(rows, schema={**RATINGS, **BESIDE})


def one(table: pl.DataFrame, **wanted: str) -> dict[str, object]:
    (row,) = table.filter(**wanted).iter_rows(named=True)
    return row


def test_what_was_put_in_is_found() -> None:
    moved, equal = leanings(study_data(ratings(tag=-8, length=4, first=5, seed=1)))
    tag = one(moved, bias="tag", measure="points")
    assert tag["of"] == "ai against none"
    assert tag["low"] < -8 < tag["high"]
    assert tag["high"] - tag["low"] < 4
    size = one(moved, bias="length", measure="points")
    assert size["low"] < 4 < size["high"]
    assert one(moved, bias="tag", measure="share")["high"] < 0.5
    place = one(moved, bias="first place", quality="better")
    assert place["low"] > 0.5
    rated = one(equal, measure="points")
    # without regard to length the long one has log2(1.5) * 4 = 2.3 points more, about
    assert rated["uncontrolled"] - rated["value"] == pytest.approx(4 * math.log2(1.5), abs=1.0)


def test_flips_are_those_that_one_can_count() -> None:
    table = ratings(first=10, seed=3)
    counted = 0
    for _, part in table.filter(quality="better", value=1.0).group_by("rater", "pair"):
        counted += part["agent"].n_unique() == 2
    moved, _ = leanings(study_data(table))
    flips = one(moved, bias="order", quality="better")
    assert flips["value"] == pytest.approx(counted / 140)
    assert flips["low"] < flips["value"] < flips["high"]
    assert flips["p"] is None
    shown = verdicts(table)
    assert shown.filter(quality="better").height == 280
    # the better rating is a verdict as well, and here the choice follows the ratings
    same = shown.filter(quality="good")["place"] == shown.filter(quality="better")["place"]
    assert same.all()


def test_a_judges_flips_come_from_the_same_rows() -> None:
    table = pl.concat([ratings(first=10, seed=3), ratings(first=10, seed=4, kind="llm", raters=1)])
    named = table.with_columns(item=pl.col("dialog") + pl.col("agent"))
    row = one(judges_against_people(named), quality="better")
    alone = verdicts(named.filter(rater_kind="llm", quality="better"))
    assert row["flip_rate"] == order_shares(alone).flip_rate.value
    assert row["flip_rate_low"] is not None


def test_models_stand_beside_people_and_the_report_says_what_moved_them(tmp_path: Path) -> None:
    table = pl.concat(
        [ratings(raters=10, items=8, tag=-9), ratings(raters=6, items=8, kind="llm", first=9)]
    )
    found = analyse_study(study_data(table), draws=ENOUGH)
    assert set(found.leanings["raters"]) == {"people", "judges"}
    people = one(found.leanings, raters="people", bias="tag", measure="points")
    judges = one(found.leanings, raters="judges", bias="tag", measure="points")
    assert people["high"] < 0
    assert judges["low"] < 0 < judges["high"]
    write_study(found, tmp_path, title="Study")
    told = json.loads((tmp_path / "analysis.json").read_text("utf-8"))
    claims = " ".join(finding["claim"] for finding in told["findings"])
    assert "when it was tagged “ai” instead of “none”" in claims
    assert "Judges changed their verdict on better" in claims
    assert (tmp_path / "tables" / "leanings.csv").exists()


def test_the_model_of_pairs_is_logistic_regression() -> None:
    rng = np.random.default_rng(5)
    n = 400
    first = rng.choice(["a", "b"], n)
    gap = rng.normal(0, 1, n)
    sign = np.where(first == "b", 1.0, -1.0)
    p = special.expit(0.8 * sign + 0.3 + 0.5 * gap)
    table = pl.DataFrame(
        {
            "first": first, "second": np.where(first == "a", "b", "a"),
            "outcome": (rng.random(n) < p).astype(float), "gap": gap,
            "rater": [f"r{i % 20}" for i in range(n)], "item": [f"d{i // 20}" for i in range(n)],
        }
    )  # fmt: skip
    fit = fit_pair_covariates(table, ["gap"])
    x = np.column_stack([sign, np.ones(n), gap])
    y = table["outcome"].to_numpy()

    def penalised(beta: np.ndarray) -> float:
        eta = x @ beta
        w = special.expit(eta) * special.expit(-eta)
        determinant = np.linalg.slogdet((x * w[:, None]).T @ x)[1]
        return float(-(y @ eta - np.logaddexp(0, eta).sum() + determinant / 2))

    wanted = optimize.minimize(penalised, np.zeros(3), tol=1e-10).x
    seen = [fit.difference("b", "a").value, fit.effect(FIRST).value, fit.effect("gap").value]
    assert seen == pytest.approx(wanted, abs=1e-4)
    assert fit.difference("a", "b").value == pytest.approx(-seen[0])


def test_what_goes_with_the_agents_is_not_told_apart() -> None:
    rows = [("a", "b", float(i % 3 > 0), 1.0, f"r{i % 6}", f"d{i}") for i in range(30)]
    rows += [("b", "a", float(i % 3 == 0), -1.0, f"r{i % 6}", f"d{i}") for i in range(30)]
    names = ["first", "second", "outcome", "gap", "rater", "item"]
    fit = fit_pair_covariates(pl.DataFrame(rows, names, orient="row"), ["gap"])
    assert fit.effect("gap").value is None
    assert "goes with the candidates" in str(fit.effect("gap").reason)


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_ratings_without_variance_are_not_tested(spread: float, tmp_path: Path) -> None:
    """Six raters who always give one number: no effect, no interval of 0 to 0, exact means."""
    rows = [
        {
            "rater": f"r{r}", "dialog": f"d{i}", "agent": agent, "quality": "q", "order": i,
            "value": 55.0 + spread * r, "factors": json.dumps({"anchor": ("none", "both")[r % 2]}),
        }
        for r in range(6) for i in range(8) for agent in "ab"
    ]  # fmt: skip
    found = analyse_study(study_data(pl.DataFrame(rows, schema=RATINGS)), draws=ENOUGH)
    assert found.people.agents["mean"].to_list() == [55 + 2.5 * spread] * 2
    assert found.people.agents["low"].null_count() == 2
    assert found.people.agent_differences["p"].null_count() == 1
    assert "no variance" in found.people.agent_differences["reason"][0]
    assert found.effects["p"].null_count() == found.effects.height
    summary = write_study(found, tmp_path, title="Study")
    assert "no effect of the design could be tested" in summary.scope
    assert "no factor of the design has two levels" not in summary.scope
    assert not [f for f in summary.findings if "0.0 to 0.0" in f.text or "p < 0.001" in f.text]


def test_few_raters_are_told_of_no_test_and_of_nothing_else(tmp_path: Path) -> None:
    """Two raters a condition: the difference has no test, and no sentence says “no clear”."""
    rng = np.random.default_rng(1)
    rows = [
        {
            "rater": f"r{r}", "dialog": f"d{i}", "agent": "a", "quality": "q", "order": i,
            "value": 40.0 + 30 * (r % 2) + rng.normal(0, 5),
            "factors": json.dumps({"anchor": ("none", "both")[r % 2]}),
        }
        for r in range(4) for i in range(8)
    ]  # fmt: skip
    found = analyse_study(study_data(pl.DataFrame(rows, schema=RATINGS)), draws=ENOUGH)
    summary = write_study(found, tmp_path, title="Study")
    told = json.loads((tmp_path / "analysis.json").read_text("utf-8"))["findings"]
    design = [finding for finding in told if finding["topic"] == "design"]
    assert len(design) == 1
    assert design[0]["claim"].startswith("Not tested: anchor")
    assert "fewer than 5 participants" in design[0]["numbers"]
    assert "no effect of the design could be tested: no interval" in summary.scope


def test_numbers_of_their_own_for_each_quality_are_averaged_as_ratings_are() -> None:
    """Shown 20 or 60 on one quality and 30 or 90 on another, ratings go a quarter of the way."""
    rng = np.random.default_rng(2)
    rows = []
    for r in range(12):
        for i in range(10):
            high = (r + i) % 2
            for quality, numbers in (("tone", (20, 60)), ("style", (30, 90))):
                shown = numbers[high]
                rows.append(
                    {
                        "rater": f"r{r}", "dialog": f"d{i}", "agent": "a", "quality": quality,
                        "order": i, "anchor": str(shown), "scale": LIKERT,
                        "value": 0.75 * 50 + 0.25 * shown + rng.normal(0, 2),
                        "factors": json.dumps({"anchor": "numerical"}),
                    }
                )  # fmt: skip
    found = effects(study_data(pl.DataFrame(rows, schema=RATINGS)))
    index = one(found, effect="anchoring index")
    assert index["quality"] == "all"
    assert index["value"] == pytest.approx(0.25, abs=0.02)
    assert index["low"] < 0.25 < index["high"]
