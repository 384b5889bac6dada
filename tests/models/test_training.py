"""Training and export in miniature on the CPU: random encoders, a few texts, seconds."""

from importlib import import_module
from itertools import chain, repeat

import numpy as np
import pytest
import torch

from dialens.models import Precision, load
from dialens.models.training import Schedule, fit, load_encoder, predict, save_encoder, tokenise
from dialens.models.training import _export as export
from dialens.statistics import area_under_curve
from tests.models.tiny_encoder import sentences, tiny_encoder

pytestmark = pytest.mark.slow


def learned_by_heart(folder, plan, checkpoint=None):
    texts = sentences(64)
    table = tokenise(folder, texts, longest=32)
    goals = np.array([["love" in text] for text in texts], dtype=np.float32)
    torch.manual_seed(0)
    model = load_encoder(folder, 1)
    result = fit(
        model,
        table,
        goals,
        plan,
        evaluate=lambda one: area_under_curve(predict(one, table)[:, 0], goals[:, 0]),
        checkpoint=checkpoint,
    )
    return result, predict(model, table)


def test_training_learns_and_repeats_by_seed(tmp_path):
    folder = tiny_encoder(tmp_path / "encoder")
    plan = Schedule(epochs=6, batch=16, rate=3e-3, seed=3)
    (result, scores), (_, again) = (learned_by_heart(folder, plan) for _ in range(2))
    assert result.best_value > 0.95
    np.testing.assert_array_equal(scores, again)
    _, other = learned_by_heart(folder, Schedule(epochs=6, batch=16, rate=3e-3, seed=4))
    assert not np.array_equal(scores, other)


def test_training_ends_in_its_time(tmp_path):
    folder = tiny_encoder(tmp_path / "encoder")
    result, _ = learned_by_heart(folder, Schedule(epochs=1000, batch=16, seconds=0.3))
    assert 1 <= result.step < 4000
    assert result.history[-1].step == result.step  # the last weights are measured too


def test_an_interrupted_run_ends_as_if_it_had_not_been(tmp_path):
    folder = tiny_encoder(tmp_path / "encoder")
    plan = Schedule(epochs=4, batch=16, rate=1e-3)
    whole = learned_by_heart(folder, plan)[1]

    class Stop(Exception):
        pass

    calls = []

    def stop_after_two(one):
        calls.append(one)
        if len(calls) == 3:
            raise Stop
        return float(len(calls))

    texts = sentences(64)
    table = tokenise(folder, texts, longest=32)
    goals = np.array([["love" in text] for text in texts], dtype=np.float32)
    torch.manual_seed(0)
    file = tmp_path / "state.pt"
    with pytest.raises(Stop):
        fit(load_encoder(folder, 1), table, goals, plan, evaluate=stop_after_two, checkpoint=file)
    resumed = load_encoder(folder, 1)
    fit(resumed, table, goals, plan, evaluate=lambda _: 9.0, checkpoint=file)
    fresh = load_encoder(folder, 1)
    torch.manual_seed(0)
    fresh = load_encoder(folder, 1)
    losses = chain([1.0, 1.0], repeat(9.0))
    fit(fresh, table, goals, plan, evaluate=lambda _: next(losses))
    np.testing.assert_array_equal(predict(resumed, table), predict(fresh, table))
    assert whole.shape == (64, 1)


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_the_exported_graph_says_what_pytorch_says(tmp_path, family):
    source = tiny_encoder(tmp_path / "encoder", family)
    torch.manual_seed(5)
    model = load_encoder(source, 30)
    torch.nn.init.normal_(model.head.weight, std=0.5)
    save_encoder(model, source)
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    for name, value in weights.items():  # the stored values, so that only arithmetic differs
        kind = name.split(".")[-2]
        if value.ndim == 2 and kind in ("qkv", "out", "up", "down"):
            values, scales = export.quantise_outputs(value)
            weights[name] = values.astype(np.float32) * scales[:, None]
        elif value.ndim == 2 and kind == "word":
            values, scales = export.quantise(value)
            blocks = values.reshape(*scales.shape, -1) * scales[..., None]
            weights[name] = blocks.reshape(value.shape).astype(np.float32)
    model.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    labels = [f"l{i}" for i in range(28)]
    tasks = {
        "emotion": {"labels": labels, "activation": "none"},
        "toxicity": {"labels": ["toxic"], "activation": "none"},
        "engagement": {"labels": ["engaging"], "pair": True, "activation": "none"},
    }
    heads = {"emotion": slice(0, 28), "toxicity": slice(28, 29), "engagement": slice(29, 30)}
    out = tmp_path / "out"
    export.export(source, out, heads, {"name": "tiny", "tasks": tasks})
    texts = sentences(20)
    expected = predict(model, tokenise(source, texts, longest=128))
    tolerances: dict[Precision, float] = {"fp32": 1e-4, "int8": 0.1}
    for precision, tolerance in tolerances.items():
        found = load(out, "emotion", precision=precision).predict(texts)
        np.testing.assert_allclose(found, expected[:, :28], atol=tolerance)
    pairs = list(zip(texts, texts[::-1], strict=True))
    expected = predict(model, tokenise(source, pairs, longest=128))
    found = load(out, "engagement", precision="fp32").predict(pairs)
    np.testing.assert_allclose(found, expected[:, 29:], atol=1e-4)


def test_quantising_twice_changes_nothing():
    weight = np.random.default_rng(0).normal(0, 0.05, (8, 128)).astype(np.float32)
    values, scales = export.quantise(weight)
    back = (values.reshape(8, 2, 64) * scales[..., None]).reshape(8, 128)
    assert np.abs(back - weight).max() < 0.002
    np.testing.assert_array_equal(export.quantise(back)[0], values)


def test_products_stay_below_what_sixteen_bits_hold():
    # Processors without VNNI add two products of an input (0 to 255) and a weight in 16 bits.
    weight = np.random.default_rng(0).normal(0, 0.05, (8, 128)).astype(np.float32)
    values, scales = export.quantise_outputs(weight)
    assert 2 * 255 * np.abs(values.astype(int)).max() <= 2**15 - 1
    assert np.abs(values * scales[:, None] - weight).max() <= scales.max() / 2 + 1e-9


def test_a_hugging_face_folder_can_be_used(tmp_path):
    transformers = import_module("transformers")
    tiny_encoder(tmp_path / "bert", "bert")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "bert" / "tokenizer.json"), pad_token="[PAD]"
    )
    shape = transformers.BertConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=3,
    )
    folder = tmp_path / "classifier"
    transformers.BertForSequenceClassification(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    model = load(folder)
    found = model.predict(sentences(5))
    assert found.shape == (5, 3)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(model.predict(sentences(5)[:1]), found[:1], atol=1e-5)
    assert model.predict([("i love", "you")]).shape == (1, 3)
