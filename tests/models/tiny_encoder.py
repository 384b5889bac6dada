# ruff: noqa: SIM905
"""Random encoders with a vocabulary of a few words, and sentences of these words."""

from typing import Any

import numpy as np
import tokenizers
import torch

from dialens.models.training import Encoder, save_encoder
from dialens.models.training._shape import Shape

WORDS = (
    "i you love hate this that game dog cat food is was so very bad good thanks lol ? . !".split()
)
FAMILIES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "bert": (["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], {"types": 2, "pad": 0}),
    "mpnet": (
        ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        {"relative_buckets": 8, "first_position": 2, "pad": 1, "norm_epsilon": 1e-5},
    ),
}


def tiny_encoder(folder, family="mpnet", outputs=1, *, spread=None):
    """Save a random encoder of 64 numbers; `spread` is the deviation of its weights."""
    special, options = FAMILIES[family]
    vocabulary = {word: i for i, word in enumerate(special + WORDS)}
    unknown = special[1] if family == "bert" else special[3]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=unknown))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    torch.manual_seed(1)
    shape = Shape(
        vocabulary=len(vocabulary), width=64, layers=2, heads=2, inner=128, positions=140, **options
    )
    model = Encoder(shape, outputs)
    if spread is not None:
        with torch.no_grad():
            for weight in model.parameters():
                if weight.dim() == 2:
                    weight.normal_(std=spread)
    save_encoder(model, folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def sentences(count, seed=0):
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, generator.integers(2, 12))) for _ in range(count)]
