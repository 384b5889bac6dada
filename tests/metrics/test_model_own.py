"""Models of the user's own that cannot be used: the reason is told, and the other metrics go on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import tokenizers
from onnx import TensorProto, helper, save_model

from dialens.base import sha256_file
from dialens.corpus import Corpus
from dialens.metrics import forecast, make_plan, score
from dialens.models import load
from dialens.models.traits import TraitModel
from dialens.models.traits import save as save_trait
from tests.metrics.model_talks import TALKS, same, values
from tests.metrics.tiny_models import add_facts, make_model, tiny_resources

TEXT_TASKS = ("emotion", "toxicity", "empathy")
NONE = np.zeros(0)
KINDNESS = TraitModel(
    "kindness", pl.Series(["love"]), np.ones(1), np.ones(1), 1, NONE, NONE, NONE, 3.0
)


def refusal(task: str, folder: Path, metric: str | None = None) -> str:
    """Why a metric has no value, after checking that `length` has its own."""
    resources = tiny_resources(own={task: folder})
    name = metric or task
    made = score(Corpus.of(TALKS), metrics=[name, "length"], resources=resources)
    wide = made.wide("agent")
    assert wide[name].null_count() == wide.height
    assert wide["length"].null_count() == 0
    told = forecast(Corpus.of(TALKS), make_plan([name, "length"], resources))
    assert told is not None
    ((reason, metrics),) = told.missing
    assert name in metrics
    rows = made.table.filter(pl.col("metric") == name, pl.col("level") == "turn").collect()
    assert rows["reason"].unique().to_list() == [reason]
    return reason


def with_card(folder: Path, task: str, **changes: Any) -> Path:
    """Let a card say something else of a task."""
    card = json.loads((folder / "card.json").read_text())
    card["tasks"][task] |= changes
    add_facts(folder, tasks=card["tasks"])
    return folder


def with_tokenizer(folder: Path, words: list[str]) -> Path:
    """Give a model another tokenizer, and the card its hash."""
    vocabulary = {word: number for number, word in enumerate(words)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made.save(str(folder / "tokenizer.json"))
    files = json.loads((folder / "card.json").read_text())["files"]
    add_facts(folder, files={**files, "tokenizer.json": sha256_file(folder / "tokenizer.json")})
    return folder


@pytest.mark.parametrize(
    ("task", "label", "metric"),
    [
        ("toxicity", "toxic", "toxicity"),
        ("emotion", "joy", "emotion_joy"),
        ("empathy", "warm", "empathy"),
        ("engagement", "engaging", "engagement"),
        ("relevance", "relevant", "relevance"),
    ],
)
def test_a_regression_gives_no_probability(
    tmp_path: Path, task: str, label: str, metric: str
) -> None:
    tasks: list[dict[str, list[str]]] = [{}, {}]
    tasks[task not in TEXT_TASKS][task] = [label]
    folder = make_model(tmp_path / "m", tasks[0], tasks[1], seed=3, activation="none")
    told = refusal(task, folder, metric)
    assert f"{folder} cannot do {task}: it gives plain numbers" in told


def test_a_graph_that_does_not_fit_its_labels(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m", {"toxicity": ["fine", "toxic", "spam"]}, {}, seed=3)
    with_card(folder, "toxicity", labels=["fine", "toxic"], thresholds=[0.5, 0.5])
    told = refusal("toxicity", folder)
    assert "int8.onnx gives 3 numbers a text for 'toxicity'" in told
    assert "card.json names 2 labels (fine, toxic)" in told
    with_card(folder, "toxicity", labels=list("abcd"), thresholds=[0.5] * 4)
    assert "must be called toxicity or toxic" in refusal("toxicity", folder)
    with_card(folder, "toxicity", labels=[*"abc", "toxic"])
    assert "gives 3 numbers a text for 'toxicity', and card.json names 4" in refusal(
        "toxicity", folder
    )


def test_a_tokenizer_without_the_marks_of_an_encoder(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m", {"toxicity": ["toxic"]}, {}, seed=3)
    with_tokenizer(folder, ["[UNK]", "<|endoftext|>", "i", "love"])
    told = refusal("toxicity", folder)
    assert "tokenizer.json cannot be used: the tokenizer has neither" in told


def test_a_tokenizer_with_more_words_than_the_graph(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m", {"toxicity": ["toxic"]}, {}, seed=3)
    with_tokenizer(folder, ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"w{n}" for n in range(900))])
    told = refusal("toxicity", folder)
    assert "int8.onnx cannot read what tokenizer.json makes of texts" in told
    assert "both must come from one model" in told


def test_a_graph_that_breaks_down_in_the_middle(tmp_path: Path) -> None:
    """Exported for two texts at a time: that shows when others come, and not before."""
    source = make_model(tmp_path / "m", {"toxicity": ["toxic"]}, {}, seed=3)
    folder = tmp_path / "two"
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    (folder / "config.json").write_text(json.dumps({"id2label": {"0": "toxic"}}))
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["real"], ["logits"], axes=[1], keepdims=1),
    ]
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [2, "length"])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [2, 1])
    graph = helper.make_graph(nodes, "two", [ids], [logits])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    save_model(made, str(folder / "model.onnx"))
    told = refusal("toxicity", folder)
    assert "the graph must take any number of texts" in told


def test_a_model_of_another_task_name_may_do_engagement(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m", {}, {"charm": ["dull", "charming"]}, seed=3)
    resources = tiny_resources(own={"engagement": folder})
    made = score(Corpus.of(TALKS), metrics=["engagement"], resources=resources)
    pair = (TALKS[0].turns[0].text, TALKS[0].turns[1].text)
    wanted = float(load(folder).predict([pair])[0, 1])
    same(values(made, "turn", "engagement")["s", "a", "d1", 1], wanted)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, r"card.json cannot be read"),
        ({"files": 3}, r"card.json cannot be"),
        ({"target": None}, r"card.json cannot be used (target is None)"),
        ({"longest_ngram": None}, r"card.json cannot be used (longest_ngram is None)"),
        ({"topics_sha256": 7}, r"card.json cannot be used (topics_sha256 is 7)"),
    ],
)
def test_a_damaged_trait_card(tmp_path: Path, change: dict[str, Any] | None, message: str) -> None:
    save_trait(KINDNESS, tmp_path)
    file = tmp_path / "card.json"
    card = json.loads(file.read_text())
    file.write_text("{" if change is None else json.dumps(card | change))
    assert message in refusal("openness", tmp_path)
