"""Small models made here, so that the runtime is tested whatever weights ship."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch
import transformers

from dialens.models.training import Encoder, export, save_encoder
from dialens.models.training._shape import Shape

SENTENCES = [
    "Thank you so much, this made my day!",
    "I really don't know what to think about the new stadium they want to build downtown.",
    "What an idiot. Nobody asked you, and nobody ever will.",
    "We drove up to the lake and learned to sail. Have you ever tried?",
    "Well, the weather was terrible, but the food made up for all of it.",
    "How do you like your new job? Are the people there friendly?",
    "no", "ok", "lol", "I see.", "Why?", "That sounds wonderful!",
]  # fmt: skip
EMOTIONS = ("joy", "anger", "surprise")


def wordpiece(file: Path) -> tokenizers.Tokenizer:
    """Train a WordPiece tokenizer, as BERT has one, on a few sentences."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=400,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    # What a published file may ask for; the runtime must not follow it.
    tokenizer.enable_truncation(9)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(file))
    return tokenizer


@torch.inference_mode()
def spread_out(model: Encoder, tokenizer: tokenizers.Tokenizer) -> None:
    """Move and scale a random head so that its logits differ from text to text."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    logits = []
    for sentence in SENTENCES:
        ids = torch.tensor([tokenizer.encode(sentence).ids])
        logits.append(model(ids, torch.ones_like(ids), torch.zeros_like(ids)))
    found = torch.cat(logits)
    model.head.weight /= found.std(0)[:, None]
    model.head.bias.copy_(-found.mean(0) / found.std(0))


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random encoder of MiniLM's width with two layers, three tasks, exported as ours are."""
    source = tmp_path_factory.mktemp("encoder")
    tokenizer = wordpiece(source / "tokenizer.json")
    torch.manual_seed(0)
    shape = Shape(
        vocabulary=tokenizer.get_vocab_size(),
        width=384,
        layers=2,
        heads=12,
        inner=1536,
        positions=512,
        types=2,
    )
    model = Encoder(shape, 5).eval()
    for weight in model.parameters():
        if weight.dim() == 2:
            torch.nn.init.normal_(weight, std=0.06)
    spread_out(model, tokenizer)
    save_encoder(model, source)
    tasks = {
        "emotion": {
            "labels": list(EMOTIONS),
            "activation": "sigmoid",
            "thresholds": [0.0, 0.5, 1.1],
            "metrics": {"test macro-F1": {"value": 0.5, "low": 0.4, "high": 0.6, "n": 9}},
        },
        "toxicity": {"labels": ["toxic"], "activation": "sigmoid"},
        "engagement": {"labels": ["engaging"], "activation": "sigmoid", "pair": True},
    }
    card = {
        "name": "tiny",
        "tasks": tasks,
        "default_for": ["emotion", "engagement"],
        "licence": "Apache-2.0",
        "seed": 0,
    }
    heads = {"emotion": slice(0, 3), "toxicity": slice(3, 4), "engagement": slice(4, 5)}
    folder = tmp_path_factory.mktemp("models") / "tiny"
    export(source, folder, heads, card)
    return folder


@pytest.fixture(scope="session")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT classifier of three classes, saved by transformers (safetensors)."""
    folder = tmp_path_factory.mktemp("classifier") / "bert"
    folder.mkdir()
    file = folder.parent / "tokenizer.json"
    size = wordpiece(file).get_vocab_size()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(file),
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
    torch.manual_seed(3)
    shape = transformers.BertConfig(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        initializer_range=0.3,
        id2label=dict(enumerate(EMOTIONS)),
        label2id={name: i for i, name in enumerate(EMOTIONS)},
    )
    transformers.BertForSequenceClassification(shape).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def exported_folder(bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with the usual names of inputs and outputs, and no card: mean of word vectors.

    Written node by node with ONNX's own library; what it computes is easy to compute again.
    """
    from onnx import TensorProto, helper, numpy_helper, save_model

    folder = tmp_path_factory.mktemp("exported") / "plain"
    folder.mkdir()
    for name in ("tokenizer.json", "config.json"):
        (folder / name).write_bytes((bert_folder / name).read_bytes())
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    table = np.random.default_rng(4).normal(size=(size, 3)).astype(np.float32)
    axis = numpy_helper.from_array(np.array([1]), "one")
    last = numpy_helper.from_array(np.array([2]), "two")
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["real", "two"], ["weight"]),
        helper.make_node("Mul", ["rows", "weight"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "one"], ["logits"], keepdims=0),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "length"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", "classes"])]
    constants = [numpy_helper.from_array(table, "table"), axis, last]
    graph = helper.make_graph(nodes, "plain", inputs, outputs, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    save_model(made, str(folder / "model.onnx"))
    np.save(folder.parent / "table.npy", table)
    return folder
