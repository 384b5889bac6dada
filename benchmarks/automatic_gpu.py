"""Seconds of the learned automatic metrics on a GPU and on the same machine's CPU, in one run.

    python benchmarks/automatic_gpu.py
    python benchmarks/automatic_gpu.py --pairs 50 --devices cpu,cpu --shrink 4    does it run?

Random checkpoints of the usual sizes: RoBERTa-base for BERTScore (layer 10), BART-base for
BARTScore, GPT-2 small for perplexity, with a tokenizer of the few words that the texts are made of.
A metric is opened, scores 64 other pairs to warm up, then the pairs; on a GPU the best of three
rounds counts. Scores of the two devices are compared value by value. Nothing here asserts anything.
"""

import argparse
import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import tokenizers
import torch
import transformers

from dialens.metrics import ScorerContext, Unit
from dialens.metrics.families import _bart_score as bart_score
from dialens.metrics.families import _bert_score as bert_score
from dialens.metrics.families import _perplexity as perplexity

WORDS = str.split("""
    i you we they the a an my your so really very just not do don't can will would have had like
    love hate think know want need see go went come work play watch read eat cook sleep live dog
    cat music movie book game food coffee tea pizza school job weekend family friend mother
    brother city house car garden beach summer winter morning night today tomorrow always never
    sometimes maybe also too but and or because when what how why where great nice fun cool sad
    sorry happy tired busy funny interesting favourite new old big small good bad better best
""")
T = TypeVar("T")
WARM = 64
AGREE = 1e-3


def texts(count: int, dice: random.Random) -> list[str]:
    """Sentences of a few words, drawn by Zipf's law."""
    weights = [1 / (rank + 3) for rank in range(len(WORDS))]
    return [
        " ".join(dice.choices(WORDS, weights, k=dice.randint(3, 25))).capitalize()
        + dice.choice(".!?")
        for _ in range(count)
    ]


def units(count: int, seed: int) -> list[Unit]:
    """Contexts of two turns, a reply and a reference each."""
    dice = random.Random(seed)
    said = texts(4 * count, dice)
    return [Unit((a, b), c, (d,)) for a, b, c, d in zip(*[iter(said)] * 4, strict=True)]


def pieces(first: list[str], last: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A byte-level vocabulary of the texts, special tokens first and last."""
    learned = tokenizers.Tokenizer(tokenizers.models.BPE())
    learned.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=20_000,
        special_tokens=first,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    learned.train_from_iterator(texts(4000, random.Random(99)), trainer)
    model = json.loads(learned.to_str())["model"]
    vocabulary = model["vocab"]
    for token in last:
        vocabulary[token] = len(vocabulary)
    return vocabulary, [(left, right) for left, right in model["merges"]]


IDS = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


def roberta(folder: Path, shrink: int) -> Path:
    """RoBERTa-base."""
    vocabulary, merges = pieces(SPECIAL, ["<mask>"])
    tokenizer = transformers.RobertaTokenizer(vocab=vocabulary, merges=merges, model_max_length=512)
    config = transformers.RobertaConfig(
        vocab_size=50265,
        hidden_size=768 // shrink,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072 // shrink,
        max_position_embeddings=514,
        type_vocab_size=1,
        **IDS,
    )
    return written(folder, transformers.RobertaModel, config, tokenizer)


def bart(folder: Path, shrink: int) -> Path:
    """BART-base."""
    vocabulary, merges = pieces(SPECIAL, ["<mask>"])
    tokenizer = transformers.BartTokenizer(vocab=vocabulary, merges=merges, model_max_length=1024)
    config = transformers.BartConfig(
        vocab_size=50265,
        d_model=768 // shrink,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=12,
        decoder_attention_heads=12,
        encoder_ffn_dim=3072 // shrink,
        decoder_ffn_dim=3072 // shrink,
        max_position_embeddings=1024,
        decoder_start_token_id=2,
        **IDS,
    )
    return written(folder, transformers.BartForConditionalGeneration, config, tokenizer)


def gpt2(folder: Path, shrink: int) -> Path:
    """GPT-2 small."""
    vocabulary, merges = pieces([], ["<|endoftext|>"])
    tokenizer = transformers.GPT2Tokenizer(vocab=vocabulary, merges=merges, model_max_length=1024)
    end = vocabulary["<|endoftext|>"]
    config = transformers.GPT2Config(
        vocab_size=50257,
        n_embd=768 // shrink,
        n_layer=12,
        n_head=12,
        n_positions=1024,
        bos_token_id=end,
        eos_token_id=end,
    )
    return written(folder, transformers.GPT2LMHeadModel, config, tokenizer)


def written(folder: Path, kind: Any, config: Any, tokenizer: Any) -> Path:
    """Weights larger than at the start of training, so that scores differ from pair to pair."""
    model = kind(config)
    dice = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, values in model.named_parameters():
            noise = torch.randn(values.shape, generator=dice)
            is_norm = values.ndim == 1 and name.endswith("weight")
            values.copy_(1 + 0.1 * noise if is_norm else 0.05 * noise)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


METRICS = {
    "bert_score": (bert_score.FAMILY, roberta, {"layer": "10"}, "RoBERTa-base"),
    "perplexity": (perplexity.FAMILY, gpt2, {}, "GPT-2 small"),
    "bart_score": (bart_score.FAMILY, bart, {}, "BART-base"),
}


def timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """What a piece of work gives, its seconds and its processor seconds."""
    began, used = time.perf_counter(), time.process_time()
    made = work()
    return made, time.perf_counter() - began, time.process_time() - used


def measured(
    name: str, folder: Path, device: str, pairs: list[Unit], repeat: int
) -> tuple[np.ndarray, dict[str, float]]:
    """The scores of one metric on one device, and its seconds."""
    family, _, options, _ = METRICS[name]
    context = ScorerContext({name: str(folder)}, {name: options} if options else {}, device=device)
    scorer, load_s, _ = timed(lambda: family.open(context))
    _, warm_s, _ = timed(lambda: scorer.score(units(WARM, seed=1)))
    times = repeat if device == "cuda" else 1  # a CPU takes minutes, and its first run is as good
    runs = [timed(lambda: scorer.score(pairs)) for _ in range(times)]
    found, score_s, cpu_s = min(runs, key=lambda run: run[1])
    figures = {"load_s": load_s, "warm_s": warm_s, "score_s": score_s, "cpu_s": cpu_s}
    if device == "cuda":
        figures["gpu_peak_mib"] = torch.cuda.max_memory_allocated() / 2**20
        torch.cuda.reset_peak_memory_stats()
    return np.asarray(found), figures


def compared(one: np.ndarray, other: np.ndarray) -> dict[str, Any]:
    """How far two devices differ, beside how far pairs do."""
    off = np.abs(one - other)
    relative = off / np.maximum(np.abs(one), 1e-12)
    return {
        "values": int(one.size),
        "finite": bool(np.isfinite(one).all() and np.isfinite(other).all()),
        "largest_relative": float(relative.max()),
        "largest_absolute": float(off.max()),
        "spread": [float(value) for value in one.std(axis=0)],
        "agrees": bool((relative <= AGREE).all()),
    }


def machine() -> dict[str, Any]:
    """What ran it."""
    told = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "cores": len(os.sched_getaffinity(0)),
        "cuda_matmul_tf32": torch.backends.cuda.matmul.allow_tf32,
    }
    if torch.cuda.is_available():
        told["gpu"] = torch.cuda.get_device_name(0)
    return told


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--devices", default="cpu,cuda")
    parser.add_argument("--shrink", type=int, default=1, help="divides the widths, to rehearse")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    devices = given.devices.split(",")
    transformers.utils.logging.disable_progress_bar()
    pairs = units(given.pairs, seed=0)
    metrics: dict[str, Any] = {}
    report = {"machine": machine(), "pairs": given.pairs, "metrics": metrics}
    print(json.dumps(report["machine"]))
    print(
        f"{'metric':11} {'shape':13} "
        + " ".join(f"{d + ' s':>9}" for d in devices)
        + f" {'times':>7} {'rel.diff':>9} {'agrees':>7}"
    )
    with tempfile.TemporaryDirectory() as root:
        for name, (_, make, _, shape) in METRICS.items():
            folder = make(Path(root) / name, given.shrink)
            found, figures = {}, {}
            for place in devices:
                key = place if place not in found else f"{place} again"
                found[key], figures[key] = measured(name, folder, place, pairs, given.repeat)
            keys = list(found)
            last = compared(found[keys[0]], found[keys[-1]])
            seconds = [figures[key]["score_s"] for key in keys]
            metrics[name] = {"shape": shape, "devices": figures, "scores": last}
            print(
                f"{name:11} {shape:13} "
                + " ".join(f"{s:9.2f}" for s in seconds)
                + f" {seconds[0] / seconds[-1]:7.1f} {last['largest_relative']:9.1e}"
                + f" {'yes' if last['agrees'] else 'NO':>7}",
                flush=True,
            )
            if given.out:  # after each, so that a run cut short leaves something
                given.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
