"""Tiny weights for every family that wants some, made once a session."""

import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from dialens.metrics import ScorerContext
from dialens.metrics.families import _pred_en as pred_en
from tests.metrics.automatic import checkpoints

_kept: list[tempfile.TemporaryDirectory[str]] = []


@cache
def tiny_context() -> ScorerContext:
    """A context in which every family is ready; removed at the end of the session."""
    holder = tempfile.TemporaryDirectory(prefix="tiny-weights-")
    _kept.append(holder)
    root = Path(holder.name)
    encoder = checkpoints.bert(root / "bert")
    two: dict[str, Any] = {"head": "ForSequenceClassification", "num_labels": 2}
    language = checkpoints.gpt2(root / "gpt2")
    made = {
        "bert_score": encoder,
        "bart_score": checkpoints.bart(root / "bart"),
        "bleurt": checkpoints.bleurt_bert(root / "bleurt"),
        "prism": checkpoints.prism(root / "prism"),
        "perplexity": language,
        "fed": language,
        "usl_h_vup": checkpoints.bert(root / "vup", seed=1, **two),
        "usl_h_nup": checkpoints.bert(root / "nup", seed=2, **two),
        "usl_h_mlm": checkpoints.bert(root / "mlm", seed=3, head="ForMaskedLM"),
    }
    for number, name in enumerate(("pred_en", "pred_en_finetuned")):
        made[name] = Path(shutil.copytree(encoder, root / name))
        torch.manual_seed(number)
        sizes = (checkpoints.WIDTH, 16, 16, 16, 2)
        layers = {}
        for layer, width, height in zip(pred_en.LAYERS, sizes, sizes[1:], strict=False):
            layers[f"{layer}.weight"] = torch.randn(height, width)
            layers[f"{layer}.bias"] = torch.randn(height)
        save_file(layers, made[name] / pred_en.CLASSIFIER)
    for ranker in ("updown", "width", "depth", "human_vs_rand", "human_vs_machine"):
        name = f"dialog_rpt_{ranker}"
        made[name] = checkpoints.gpt2(root / name, head="ForSequenceClassification", num_labels=1)
    options = {
        "mauve": {"minimum": "2"},
        "meteor": {"synonyms": "no"},
        "usl_h": {"nll_low": "0", "nll_high": "9"},
    }
    return ScorerContext({name: str(place) for name, place in made.items()}, options, device="cpu")
