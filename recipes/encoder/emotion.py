r"""Emotion teachers: GoEmotions' 27 emotions and neutral, several labels a text.

python -m recipes.encoder.emotion --data GOEMOTIONS --encoder FOLDER --out FOLDER \
        --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from dialens.base import DialensError

_log = logging.getLogger(__name__)


def read_goemotions(folder: Path, part: str) -> tuple[list[str], np.ndarray]:
    """Return texts and a 0/1 table of labels of one part: train, dev or test."""
    count = len(read_labels(folder))
    file = folder / f"{part}.tsv"
    packed = folder / f"{part}.tsv.gz"
    if not file.exists() and not packed.exists():
        raise DialensError(f"{folder} has no {part}.tsv: give GoEmotions' folder")
    raw = (
        file.read_text("utf-8") if file.exists() else gzip.decompress(packed.read_bytes()).decode()
    )
    texts: list[str] = []
    truth: list[np.ndarray] = []
    for number, line in enumerate(raw.strip("\n").split("\n"), start=1):
        fields = line.split("\t")
        if len(fields) < 2:
            raise DialensError(f"{file}:{number} has no tab: a line is text, labels, id")
        row = np.zeros(count, dtype=bool)
        row[[int(label) for label in fields[1].split(",")]] = True
        texts.append(fields[0].strip())
        truth.append(row)
    return texts, np.stack(truth)


def read_labels(folder: Path) -> list[str]:
    """Return the 28 names."""
    names = (folder / "labels.txt").read_text("utf-8").split()
    return names if "neutral" in names else [*names, "neutral"]


def main() -> None:
    """Train teachers."""
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
    from recipes.encoder.f1 import best_thresholds, macro_f1

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="GoEmotions' folder")
    parser.add_argument("--encoder", type=Path, required=True, help="pretrained encoder")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--rate", type=float, default=4e-5)
    parser.add_argument("--seconds", type=float, help="time for each seed")
    parser.add_argument("--limit", type=int, help="rows of each part, to try things out")
    parser.add_argument("--resume", action="store_true", help="keep and use checkpoints")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    parts = {part: read_goemotions(options.data, part) for part in ("train", "dev", "test")}
    parts = {
        part: (texts[: options.limit], y[: options.limit]) for part, (texts, y) in parts.items()
    }
    tables = {part: tokenise(options.encoder, t, longest=96) for part, (t, _) in parts.items()}
    truth = {part: y for part, (_, y) in parts.items()}

    def value(model: Encoder) -> float:
        chances = sigmoid(predict(model, tables["dev"]))
        return macro_f1(chances >= best_thresholds(chances, truth["dev"]), truth["dev"])

    for seed in options.seeds:
        import torch

        torch.manual_seed(seed)
        model = load_encoder(options.encoder, len(read_labels(options.data))).to(best_device())
        schedule = Schedule(
            epochs=options.epochs, batch=options.batch, rate=options.rate, seed=seed
        )
        schedule = replace(schedule, seconds=options.seconds)
        folder = options.out / f"seed{seed}"
        result = fit(
            model,
            tables["train"],
            truth["train"].astype(np.float32),
            schedule,
            evaluate=value,
            checkpoint=folder / "state.pt" if options.resume else None,
        )
        save_encoder(model, folder, half=True)
        logits = {part: predict(model, tables[part]) for part in ("dev", "test")}
        np.savez(folder / "logits.npz", **logits)  # type: ignore[arg-type, unused-ignore]
        chances = {part: sigmoid(one) for part, one in logits.items()}
        thresholds = best_thresholds(chances["dev"], truth["dev"])
        report = {
            "seed": seed,
            "dev macro-F1": result.best_value,
            "test macro-F1": macro_f1(chances["test"] >= thresholds, truth["test"]),
            "history": [one.value for one in result.history],
            "seconds": result.seconds,
        }
        (folder / "report.json").write_text(json.dumps(report, indent=1))
        _log.info("emotion %s", report)


if __name__ == "__main__":
    main()
