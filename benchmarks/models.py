"""How fast the shipped runtime is beside the usual ways, in one run on the same texts.

    python benchmarks/models.py [--texts 200] [--threads 2]

Compares the MiniLM-sized model in our runtime (length-sorted int8 batches) with a Hugging Face
pipeline of the same size fed one text at a time, and with padded batches in the order given. Prints
texts per second and ratios; asserts nothing. Needs the extra `train` (torch, transformers).
"""

import argparse
import time

import numpy as np
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    pipeline,
)

from dialens.models import load
from dialens.models.store import SHIPPED

WORDS = ["the", "people", "said", "that", "it", "was", "a", "good", "day", "for", "two", "dogs"]


def texts_of(lengths, generator):
    return [" ".join(generator.choice(WORDS, max(1, length - 2))) for length in lengths]


def timed(function, texts):
    function(texts[:8])  # warm
    started = time.perf_counter()
    function(texts)
    return len(texts) / (time.perf_counter() - started)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
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
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(SHIPPED / "small" / "tokenizer.json"), pad_token="[PAD]"
    )
    shape = BertConfig(
        vocab_size=30522,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        num_labels=28,
    )
    network = BertForSequenceClassification(shape).eval()
    one_by_one = pipeline("text-classification", model=network, tokenizer=tokenizer, device=-1)
    ours = {p: load("emotion-small", precision=p, threads=given.threads) for p in ("int8", "fp32")}

    def single(texts):
        for text in texts:
            one_by_one(text)

    def padded(texts):
        with torch.inference_mode():
            for start in range(0, len(texts), 64):
                chunk = texts[start : start + 64]
                network(**tokenizer(chunk, padding=True, truncation=True, return_tensors="pt"))

    print(f"{'':10} {'pipeline':>9} {'padded':>9} {'fp32':>9} {'int8':>9}   int8 is")
    for name, texts in sets.items():
        slow, unsorted = timed(single, texts), timed(padded, texts)
        float_speed = timed(ours["fp32"].predict, texts)
        speed = timed(ours["int8"].predict, texts)
        print(
            f"{name:10} {slow:9.0f} {unsorted:9.0f} {float_speed:9.0f} {speed:9.0f}   "
            f"{speed / slow:.1f} × one at a time, {speed / unsorted:.1f} × padded and unsorted"
        )


if __name__ == "__main__":
    main()
