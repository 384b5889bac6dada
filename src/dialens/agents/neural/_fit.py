"""The training loop: mixed precision on a GPU, checkpoints, and the held-out perplexity.

A run that was killed goes on from its last checkpoint and ends with the same weights, exactly on a
CPU and to rounding on a GPU: the order of batches depends on seed and epoch, dropout on seed and
step, and everything else is in the checkpoint.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dialens.agents.neural._examples import Batch, Examples, batches, in_order
from dialens.agents.neural._hred import Hred
from dialens.agents.neural._seq2seq import Seq2Seq
from dialens.agents.neural._shape import PAD, LearningPlan, Shape
from dialens.agents.neural._thred import Thred

NETWORKS: Final[dict[str, type[nn.Module]]] = {"seq2seq": Seq2Seq, "hred": Hred, "thred": Thred}
CHECKPOINT: Final = "checkpoint.pt"

_log = logging.getLogger(__name__)


@dataclass
class Progress:
    """How far a run is, and how well it does.

    Attributes:
        step: Steps done, over all epochs.
        seen: Replies learned in them, the same ones once an epoch.
        epoch: The epoch under way.
        done: Batches of that epoch that are done.
        best: The lowest held-out perplexity.
        best_step: When that was.
        history: ``step, epoch, training loss, held-out perplexity`` at each look.
        seconds: Spent on training.
    """

    step: int = 0
    seen: int = 0
    epoch: int = 0
    done: int = 0
    best: float = math.inf
    best_step: int = -1
    history: list[tuple[int, int, float, float]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Perplexity:
    """Held-out perplexity per subword, ends of replies included, and over how many."""

    value: float
    tokens: int
    replies: int


def make_network(
    shape: Shape, plan: LearningPlan, weights: Mapping[str, NDArray[np.float32]] | None = None
) -> nn.Module:
    """A network with the weights that a seed gives, or with those of an agent."""
    torch.manual_seed(plan.seed)
    model = NETWORKS[shape.kind](shape, plan.dropout)
    if weights is not None:
        model.load_state_dict({name: torch.from_numpy(part) for name, part in weights.items()})
    return model


def best_device() -> torch.device:
    """The GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def fit(
    model: nn.Module,
    shape: Shape,
    examples: Examples,
    plan: LearningPlan,
    *,
    state: Path | None = None,
    check: int = 20_000,
    advance: Callable[[int], None] | None = None,
    on_best: Callable[[nn.Module, Progress], None] | None = None,
    stop_after: int | None = None,
) -> Progress:
    """Train in place and leave the model with the weights that did best on held-out threads.

    Args:
        model: What to train.
        shape: Its sizes.
        examples: What it learns from, and is held against.
        plan: Length, rate and seed.
        state: A folder for checkpoints; where it holds one, training goes on from it.
        check: Held-out replies that are looked at, at most.
        advance: Told how many more replies were learned.
        on_best: Called whenever the held-out perplexity is lower than ever before.
        stop_after: Steps after which to stop, as if killed; for tests.
    """
    device = next(model.parameters()).device
    train, apart = examples.part(held_out=False), examples.part(held_out=True)
    apart = np.random.default_rng(plan.seed).permutation(apart)[:check]
    a_pass = -(-len(train) // plan.batch)
    total = a_pass * plan.epochs
    optimiser = _optimiser(model, plan)
    so_far, kept = Progress(), _copy(model)
    if state is not None and (state / CHECKPOINT).exists():
        so_far, kept = _resume(state / CHECKPOINT, model, optimiser)
        if advance:
            advance(so_far.seen)
    begun, before = time.monotonic(), so_far.seconds
    running, counted = torch.zeros((), device=device), 0
    over = False
    for epoch in range(so_far.epoch, plan.epochs):
        skipped = so_far.done
        for place, chosen in enumerate(
            batches(examples, train, plan.batch, seed=plan.seed, epoch=epoch)
        ):
            if place < skipped:
                continue
            alone = _without_context(len(chosen), plan, so_far.step)
            batch = examples.batch(chosen, shape, alone=alone)
            share = so_far.step / total
            if plan.seconds is not None:
                share = max(share, so_far.seconds / plan.seconds)
                over = share >= 1
            for group in optimiser.param_groups:
                group["lr"] = plan.rate * _factor(so_far.step, share, plan.warm_up)
            torch.manual_seed(plan.seed * 1_000_003 + so_far.step)
            running += _learn(model, batch, optimiser, plan, device)
            counted += 1
            so_far.step += 1
            so_far.seen += len(chosen)
            so_far.done = place + 1
            so_far.seconds = before + time.monotonic() - begun
            if advance:
                advance(len(chosen))
            ends = so_far.done == a_pass
            looks = over or ends or (plan.check_every and so_far.step % plan.check_every == 0)
            if looks:
                held = perplexity(model, shape, examples, apart)
                loss = running.item() / counted
                running.zero_()
                counted = 0
                so_far.history.append((so_far.step, epoch, loss, held.value))
                _log.info(
                    "%s epoch %d step %d of %d: loss %.3f, held-out perplexity %.2f, %.0f s",
                    *(shape.kind, epoch, so_far.step, total, loss, held.value, so_far.seconds),
                )
                if held.value < so_far.best:
                    so_far.best, so_far.best_step = held.value, so_far.step
                    kept = _copy(model)
                    if on_best:
                        on_best(model, so_far)
            if ends:
                so_far.epoch, so_far.done = epoch + 1, 0
            if state is not None and (ends or so_far.step % plan.checkpoint_every == 0):
                _save(state / CHECKPOINT, model, optimiser, so_far, kept)
            if stop_after is not None and so_far.step >= stop_after:
                return so_far
            if over:
                break
        if over:
            _log.info("%s: time is up in epoch %d", shape.kind, epoch)
            break
    model.load_state_dict(kept)
    return so_far


def perplexity(
    model: nn.Module, shape: Shape, examples: Examples, chosen: np.ndarray, *, size: int = 256
) -> Perplexity:
    """How surprised a model is by replies: ``exp`` of the mean loss per subword."""
    device = next(model.parameters()).device
    was = model.training
    model.eval()
    total, tokens = torch.zeros((), dtype=torch.float64, device=device), 0
    with torch.inference_mode(), _mixed(device):
        for rows in in_order(examples, chosen, size):
            batch = examples.batch(rows, shape)
            scores, target = _forward(model, batch, device)
            total += nn.functional.cross_entropy(
                scores.flatten(0, 1), target.flatten(), ignore_index=PAD, reduction="sum"
            ).double()
            tokens += int((batch.reply_out != PAD).sum())
    model.train(was)
    return Perplexity(math.exp(total.item() / tokens), tokens, len(chosen))


def _learn(
    model: nn.Module,
    batch: Batch,
    optimiser: torch.optim.Optimizer,
    plan: LearningPlan,
    device: torch.device,
) -> torch.Tensor:
    model.train()
    with _mixed(device):
        scores, target = _forward(model, batch, device)
        loss = nn.functional.cross_entropy(
            scores.flatten(0, 1),
            target.flatten(),
            ignore_index=PAD,
            label_smoothing=plan.smoothing,
        )
    optimiser.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
    optimiser.step()
    return loss.detach()


def _forward(
    model: nn.Module, batch: Batch, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    parts = (
        torch.from_numpy(part).to(device, non_blocking=True)
        for part in (batch.context, batch.reply_in, batch.topics)
    )
    target = torch.from_numpy(batch.reply_out).to(device, non_blocking=True)
    return model(*parts), target


def _mixed(device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def _without_context(n: int, plan: LearningPlan, step: int) -> np.ndarray:
    drawn = np.random.default_rng([plan.seed, 1, step]).random(n)
    return np.asarray(drawn < plan.no_context)


def _factor(step: int, share: float, warm_up: int) -> float:
    """Of the learning rate: a straight rise, then a cosine down to a hundredth."""
    rise = min(1.0, (step + 1) / max(1, warm_up))
    return rise * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, share))))


def _optimiser(model: nn.Module, plan: LearningPlan) -> torch.optim.Optimizer:
    heavy = [weight for weight in model.parameters() if weight.dim() > 1]
    light = [weight for weight in model.parameters() if weight.dim() <= 1]
    return torch.optim.AdamW(
        [{"params": heavy, "weight_decay": plan.decay}, {"params": light, "weight_decay": 0.0}],
        lr=plan.rate,
        fused=next(model.parameters()).is_cuda,
    )


def _copy(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _save(
    file: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    so_far: Progress,
    kept: dict[str, torch.Tensor],
) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    torch.save(
        {
            "model": model.state_dict(),
            "optimiser": optimiser.state_dict(),
            "progress": vars(so_far),
            "kept": kept,
        },
        part,
    )
    part.replace(file)


def _resume(
    file: Path, model: nn.Module, optimiser: torch.optim.Optimizer
) -> tuple[Progress, dict[str, torch.Tensor]]:
    device = next(model.parameters()).device
    found: dict[str, Any] = torch.load(file, map_location=device, weights_only=True)
    model.load_state_dict(found["model"])
    optimiser.load_state_dict(found["optimiser"])
    so_far = Progress(**found["progress"])
    so_far.history = [tuple(one) for one in so_far.history]  # type: ignore[misc]
    _log.info("goes on from step %d of %s", so_far.step, file)
    return so_far, found["kept"]
