"""The one training loop: a schedule, checkpoints, and the weights that did best on held-out data.

A run that was killed resumes from its last checkpoint and ends with the same weights, exactly on a
CPU and to rounding on a GPU. For that a task draws from seed, epoch and step alone, and everything
else is in the checkpoint.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import nn

from dialens.base import Advance
from dialens.models import why_not

Weights = dict[str, torch.Tensor]
RateFactor = Callable[[int, int, float], float]
"""The learning rate's factor from the step, the number of steps, and the share of time spent."""

_log = logging.getLogger(__name__)


class Task(Protocol):
    """What is learned: the loop asks it for batches, gradients and a value."""

    @property
    def model(self) -> nn.Module:
        """What is trained."""

    @property
    def batches_per_epoch(self) -> int:
        """How many batches an epoch has."""

    @property
    def higher_is_better(self) -> bool:
        """Whether :meth:`evaluate` is to be maximised."""

    def batches(self, epoch: int) -> Iterable[np.ndarray]:
        """Return the rows of each batch of an epoch, the same for the same epoch."""

    def gradients(self, rows: np.ndarray, step: int) -> torch.Tensor:
        """Set the gradients of one batch and return its loss."""

    def evaluate(self) -> float:
        """Return the value on held-out data by which weights are chosen."""


def linear_decay(warm_up: float) -> RateFactor:
    """A rise over a share of all steps, then a straight fall to zero."""

    def factor(step: int, steps: int, spent: float) -> float:
        rise = max(1, int(steps * warm_up))
        share = step / rise if step < rise else max(0.0, (steps - step) / max(1, steps - rise))
        return min(share, max(0.0, 1 - spent))

    return factor


def cosine_decay(warm_up: int) -> RateFactor:
    """A rise over some steps, then a cosine down to a hundredth."""

    def factor(step: int, steps: int, spent: float) -> float:
        rise = min(1.0, (step + 1) / max(1, warm_up))
        share = min(1.0, max(step / steps, spent))
        return rise * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * share)))

    return factor


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train.

    Attributes:
        epochs: Passes over the data.
        batch: Rows a step.
        rate: Highest learning rate.
        factor: How the rate rises and falls.
        decay: Of the weights.
        clip: Largest norm of a gradient.
        seed: Random seed; the same seed gives the same weights.
        evaluate_every: Steps between two evaluations; 0 for the end of each epoch only.
        checkpoint_every: Steps between two checkpoints; 0 for the end of each epoch only.
        seconds: Where a machine is rented: the rate also falls with time and training ends in it.
    """

    epochs: int = 3
    batch: int = 64
    rate: float = 5e-5
    factor: RateFactor = field(default=linear_decay(0.06), repr=False)
    decay: float = 0.01
    clip: float = 1.0
    seed: int = 0
    evaluate_every: int = 0
    checkpoint_every: int = 0
    seconds: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """One look at the held-out data: when it was, the training loss before it, and the value."""

    step: int
    epoch: int
    loss: float
    value: float


@dataclass
class Progress:
    """How far a run is, and how well it does.

    Attributes:
        step: Steps done, over all epochs.
        seen: Rows learned from in them, the same ones once an epoch.
        epoch: The epoch under way.
        done: Batches of that epoch that are done.
        best: The evaluation whose weights are kept.
        history: All evaluations.
        seconds: Spent, evaluations included.
    """

    step: int = 0
    seen: int = 0
    epoch: int = 0
    done: int = 0
    best: Evaluation | None = None
    history: list[Evaluation] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def best_value(self) -> float:
        """The value of the best evaluation; NaN before the first one."""
        return math.nan if self.best is None else self.best.value


def best_device() -> torch.device:
    """Return the GPU if there is one that can be used."""
    return torch.device("cpu" if why_not("cuda") else "cuda")


def train(
    task: Task,
    schedule: Schedule,
    *,
    checkpoint: Path | None = None,
    advance: Advance = lambda _: None,
) -> Progress:
    """Train in place and leave the model with the weights of its best evaluation.

    Args:
        task: What to learn.
        schedule: How long and how fast.
        checkpoint: A file for the whole state; where it exists, training resumes from it.
        advance: Called with the number of rows just learned from; at once with those of a run
            that is resumed.
    """
    model, per_epoch = task.model, task.batches_per_epoch
    optimiser = _make_optimiser(model, schedule)
    keeper = _Keeper(model, optimiser, checkpoint, higher_is_better=task.higher_is_better)
    progress = keeper.progress
    if progress.seen:
        advance(progress.seen)
    begun = time.monotonic() - progress.seconds
    losses: list[torch.Tensor] = []
    model.train()
    over = False
    while progress.epoch < schedule.epochs and not over:
        epoch = progress.epoch
        for rows in islice(task.batches(epoch), progress.done, None):
            spent = progress.seconds / schedule.seconds if schedule.seconds else 0.0
            for group in optimiser.param_groups:
                steps = per_epoch * schedule.epochs
                group["lr"] = schedule.rate * schedule.factor(progress.step, steps, spent)
            losses.append(task.gradients(rows, progress.step))
            nn.utils.clip_grad_norm_(model.parameters(), schedule.clip)
            optimiser.step()
            progress.step += 1
            progress.done += 1
            progress.seen += len(rows)
            progress.seconds = time.monotonic() - begun
            over = schedule.seconds is not None and progress.seconds >= schedule.seconds
            ends = progress.done == per_epoch
            if over or ends or _is_due(progress.step, schedule.evaluate_every):
                keeper.evaluated(task.evaluate(), float(torch.stack(losses).mean()))
                losses.clear()
                model.train()
            if ends:
                progress.epoch, progress.done = epoch + 1, 0
            if ends or _is_due(progress.step, schedule.checkpoint_every):
                keeper.save()
            advance(len(rows))
            if over:
                _log.info("time is up in epoch %d", epoch)
                break
    model.load_state_dict(keeper.best)
    return progress


class _Keeper:
    """Keeps the best weights of a run and writes its checkpoints."""

    def __init__(
        self,
        model: nn.Module,
        optimiser: torch.optim.Optimizer,
        file: Path | None,
        *,
        higher_is_better: bool,
    ) -> None:
        self.model = model
        self.optimiser = optimiser
        self.file = file
        self.sign = 1 if higher_is_better else -1
        self.progress = Progress()
        self.best = _copy(model)
        if file is not None and file.exists():
            self._resume(file)

    def evaluated(self, value: float, loss: float) -> None:
        """Note an evaluation, and keep the weights if it is the best so far."""
        progress = self.progress
        evaluation = Evaluation(progress.step, progress.epoch, loss, value)
        progress.history.append(evaluation)
        if progress.best is None or self.sign * value > self.sign * progress.best.value:
            progress.best, self.best = evaluation, _copy(self.model)
        _log.info(
            "epoch %d step %d: loss %.4f, value %.4f, %.0f s",
            *(progress.epoch, progress.step, loss, value, progress.seconds),
        )

    def save(self) -> None:
        """Write the whole state, if there is a file for it."""
        if self.file is None:
            return
        progress = self.progress
        state = {
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "best": self.best,
            "progress": {
                **vars(progress),
                "best": vars(progress.best) if progress.best else None,
                "history": [vars(evaluation) for evaluation in progress.history],
            },
        }
        self.file.parent.mkdir(parents=True, exist_ok=True)
        part = self.file.with_suffix(".part")
        torch.save(state, part)
        part.replace(self.file)

    def _resume(self, file: Path) -> None:
        device = next(self.model.parameters()).device
        state = torch.load(file, map_location=device, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.best = state["best"]
        stored = state["progress"]
        best = Evaluation(**stored["best"]) if stored["best"] else None
        history = [Evaluation(**evaluation) for evaluation in stored["history"]]
        self.progress = Progress(**{**stored, "best": best, "history": history})
        _log.info("resumes from step %d of %s", self.progress.step, file)


def _make_optimiser(model: nn.Module, schedule: Schedule) -> torch.optim.Optimizer:
    matrices = [weight for weight in model.parameters() if weight.dim() > 1]
    others = [weight for weight in model.parameters() if weight.dim() <= 1]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": schedule.decay},
            {"params": others, "weight_decay": 0.0},
        ],
        lr=schedule.rate,
        fused=next(model.parameters()).is_cuda,
    )


def _is_due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def _copy(model: nn.Module) -> Weights:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}
