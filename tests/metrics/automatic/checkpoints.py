"""Tiny checkpoints with random weights: real architectures, real files, for exact arithmetic.

Each function writes a folder as transformers saves one (`config.json`, `model.safetensors`, the
tokenizer's files) and returns it. The same arguments give the same weights.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file

SENTENCES = (
    "hello there, how are you today?",
    "I am fine, thanks for asking.",
    "the cat sat on the mat",
    "what a wonderful day it is to go outside and play with the dog in the park!",
    "no",
    "do you like music? I love the piano and the guitar.",
    "yes, I do.",
    "we could go to the cinema tonight, or stay at home and cook something nice together",
)
"""Texts of several lengths, whose words every tokenizer here knows."""

WIDTH = 32
POSITIONS = 96
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORDS = sorted({word.strip(",.?!").lower() for text in SENTENCES for word in text.split()})
_PIECES = dict.fromkeys([*_WORDS, *_LETTERS, *(f"##{one}" for one in _LETTERS), *"0123456789,.?!'"])
_SHAPE: dict[str, Any] = {
    "hidden_size": WIDTH,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": POSITIONS,
}
_HALVES: dict[str, Any] = {
    "d_model": WIDTH,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": POSITIONS,
}


def bert(folder: Path, *, seed: int = 0, head: str = "Model", **config: Any) -> Path:
    """BERT; `head` is the end of the class: `ForSequenceClassification`, `ForMaskedLM` …"""
    vocabulary = _numbered(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_PIECES])
    tokenizer = transformers.BertTokenizer(vocab=vocabulary, model_max_length=POSITIONS)
    made = transformers.BertConfig(vocab_size=len(vocabulary), **{**_SHAPE, **config})
    return _write(folder, getattr(transformers, f"Bert{head}"), made, tokenizer, seed)


def mpnet(folder: Path, *, seed: int = 0, head: str = "Model", **config: Any) -> Path:
    """MPNet, whose positions are relative too."""
    vocabulary = _numbered(["<s>", "<pad>", "</s>", "[UNK]", *_PIECES, "<mask>"])
    tokenizer = transformers.MPNetTokenizer(vocab=vocabulary, model_max_length=POSITIONS - 2)
    made = transformers.MPNetConfig(vocab_size=len(vocabulary), **{**_SHAPE, **config})
    return _write(folder, getattr(transformers, f"MPNet{head}"), made, tokenizer, seed)


def roberta(folder: Path, *, seed: int = 0, head: str = "Model", **config: Any) -> Path:
    """RoBERTa with byte-level pieces."""
    vocabulary, merges = _byte_pairs(["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"])
    tokenizer = transformers.RobertaTokenizer(
        vocab=vocabulary, merges=merges, model_max_length=POSITIONS - 2
    )
    ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    made = transformers.RobertaConfig(
        vocab_size=len(vocabulary), **{**_SHAPE, **ids, "type_vocab_size": 1, **config}
    )
    return _write(folder, getattr(transformers, f"Roberta{head}"), made, tokenizer, seed)


def gpt2(folder: Path, *, seed: int = 0, head: str = "LMHeadModel", **config: Any) -> Path:
    """GPT-2; `head` may be `ForSequenceClassification`."""
    tokenizer = _gpt2_tokenizer()
    end = tokenizer.eos_token_id
    shape = {"n_positions": POSITIONS, "n_embd": WIDTH, "n_layer": 2, "n_head": 4}
    made = transformers.GPT2Config(
        vocab_size=len(tokenizer), **{**shape, "bos_token_id": end, "eos_token_id": end, **config}
    )
    return _write(folder, getattr(transformers, f"GPT2{head}"), made, tokenizer, seed)


def _gpt2_tokenizer() -> Any:
    vocabulary, merges = _byte_pairs([], ["<|endoftext|>"])
    return transformers.GPT2Tokenizer(vocab=vocabulary, merges=merges, model_max_length=POSITIONS)


def bart(folder: Path, *, seed: int = 0, **config: Any) -> Path:
    """BART with its head for generation, and its usual special tokens."""
    vocabulary, merges = _byte_pairs(["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"])
    tokenizer = transformers.BartTokenizer(
        vocab=vocabulary, merges=merges, model_max_length=POSITIONS
    )
    ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    made = transformers.BartConfig(vocab_size=len(vocabulary), **{**_HALVES, **ids, **config})
    return _write(folder, transformers.BartForConditionalGeneration, made, tokenizer, seed)


def prism(folder: Path, *, seed: int = 0, tags: tuple[str, ...] = ("<en>", "<de>")) -> Path:
    """A multilingual translation model of Prism's kind: the encoder reads no tag of a language."""
    vocabulary = _numbered(["<s>", "<pad>", "</s>", "<unk>", *_PIECES, *tags])
    raw = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="<unk>"))
    raw.normalizer = tokenizers.normalizers.BertNormalizer()
    raw.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    raw.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=POSITIONS,
    )
    ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    made = transformers.M2M100Config(vocab_size=len(vocabulary), **_HALVES, **ids)
    return _write(folder, transformers.M2M100ForConditionalGeneration, made, tokenizer, seed)


def bleurt_bert(folder: Path, *, seed: int = 0) -> Path:
    """A BLEURT of the first kind: BERT with one number on top."""
    return bert(folder, seed=seed, head="ForSequenceClassification", num_labels=1)


def bleurt_rembert(folder: Path, *, seed: int = 0) -> Path:
    """A BLEURT-20: RemBERT with one number on top."""
    vocabulary = _numbered(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_PIECES])
    tokenizer = transformers.BertTokenizer(vocab=vocabulary, model_max_length=POSITIONS)
    made = transformers.RemBertConfig(
        vocab_size=len(vocabulary),
        input_embedding_size=16,
        output_embedding_size=16,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        num_labels=1,
        **_SHAPE,
    )
    return _write(folder, transformers.RemBertForSequenceClassification, made, tokenizer, seed)


def bleurt_port(folder: Path, *, seed: int = 0, factorised: bool) -> Path:
    """The same two as the PyTorch port of BLEURT names them: model type `bleurt`."""
    made = bleurt_rembert(folder, seed=seed) if factorised else bleurt_bert(folder, seed=seed)
    ours, place = ("rembert", "embedding_hidden_mapping_in") if factorised else ("bert", "")

    def renamed(name: str) -> str:
        name = name.replace(f"{ours}.", "bleurt.", 1)
        return name.replace(place, "embedding_projection") if place else name

    weights = load_file(made / "model.safetensors")
    save_file(
        {renamed(name): values for name, values in weights.items()}, made / "model.safetensors"
    )
    file = made / "config.json"
    config = json.loads(file.read_text())
    config["embedding_size"] = config.pop("input_embedding_size", None)
    config.pop("output_embedding_size", None)
    config |= {"model_type": "bleurt", "architectures": ["BleurtForSequenceClassification"]}
    file.write_text(json.dumps(config))
    return made


def bloom(folder: Path, *, seed: int = 0) -> Path:
    """BLOOM, whose positions are without end."""
    tokenizer = _gpt2_tokenizer()
    made = transformers.BloomConfig(
        vocab_size=len(tokenizer), hidden_size=WIDTH, n_layer=2, n_head=4
    )
    return _write(folder, transformers.BloomForCausalLM, made, tokenizer, seed)


def t5(folder: Path, *, seed: int = 0, **config: Any) -> Path:
    """T5, whose configuration need not say what its decoder begins with."""
    vocabulary, merges = _byte_pairs(["<pad>", "</s>", "<unk>"], [])
    tokenizer = transformers.GPT2Tokenizer(
        vocab=vocabulary, merges=merges, eos_token="</s>", model_max_length=POSITIONS
    )
    made = transformers.T5Config(
        vocab_size=len(vocabulary),
        d_model=WIDTH,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        **config,
    )
    return _write(folder, transformers.T5ForConditionalGeneration, made, tokenizer, seed)


def pickled(folder: Path) -> Path:
    """The same folder with its weights as a pickle."""
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


def in_pieces(folder: Path, *, pickles: bool = False) -> Path:
    """The same folder with its weights in two files and an index, as large models have them."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    first, suffix = ("pytorch_model", "bin") if pickles else ("model", "safetensors")
    names = [f"{first}-0000{number}-of-00002.{suffix}" for number in (1, 2)]
    where = {name: names[place % 2] for place, name in enumerate(sorted(weights))}
    for file in names:
        piece = {name: weights[name] for name, kept in where.items() if kept == file}
        (torch.save if pickles else save_file)(piece, folder / file)
    index = {"metadata": {}, "weight_map": where}
    (folder / f"{first}.{suffix}.index.json").write_text(json.dumps(index))
    return folder


def _numbered(pieces: list[str]) -> dict[str, int]:
    return {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}


def _byte_pairs(first: list[str], last: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A byte-level vocabulary of the sentences, with special tokens before and after."""
    learned = tokenizers.Tokenizer(tokenizers.models.BPE())
    learned.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=first,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    learned.train_from_iterator(SENTENCES, trainer)
    model = json.loads(learned.to_str())["model"]
    vocabulary: dict[str, int] = model["vocab"]
    for token in last:
        vocabulary[token] = len(vocabulary)
    return vocabulary, [(left, right) for left, right in model["merges"]]


def _write(
    folder: Path,
    kind: Callable[[Any], Any],
    config: Any,
    tokenizer: Any,
    seed: int,
) -> Path:
    with torch.random.fork_rng():
        model = kind(config)
    dice = torch.Generator().manual_seed(seed)
    tables: Mapping[str, torch.Tensor] = dict(model.named_parameters())
    with torch.no_grad():  # large enough that every input gives a number of its own
        for name, values in tables.items():
            noise = torch.randn(values.shape, generator=dice)
            is_norm = values.ndim == 1 and name.endswith("weight")
            values.copy_(1 + 0.1 * noise if is_norm else 0.25 * noise)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
