"""The runtime: what a text scores depends on the text alone, and nothing loads before its time."""

from __future__ import annotations

import gc
import gzip
import json
import shutil
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from dialens.base import DialensError
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import ModelChoice, Resources, ScorerContext, ScorerSet, score
from dialens.models import (
    EngagementScorer,
    Model,
    Precision,
    TorchModel,
    context,
    length_sorted,
    list_models,
    load,
    read_card,
    shipped_folder,
    verify,
)
from dialens.models import _sessions as sessions
from dialens.models._inputs import encode_inputs
from recipes.encoder.judged import baselines, read_judged

SAME = 1e-3
TEXTS = [
    "Thank you so much, this made my day!",
    "no",
    "I really don't know what to think about the new stadium they want to build downtown.",
    "What an idiot.",
    "",
    "ok " * 300,
]
PAIRS = [
    ("What did you do at the weekend?", "We drove up to the lake and learned to sail. Ever tried?"),
    ("What did you do at the weekend?", "ok"),
    ("", "Hello!"),
]
words = st.sampled_from(" ".join(TEXTS[:4]).split())
some_text = st.one_of(st.lists(words, max_size=60).map(" ".join), st.text(max_size=40))

SHIPPED_TASKS = [one.name for one in list_models()]
shipped = pytest.mark.parametrize("name", SHIPPED_TASKS)


def inputs_of(model: Model | TorchModel) -> list:
    return PAIRS if model.task.pair else TEXTS


def assert_independent(model: Model | TorchModel, inputs: list, strangers: list) -> None:
    """Score inputs together, alone, backwards and among strangers."""
    together = model.predict(inputs)
    alone = np.concatenate([model.predict([one]) for one in inputs])
    backwards = model.predict(inputs[::-1])[::-1]
    crowd = model.predict(strangers + inputs)[len(strangers) :]
    for other in (alone, backwards, crowd):
        np.testing.assert_allclose(other, together, atol=SAME)


@pytest.mark.parametrize("name", ["emotion", "engagement-small"])
def test_who_shares_a_batch_changes_no_bit(name: str) -> None:
    model = cast(Model, load(name, threads=1))
    dice = np.random.default_rng(0)
    said = " ".join(TEXTS[:4]).split()
    texts = [" ".join(dice.choice(said, size)) for size in dice.integers(0, 30, 40)]
    inputs: list = list(zip(texts, texts[::-1], strict=True)) if model.task.pair else texts
    together = model.run(inputs, model.task.output)
    for size in (1, 3, 11):
        order = dice.permutation(len(inputs))
        parts = [order[start : start + size] for start in range(0, len(order), size)]
        threads = cast(Model, load(name, threads=1 + size % 2))
        for part in parts:
            alone = threads.run([inputs[row] for row in part], model.task.output)
            np.testing.assert_array_equal(alone, together[part])


def strangers_of(model: Model | TorchModel) -> list:
    texts = ["word " * n for n in range(1, 60)]
    return [("before", text) for text in texts] if model.task.pair else texts


def test_the_encoders_ship_within_their_budget() -> None:
    folders = {shipped_folder(name) for name in ("small", "base", "ranker")}
    assert {one.card.folder for one in list_models()} == folders
    sizes = [file.stat().st_size for one in folders for file in one.iterdir()]
    assert max(sizes) < 95e6
    assert sum(sizes) < 150e6


def test_baselines_count_words_as_the_metric_does() -> None:
    replies = ["gonna yeah ok well", "We sailed to an island, you know!"]
    talks = [
        Dialogue("s", "a", str(n), [Turn("B", "agent", reply)]) for n, reply in enumerate(replies)
    ]
    resources = Resources(scorers=ScorerSet(ScorerContext(models=ModelChoice("none"))))
    scores = score(Corpus.of(talks), metrics=["specificity"], resources=resources)
    wanted = scores.wide("turn").sort("dialog")["specificity"].to_list()
    found = baselines(replies)
    assert found["Specificity"].tolist() == wanted == [0.0, 3.0]
    np.testing.assert_allclose(found["log Specificity"], np.log1p(wanted))


@pytest.mark.slow
def test_engagement_on_better_is_above_what_was_published(shared_data: Path) -> None:
    with gzip.open(shared_data / "human_judgements/better.jsonl.gz", "rt") as lines:
        units = [json.loads(line) for line in lines]
    said = [[turn["text"] for turn in unit["context"]] for unit in units]
    pairs = [(context(b), unit["response"]) for b, unit in zip(said, units, strict=True)]
    found = EngagementScorer.load().score(pairs)
    judged = [unit["ratings"]["engagement"] for unit in units]
    # EnDex, best of ten seeds (Xu et al. 2022, Table 2)
    assert pearsonr(found, judged).statistic > 0.521
    assert spearmanr(found, judged).statistic > 0.511


@pytest.mark.slow
@pytest.mark.parametrize("quality", ["Engaging", "Overall"])
def test_engagement_on_personachat_is_above_word_count(shared_data: Path, quality: str) -> None:
    (judged,) = read_judged(shared_data / "human_judgements", [("usr_personachat", quality)])
    found = EngagementScorer.load().score(judged.inputs(2), backgrounds=judged.backgrounds)
    for words in baselines(judged.replies).values():
        for correlation in (pearsonr, spearmanr):
            ours, theirs = (correlation(x, judged.mean).statistic for x in (found, words))
            assert ours > theirs


@shipped
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_shipped_scores_do_not_depend_on_neighbours(name: str, precision: Precision) -> None:
    model = load(name, precision=precision)
    assert isinstance(model, Model)
    assert_independent(model, inputs_of(model), strangers_of(model))


@shipped
def test_shipped_int8_is_near_fp32(name: str) -> None:
    models = load(name, precision="int8"), load(name, precision="fp32")
    found = [model.predict(inputs_of(model)) for model in models]
    assert np.abs(found[0] - found[1]).max() < 0.05


@shipped
def test_shipped_models_tell_the_obvious(name: str) -> None:
    model = load(name, threads=1)
    scores = model.predict(inputs_of(model))
    assert np.isfinite(scores).all()
    if model.task.name == "emotion":
        assert len(model.labels) == 28
        assert "gratitude" in model.decide([TEXTS[0]])[0]
    elif model.task.name == "toxicity":
        assert scores[3, 0] > 0.5 > scores[0, 0]
    elif model.task.name == "engagement":
        assert scores[0, 0] > scores[1, 0]


@pytest.mark.parametrize("precision", ["int8", "fp32"])
@pytest.mark.parametrize("task", ["emotion", "engagement"])
def test_neighbours_and_padding_do_not_change_a_score(tiny_folder, precision, task) -> None:
    model = load(tiny_folder, task, precision=precision)
    assert model.predict(inputs_of(model)).std(axis=0).min() > 10 * SAME, "texts must differ"
    assert_independent(model, inputs_of(model), strangers_of(model))


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(texts=st.lists(some_text, min_size=1, max_size=12), draw=st.randoms(use_true_random=False))
def test_any_company_in_any_order(tiny_folder, texts, draw) -> None:
    model = load(tiny_folder, "emotion")
    together = model.predict(texts)
    order = list(range(len(texts)))
    draw.shuffle(order)
    shuffled = model.predict([texts[i] for i in order])
    np.testing.assert_allclose(shuffled, together[order], atol=SAME)
    np.testing.assert_allclose(model.predict(texts[:1]), together[:1], atol=SAME)


def test_int8_is_near_fp32(tiny_folder) -> None:
    by = [load(tiny_folder, "emotion", precision=p).predict(TEXTS) for p in ("int8", "fp32")]
    assert 0 < np.abs(by[0] - by[1]).max() < 0.05


def test_one_pass_gives_what_several_give(tiny_folder) -> None:
    model = load(tiny_folder, "emotion")
    assert isinstance(model, Model)
    together = model.run_many(TEXTS, ["emotion", "toxicity", "embedding"])
    assert {name: one.shape for name, one in together.items()} == {
        "emotion": (6, 3),
        "toxicity": (6, 1),
        "embedding": (6, 384),
    }
    for name, one in together.items():
        np.testing.assert_array_equal(one, model.run(TEXTS, name))
    chances = model.predict_many(TEXTS, ["emotion", "toxicity"])
    np.testing.assert_allclose(chances["toxicity"], 1 / (1 + np.exp(-together["toxicity"])))
    np.testing.assert_array_equal(chances["toxicity"], load(tiny_folder, "toxicity").predict(TEXTS))
    np.testing.assert_array_equal(together["embedding"], model.embed(TEXTS))
    with pytest.raises(DialensError, match=r"no output 'toxcity'\. Did you mean toxicity"):
        model.run_many(TEXTS, ["toxcity"])
    with pytest.raises(DialensError, match=r"engagement reads \(context, reply\) pairs"):
        model.predict_many(TEXTS, ["emotion", "engagement"])


def test_decisions_follow_the_card_s_thresholds(tiny_folder) -> None:
    chances = load(tiny_folder, "emotion").predict(TEXTS)
    for row, found in zip(chances, load(tiny_folder, "emotion").decide(TEXTS), strict=True):
        assert found == (("joy", "anger") if row[1] >= 0.5 else ("joy",))


def test_nothing_is_read_before_use(tiny_folder, tmp_path) -> None:
    folder = tmp_path / "later"
    shutil.copytree(tiny_folder, folder)
    weights = (folder / "weights.bin").read_bytes()
    (folder / "weights.bin").unlink()
    model = load(folder, "emotion")
    assert not model.loaded
    (folder / "weights.bin").write_bytes(weights)
    model.predict(["hi"])
    assert model.loaded


def test_tasks_of_a_folder_share_what_is_loaded(tiny_folder) -> None:
    first, second = load(tiny_folder, "emotion"), load(tiny_folder, "toxicity")
    other = load(tiny_folder, "emotion", precision="fp32")
    for model in (first, second, other):
        model.predict(["hi"])
    assert first._open is second._open
    assert first._open is not other._open
    del first, second, other, model
    gc.collect()
    assert not [key for key in sessions._OPEN if key[0] == tiny_folder.resolve()]


def test_threads_are_an_argument(tiny_folder) -> None:
    one, two = (load(tiny_folder, "emotion", threads=n) for n in (1, 2))
    np.testing.assert_allclose(one.predict(TEXTS), two.predict(TEXTS), atol=SAME)
    assert one._open is two._open  # batches side by side, all through one copy of the weights
    with pytest.raises(DialensError, match="threads is -1"):
        load(tiny_folder, "emotion", threads=-1)


def test_a_model_may_be_used_by_several_threads(tiny_folder) -> None:
    model = load(tiny_folder, "emotion")
    expected = load(tiny_folder, "emotion").predict(TEXTS)
    found: list = []
    workers = [
        threading.Thread(target=lambda: found.append(model.predict(TEXTS))) for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 4
    for one in found:
        np.testing.assert_allclose(one, expected, atol=SAME)


def test_progress_is_told_or_shown(tiny_folder, capsys, monkeypatch) -> None:
    model = load(tiny_folder, "emotion")
    told: list[int] = []
    model.predict(TEXTS * 5, advance=told.append)
    assert sum(told) == len(TEXTS) * 5
    monkeypatch.setattr("dialens.base._progress._LOG_EVERY_S", 0.0)
    model.predict(["ok"] * 300, label="Reading moods")
    assert "Reading moods: 300 of 300 texts" in capsys.readouterr().err
    model.predict(["ok"] * 300, advance=told.append)
    model.predict(["ok"])
    assert capsys.readouterr().err == ""


def test_no_text_gives_no_row(tiny_folder) -> None:
    assert load(tiny_folder, "emotion").predict([]).shape == (0, 3)


@pytest.mark.parametrize(
    ("task", "inputs", "message"),
    [
        ("emotion", [("a", "b")], "emotion reads single texts; input 0 is tuple"),
        ("emotion", ["a", None], "input 1 is NoneType"),
        ("emotion", "a text", "a single text was given"),
        ("engagement", ["a"], r"engagement reads \(context, reply\) pairs; input 0 is str"),
        ("engagement", [("a", "b"), ("a",)], "input 1 is tuple"),
    ],
)
def test_inputs_of_the_wrong_kind_are_refused(tiny_folder, task, inputs, message) -> None:
    with pytest.raises(DialensError, match=message):
        load(tiny_folder, task).predict(inputs)


def test_long_inputs_lose_what_matters_least(tiny_folder) -> None:
    model = load(tiny_folder, "emotion")
    model.predict(["hi"])
    tokenizer = model._open.tokenizer
    number = {name: tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]", "ok", "lol", "no")}
    texts = encode_inputs(tokenizer, ["ok " * 20 + "lol"], longest=12)
    pairs = encode_inputs(
        tokenizer, [("lol " + "no " * 20, "ok"), ("no", "ok " * 20 + "lol")], longest=12
    )
    assert texts.lengths.tolist() + pairs.lengths.tolist() == [12, 12, 12]
    assert texts.cut.tolist() + pairs.cut.tolist() == [True, True, True]
    single, context, reply = texts.ids + pairs.ids
    assert single == [number["[CLS]"], *[number["ok"]] * 10, number["[SEP]"]]
    assert number["lol"] not in context, "a context loses its beginning"
    assert context[-2:] == [number["ok"], number["[SEP]"]]
    assert number["lol"] not in reply, "a reply loses its end"
    assert number["no"] in reply


@pytest.mark.parametrize("file", ["weights.bin", "int8.onnx", "tokenizer.json"])
def test_a_damaged_or_missing_file_is_refused(tiny_folder, tmp_path, file) -> None:
    folder = tmp_path / "small"
    shutil.copytree(tiny_folder, folder)
    data = bytearray((folder / file).read_bytes())
    data[100] ^= 1
    (folder / file).write_bytes(data)
    with pytest.raises(DialensError, match=rf"{file} is damaged"):
        load(folder, "emotion").predict(["hi"])
    assert [check.file for check in verify(tmp_path) if check.problem] == [file]
    (folder / file).unlink()
    with pytest.raises(DialensError, match=rf"{file} is missing"):
        load(folder, "emotion").predict(["hi"])
    (check,) = [check for check in verify(folder) if check.problem]
    assert "is missing" in check.problem


def test_a_file_changed_after_loading_is_seen_by_the_next_model(tiny_folder, tmp_path) -> None:
    folder = tmp_path / "small"
    shutil.copytree(tiny_folder, folder)
    before = load(folder, "emotion")
    before.predict(["hi"])
    (folder / "weights.bin").write_bytes(b"another")
    with pytest.raises(DialensError, match="damaged"):
        load(folder, "emotion").predict(["hi"])


def test_a_users_folder_with_several_tasks_needs_one_named(tiny_folder) -> None:
    with pytest.raises(DialensError, match="several tasks"):
        load(tiny_folder)
    assert load(tiny_folder, "toxicity").labels == ("toxic",)
    with pytest.raises(DialensError, match=r"no task 'toxcity'\. Did you mean toxicity"):
        load(tiny_folder, "toxcity")
    with pytest.raises(DialensError, match="neither int8 nor fp32"):
        load(tiny_folder, "emotion", precision=cast(Any, "fp16"))


def test_models_are_found_by_name_before_folders(tiny_folder, tmp_path, monkeypatch) -> None:
    folder = tiny_folder.parent
    assert [one.name for one in list_models(folder)] == ["emotion", "engagement", "toxicity-tiny"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "emotion").mkdir()
    assert load("emotion", folder=folder).card.name == "tiny"
    assert load("emotion-tiny", folder=folder).card.name == "tiny"
    with pytest.raises(DialensError, match="is no model"):
        load("./emotion", folder=folder)


def test_a_plain_onnx_folder_runs_without_a_card(exported_folder) -> None:
    model = load(exported_folder)
    assert model.labels == ("joy", "anger", "surprise")
    table = np.load(exported_folder.parent / "table.npy")
    tokenizer = import_module("tokenizers").Tokenizer.from_file(
        str(exported_folder / "tokenizer.json")
    )
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for one in ([TEXTS[0]], [PAIRS[0]]):
        ids = tokenizer.encode(*(one[0] if isinstance(one[0], tuple) else one)).ids
        logits = table[ids].sum(axis=0)
        expected = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(model.predict(one)[0], expected, atol=1e-5)
    assert model.predict(TEXTS).shape == (6, 3)
    assert model.signature.startswith("plain:")


def test_a_hugging_face_folder_says_what_transformers_says(bert_folder) -> None:
    torch, transformers = import_module("torch"), import_module("transformers")
    network = transformers.AutoModelForSequenceClassification.from_pretrained(bert_folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(bert_folder)
    model = load(bert_folder)
    assert isinstance(model, TorchModel)
    assert not model.loaded
    assert model.labels == ("joy", "anger", "surprise")
    for inputs in (TEXTS, PAIRS):
        found, chances = model.run(inputs), model.predict(inputs)
        for row, one in enumerate(inputs):
            given_one = one if isinstance(one, tuple) else (one,)
            batch = tokenizer(*given_one, return_tensors="pt", truncation=True, max_length=64)
            with torch.inference_mode():
                logits = network.eval()(**batch).logits[0]
            np.testing.assert_allclose(found[row], logits.numpy(), atol=1e-5)
            np.testing.assert_allclose(chances[row], logits.softmax(-1).numpy(), atol=1e-5)
    told: list[int] = []
    model.predict(TEXTS, advance=told.append)
    assert sum(told) == len(TEXTS)
    with pytest.raises(DialensError, match="input 1 is tuple"):
        model.predict(["a", ("b", "c")])


@pytest.mark.parametrize(
    ("config", "activation"),
    [
        ({"problem_type": "multi_label_classification"}, "sigmoid"),
        ({"problem_type": "regression", "id2label": {"0": "warmth"}}, "none"),
        ({"id2label": {"0": "toxic"}}, "sigmoid"),
        ({}, "softmax"),
    ],
)
def test_the_kind_of_a_classifier_is_read_from_its_config(
    bert_folder, tmp_path, config, activation
) -> None:
    raw = json.loads((bert_folder / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(raw | config))
    (tmp_path / "model.safetensors").touch()
    assert load(tmp_path).config.activation == activation


def test_unknown_names_get_a_hint(tmp_path) -> None:
    with pytest.raises(DialensError, match="no model 'emotoin'"):
        load("emotoin")
    with pytest.raises(DialensError, match="is no model"):
        load(tmp_path)
    (tmp_path / "config.json").write_text("{")
    (tmp_path / "model.onnx").touch()
    (tmp_path / "tokenizer.json").touch()
    with pytest.raises(DialensError, match=r"config\.json cannot be read"):
        load(tmp_path)


def test_an_unreadable_card_is_named(tmp_path) -> None:
    (tmp_path / "card.json").write_text(json.dumps({"name": "x"}))
    with pytest.raises(DialensError, match=r"card\.json cannot be read"):
        read_card(tmp_path)


def test_batches_hold_every_row_once() -> None:
    lengths = np.random.default_rng(0).integers(1, 128, 500).tolist()
    rows = np.concatenate(list(length_sorted(lengths)))
    assert sorted(rows.tolist()) == list(range(500))


WITHOUT_TRAINING = """
import sys
from importlib.machinery import PathFinder

class CoreOnly(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = ("torch", "transformers", "sklearn", "onnx", "safetensors", "pyarrow", "pandas")
        return None if name.split(".")[0] in hidden else super().find_spec(name, path, target)

sys.meta_path = [CoreOnly if one is PathFinder else one for one in sys.meta_path]
from dialens.models import load, traits, verify

assert load(sys.argv[1], "emotion").predict(["Thanks!", "no"]).shape == (2, 3)
assert traits.load("agreeableness").predict(["I love helping my friends."])[0] > 0
assert all(check.problem is None for check in verify())
for name in sys.argv[3:]:
    load(name).decide([("How are you?", "Fine.")] if load(name).task.pair else ["Fine."])
try:
    load(sys.argv[2]).predict(["Thanks!"])
except Exception as error:
    assert "dialens[train]" in str(error), error
else:
    raise SystemExit("a PyTorch folder ran without PyTorch")
assert not {"torch", "transformers", "sklearn", "onnx"} & set(sys.modules)
"""


def test_the_core_needs_nothing_of_the_training_extra(tiny_folder, bert_folder) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TRAINING, tiny_folder, bert_folder, *SHIPPED_TASKS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
