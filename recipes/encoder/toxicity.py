"""Toxicity teachers, from two small open sets (tweets and mixed comments).

python -m recipes.encoder.toxicity --data EMOTIONS --encoder FOLDER --out FOLDER
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import logging
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dialens.base import DialensError

_log = logging.getLogger(__name__)
_HANDLE = re.compile(r"(?:RT\s+)?@\w+:?|&#\d+;|https?://\S+")


@dataclass(frozen=True)
class ToxicTexts:
    """Texts, whether each is toxic, its set (0 tweets, 1 comments) and part (0 train, 1, 2)."""

    texts: list[str]
    toxic: np.ndarray
    origin: np.ndarray
    part: np.ndarray


def read_toxicity(folder: Path) -> ToxicTexts:
    """Read both sets; a tenth of each is for choosing, two tenths for the last measurement."""
    tweets = folder / "davidson_hate_offensive_24783.csv.gz"
    comments = folder / "surge_toxicity_en.csv"
    for file in (tweets, comments):
        if not file.exists():
            raise DialensError(f"{file} is missing")
    texts: list[str] = []
    toxic: list[bool] = []
    with gzip.open(tweets, "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            # Handles and retweet marks tell the set apart, not toxicity.
            texts.append(" ".join(_HANDLE.sub(" ", row["tweet"]).split()) or "?")
            toxic.append(row["class"] in ("0", "1"))
    first = len(texts)
    with comments.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            texts.append(" ".join(row["text"].split()))
            toxic.append(row["is_toxic"] == "Toxic")
    origin = np.zeros(len(texts), dtype=int)
    origin[first:] = 1
    draw = np.random.default_rng(0).random(len(texts))
    part = np.where(draw < 0.7, 0, np.where(draw < 0.8, 1, 2))
    return ToxicTexts(texts, np.array(toxic), origin, part)


def main() -> None:
    """Train teachers."""
    import torch

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

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with both files")
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    data = read_toxicity(options.data)
    rows = [np.flatnonzero(data.part == part) for part in range(3)]
    # The comments are few and nearer to conversation: they count eight times.
    few = rows[0][data.origin[rows[0]] == 1]
    rows[0] = np.concatenate([rows[0], np.tile(few, 7)])
    if options.limit:
        rows = [np.random.default_rng(1).permutation(one)[: options.limit] for one in rows]
    tables = [tokenise(options.encoder, [data.texts[i] for i in r], longest=128) for r in rows]

    def value(model: Encoder) -> float:
        scores = predict(model, tables[1])[:, 0]
        return _by_origin(scores, data, rows[1])["mean"]

    def _by_origin(scores: np.ndarray, data: ToxicTexts, chosen: np.ndarray) -> dict[str, float]:
        each = [
            area_under_curve(
                scores[data.origin[chosen] == one], data.toxic[chosen][data.origin[chosen] == one]
            )
            for one in (0, 1)
        ]
        return {"tweets": each[0], "comments": each[1], "mean": float(np.nanmean(each))}

    for seed in options.seeds:
        torch.manual_seed(seed)
        model = load_encoder(options.encoder, 1).to(best_device())
        schedule = Schedule(epochs=options.epochs, batch=48, rate=3e-5, seed=seed)
        target = data.toxic[rows[0]].astype(np.float32)[:, None]
        result = fit(model, tables[0], target, schedule, evaluate=value)
        folder = options.out / f"seed{seed}"
        save_encoder(model, folder, half=True)
        test = _by_origin(predict(model, tables[2])[:, 0], data, rows[2])
        report = {"seed": seed, "chosen by": result.best_value, "test AUC": test}
        (folder / "report.json").write_text(json.dumps(report, indent=1))
        _log.info("toxicity %s", report)


if __name__ == "__main__":
    main()
