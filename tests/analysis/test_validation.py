"""Metrics against ratings, from records to tables; ceilings against intraclass correlations."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dialens.analysis.validation import (
    ALL_PSYCHOLOGICAL,
    Validation,
    beside,
    human_ratings,
    rated_units,
    validate,
)
from dialens.analysis.validation._ceiling import ceiling, mean_ratings
from dialens.analysis.validation._groups import partition
from dialens.analysis.validation._matrix import metric_matrix
from dialens.base import DialensError
from dialens.corpus import Corpus, read
from dialens.metrics import Scores, metric, metrics, score, turn_mean
from dialens.statistics import ClusterDraws
from dialens.statistics.agreement import RatingMatrix, icc


@metric("number", meaning="The first number said", family="emotion")
def number(resources):
    def value(batch):
        return batch.turns["text"].str.split(" ").list.first().cast(float, strict=False).to_numpy()

    return turn_mean("number", value, missing="no number")


@metric("other", meaning="The second number said", family="surface")
def other(resources):
    def value(batch):
        return batch.turns["text"].str.split(" ").list.get(1).cast(float, strict=False).to_numpy()

    return turn_mean("other", value)


def unit(name: str, said: str, ratings: list[float], **more: Any) -> dict[str, Any]:
    return {
        "dataset": "made",
        "unit_id": name,
        "level": "turn",
        "system": "bot",
        "context": [{"speaker": "A", "text": f"context {name}"}],
        "response": said,
        "ratings": {"good": ratings},
        "raters": [f"r{k}" for k in range(len(ratings))],
        "scale": {"good": [1, 7]},
        **more,
    }


def opened(tmp_path: Path, records: list[dict[str, Any]]) -> tuple[Corpus, Scores]:
    path = tmp_path / "made.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    corpus = read(path)
    return corpus, score(corpus, metrics=[number, other])


def made_study(seed: int = 0, contexts: int = 20, answers: int = 4) -> list[dict[str, Any]]:
    """Answers to contexts; ratings follow the first number, and the second a little."""
    rng = np.random.default_rng(seed)
    records = []
    for c in range(contexts):
        quirk = rng.normal()
        for a in range(answers):
            x, z = rng.normal(size=2).round(6)
            truth = x + 0.5 * z + quirk
            ratings = (truth + rng.normal(0, 0.7, 3)).round(6).tolist()
            records.append(
                unit(f"u{c}-{a}", f"{x} {z}", ratings, dialog_id=f"c{c}", system=f"bot{a}")
            )
    return records


def test_correlations_by_hand(tmp_path: Path) -> None:
    records = made_study()
    corpus, scores = opened(tmp_path, records)
    made = validate(corpus, scores, levels=["turn"], resamples=300)
    pooled = made.correlations.filter(pl.col("metric") == "number", pl.col("scope") == "pooled")
    row = pooled.row(0, named=True)
    x = [float(str(record["response"]).split()[0]) for record in records]
    y = [np.mean(record["ratings"]["good"]) for record in records]
    assert row["pearson"] == pytest.approx(stats.pearsonr(x, y).statistic)
    assert row["spearman"] == pytest.approx(stats.spearmanr(x, y).statistic)
    assert row["kendall"] == pytest.approx(stats.kendalltau(x, y).statistic)
    assert (row["n"], row["n_missing"], row["n_clusters"]) == (80, 0, 20)
    assert row["pearson_corrected"] == pytest.approx(row["pearson"] / np.sqrt(row["ceiling"]))
    assert row["pearson_low"] < row["pearson"] < row["pearson_high"]
    assert row["pearson_corrected_low"] < row["pearson_corrected"] < row["pearson_corrected_high"]


def test_source_dialogues_are_clusters(tmp_path: Path) -> None:
    corpus, scores = opened(tmp_path, made_study())
    units = rated_units(human_ratings(corpus), corpus, scores, "turn")
    assert len(set(units.clusters)) == 20
    by_cluster = units.frame.with_columns(cluster=units.clusters)
    named = by_cluster["dialog"].str.split("-").list.first()
    assert by_cluster.with_columns(named).select("dialog", "cluster").n_unique() == 20


def test_shared_contexts_are_clusters_where_the_source_names_no_dialogue(tmp_path: Path) -> None:
    records = made_study()
    for record in records:
        context = record.pop("dialog_id")
        record["context"] = [{"speaker": "A", "text": f"what of {context}?"}]
    corpus, scores = opened(tmp_path, records)
    units = rated_units(human_ratings(corpus), corpus, scores, "turn")
    assert len(set(units.clusters)) == 20
    assert units.clustered_by == "contexts"


def test_missing_values_are_counted_with_their_reasons(tmp_path: Path) -> None:
    records = made_study()
    for record in records[:7]:
        record["response"] = f"none {str(record['response']).split()[1]}"
    corpus, scores = opened(tmp_path, records)
    row = validate(corpus, scores, levels=["turn"], resamples=200).correlations.row(0, named=True)
    assert (row["metric"], row["n"], row["n_missing"]) == ("number", 73, 7)
    assert row["missing"] == "no number (7)"


def test_families_are_whole_tables(tmp_path: Path) -> None:
    corpus, scores = opened(tmp_path, made_study())
    made = validate(corpus, scores, resamples=200)
    for table, column in (
        (made.correlations.filter("headline"), "pearson_p"),
        (made.correlations.filter("headline"), "spearman_p"),
        (made.correlations.filter(~pl.col("headline")), "pearson_p"),
        (made.differences, "p"),
        (made.increments, "p"),
        (made.increments, "cv_p"),
    ):
        p = table[column].drop_nulls().to_numpy()
        wanted = stats.false_discovery_control(p)
        assert table[f"{column}_adjusted"].drop_nulls().to_numpy() == pytest.approx(wanted)
    leading = made.correlations.filter("headline")
    assert set(leading["family"].drop_nulls()) == {leading["pearson_p"].drop_nulls().len()}


def test_agents_are_rated_by_the_mean_of_their_units(tmp_path: Path) -> None:
    corpus, scores = opened(tmp_path, made_study(answers=4))
    made = validate(corpus, scores, resamples=200)
    agents = made.correlations.filter(pl.col("level") == "agent")
    assert agents["n"].to_list() == [4, 4]
    assert set(agents["rated_at"]) == {"turn"}
    assert any("only 4 agents" in note for note in made.notes)


def test_within_pooled_and_between_agents_by_hand(tmp_path: Path) -> None:
    records = made_study()
    agents = np.array([int(str(record["system"])[-1]) for record in records])
    x = np.array([float(str(record["response"]).split()[0]) for record in records])
    y = np.array([np.mean(record["ratings"]["good"]) for record in records])
    corpus, scores = opened(tmp_path, records)
    made = validate(corpus, scores, levels=["turn"], resamples=200)
    rows = made.correlations.filter(pl.col("metric") == "number")
    found = dict(rows.select("scope", "pearson").iter_rows())
    means = np.array([[v[agents == k].mean() for k in range(4)] for v in (x, y)])
    rest = [v - m[agents] for v, m in zip((x, y), means, strict=True)]
    assert found["within"] == pytest.approx(stats.pearsonr(*rest).statistic)
    assert found["pooled"] == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found["between"] == pytest.approx(stats.pearsonr(*means).statistic)
    assert rows.filter("headline")["scope"].to_list() == ["within"]


def test_a_metric_that_tells_agents_apart_but_not_replies_is_found_out(tmp_path: Path) -> None:
    """Bots differ in both; within a bot the second number has nothing to do with the rating."""
    rng = np.random.default_rng(5)
    records = []
    for c in range(40):
        for a in range(4):
            x, z = rng.normal([0, 2 * a]).round(6)
            ratings = (2 * a + x + rng.normal(0, 0.3, 3)).round(6).tolist()
            records.append(
                unit(f"u{c}-{a}", f"{x} {z}", ratings, dialog_id=f"c{c}", system=f"b{a}")
            )
    made = validate(*opened(tmp_path, records), levels=["turn"], resamples=200)
    row = beside(made.correlations).filter(pl.col("metric") == "other").row(0, named=True)
    assert row["parted"]
    assert row["pooled"] > 0.6
    assert abs(row["within"]) < 0.2
    assert row["pearson_p_adjusted"] > 0.01
    assert made.best["metric"].to_list() == ["number"]


def test_references_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    records = made_study()
    for record in records:
        if record["system"] == "bot3":
            record["system"] = "New Human Generated"
    corpus, scores = opened(tmp_path, records)
    without = validate(corpus, scores, levels=["turn"], resamples=200)
    everyone = validate(corpus, scores, levels=["turn"], resamples=200, references=True)
    assert without.references == ("New Human Generated",)
    assert any("New Human Generated" in note for note in without.notes)
    assert (without.units[0]["units"], everyone.units[0]["units"]) == (60, 80)
    assert everyone.references == ()


def test_one_agent_has_no_within(tmp_path: Path) -> None:
    records = made_study()
    for record in records:
        record["system"] = "bot"
    made = validate(*opened(tmp_path, records), resamples=200)
    assert set(made.correlations["scope"]) == {"pooled"}
    assert made.correlations["headline"].all()
    assert set(made.accuracies["system_reason"]) == {"only 1 agent to put in order"}


def test_accuracy_over_agents_and_answers_by_hand(tmp_path: Path) -> None:
    """Answers to one context: pairs with the same sign of both differences, no ties."""
    records = made_study(contexts=12, answers=3)
    x = np.array([float(str(record["response"]).split()[0]) for record in records]).reshape(12, 3)
    y = np.array([np.mean(record["ratings"]["good"]) for record in records]).reshape(12, 3)
    made = validate(*opened(tmp_path, records), levels=["turn"], resamples=200)
    row = made.accuracies.filter(pl.col("metric") == "number").row(0, named=True)
    pairs = [(0, 1), (0, 2), (1, 2)]
    same = [[(x[c, i] > x[c, j]) == (y[c, i] > y[c, j]) for i, j in pairs] for c in range(12)]
    assert (row["segment_accuracy"], row["epsilon"]) == (pytest.approx(np.mean(same)), 0)
    mx, my = x.mean(axis=0), y.mean(axis=0)
    agents = np.mean([(mx[i] > mx[j]) == (my[i] > my[j]) for i, j in pairs])
    assert (row["system_accuracy"], row["system_pairs"]) == (pytest.approx(agents), 3)


def test_questions_and_understandable_are_no_certainty(shared_data: Path) -> None:
    """USR: no question was rated below two thirds. Permutation within clusters in R gives .021."""
    corpus = read(shared_data / "human_judgements" / "usr_personachat.jsonl.gz")
    scores = score(corpus, metrics=["question"])
    made = validate(
        corpus,
        scores,
        levels=["turn"],
        qualities=["Understandable"],
        resamples=200,
        references=True,
    )
    for row in made.correlations.filter(pl.col("scope") != "between").iter_rows(named=True):
        assert row["pearson_p"] == pytest.approx(0.023, abs=0.012)


def test_the_same_seed_gives_the_same_numbers(tmp_path: Path) -> None:
    corpus, scores = opened(tmp_path, made_study())
    a, b, c = (validate(corpus, scores, resamples=200, seed=seed) for seed in (1, 1, 2))
    assert a.to_dict() == b.to_dict()
    assert a.correlations["pearson"].equals(c.correlations["pearson"])
    assert not a.correlations["pearson_low"].equals(c.correlations["pearson_low"])


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    corpus, scores = opened(tmp_path, made_study())
    with pytest.raises(DialensError, match=r"Nobody rated 'bad'.*good"):
        validate(corpus, scores, qualities=["bad"])
    with pytest.raises(DialensError, match=r"level 'system'.*turn, agent"):
        validate(corpus, scores, levels=["system"])
    with pytest.raises(DialensError, match=r"no ratings by llm"):
        validate(corpus, scores, raters=["llm"])
    other_corpus, _ = opened(tmp_path, [unit("elsewhere", "1 2", [1, 2])])
    with pytest.raises(DialensError, match="not of this corpus"):
        validate(other_corpus, scores, levels=["turn"])


def test_one_rating_a_unit_has_no_ceiling_but_everything_else(tmp_path: Path) -> None:
    records = made_study()
    for record in records:
        record["ratings"] = {"good": record["ratings"]["good"][0]}
        record["raters"] = None
    corpus, scores = opened(tmp_path, records)
    row = validate(corpus, scores, levels=["turn"], resamples=200).correlations.row(0, named=True)
    assert row["ceiling"] is None
    assert row["pearson_corrected"] is None
    assert row["pearson_low"] is not None


def test_ratings_on_two_scales_are_two_judgements(tmp_path: Path) -> None:
    records = made_study()
    for record in records[::2]:
        record |= {"scale": {"good": [1, 100]}, "extra": {"condition": "slider"}}
    for record in records[1::2]:
        record |= {"extra": {"condition": "buttons"}}
    corpus, scores = opened(tmp_path, records)
    made = validate(corpus, scores, levels=["turn"], resamples=200)
    assert set(made.correlations["quality"]) == {"good [slider]", "good [buttons]"}
    assert made.correlations.filter(pl.col("scope") == "pooled")["n"].to_list() == [40] * 4


def ratings_table(values: np.ndarray, raters: list[list[str]] | None) -> pl.DataFrame:
    rows = [
        {"unit": i, "rater": None if raters is None else raters[i][j], "value": value}
        for i, row in enumerate(values)
        for j, value in enumerate(row)
    ]
    return pl.DataFrame(rows, schema={"unit": pl.Int64, "rater": pl.String, "value": pl.Float64})


def test_the_ceiling_of_crossed_and_of_nested_raters_is_an_icc() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 1)) + 2 * rng.normal(size=(1, 4)) + rng.normal(size=(60, 4))
    forms = icc(RatingMatrix.of_array(values))
    same = [[f"r{j}" for j in range(4)] for _ in range(60)]
    own = [[f"r{i}-{j}" for j in range(4)] for i in range(60)]
    crossed = mean_ratings(ratings_table(values, same), 60).reliability
    nested = mean_ratings(ratings_table(values, own), 60).reliability
    unknown = mean_ratings(ratings_table(values, None), 60).reliability
    assert crossed == pytest.approx(forms["ICC(3,k)"].value)
    assert nested == pytest.approx(forms["ICC(1,k)"].value)
    assert unknown == pytest.approx(forms["ICC(1,k)"].value)


def test_reliability_is_how_well_two_panels_agree() -> None:
    """A crowd: 3 of 30 raters a unit. The reliability predicts r with 3 new ratings each."""
    rng = np.random.default_rng(1)
    units = 3000
    truth, severity = rng.normal(size=units), rng.normal(size=30)

    def panel() -> tuple[np.ndarray, list[list[str]]]:
        who = np.array([rng.choice(30, 3, replace=False) for _ in range(units)])
        values = truth[:, None] + severity[who] + rng.normal(size=(units, 3))
        return values, [[f"r{r}" for r in row] for row in who]

    values, who = panel()
    again, _ = panel()
    found = mean_ratings(ratings_table(values, who), units).reliability
    assert found == pytest.approx(
        np.corrcoef(values.mean(axis=1), again.mean(axis=1))[0, 1], abs=0.04
    )


def test_a_ceiling_has_an_interval() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(80, 1)) + rng.normal(size=(80, 3))
    ratings = mean_ratings(ratings_table(values, None), 80)
    made = ceiling(ratings, ClusterDraws.of(np.arange(80), 1000, rng))
    one = made.estimate
    assert one.low < one.value < one.high < 1
    analytic = icc(RatingMatrix.of_array(values))["ICC(1,k)"]
    assert one.low == pytest.approx(analytic.low, abs=0.06)
    assert one.high == pytest.approx(analytic.high, abs=0.06)
    assert made.highest == pytest.approx(np.sqrt(one.value))


def test_groups_by_name_by_family_and_by_default() -> None:
    names = ["emotional_entropy", "joy_share", "language_style_matching", "length", "question"]
    scored = {name: metrics()[name] for name in names}
    assert partition(scored).psychological == ("emotional_entropy", "language_style_matching")
    assert partition(scored).automatic == ("length", "question")
    chosen = partition(scored, psychological=["emotion"], automatic=["question"])
    assert chosen.psychological == ("emotional_entropy", "joy_share")
    assert chosen.automatic == ("question",)
    with pytest.raises(DialensError, match="cannot be both"):
        partition(scored, psychological=["length"], automatic=["length"])
    with pytest.raises(DialensError, match="--automatic names 'bleu'"):
        partition(scored, automatic=["bleu"])


def test_the_matrix_is_numpys_and_every_metric_hangs_in_the_tree() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(60, 5)) + rng.normal(size=(60, 1))
    values[:9, 2] = np.nan
    names = list("abcde")
    made = metric_matrix(np.column_stack([values, np.ones(60)]), [*names, "flat"], "turn")
    assert made is not None
    assert made.left_out == {"flat": "no variance: all units have the same value"}
    for i, a in enumerate(made.metrics):
        for j, b in enumerate(made.metrics):
            pair = values[:, [names.index(a), names.index(b)]]
            pair = pair[np.isfinite(pair).all(axis=1)]
            assert made.r[i, j] == pytest.approx(np.asarray(np.corrcoef(pair.T))[0, 1])
            assert made.n[i, j] == len(pair)
    assert len(made.branches) == 4
    assert set(made.branches[-1].members) == set(names)
    heights = [branch.height for branch in made.branches]
    assert heights == sorted(heights)


def published(shared_data: Path, name: str) -> Validation:
    corpus = read(shared_data / "human_judgements" / f"{name}.jsonl.gz")
    scores = score(corpus, metrics=["emotional_entropy", "language_style_matching", "length"])
    return validate(corpus, scores, levels=["turn"], resamples=200, references=True)


@pytest.mark.parametrize(
    ("name", "quality", "n", "clusters", "r2"),
    [
        ("usr_personachat", "Overall", 300, 60, 0.019),
        ("dailydialog_zhao", "appropriateness", 900, 100, 0.013),
    ],
)
def test_style_matching_explains_as_much_as_published(
    shared_data: Path, name: str, quality: str, n: int, clusters: int, r2: float
) -> None:
    """Giorgi et al. 2023, Tables 16 and 17, column P of language style matching."""
    made = published(shared_data, name)
    row = made.increments.filter(
        pl.col("quality") == quality,
        pl.col("psychological") == "language_style_matching",
    ).row(0, named=True)
    assert (row["n"], row["n_clusters"]) == (n, clusters)
    assert row["r2_p"] == pytest.approx(r2, abs=0.008)
    assert ALL_PSYCHOLOGICAL in made.increments["psychological"].to_list()
