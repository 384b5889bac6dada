"""How fast the shipped runtime is beside the usual ways, in one run on the same texts.

    python benchmarks/models.py [--texts 200] [--threads 2]

Compares the MiniLM-sized model in our runtime (length-sorted batches, int8 and fp32) with a Hugging
Face pipeline of the same size fed one text at a time, and with padded batches in the order given.
Where no weights ship, a random model of the same size takes their place: time does not depend on
what weights say. Prints texts per second and ratios; asserts nothing. Needs the extra `train`.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import tokenizers
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    pipeline,
)

from dialens.models import list_models, load
from dialens.models.training import Encoder, export, save_encoder
from dialens.models.training._shape import Shape

WORDS = ["the", "people", "said", "that", "it", "was", "a", "good", "day", "for", "two", "dogs"]
VOCABULARY = 30_522
LABELS = 28
MINILM = {"width": 384, "layers": 6, "heads": 12, "inner": 1536}


def texts_of(lengths, generator):
    """Texts of so many tokens, the two that mark begin and end included."""
    return [" ".join(generator.choice(WORDS, max(1, length - 2))) for length in lengths]


def random_model(folder):
    """Export a random encoder of MiniLM's size with a tokenizer that knows the words above."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    known = [*special, *WORDS]
    known += [f"unused{i}" for i in range(VOCABULARY - len(known))]
    pieces = tokenizers.models.WordPiece({w: i for i, w in enumerate(known)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(pieces)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    shape = Shape(vocabulary=VOCABULARY, positions=512, types=2, **MINILM)
    save_encoder(Encoder(shape, LABELS), folder / "encoder")
    tokenizer.save(str(folder / "encoder" / "tokenizer.json"))
    tasks = {"emotion": {"labels": [f"label {i}" for i in range(LABELS)]}}
    card = {"name": "random", "tasks": tasks}
    export(folder / "encoder", folder / "model", {"emotion": slice(0, LABELS)}, card)
    return folder / "model"


def small_model(scratch):
    """The folder of the MiniLM-sized model that ships, or of a random one."""
    for one in list_models():
        if one.size == "small" and one.task == "emotion":
            return one.card.folder, "the small model that ships"
    return random_model(scratch), "a random model of MiniLM's size (no weights ship yet)"


def timed(function, texts, repeats):
    """Texts a second, the best of some rounds: what else the machine does only slows down."""
    function(texts[:8])
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        function(texts)
        best = min(best, time.perf_counter() - started)
    return len(texts) / best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32, help="of the padded, unsorted batches")
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    generator = np.random.default_rng(0)
    # Two short turns for every long one, as in conversation logs.
    mixed = np.where(
        generator.random(given.texts) < 0.67,
        generator.integers(5, 30, given.texts),
        generator.integers(60, 127, given.texts),
    )
    sets = {
        "20 tokens": texts_of([20] * given.texts, generator),
        "60 tokens": texts_of([60] * given.texts, generator),
        "mixed": texts_of(mixed, generator),
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder, what = small_model(Path(scratch))
        print(f"{what}; {given.texts} texts, {given.threads} threads, texts a second:\n")
        compare(folder, sets, given)


def compare(folder, sets, given):
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]"
    )
    shape = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=MINILM["width"],
        num_hidden_layers=MINILM["layers"],
        num_attention_heads=MINILM["heads"],
        intermediate_size=MINILM["inner"],
        num_labels=LABELS,
    )
    network = BertForSequenceClassification(shape).eval()
    one_by_one = pipeline("text-classification", model=network, tokenizer=tokenizer, device=-1)
    ours = {
        precision: load(folder, "emotion", precision=precision, threads=given.threads)
        for precision in ("int8", "fp32")
    }

    def single(texts):
        for text in texts:
            one_by_one(text)

    def padded(texts):
        with torch.inference_mode():
            for start in range(0, len(texts), given.batch):
                chunk = texts[start : start + given.batch]
                network(**tokenizer(chunk, padding=True, truncation=True, return_tensors="pt"))

    ways = {
        "pipeline": single,
        "padded": padded,
        "fp32": ours["fp32"].predict,
        "int8": ours["int8"].predict,
    }
    print(f"{'':10}" + "".join(f"{way:>10}" for way in ways) + "   int8 / pipeline  int8 / padded")
    for name, texts in sets.items():
        speed = {way: timed(function, texts, given.repeats) for way, function in ways.items()}
        print(
            f"{name:10}" + "".join(f"{value:10.0f}" for value in speed.values()) + f"   "
            f"{speed['int8'] / speed['pipeline']:15.1f}  {speed['int8'] / speed['padded']:13.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
