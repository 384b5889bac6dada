"""A model against ratings: pairs from a corpus, coefficients against scipy, plain baselines."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from scipy import stats
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli.engagement._evaluate import evaluate
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.engagement import RatedReplies, open_scorer, reply_pairs, turns_read
from dialens.statistics import ClusterDraws
from dialens.statistics.correlation import partial_correlation
from tests.engagement.red import WORDS, tiny_encoder

app = typer.Typer()
app.command("evaluate")(evaluate)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model that reads three turns, with another task beside engagement."""
    import torch

    from dialens.models.training import export, load_encoder, save_encoder

    folder = tmp_path_factory.mktemp("model")
    source = tiny_encoder(folder / "encoder")
    torch.manual_seed(2)
    encoder = load_encoder(source, 2)
    torch.nn.init.normal_(encoder.head.weight, std=1.0)
    save_encoder(encoder, source)
    tasks = {
        "toxicity": {"labels": ["toxic"], "pair": True},
        "engagement": {"labels": ["engaging"], "pair": True},
    }
    card = {"name": "tiny", "tasks": tasks, "context_turns": 3}
    heads = {"toxicity": slice(0, 1), "engagement": slice(1, 2)}
    export(source, folder / "tiny", heads, card)
    return folder / "tiny"


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict]]:
    """Sixty replies, each in a context of its own, rated for two qualities."""
    rng = np.random.default_rng(0)
    units = []
    for unit in range(60):
        words = [str(word) for word in rng.choice(WORDS, int(rng.integers(2, 15)))]
        mark = " ?" if rng.random() < 0.4 else ""
        liked = len(words) / 5 + rng.normal(0, 0.7, 3) + 1.5 * bool(mark)
        units.append(
            {
                "dataset": "made",
                "unit_id": f"u{unit:02}",
                "level": "turn",
                "system": "bot",
                "context": [
                    {"speaker": "A", "text": " ".join(rng.choice(WORDS, 6))} for _ in range(4)
                ],
                "response": " ".join(words) + mark,
                "ratings": {"Engaging": liked.round(3).tolist(), "Fluent": [1.0, 2.0, 3.0 + unit]},
                "raters": ["r1", "r2", "r3"],
            }
        )
    file = tmp_path_factory.mktemp("rated") / "made.jsonl"
    file.write_text("".join(json.dumps(unit) + "\n" for unit in units))
    return file, units


def test_coefficients_agree_with_scipy(model, rated, tmp_path):
    file, units = rated
    shown = run(model, file, "-o", tmp_path / "out", "--resamples", 2000)
    assert "question" in shown.output
    told = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert told["context_turns"] == 3
    rows = {row["scorer"]: row for row in told["rows"]}
    assert set(rows) == {"model", "specificity", "question", "random"}
    assert {row["quality"] for row in told["rows"]} == {"Engaging"}
    mean = np.array([np.mean(unit["ratings"]["Engaging"]) for unit in units])
    pairs = [
        ("\n".join(turn["text"] for turn in unit["context"][-3:]), unit["response"])
        for unit in units
    ]
    scores = open_scorer(model).score(pairs)
    asks = np.array([float("?" in unit["response"]) for unit in units])
    for name, values in (("model", scores), ("question", asks)):
        row = rows[name]
        assert row["n"] == 60
        pearson, spearman = row["pearson"], row["spearman"]
        assert pearson["value"] == pytest.approx(stats.pearsonr(values, mean)[0], abs=1e-6)
        assert spearman["value"] == pytest.approx(stats.spearmanr(values, mean)[0], abs=1e-6)
        # The interval of another method on the same data: near, not equal.
        bca = stats.bootstrap(
            (values, mean),
            lambda a, b: stats.pearsonr(a, b)[0],
            paired=True,
            vectorized=False,
            n_resamples=999,
            rng=np.random.default_rng(1),
        ).confidence_interval
        assert (pearson["low"], pearson["high"]) == pytest.approx(tuple(bca), abs=0.06)
    lengths = np.log1p([len(unit["response"].replace(" ?", "").split()) for unit in units])
    left = asks - np.polyval(np.polyfit(lengths, asks, 1), lengths)
    right = mean - np.polyval(np.polyfit(lengths, mean, 1), lengths)
    given = rows["question"]["pearson_given_log_length"]
    assert given["value"] == pytest.approx(stats.pearsonr(left, right)[0], abs=1e-9)
    assert given["low"] < given["value"] < given["high"]
    table = pl.read_csv(tmp_path / "out" / "evaluation.csv")
    assert table["pearson"][0] == pytest.approx(rows["model"]["pearson"]["value"])


def test_several_corpora_and_a_quality_by_name(model, rated, tmp_path):
    other = tmp_path / "other.jsonl"
    shutil.copy(rated[0], other)
    run(model, rated[0], other, "-q", "fluent", "-o", tmp_path / "out")
    rows = json.loads((tmp_path / "out" / "evaluation.json").read_text())["rows"]
    assert [(row["corpus"], row["quality"]) for row in rows[::4]] == [
        ("made", "Fluent"),
        ("other", "Fluent"),
    ]
    assert rows[0]["pearson"] == rows[4]["pearson"]


def test_the_same_seed_gives_the_same_file(model, rated, tmp_path):
    for name in ("one", "two"):
        run(model, rated[0], "-o", tmp_path / name, "--seed", 3)
    one, two = ((tmp_path / name / "evaluation.json").read_bytes() for name in ("one", "two"))
    assert one == two


def test_what_cannot_be_evaluated(model, rated, tmp_path):
    with pytest.raises(DialensError, match="no model 'nothing'"):
        run("nothing", rated[0])
    with pytest.raises(DialensError, match=r"made\.jsonl: Nobody rated 'warmth'"):
        run(model, rated[0], "-q", "warmth")
    plain = tmp_path / "plain.jsonl"
    unit = {**rated[1][0], "ratings": {"Fluent": [1, 2]}, "raters": ["a", "b"]}
    plain.write_text(json.dumps(unit) + "\n")
    with pytest.raises(DialensError, match=r"no turn was rated for engagement.*Fluent"):
        run(model, plain)


def test_a_card_without_turns_means_two(model, tmp_path):
    assert turns_read(open_scorer(model)) == 3
    folder = tmp_path / "model"
    shutil.copytree(model, folder)
    card = json.loads((folder / "card.json").read_text())
    del card["context_turns"]
    (folder / "card.json").write_text(json.dumps(card))
    assert turns_read(open_scorer(folder)) == 2


def talks() -> Corpus:
    said = [Turn("U", "partner", "a"), Turn("B", "agent", "b"), Turn("U", "partner", "c")]
    said.append(Turn("B", "agent", "d"))
    return Corpus.of([Dialogue("s", "bot", name, said) for name in ("x", "y")])


def test_pairs_follow_the_order_of_units():
    units = pl.DataFrame({"dialog": ["y", "x", "x"], "turn": [3, 0, 1]})
    assert reply_pairs(talks(), units, 2) == [("b\nc", "d"), ("", "a"), ("a", "b")]
    assert reply_pairs(talks(), units[:1], 9) == [("a\nb\nc", "d")]
    assert reply_pairs(talks(), units[:1], 0) == [("", "d")]
    with pytest.raises(DialensError, match="Turn 7 of dialogue 'x'"):
        reply_pairs(talks(), pl.DataFrame({"dialog": ["x"], "turn": [7]}), 1)


def test_plain_correlations_agree_with_scipy():
    rng = np.random.default_rng(4)
    scores, mean = rng.random(30), np.round(rng.random(30), 1)
    found = RatedReplies("x", [("a", "b")] * 30, mean).correlations(scores)
    assert found["pearson"] == pytest.approx(stats.pearsonr(scores, mean)[0])
    assert found["spearman"] == pytest.approx(stats.spearmanr(scores, mean)[0])


def test_partial_correlation_has_an_interval_that_covers():
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(100):
        given = rng.normal(size=80)
        x, y = rng.normal(size=80) + given, rng.normal(size=80) - 2 * given
        draws = ClusterDraws.of(np.arange(80), 400, rng)
        found = partial_correlation(x, y, given, draws)
        hits += found.low < 0 < found.high
    assert hits >= 88  # of 100 at 95 %: fewer has a chance below one in a thousand


def test_partial_correlation_says_why_there_is_none():
    x = np.arange(20.0)
    rng = np.random.default_rng(6)
    draws = ClusterDraws.of(np.arange(20), 200, rng)
    y, given = rng.normal(size=20), rng.normal(size=20)
    assert partial_correlation(np.ones(20), y, given, draws).reason == "no variance"
    assert "nothing is left" in partial_correlation(x, y, 3 - 2 * x, draws).reason
    few = np.where(x < 4, x, np.nan)
    assert "only 4 units" in partial_correlation(few, y, given, draws).reason
    clustered = ClusterDraws.of(np.repeat(np.arange(4), 5), 200, rng)
    found = partial_correlation(x, y, given, clustered)
    assert found.low is None
    assert "only 4 clusters" in found.reason
