"""The training loop of every model here, and prediction with what it made.

All tasks have one form: a row of targets per text, each between 0 and 1 (a class, or a teacher's
probability), NaN where a task does not apply. Teachers with hard labels and students with several
teachers differ in their targets only.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dialens.models.training._encoder import Encoder
from dialens.models.training._tokens import TokenTable, shuffled_batches, sorted_batches

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """How long and how fast to train."""

    epochs: int = 3
    batch: int = 64
    rate: float = 5e-5
    warm_up: float = 0.06
    decay: float = 0.01
    seed: int = 0
    evaluate_every_epoch: bool = True
    seconds: float | None = None
    """Where a machine is rented: the rate also falls with time, and training ends in time."""


@dataclass
class Fitted:
    """What a run gave: the value of each epoch's evaluation and the best of them."""

    best: float = float("-inf")
    best_epoch: int = -1
    history: list[float] = field(default_factory=list)
    seconds: float = 0.0


def best_device() -> torch.device:
    """Return the GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def masked_loss(logits: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Binary cross-entropy over the targets that are known, each column with its weight."""
    known = ~torch.isnan(targets)
    each = torch.nn.functional.binary_cross_entropy_with_logits(
        logits.float(), torch.nan_to_num(targets), reduction="none"
    )
    total: torch.Tensor = (each * known * weights).sum() / targets.shape[0]
    return total


def fit(
    model: Encoder,
    table: TokenTable,
    targets: np.ndarray,
    plan: Plan,
    *,
    evaluate: Callable[[Encoder], float],
    weights: np.ndarray | None = None,
    checkpoint: Path | None = None,
) -> Fitted:
    """Train in place and leave the model with the weights of its best epoch.

    Args:
        model: What to train.
        table: Its inputs.
        targets: One row per input, one column per logit; NaN where unknown.
        plan: Length, rate and seed. The order of batches depends on the seed alone; results
            repeat exactly on a CPU and to rounding on a GPU.
        evaluate: Gives a value to be maximised, after each epoch.
        weights: Of each column in the loss; equal if not given.
        checkpoint: A file that holds the whole state after each epoch; where it exists, training
            goes on from it.
    """
    device = next(model.parameters()).device
    torch.manual_seed(plan.seed)
    columns = torch.as_tensor(
        np.full(targets.shape[1], 1 / targets.shape[1]) if weights is None else weights,
        dtype=torch.float32,
        device=device,
    )
    goals = torch.as_tensor(targets, dtype=torch.float32)
    lengths = table.lengths()
    steps = plan.epochs * -(-len(table) // plan.batch)
    optimiser, schedule = _optimiser(model, plan, steps)
    stepper = _stepper(model, columns, plan.batch, table.pad)
    begun = time.monotonic()
    result, kept = Fitted(), _copy(model)
    first = 0
    if checkpoint is not None and checkpoint.exists():
        first, result, kept = _resume(checkpoint, model, optimiser, schedule)
    for epoch in range(first, plan.epochs):
        started = time.monotonic()
        model.train()
        generator = np.random.default_rng([plan.seed, epoch])
        torch.manual_seed(plan.seed * 1000 + epoch)
        running = torch.zeros((), device=device)
        batches = shuffled_batches(lengths, plan.batch, generator)
        over = False
        for rows in batches:
            ids, mask, types = table.batch(rows)
            optimiser.zero_grad(set_to_none=False)
            running += stepper(ids, mask, types, goals[rows])
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            if plan.seconds is not None:
                left = 1 - (time.monotonic() - begun) / plan.seconds
                for group, base in zip(optimiser.param_groups, schedule.base_lrs, strict=True):
                    group["lr"] = min(group["lr"], base * max(0.0, left))
                over = left <= 0
                if over:
                    break
        result.seconds += time.monotonic() - started
        if plan.evaluate_every_epoch or over or epoch == plan.epochs - 1:
            value = evaluate(model)
            result.history.append(value)
            if value > result.best:
                result.best, result.best_epoch, kept = value, epoch, _copy(model)
            _log.info(
                "seed %d epoch %d: loss %.4f, value %.4f, %.0f s",
                plan.seed,
                epoch,
                running.item() / max(1, len(batches)),
                value,
                result.seconds,
            )
        if over:
            _log.info("seed %d: time is up in epoch %d", plan.seed, epoch)
            break
        if checkpoint is not None:
            _save(checkpoint, epoch + 1, model, optimiser, schedule, result, kept)
    model.load_state_dict(kept)
    return result


def _stepper(
    model: Encoder, columns: torch.Tensor, batch: int, pad: int
) -> Callable[..., torch.Tensor]:
    from dialens.models.training._graphs import EagerStep, GraphStep

    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    device = next(model.parameters()).device
    eager = EagerStep(model, columns, device)
    graphs = device.type == "cuda" and os.environ.get("DIALENS_CUDA_GRAPHS", "1") != "0"
    return GraphStep(eager, batch, pad) if graphs else eager


def predict(model: Encoder, table: TokenTable, *, tokens: int = 65536) -> np.ndarray:
    """Return the logits of all inputs, in their order."""
    device = next(model.parameters()).device
    model.eval()
    found = np.zeros((len(table), model.head.out_features), dtype=np.float32)
    with (
        torch.inference_mode(),
        torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"),
    ):
        for rows in sorted_batches(table.lengths(), tokens):
            ids, mask, types = (part.to(device, non_blocking=True) for part in table.batch(rows))
            found[rows] = model(ids, mask, types).float().cpu().numpy()
    return found


def _optimiser(model: Encoder, plan: Plan, steps: int) -> tuple[Any, Any]:
    weights = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimiser = torch.optim.AdamW(
        [{"params": weights, "weight_decay": plan.decay}, {"params": others, "weight_decay": 0.0}],
        lr=plan.rate,
        fused=next(model.parameters()).is_cuda,
    )
    rise = max(1, int(steps * plan.warm_up))

    def factor(step: int) -> float:
        return step / rise if step < rise else max(0.0, (steps - step) / max(1, steps - rise))

    return optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, factor)


def _copy(model: Encoder) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _save(
    file: Path,
    epoch: int,
    model: Encoder,
    optimiser: Any,
    schedule: Any,
    result: Fitted,
    kept: dict[str, torch.Tensor],
) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    state = {
        "epoch": epoch,
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "schedule": schedule.state_dict(),
        "result": vars(result),
        "kept": kept,
    }
    part = file.with_suffix(".part")
    torch.save(state, part)
    part.replace(file)


def _resume(
    file: Path, model: Encoder, optimiser: Any, schedule: Any
) -> tuple[int, Fitted, dict[str, torch.Tensor]]:
    state = torch.load(file, map_location=next(model.parameters()).device, weights_only=True)
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    schedule.load_state_dict(state["schedule"])
    _log.info("goes on from epoch %d of %s", state["epoch"], file)
    return state["epoch"], Fitted(**state["result"]), state["kept"]
