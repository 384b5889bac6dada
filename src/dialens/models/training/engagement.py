r"""Engagement teachers over several seeds, measured on held-out threads and on human judgement.

python -m dialens.models.training.engagement --posts FILE --encoder FOLDER \
        --judged FOLDER --variant soft --seeds 0 1 2 --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from dialens.models.training.endex import DIMENSIONS, Posts, load_posts
from dialens.models.training.pairs import VARIANTS, PairMaker, Pairs, validation_pairs

LONGEST = 128
CONTEXT_TURNS = 2

_log = logging.getLogger(__name__)


def makers(posts: Posts) -> tuple[PairMaker, PairMaker]:
    """Return the pair makers of training and validation: split by thread."""
    out = posts.held_out()
    return PairMaker(posts, np.flatnonzero(~out)), PairMaker(posts, np.flatnonzero(out))


def validation_value(scores: dict[str, np.ndarray], pairs: dict[str, Pairs]) -> float:
    """Return the mean AUC over the validation sets: what variants and epochs are chosen by."""
    from dialens.models.training.measures import auc

    return float(np.mean([auc(scores[name], pairs[name].target) for name in pairs]))


def main() -> None:
    """Train and measure."""
    import torch

    from dialens.models.training.encoder import Encoder, load_encoder, save_encoder
    from dialens.models.training.fit import Plan, best_device, fit, predict
    from dialens.models.training.judged import read_judged
    from dialens.models.training.measures import auc, pearson, sigmoid, spearman
    from dialens.models.training.tokens import tokenise

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--judged", type=Path, help="folder of human judgements, for measuring")
    parser.add_argument("--variant", choices=VARIANTS, default="soft")
    parser.add_argument("--positive", choices=("score", *DIMENSIONS), default="score")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--pairs", type=int, default=80000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--seconds", type=float, help="time for each seed")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--keep", action="store_true", help="keep the weights")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    posts = load_posts(given.posts, given.limit)
    _log.info("%d posts; left out: %s", len(posts), posts.rejected)
    train, valid = makers(posts)
    checks = validation_pairs(valid, most=3000)
    tables = {
        name: tokenise(given.encoder, one.inputs, longest=LONGEST) for name, one in checks.items()
    }
    judged = read_judged(given.judged) if given.judged else []
    judged_tables = {
        (one.name, turns): tokenise(given.encoder, one.inputs(turns), longest=LONGEST)
        for one in judged
        for turns in (1, CONTEXT_TURNS)
    }

    def scores(model: Encoder) -> dict[str, np.ndarray]:
        return {name: predict(model, table)[:, 0] for name, table in tables.items()}

    for seed in given.seeds:
        pairs = train.draw(given.variant, most=given.pairs, seed=seed, positive=given.positive)
        table = tokenise(given.encoder, pairs.inputs, longest=LONGEST)
        torch.manual_seed(seed)
        model = load_encoder(given.encoder, 1).to(best_device())
        plan = Plan(epochs=given.epochs, batch=given.batch, rate=given.rate, seed=seed)
        plan = replace(plan, seconds=given.seconds)
        result = fit(
            model,
            table,
            pairs.target.astype(np.float32)[:, None],
            plan,
            evaluate=lambda one: validation_value(scores(one), checks),
        )
        folder = given.out / f"seed{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        if given.keep:
            save_encoder(model, folder, half=True)
        final = scores(model)
        report: dict[str, object] = {
            "variant": given.variant,
            "positive": given.positive,
            "seed": seed,
            "pairs": len(pairs),
            "validation": result.best,
            "validation AUC": {n: auc(final[n], one.target) for n, one in checks.items()},
            "seconds": result.seconds,
        }
        found = {}
        for one in judged:
            for turns in (1, CONTEXT_TURNS):
                logits = predict(model, judged_tables[one.name, turns])[:, 0]
                found[f"{one.name}|{turns}"] = logits
                report[f"{one.name}, {turns} turns"] = {
                    "pearson": pearson(sigmoid(logits), one.mean),
                    "spearman": spearman(logits, one.mean),
                }
        np.savez(folder / "judged.npz", **found)  # type: ignore[arg-type, unused-ignore]
        (folder / "report.json").write_text(json.dumps(report, indent=1))
        _log.info("engagement %s", json.dumps(report))


if __name__ == "__main__":
    main()
