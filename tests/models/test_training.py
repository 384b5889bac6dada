# ruff: noqa: SIM905
"""A miniature of every training step on the CPU: random encoders, a few texts, seconds."""

import gzip
import json
import sys
from importlib import import_module

import numpy as np
import pytest
import tokenizers
import torch

from dialens.models import POSITIVE_EMOTIONS, load
from dialens.models._engagement import Formula
from dialens.models.training import (
    Encoder,
    Plan,
    TokenTable,
    auc,
    fit,
    load_encoder,
    pearson,
    predict,
    save_encoder,
    spearman,
    tokenise,
)
from dialens.models.training import _chats as chats
from dialens.models.training import _distil as distil
from dialens.models.training import _emotion as emotion
from dialens.models.training import _engagement as engagement
from dialens.models.training import _export as export
from dialens.models.training import _formula as formula
from dialens.models.training import _toxicity as toxicity
from dialens.models.training import _transfer as transfer
from dialens.models.training._measures import best_thresholds, partial
from dialens.models.training._shape import Shape
from tests.engagement.dumps import conversation
from tests.models.labelled import make_red

pytestmark = pytest.mark.slow

WORDS = (
    "i you love hate this that game dog cat food is was so very bad good thanks lol ? . !".split()
)
FAMILIES = {
    "bert": (["[PAD]", "[UNK]", "[CLS]", "[SEP]"], {"types": 2, "pad": 0}),
    "mpnet": (
        ["<s>", "<pad>", "</s>", "<unk>"],
        {"relative_buckets": 8, "first_position": 2, "pad": 1, "norm_epsilon": 1e-5},
    ),
}


def tiny_encoder(folder, family="mpnet"):
    special, options = FAMILIES[family]
    vocabulary = {word: i for i, word in enumerate(special + WORDS)}
    unknown = special[1] if family == "bert" else special[3]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=unknown))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    torch.manual_seed(1)
    shape = Shape(
        vocabulary=len(vocabulary), width=64, layers=2, heads=2, inner=128, positions=140, **options
    )
    save_encoder(Encoder(shape, 1), folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def sentences(count, seed=0):
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, generator.integers(2, 12))) for _ in range(count)]


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
        evaluate=lambda one: auc(predict(one, table)[:, 0], goals[:, 0]),
        checkpoint=checkpoint,
    )
    return result, predict(model, table)


def test_training_learns_and_repeats_by_seed(tmp_path):
    folder = tiny_encoder(tmp_path / "encoder")
    plan = Plan(epochs=6, batch=16, rate=3e-3, seed=3)
    (result, scores), (_, again) = (learned_by_heart(folder, plan) for _ in range(2))
    assert result.best > 0.95
    np.testing.assert_array_equal(scores, again)
    _, other = learned_by_heart(folder, Plan(epochs=6, batch=16, rate=3e-3, seed=4))
    assert not np.array_equal(scores, other)


def test_an_interrupted_run_ends_as_if_it_had_not_been(tmp_path):
    folder = tiny_encoder(tmp_path / "encoder")
    plan = Plan(epochs=4, batch=16, rate=1e-3)
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
    fit(
        fresh,
        table,
        goals,
        plan,
        evaluate=(lambda seen: lambda _: (seen.append(1), 1.0 if len(seen) < 3 else 9.0)[1])([]),
    )
    np.testing.assert_allclose(predict(resumed, table), predict(fresh, table), atol=1e-5)
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
    out = tmp_path / "out"
    export.export(source, out, transfer.HEADS, {"name": "tiny", "tasks": tasks})
    texts = sentences(20)
    expected = predict(model, tokenise(source, texts, longest=128))
    for precision, tolerance in (("fp32", 1e-4), ("int8", 0.1)):
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


def test_measures_agree_with_other_libraries():
    stats = import_module("scipy.stats")
    generator = np.random.default_rng(0)
    left, right = generator.normal(size=50), np.round(generator.normal(size=50))
    assert pearson(left, right) == pytest.approx(stats.pearsonr(left, right)[0])
    assert spearman(left, right) == pytest.approx(stats.spearmanr(left, right)[0])
    truth = right > 0
    u = stats.mannwhitneyu(left[truth], left[~truth])[0]
    assert auc(left, truth) == pytest.approx(u / (truth.sum() * (~truth).sum()))
    assert partial(left, left + right, right) == pytest.approx(1, abs=1e-9)


def test_thresholds_separate_what_can_be_separated():
    chances = np.linspace(0, 1, 100)[:, None]
    thresholds = best_thresholds(chances, chances > 0.7, trust=0)
    assert 0.68 < thresholds[0] < 0.74


def rated_chats(folder):
    """Chats in the form of the rated sets that teach appeal: four raters, six dialogues each."""
    folder.mkdir()
    talks = {"ji2022_continuous": [], "dbdc3_en": []}
    for number in range(48):
        said = sentences(6, seed=number)
        turns = [{"speaker": ("user", "system")[i % 2], "text": t} for i, t in enumerate(said)]
        unit = {"dialog_id": f"d{number}", "context": turns, "raters": [f"r{number % 4}"]}
        liked = {"interesting": [number * 7 % 100], "fun": [number * 11 % 100]}
        talks["ji2022_continuous"].append({**unit, "response": "", "ratings": liked})
        broke = {"breakdown": [number % 3, 1, 0]}
        talks["dbdc3_en"].append({**unit, "response": "good dog", "ratings": broke})
    for name, units in talks.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as out:
            out.write("".join(json.dumps(unit) + "\n" for unit in units))
    return folder


def test_appeal_ranks_the_dialogues_of_each_rater_apart(tmp_path):
    found = chats.read_appeal(rated_chats(tmp_path / "chats"))
    # 48 dialogues with three replies of the agent each, and 48 turns with breakdown votes.
    assert len(found.inputs) == 48 * 3 + 48
    assert found.target[-1] == 1 - (47 % 3 + 1 + 0) / 3 / 2
    # By rank among 12 dialogues of one rater the median is one half whatever the scale.
    first = found.target[0 : 48 * 3 : 3][:12]
    assert abs(np.median(first) - 0.5) < 0.05
    assert found.inputs[0][0] == sentences(6, seed=0)[0]


def test_replies_from_elsewhere_keep_their_context(tmp_path):
    human = chats.read_human_replies(rated_chats(tmp_path / "chats"))
    other = chats.mismatched(human, seed=1)
    assert [a for a, _ in human.inputs] == [a for a, _ in other.inputs]
    assert sorted(b for _, b in human.inputs) == sorted(b for _, b in other.inputs)
    assert human.part(held_out=True).held_out.all()


def test_the_formula_weighs_its_parts_the_same():
    generator = np.random.default_rng(0)
    parts = {"a": generator.normal(3, 2, 5000), "b": generator.normal(-1, 0.1, 5000)}
    made = Formula(**formula.unit_formula(parts))
    total = made.logit(parts)
    assert abs(total.std() - 1) < 0.03  # two independent parts of spread one, over √2
    assert abs(total.mean()) < 0.01


@pytest.mark.slow
def test_every_command_in_miniature(tmp_path, monkeypatch):
    encoder = tiny_encoder(tmp_path / "encoder")
    data = tmp_path / "emotions"
    folder = data / "goemotions"
    folder.mkdir(parents=True)
    names = [*POSITIVE_EMOTIONS, *"abcdefghijklmno", "neutral"]
    (folder / "labels.txt").write_text("\n".join(names))
    for part, count in (("train", 80), ("dev", 40), ("test", 40)):
        lines = [f"{t}\t{i % 28}\tid" for i, t in enumerate(sentences(count, seed=count))]
        (folder / f"{part}.tsv").write_text("\n".join(lines) + "\n")
    tweets = ["id,class,tweet"] + [f"{i},{i % 3},{t}" for i, t in enumerate(sentences(90))]
    with gzip.open(data / "davidson_hate_offensive_24783.csv.gz", "wt") as out:
        out.write("\n".join(tweets))
    kinds = ("Toxic", "Not Toxic")
    rows = ["text,is_toxic"] + [f"{t},{kinds[i % 2]}" for i, t in enumerate(sentences(60, 2))]
    (data / "surge_toxicity_en.csv").write_text("\n".join(rows))
    made = conversation(seed=0, comments=1500)
    posts = make_red(tmp_path / "reddit", *made, "--emotion", "lexicon")

    def run(command, *arguments):
        monkeypatch.setattr(sys, "argv", ["x", *map(str, arguments)])
        command()

    teachers = tmp_path / "teachers"
    common = ("--encoder", encoder)
    run(emotion.main, "--data", folder, *common, "--epochs", 1, "--out", teachers / "emotion")
    run(toxicity.main, "--data", data, *common, "--epochs", 1, "--out", teachers / "toxicity")
    few = ("--pairs", 60, "--epochs", 1, "--posts", posts)
    talks = rated_chats(tmp_path / "chats")
    for variant in ("nsr", "soft", "relevance", "appeal"):
        out = teachers / variant
        given = ("--variant", variant, "--chats", talks, "--keep", "--out", out)
        run(engagement.main, *common, *few, *given)
    for what in ("texts", "pairs"):
        given = ("--posts", posts, "--emotions", data, "--teachers", teachers, "--most", 50)
        more = ("--chats", talks, "--engagement", "nsr", "soft")
        run(transfer.main, what, *common, *given, *more, "--out", tmp_path / what)
    run(
        distil.main,
        *("--transfer", tmp_path / "texts", tmp_path / "pairs"),
        *common,
        *("--layers", 1, "--posts", posts, "--emotions", data, "--epochs", 1),
        *("--chats", talks, "--out", tmp_path / "student"),
    )
    report = json.loads((tmp_path / "student" / "report.json").read_text())
    assert report["inputs"] > 100
    assert load_encoder(tmp_path / "student", transfer.OUTPUTS).shape.layers == 1
    assert isinstance(tokenise(encoder, ["x"], longest=8), TokenTable)


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
