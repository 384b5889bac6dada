r"""Students: one small encoder with the heads of all tasks, taught by the ensembles.

python -m recipes.encoder.distil --transfer FILE --encoder FOLDER --layers 0 2 4 6 \
        --posts RED --emotions FOLDER --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from dialens.models import TextInput
from recipes.encoder.chats import CONTEXT_TURNS, read_appeal
from recipes.encoder.emotion import read_goemotions
from recipes.encoder.engagement import CHATS, LONGEST, Material, validation_value
from recipes.encoder.judged import DEVELOPMENT, SETS, read_judged
from recipes.encoder.posts import load_posts
from recipes.encoder.toxicity import read_toxicity
from recipes.encoder.transfer import HEADS, OUTPUTS, load_transfer

_log = logging.getLogger(__name__)


def column_weights() -> np.ndarray:
    """Return the weight of each column in the loss: the tasks count about the same."""
    weights = np.ones(OUTPUTS, dtype=np.float32)
    weights[HEADS["emotion"]] = 0.5
    for task in ("width", "depth", "validity"):
        weights[HEADS[task]] = 0.3
    return weights


def _reference_texts(
    emotions: Path, judged: Path | None, chats: Path | None
) -> dict[str, list[TextInput]]:
    # What the shipped int8 model is compared with: the same inputs, before quantisation.
    toxic = read_toxicity(emotions)
    found: dict[str, list[TextInput]] = {
        "emotion dev": list(read_goemotions(emotions / "goemotions", "dev")[0]),
        "emotion test": list(read_goemotions(emotions / "goemotions", "test")[0]),
        "toxicity test": [toxic.texts[i] for i in np.flatnonzero(toxic.part == 2)],
    }
    for one in read_judged(judged, (*SETS, *DEVELOPMENT)) if judged else []:
        found[f"{one.name}|{CONTEXT_TURNS}"] = list(one.inputs(CONTEXT_TURNS))
    if chats:
        found[CHATS] = list(read_appeal(chats).part(held_out=True).inputs)
    return found


def main() -> None:
    """Train a student."""
    import torch

    from dialens.models import sigmoid
    from dialens.models.training import (
        Encoder,
        Schedule,
        best_device,
        fit,
        load_encoder,
        predict,
        save_encoder,
        tokenise,
    )
    from dialens.statistics import area_under_curve
    from recipes.encoder.f1 import best_thresholds, macro_f1

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transfer", type=Path, nargs="+", required=True)
    parser.add_argument("--encoder", type=Path, required=True, help="where the student starts")
    parser.add_argument("--layers", type=int, nargs="+", help="layers it keeps; all if not given")
    parser.add_argument("--posts", type=Path, nargs="+", required=True, help="RED folders")
    parser.add_argument("--chats", type=Path, required=True, help="folder of rated chats")
    parser.add_argument("--judged", type=Path, help="folder of human judgements, for measuring")
    parser.add_argument("--emotions", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="time for training")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--resume", action="store_true", help="keep and use checkpoints")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    inputs, targets = load_transfer(options.transfer)
    table = tokenise(options.encoder, inputs, longest=LONGEST)
    posts = load_posts(options.posts, options.limit)
    checks = {
        task: Material(variant, posts, options.chats).checks(most=2000)
        for task, variant in (
            ("engagement", "nsr"),
            ("relevance", "relevance"),
            ("appeal", "appeal"),
        )
    }
    check_tables = {
        task: {
            name: tokenise(options.encoder, one.inputs, longest=LONGEST) for name, one in s.items()
        }
        for task, s in checks.items()
    }
    texts, truth = read_goemotions(options.emotions / "goemotions", "dev")
    emotion_table = tokenise(options.encoder, texts, longest=LONGEST)
    toxic = read_toxicity(options.emotions)
    rows = np.flatnonzero(toxic.part == 1)
    toxic_table = tokenise(options.encoder, [toxic.texts[i] for i in rows], longest=LONGEST)

    def value(model: Encoder) -> float:
        chances = sigmoid(predict(model, emotion_table)[:, HEADS["emotion"]])
        f1 = macro_f1(chances >= best_thresholds(chances, truth), truth)
        pairs = {
            task: validation_value(
                {name: predict(model, one)[:, HEADS[task].start] for name, one in some.items()},
                checks[task],
            )
            for task, some in check_tables.items()
        }
        toxicity = area_under_curve(
            predict(model, toxic_table)[:, HEADS["toxicity"]][:, 0], toxic.toxic[rows]
        )
        _log.info("emotion %.4f toxicity %.4f %s", f1, toxicity, pairs)
        return float(f1 + sum(pairs.values()) + 0.2 * toxicity)

    torch.manual_seed(options.seed)
    model = load_encoder(options.encoder, OUTPUTS, layers=options.layers, dropout=0.05)
    model = model.to(best_device())
    schedule = Schedule(
        epochs=options.epochs, batch=options.batch, rate=options.rate, seed=options.seed
    )
    schedule = replace(schedule, seconds=options.seconds)
    result = fit(
        model,
        table,
        targets,
        schedule,
        evaluate=value,
        weights=column_weights(),
        checkpoint=options.out / "state.pt" if options.resume else None,
    )
    save_encoder(model, options.out)
    logits = {
        part: predict(model, tokenise(options.encoder, texts, longest=LONGEST))
        for part, texts in _reference_texts(options.emotions, options.judged, options.chats).items()
    }
    np.savez(options.out / "logits.npz", **logits)  # type: ignore[arg-type, unused-ignore]
    report = {
        "history": [one.value for one in result.history],
        "seconds": result.seconds,
        "inputs": len(inputs),
    }
    (options.out / "report.json").write_text(json.dumps(report, indent=1))
    _log.info("%s", report)


if __name__ == "__main__":
    main()
