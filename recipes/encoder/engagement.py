r"""Teachers of what is read from (context, reply) pairs, over several seeds.

Variants of engagement from reactions (``plain``, ``ns``, ``nsr``, ``soft``), ``relevance`` (the
reply that was given or one from elsewhere) and ``appeal`` (what people who chatted with agents
liked). Each is measured on held-out threads and dialogues and on human judgement.

python -m recipes.encoder.engagement --posts RED --encoder FOLDER \
        --judged FOLDER --variant nsr --seeds 0 1 2 --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dialens.models import sigmoid
from dialens.statistics import area_under_curve, pearson, spearman
from recipes.encoder.chats import (
    CONTEXT_TURNS,
    ChatPairs,
    mismatched,
    read_appeal,
    read_human_replies,
)
from recipes.encoder.judged import DEVELOPMENT, SETS, read_judged
from recipes.encoder.pairs import VARIANTS, PairMaker, Pairs, validation_pairs
from recipes.encoder.posts import DIMENSIONS, Posts, load_posts

LONGEST = 128
CHATS = "chats"

_log = logging.getLogger(__name__)


def makers(posts: Posts) -> tuple[PairMaker, PairMaker]:
    """Return the pair makers of training and validation: split by thread."""
    out = posts.held_out
    return PairMaker(posts, np.flatnonzero(~out)), PairMaker(posts, np.flatnonzero(out))


def validation_value(scores: dict[str, np.ndarray], pairs: dict[str, Pairs]) -> float:
    """Return the mean AUC over the validation sets: what variants and epochs are chosen by.

    Where the targets of a set are not two classes, its rank correlation counts, moved to the scale
    of an AUC.
    """
    values = []
    for name, one in pairs.items():
        classes = set(np.unique(one.target)) <= {0.0, 1.0}
        rank = (
            area_under_curve(scores[name], one.target)
            if classes
            else spearman(scores[name], one.target)
        )
        values.append(rank if classes else (rank + 1) / 2)
    return float(np.mean(values))


@dataclass(frozen=True)
class Material:
    """Everything a variant learns from and is chosen by."""

    variant: str
    posts: Posts
    chats: Path | None

    def draw(self, *, most: int, seed: int, positive: str) -> Pairs:
        """Return the pairs of one seed."""
        if self.variant == "appeal":
            return _as_pairs(read_appeal(self._chats).part(held_out=False).some(most, seed=seed))
        train, _ = makers(self.posts)
        pairs = train.draw(self.variant, most=most, seed=seed, positive=positive)
        if self.variant != "relevance":
            return pairs
        human = read_human_replies(self._chats).part(held_out=False).some(most // 4, seed=seed)
        return _joined(pairs, _as_pairs(human), _as_pairs(mismatched(human, seed=seed)))

    def checks(self, *, most: int = 3000) -> dict[str, Pairs]:
        """Return the validation sets."""
        if self.variant == "appeal":
            rated = read_appeal(self._chats).part(held_out=True)
            return {CHATS: _as_pairs(rated.some(most, seed=7))}
        _, valid = makers(self.posts)
        found = validation_pairs(valid, most=most)
        if self.variant != "relevance":
            return found
        human = read_human_replies(self._chats).part(held_out=True).some(most // 2, seed=7)
        both = _joined(_as_pairs(human), _as_pairs(mismatched(human, seed=7)))
        kept = {name: one for name, one in found.items() if name.startswith(("random", "thread"))}
        return {**kept, CHATS: both}

    @property
    def _chats(self) -> Path:
        if self.chats is None:
            raise SystemExit(f"--variant {self.variant} needs --chats FOLDER")
        return self.chats


def _as_pairs(chats: ChatPairs) -> Pairs:
    return Pairs(chats.inputs, chats.target, np.full(len(chats.inputs), CHATS))


def _joined(*some: Pairs) -> Pairs:
    inputs = [pair for one in some for pair in one.inputs]
    targets, kinds = [one.target for one in some], [one.kind.astype(str) for one in some]
    return Pairs(inputs, np.concatenate(targets), np.concatenate(kinds))


def main() -> None:
    """Train and measure."""
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

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=Path, nargs="+", required=True, help="RED folders")
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--judged", type=Path, help="folder of human judgements, for measuring")
    parser.add_argument("--variant", choices=(*VARIANTS, "appeal"), default="nsr")
    parser.add_argument("--chats", type=Path, help="folder of rated chats: relevance, appeal")
    parser.add_argument("--development", action="store_true", help="measure on those sets too")
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
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    posts = load_posts(options.posts, options.limit)
    engaging, dull = (int((posts.label == label).sum()) for label in (1, 0))
    _log.info("%d posts; engaging %d, not engaging %d", len(posts), engaging, dull)
    material = Material(options.variant, posts, options.chats)
    checks = material.checks()
    tables = {
        name: tokenise(options.encoder, one.inputs, longest=LONGEST) for name, one in checks.items()
    }
    sets = (*SETS, *DEVELOPMENT) if options.development else SETS
    judged = read_judged(options.judged, sets) if options.judged else []
    judged_tables = {
        (one.name, turns): tokenise(options.encoder, one.inputs(turns), longest=LONGEST)
        for one in judged
        for turns in (1, CONTEXT_TURNS)
    }

    def scores(model: Encoder) -> dict[str, np.ndarray]:
        return {name: predict(model, table)[:, 0] for name, table in tables.items()}

    for seed in options.seeds:
        pairs = material.draw(most=options.pairs, seed=seed, positive=options.positive)
        table = tokenise(options.encoder, pairs.inputs, longest=LONGEST)
        torch.manual_seed(seed)
        model = load_encoder(options.encoder, 1).to(best_device())
        schedule = Schedule(
            epochs=options.epochs, batch=options.batch, rate=options.rate, seed=seed
        )
        schedule = replace(schedule, seconds=options.seconds)
        result = fit(
            model,
            table,
            pairs.target.astype(np.float32)[:, None],
            schedule,
            evaluate=lambda one: validation_value(scores(one), checks),
        )
        folder = options.out / f"seed{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        if options.keep:
            save_encoder(model, folder, half=True)
        final = scores(model)
        report: dict[str, object] = {
            "variant": options.variant,
            "positive": options.positive,
            "seed": seed,
            "pairs": len(pairs),
            "validation": result.best_value,
            "validation by set": {
                name: validation_value({name: final[name]}, {name: one})
                for name, one in checks.items()
            },
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
        if options.development and options.chats:
            chats = read_appeal(options.chats).part(held_out=True).inputs
            found[CHATS] = predict(model, tokenise(options.encoder, chats, longest=LONGEST))[:, 0]
        np.savez(folder / "judged.npz", **found)  # type: ignore[arg-type, unused-ignore]
        (folder / "report.json").write_text(json.dumps(report, indent=1))
        _log.info("engagement %s", json.dumps(report))


if __name__ == "__main__":
    main()
