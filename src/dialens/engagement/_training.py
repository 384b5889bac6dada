"""Engagement models from a labelled dataset, over several seeds (Table 2 of EnDex).

Every seed leaves its result in a state folder beside the model, and the seed under way its last
epoch, so that a run that was killed resumes and ends with the same weights. The best
seed is chosen by validation threads; human ratings are only measured, never chosen by.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dialens.base import Advance, DialensError, atomic_file, sha256_file
from dialens.engagement._evaluation import RatedReplies
from dialens.engagement._labelled import with_earlier
from dialens.engagement._negatives import MADE_BY, Recipe, mix_negatives
from dialens.models import sigmoid
from dialens.statistics import area_under_curve

if TYPE_CHECKING:
    from dialens.models.training import Encoder, TokenTable

LONGEST = 128
CHOSEN_BY = "validation AUC"
ENCODER_FILES = ("config.json", "model.safetensors", "tokenizer.json")

_NEEDS = ("torch", "onnx", "onnxruntime", "safetensors", "tokenizers")
_RESULT = "result.json"
_CHECKPOINT = "checkpoint.pt"
_WIDTH_UNIT = 64  # quantisation takes weights in blocks of 64


@dataclass(frozen=True)
class TrainingPlan:
    """How to train one seed; defaults are the paper's where it gives them.

    Attributes:
        epochs: Passes over the data; the best by validation is kept.
        rate: Highest learning rate.
        batch: Pairs a step.
        context_turns: Turns before the reply that the model reads, where they are known.
        negatives: Made by rule anew for every seed (+NS); None for none.
    """

    epochs: int = 2
    rate: float = 5e-5
    batch: int = 64
    context_turns: int = 1
    negatives: Recipe | None = None

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch", 1), ("context_turns", 1)):
            if getattr(self, name) < least:
                option = name.replace("_", "-")
                raise DialensError(f"--{option} is {getattr(self, name)}; at least {least}.")
        if self.rate <= 0:
            raise DialensError(f"--rate is {self.rate:g}; it must be above 0.")


@dataclass(frozen=True)
class Pairs:
    """What a model reads and what it should say.

    Attributes:
        inputs: Context and reply.
        target: 1 for engaging.
        made: Whether a rule made it.
    """

    inputs: list[tuple[str, str]]
    target: np.ndarray
    made: np.ndarray


@dataclass(frozen=True)
class TrainingData:
    """Labelled posts to learn from and to choose by.

    Attributes:
        train: Rows of the training part.
        validation: Rows of the validation part: other threads.
        posts: All accepted posts, for contexts of more than one turn.
        also: More sets to measure on (area under the curve), by name.
    """

    train: pl.DataFrame
    validation: pl.DataFrame
    posts: pl.DataFrame | None = None
    also: Mapping[str, pl.DataFrame] | None = None

    def pairs(self, table: pl.DataFrame, plan: TrainingPlan, seed: int) -> Pairs:
        """Rows as pairs; with a recipe, made negatives are mixed in by this seed."""
        if plan.negatives is not None:
            table = mix_negatives(table, replace(plan.negatives, seed=seed))
        contexts = with_earlier(table, self.posts, plan.context_turns)
        replies = table["text"].fill_null("").to_list()
        made = (
            table[MADE_BY].is_not_null().to_numpy()
            if MADE_BY in table.columns
            else np.zeros(table.height, dtype=bool)
        )
        target = table["label"].to_numpy().astype(np.float64)
        return Pairs(list(zip(contexts, replies, strict=True)), target, made)


@dataclass(frozen=True)
class SeedResult:
    """What one seed gave.

    Attributes:
        seed: Of head, order, dropout and made negatives.
        pairs: How many it learned from.
        epoch: The one that was kept, from 0.
        history: Validation AUC of each epoch.
        measures: By name.
        seconds: Spent in training.
    """

    seed: int
    pairs: int
    epoch: int
    history: tuple[float, ...]
    measures: Mapping[str, float]
    seconds: float


def require_training() -> None:
    """Make sure that what training needs is installed.

    Raises:
        DialensError: Names what is missing and the extra that brings it.
    """
    missing = [name for name in _NEEDS if find_spec(name) is None]
    if missing:
        raise DialensError(
            f"Training needs {', '.join(missing)}, which the extra `train` brings: "
            "pip install 'dialens[train]'"
        )


def check_encoder(folder: Path) -> None:
    """Make sure that a folder holds an encoder that can be trained and exported.

    Raises:
        DialensError: Names what is missing or does not fit.
    """
    for name in ENCODER_FILES:
        if not (folder / name).exists():
            raise DialensError(
                f"{folder} has no {name}: --encoder takes the folder of a BERT or MPNet encoder "
                f"with {', '.join(ENCODER_FILES)}."
            )
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        width = config["shape"]["width"] if "shape" in config else config["hidden_size"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise DialensError(f"{folder / 'config.json'} does not describe an encoder.") from error
    if width % _WIDTH_UNIT:
        raise DialensError(
            f"{folder}: states of {width} numbers cannot be stored in blocks of {_WIDTH_UNIT}; "
            "take an encoder whose width is a multiple of that."
        )


def depends_on(
    data: TrainingData,
    encoder: Path,
    plan: TrainingPlan,
    seeds: Sequence[int],
    rated: Sequence[RatedReplies] = (),
) -> dict[str, Any]:
    """Return what the results of a run depend on, short enough to compare.

    An interrupted run is resumed only if all of it is the same.
    """
    tables = {"train": data.train, "validation": data.validation, "posts": data.posts}
    return {
        "plan": asdict(plan),
        "seeds": list(seeds),
        "encoder": {name: sha256_file(encoder / name)[:16] for name in ENCODER_FILES},
        "data": {
            name: [table.height, int(table.hash_rows().sort().hash().sum() or 0)]
            for name, table in tables.items()
            if table is not None
        },
        "ratings": [[replies.name, len(replies.inputs)] for replies in rated],
    }


def train_seeds(
    data: TrainingData,
    encoder: Path,
    plan: TrainingPlan,
    seeds: Sequence[int],
    state: Path,
    *,
    rated: Sequence[RatedReplies] = (),
    advance: Advance = lambda _: None,
) -> list[SeedResult]:
    """Train every seed that has no result yet; the weights of the best stay in the state folder.

    Args:
        data: What to learn from.
        encoder: Where to start.
        plan: How.
        seeds: One model each.
        state: A folder opened by `dialens.base.open_state`.
        rated: Human ratings to measure on.
        advance: Called with the number of pairs just learned from.

    Raises:
        DialensError: If contexts of several turns are wanted and posts.parquet is not there.
    """
    if not seeds:
        raise DialensError("No seed to train with: give --seeds 0 1 2.")
    if plan.context_turns > 1 and data.posts is None:
        raise DialensError(
            f"--context-turns {plan.context_turns} needs posts.parquet, which tells what came "
            "before a parent: give the folder that `dialens engagement label` wrote."
        )
    checks = _Checks.of(data, encoder, plan, rated)
    results: list[SeedResult] = []
    for seed in dict.fromkeys(seeds):
        folder = state / f"seed{seed}"
        if not (folder / _RESULT).exists():
            _train_one(data, encoder, plan, seed, folder, checks, advance)
        stored = json.loads((folder / _RESULT).read_text("utf-8"))
        results.append(SeedResult(**{**stored, "history": tuple(stored["history"])}))
        best = best_seed(results).seed
        for done in results:  # one model's weights are enough, whatever the number of seeds
            if done.seed != best:
                (state / f"seed{done.seed}" / "model.safetensors").unlink(missing_ok=True)
    return results


def best_seed(results: Sequence[SeedResult]) -> SeedResult:
    """Return the result that did best on validation; the earlier one of equals."""
    return max(results, key=lambda one: one.measures[CHOSEN_BY])


def summarise(results: Sequence[SeedResult]) -> pl.DataFrame:
    """Return mean, standard deviation and best over seeds, one row a measure (Table 2).

    `best` is the highest over seeds, as the paper has it: an optimistic figure.

    Examples:
        >>> made = [SeedResult(0, 8, 0, (), {"x": a}, 1.0) for a in (0.6, 0.8)]
        >>> [round(one, 3) for one in summarise(made).row(0)[1:4]]
        [0.7, 0.141, 0.8]
    """
    rows = []
    for name in results[0].measures:
        values = np.array([one.measures[name] for one in results])
        known = values[np.isfinite(values)]
        rows.append(
            {
                "measure": name,
                "mean": float(known.mean()) if len(known) else None,
                "sd": float(known.std(ddof=1)) if len(known) > 1 else None,
                "best": float(known.max()) if len(known) else None,
                "seeds": len(known),
            }
        )
    kinds = {"measure": pl.String, "mean": pl.Float64, "sd": pl.Float64, "best": pl.Float64}
    return pl.DataFrame(rows, schema={**kinds, "seeds": pl.Int64})


@dataclass(frozen=True)
class _Checks:
    """Everything a model is measured on, as tokens: the same for all seeds."""

    validation: Pairs
    table: TokenTable
    also: Mapping[str, tuple[Pairs, TokenTable]]
    rated: Sequence[tuple[RatedReplies, TokenTable]]

    @classmethod
    def of(
        cls, data: TrainingData, encoder: Path, plan: TrainingPlan, rated: Sequence[RatedReplies]
    ) -> _Checks:
        from dialens.models.training import tokenise

        own = plan.negatives.seed if plan.negatives else 0
        validation = data.pairs(data.validation, plan, own)
        plain = replace(plan, negatives=None)
        also = {name: data.pairs(table, plain, 0) for name, table in (data.also or {}).items()}
        return cls(
            validation,
            tokenise(encoder, validation.inputs, longest=LONGEST),
            {
                name: (one, tokenise(encoder, one.inputs, longest=LONGEST))
                for name, one in also.items()
            },
            [(one, tokenise(encoder, one.inputs, longest=LONGEST)) for one in rated],
        )

    def value(self, model: Encoder) -> float:
        """What epochs and seeds are chosen by."""
        from dialens.models.training import predict

        return area_under_curve(predict(model, self.table)[:, 0], self.validation.target)

    def measures(self, model: Encoder) -> dict[str, float]:
        from dialens.models.training import predict

        logits = predict(model, self.table)[:, 0].astype(np.float64)
        target, made = self.validation.target, self.validation.made
        measures = {
            CHOSEN_BY: area_under_curve(logits, target),
            "validation accuracy": float(((logits > 0) == (target == 1)).mean()),
        }
        if made.any():
            for name, rows in (("real", ~made), ("made", made | (target == 1))):
                measures[f"validation AUC, {name} negatives"] = area_under_curve(
                    logits[rows], target[rows]
                )
        for name, (pairs, table) in self.also.items():
            measures[f"{name} AUC"] = area_under_curve(predict(model, table)[:, 0], pairs.target)
        for rated, table in self.rated:
            scores = sigmoid(predict(model, table)[:, 0].astype(np.float64))
            for kind, value in rated.correlations(scores).items():
                measures[f"{rated.name}, {kind}"] = value
        return measures


def _train_one(
    data: TrainingData,
    encoder: Path,
    plan: TrainingPlan,
    seed: int,
    folder: Path,
    checks: _Checks,
    advance: Advance,
) -> None:
    import torch

    from dialens.models.training import (
        Schedule,
        best_device,
        fit,
        load_encoder,
        save_encoder,
        tokenise,
    )

    pairs = data.pairs(data.train, plan, seed)
    torch.manual_seed(seed)
    model = load_encoder(encoder, 1).to(best_device())
    fitted = fit(
        model,
        tokenise(encoder, pairs.inputs, longest=LONGEST),
        pairs.target.astype(np.float32)[:, None],
        Schedule(epochs=plan.epochs, batch=plan.batch, rate=plan.rate, seed=seed),
        evaluate=checks.value,
        checkpoint=folder / _CHECKPOINT,
        advance=advance,
    )
    save_encoder(model, folder)
    result = SeedResult(
        seed,
        len(pairs.inputs),
        fitted.best.epoch if fitted.best else -1,
        tuple(evaluation.value for evaluation in fitted.history),
        checks.measures(model),
        fitted.seconds,
    )
    with atomic_file(folder / _RESULT) as scratch:
        scratch.write_text(json.dumps(asdict(result), indent=1), "utf-8")
    (folder / _CHECKPOINT).unlink()
