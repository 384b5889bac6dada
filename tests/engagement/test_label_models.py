"""Labelling with classifiers that run on ONNX: a tiny random one, exported as ours are."""

import hashlib
import math

import numpy as np
import polars as pl
import pytest

from dialens.base import DialensError
from dialens.engagement.curation import (
    EngineOptions,
    LabelOptions,
    Models,
    emotion_scorer,
    label,
    toxicity_scorer,
)
from dialens.engagement.curation._shard_scoring import ModelScorer
from dialens.models import POSITIVE_EMOTIONS, load
from tests.engagement.hand_made import write_work
from tests.engagement.test_label_command import forest

torch = pytest.importorskip("torch", reason="the extra train is not installed")
pytestmark = pytest.mark.slow

LABELS = [*POSITIVE_EMOTIONS, "anger", "neutral"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from dialens.models.training import Encoder, export, save_encoder
    from dialens.models.training._shape import Shape
    from tests.models.conftest import spread_out, wordpiece

    source = tmp_path_factory.mktemp("encoder")
    tokenizer = wordpiece(source / "tokenizer.json")
    torch.manual_seed(3)
    size = tokenizer.get_vocab_size()
    shape = Shape(
        vocabulary=size, width=384, layers=1, heads=12, inner=1536, positions=512, types=2
    )
    model = Encoder(shape, len(LABELS) + 1).eval()
    spread_out(model, tokenizer)
    model.head.bias.data -= 3.0  # so that twelve probabilities do not always sum to more than 1
    model.head.bias.data[-1] += 3.0
    save_encoder(model, source)
    tasks = {
        "emotion": {"labels": LABELS, "activation": "sigmoid"},
        "toxicity": {"labels": ["toxic"], "activation": "sigmoid", "thresholds": [0.625]},
    }
    heads = {"emotion": slice(0, len(LABELS)), "toxicity": slice(len(LABELS), len(LABELS) + 1)}
    made = tmp_path_factory.mktemp("models") / "tiny"
    export(source, made, heads, {"name": "tiny", "tasks": tasks, "licence": "x", "seed": 0})
    return made


def test_emotion_and_toxicity_are_what_the_model_says(folder, tmp_path):
    from tests.models.conftest import SENTENCES

    comments, submissions = forest(600)
    for place, row in enumerate(comments):
        row["text"] = f"{SENTENCES[place % 12]} {SENTENCES[5 * place % 11]}"
    work = write_work(tmp_path / "work", comments, submissions)
    emotion, toxicity = emotion_scorer(str(folder)), toxicity_scorer(str(folder))
    assert toxicity.threshold == 0.625
    line = float(np.median(toxic_probability(folder, comments)))
    done = label(
        work,
        tmp_path / "red",
        models=Models(emotion, toxicity),
        options=LabelOptions(kappa=0.5, toxic_above=line),
        engine=EngineOptions(threads=2),
    )
    posts = pl.read_parquet(done.folder / "posts.parquet")
    reasons = dict(pl.read_parquet(done.folder / "rejected" / "*.parquet").iter_rows())
    toxic = [row for row in comments if reasons.get(row["id"]) == "toxic"]
    clean = [row for row in comments if row["id"] in set(posts["id"])]
    assert toxic
    # Batches differ here, and with them the last digits of a quantised model.
    assert (toxic_probability(folder, clean) <= line + 0.01).all()
    assert (toxic_probability(folder, toxic) > line - 0.01).all()
    # Fewer than 1,024 texts are one shard, in the order of their MD5.
    accepted = set(posts["id"])
    replies = [row for row in comments if row["parent_id"] in accepted and not row["deleted"]]
    texts = sorted(
        {row["text"] for row in replies}, key=lambda text: hashlib.md5(text.encode()).hexdigest()
    )
    found = load(str(folder), "emotion", threads=1).predict(texts)
    summed = found[:, : len(POSITIVE_EMOTIONS)].astype(np.float64).sum(axis=1)
    micro = dict(zip(texts, (math.floor(min(p, 1) * 1e6 + 0.5) for p in summed), strict=True))
    for id, ee in posts.select("id", "ee").iter_rows():
        own = [micro[row["text"]] for row in replies if row["parent_id"] == id]
        assert ee == pytest.approx(sum(own) / len(own) / 1e6, abs=1e-12)
    assert posts["ee"].n_unique() > 5


def toxic_probability(folder, rows):
    texts = [row["text"] for row in rows]
    return load(str(folder), "toxicity").predict(texts)[:, 0]


def test_a_model_without_the_labels_is_refused(folder):
    wrong = ModelScorer(str(folder), "toxicity", POSITIVE_EMOTIONS)
    with pytest.raises(DialensError, match="has no label admiration"):
        _ = wrong.signature
