"""MAUVE against the authors' package, which is GPL and so an oracle here and nothing more."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mauve.compute_mauve import compute_mauve
from mauve.utils import featurize_tokens_from_model
from transformers import AutoModel, AutoTokenizer

from dialens.base import DialensError
from dialens.metrics import ScorerContext, Unit
from dialens.metrics.families import _bert_score as bert_score
from dialens.metrics.families import _token_encoder as token_encoder
from dialens.metrics.families._frontier import clustered, histograms, mauve_of, reduced
from dialens.metrics.families._mauve import FAMILY, MauveScorer, Settings
from dialens.metrics.families._token_encoder import SideRows
from dialens.metrics.families._weights import load_model
from tests.metrics.automatic import checkpoints
from tests.metrics.automatic.checkpoints import SENTENCES
from tests.metrics.automatic.test_bert_score import real_encoders


class Given:
    """Features that are there already."""

    signature = "given"

    def embed(self, texts, advance):
        raise NotImplementedError


def blobs(seed: int, shares: list[float], n: int = 400, width: int = 12) -> np.ndarray:
    """Points around well-separated centres, in these shares."""
    dice = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(0, 3, (len(shares), width))
    counts = (np.array(shares) * n).astype(int)
    return np.concatenate(
        [
            centre + dice.normal(0, 0.1, (k, width))
            for centre, k in zip(centres, counts, strict=True)
        ]
    )


def theirs(p: np.ndarray, q: np.ndarray, **options: Any):
    return compute_mauve(p_features=p, q_features=q, kmeans_num_redo=5, **options)


@pytest.mark.parametrize("gap", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("buckets", [2, 15])
def test_the_same_histograms_give_the_same_number(gap: float, buckets: int):
    dice = np.random.default_rng(int(gap * 10))
    p, q = dice.normal(0, 1, (200, 6)), dice.normal(gap, 1, (150, 6))
    for scale in (5, 1):
        wanted = theirs(p, q, num_buckets=buckets, mauve_scaling_factor=scale)
        got = mauve_of(wanted.p_hist, wanted.q_hist, scale=scale)
        assert got == pytest.approx(wanted.mauve, abs=1e-6)


def test_identical_and_disjoint():
    same = np.array([0.2, 0.3, 0.5])
    assert mauve_of(same, same) == pytest.approx(1.0, abs=1e-9)
    # By hand for disjoint histograms: KL(q‖r) = −log(1−w), KL(p‖r) = −log w, so that the curve is
    # x = (1−w)⁵, y = w⁵ and its area ∫ y dx = 5·B(6, 5) = 5·5!·4!/10!.
    apart = mauve_of(np.array([1.0, 0.0]), np.array([0.0, 1.0]), mixtures=20_001)
    assert apart == pytest.approx(5 * 120 * 24 / 3_628_800, abs=1e-6)


def test_our_clusters_on_clear_groups_give_the_authors_number():
    p, q = blobs(1, [0.4, 0.3, 0.2, 0.1]), blobs(2, [0.1, 0.2, 0.3, 0.4])
    wanted = mauve_of(np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4]))
    got = MauveScorer(Given(), Settings(buckets=4)).compare(p, q)
    assert got.tolist() == pytest.approx([wanted], abs=1e-9)
    assert theirs(p, q, num_buckets=4).mauve == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("gap", [0.0, 0.5, 1.5])
def test_our_clusters_on_a_cloud_come_close(gap: float):
    dice = np.random.default_rng(3)
    p, q = dice.normal(0, 1, (600, 8)), dice.normal([gap] + [0] * 7, 1, (600, 8))
    got = MauveScorer(Given(), Settings()).compare(p, q)[0]
    others = [theirs(p, q, seed=seed).mauve for seed in range(3)]
    ours = [MauveScorer(Given(), Settings(seed=seed)).compare(p, q)[0] for seed in range(3)]
    assert got == pytest.approx(np.mean(others), abs=0.06)
    assert np.mean(ours) == pytest.approx(np.mean(others), abs=0.04)


def test_principal_components_equal_scikit_learn():
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import normalize

    data = np.random.default_rng(0).normal(0, 1, (90, 10)) * np.arange(1, 11)
    made = reduced(data)
    judge = PCA().fit(normalize(data))
    kept = int(np.argmax(np.cumsum(judge.explained_variance_ratio_) >= 0.9)) + 1
    assert made.shape == (90, kept)
    wanted = judge.transform(normalize(data))[:, :kept]
    assert np.abs(np.abs(made) - np.abs(wanted)).max() < 1e-9  # the sign of an axis is free


def test_clusters_are_as_tight_as_scikit_learns():
    from sklearn.cluster import KMeans

    data = np.random.default_rng(1).normal(0, 1, (500, 5))
    labels = clustered(data, 20, seed=4)
    assert set(labels.tolist()) == set(range(20))
    ours = sum(((data[labels == k] - data[labels == k].mean(0)) ** 2).sum() for k in range(20))
    judge = KMeans(20, n_init=5, random_state=0).fit(data)
    assert ours <= 1.03 * judge.inertia_
    assert labels.tolist() == clustered(data, 20, seed=4).tolist()


def test_clustering_survives_repeated_points():
    data = np.repeat(np.eye(3), 40, axis=0)
    labels = clustered(data, 5)
    assert len(labels) == 120
    p, q = histograms(labels, 60, 5)
    assert p.sum() == pytest.approx(1)
    assert q.sum() == pytest.approx(1)
    assert MauveScorer(Given(), Settings()).compare(np.ones((100, 3)), np.ones((100, 3)))[
        0
    ] == pytest.approx(1.0)


def test_too_few_have_no_value():
    some = blobs(0, [0.5, 0.5], n=99 * 2)
    many = blobs(0, [0.5, 0.5], n=400)
    assert np.isnan(MauveScorer(Given(), Settings()).compare(some[:99], many)).all()
    assert np.isnan(MauveScorer(Given(), Settings()).compare(many, some[:99])).all()
    assert np.isfinite(MauveScorer(Given(), Settings(minimum=50)).compare(some[:99], many)).all()
    assert np.isnan(MauveScorer(Given(), Settings(minimum=2, buckets=9)).compare(*[many[:8]] * 2))


def test_features_of_gpt2_equal_the_authors(tmp_path: Path):
    folder = checkpoints.gpt2(tmp_path / "gpt2")
    ours = FAMILY.open(ScorerContext({"mauve": str(folder)}, threads=1, device="cpu"))
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    model = AutoModel.from_pretrained(str(folder)).eval()
    tokens = [tokenizer.encode(text, return_tensors="pt") for text in SENTENCES]
    wanted = featurize_tokens_from_model(model, tokens, batch_size=1).numpy()
    told: list[int] = []
    got = ours.embed(SENTENCES, told.append)
    assert np.abs(got - wanted).max() < 1e-5
    assert sum(told) == len(SENTENCES)
    assert ",last," in ours.signature


@pytest.mark.parametrize("maker", [checkpoints.bert, checkpoints.mpnet])
def test_features_of_an_encoder_are_the_mean_of_its_states(maker, tmp_path: Path):
    folder = maker(tmp_path / "encoder")
    ours = FAMILY.open(ScorerContext({"mauve": str(folder)}, threads=1, device="cpu"))
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    model = AutoModel.from_pretrained(str(folder)).eval()
    got = ours.embed(SENTENCES)
    for row, text in zip(got, SENTENCES, strict=True):
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state
        assert np.abs(row - states[0].mean(0).numpy()).max() < 1e-5
    assert np.abs(ours.embed(SENTENCES[3:4]) - got[3:4]).max() < 1e-5


def test_an_encoder_is_loaded_once_for_all_who_use_it(tmp_path: Path):
    folder = str(checkpoints.bert(tmp_path / "encoder"))
    shop = ScorerContext({"mauve": folder, "bert_score": folder}, threads=1, device="cpu")
    FAMILY.open(shop)
    before = load_model(shop, "mauve", "an encoder").model
    bert_score.FAMILY.open(shop)
    assert load_model(shop, "bert_score", "an encoder").model is before


@pytest.mark.parametrize("maker", [checkpoints.bert, checkpoints.mpnet])
@pytest.mark.parametrize("features", ["last", "mean"])
def test_one_pass_serves_both(maker, features: str, tmp_path: Path):
    folder = str(maker(tmp_path / "encoder"))
    weights = {"mauve": folder, "bert_score": folder}
    options = {"bert_score": {"layer": "2"}, "mauve": {"features": features}}
    shop = ScorerContext(weights, options, threads=2, device="cpu")
    scorer, ours = bert_score.FAMILY.open(shop), FAMILY.open(shop)
    units = [Unit((), SENTENCES[0], (other,)) for other in SENTENCES[1:]]
    scored = scorer.score(units)
    side = SideRows.of(shop, load_model(shop, "mauve", "an encoder"))
    assert len(side.rows) == len(SENTENCES)
    got = ours.embed(SENTENCES)
    assert not side.rows  # taken, none left lying about
    alone = {
        name: ScorerContext({name: folder}, options, threads=1, device="cpu") for name in weights
    }
    wanted = FAMILY.open(alone["mauve"]).embed(SENTENCES)
    assert np.abs(got - wanted).max() < 1e-5
    by_itself = bert_score.FAMILY.open(alone["bert_score"]).score(units)
    assert np.abs(scored - by_itself).max() < 1e-5
    assert np.abs(ours.embed(SENTENCES) - wanted).max() < 1e-5  # when nothing lies ready


def test_features_of_an_encoder_can_be_those_the_package_takes(tmp_path: Path):
    folder = checkpoints.bert(tmp_path / "bert")
    options = {"mauve": {"features": "last"}}
    ours = FAMILY.open(ScorerContext({"mauve": str(folder)}, options, device="cpu"))
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    model = AutoModel.from_pretrained(str(folder)).eval()
    tokens = [tokenizer.encode(text, return_tensors="pt") for text in SENTENCES]
    wanted = featurize_tokens_from_model(model, tokens, batch_size=3).numpy()
    assert np.abs(ours.embed(SENTENCES) - wanted).max() < 1e-5


def test_rows_that_nobody_asks_for_do_not_pile_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(token_encoder, "_KEPT_BYTES", 3 * 8)
    side = SideRows("mean")
    for number in range(5):
        side.keep([number], np.array([float(number)]))
    assert [side.take([number]) for number in range(3)] == [None, None, np.array([2.0])]


def test_works_out_of_the_box():
    assert FAMILY.ready(ScorerContext()) is None
    ours = FAMILY.open(ScorerContext(threads=1))
    got = ours.embed(SENTENCES)
    assert got.shape[0] == len(SENTENCES)
    assert np.abs(ours.embed(SENTENCES[:1]) - got[:1]).max() < 1e-3  # int8
    assert "|" not in ours.signature
    assert "emotion" in ours.signature


def test_options_are_checked(tmp_path: Path):
    for name, value in {
        "buckets": "1",
        "minimum": "x",
        "scale": "0",
        "seed": "1.5",
        "features": "x",
    }.items():
        with pytest.raises(DialensError, match=f"mauve.{name}={value}"):
            FAMILY.open(ScorerContext(options={"mauve": {name: value}}))
    assert "is not there" in (FAMILY.ready(ScorerContext({"mauve": str(tmp_path / "none")})) or "")
    assert Settings.of({"buckets": "auto", "scale": "2.5"}) == Settings(scale=2.5)


@pytest.mark.slow
def test_people_are_nearest_to_people(shared_data: Path):
    """With the shipped encoder and real ones: replies of people and of a dull system."""
    file = shared_data / "human_judgements" / "dailydialog_gupta.jsonl.gz"
    with gzip.open(file, "rt") as lines:
        records = [json.loads(line) for line in lines]
    shops = [ScorerContext({"mauve": str(one)}, threads=1, device="cpu") for one in real_encoders()]
    for shop in [ScorerContext(threads=1), *shops]:
        ours = FAMILY.open(shop)
        texts = sorted({text for one in records for text in (one["response"], *one["references"])})
        rows = dict(zip(texts, ours.embed(texts), strict=True))
        found = {}
        for system in ("human", "seq2seqf"):
            own = [one for one in records if one["system"] == system]
            replies = np.array([rows[one["response"]] for one in own])
            people = np.array([rows[text] for one in own for text in one["references"]])
            found[system] = ours.compare(replies, people)[0]
        assert 0 < found["seq2seqf"] < found["human"] <= 1, found
