"""Training of a reply network, and its held-out perplexity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dialens.agents.neural._examples import Batch, Examples, batches, in_order
from dialens.agents.neural._hred import Hred
from dialens.agents.neural._seq2seq import Seq2Seq
from dialens.agents.neural._shape import PAD, Shape, TrainingPlan
from dialens.agents.neural._thred import Thred
from dialens.base import Advance
from dialens.models.training import Progress, Schedule, cosine_decay, train

NETWORKS: Final[dict[str, type[nn.Module]]] = {"seq2seq": Seq2Seq, "hred": Hred, "thred": Thred}
CHECKPOINT: Final = "checkpoint.pt"
_MOST_HELD_OUT: Final = 20_000  # replies by which weights are chosen


@dataclass(frozen=True)
class Perplexity:
    """Held-out perplexity per subword, ends of replies included, and over how many."""

    value: float
    tokens: int
    replies: int


def make_network(
    shape: Shape, plan: TrainingPlan, weights: Mapping[str, NDArray[np.float32]] | None = None
) -> nn.Module:
    """Return a network with the weights that a seed gives, or with those of an agent."""
    torch.manual_seed(plan.seed)
    model = NETWORKS[shape.kind](shape, plan.dropout)
    if weights is not None:
        model.load_state_dict({name: torch.from_numpy(part) for name, part in weights.items()})
    return model


def fit(
    model: nn.Module,
    shape: Shape,
    examples: Examples,
    plan: TrainingPlan,
    *,
    state: Path | None = None,
    advance: Advance = lambda _: None,
) -> Progress:
    """Train in place and leave the model with the weights that did best on held-out threads.

    Args:
        model: What to train.
        shape: Its sizes.
        examples: What it learns from, and is measured on.
        plan: Length, rate and seed.
        state: A folder for the checkpoint; where it holds one, training resumes from it.
        advance: Called with the number of replies just learned from.
    """
    schedule = Schedule(
        epochs=plan.epochs,
        batch=plan.batch,
        rate=plan.rate,
        factor=cosine_decay(plan.warm_up),
        decay=plan.decay,
        clip=plan.clip,
        seed=plan.seed,
        evaluate_every=plan.check_every,
        checkpoint_every=plan.checkpoint_every,
        seconds=plan.seconds,
    )
    checkpoint = state / CHECKPOINT if state is not None else None
    task = _ReplyTask(model, shape, examples, plan)
    return train(task, schedule, checkpoint=checkpoint, advance=advance)


class _ReplyTask:
    """Replies with their contexts, as the training loop asks for them."""

    higher_is_better = False

    def __init__(
        self, model: nn.Module, shape: Shape, examples: Examples, plan: TrainingPlan
    ) -> None:
        self.model = model
        self._shape = shape
        self._examples = examples
        self._plan = plan
        self._device = next(model.parameters()).device
        self._learned = examples.part(held_out=False)
        held_out = examples.part(held_out=True)
        self._held_out = np.random.default_rng(plan.seed).permutation(held_out)[:_MOST_HELD_OUT]
        self.batches_per_epoch = -(-len(self._learned) // plan.batch)

    def batches(self, epoch: int) -> list[NDArray[np.int64]]:
        plan = self._plan
        return batches(self._examples, self._learned, plan.batch, seed=plan.seed, epoch=epoch)

    def gradients(self, rows: np.ndarray, step: int) -> torch.Tensor:
        plan = self._plan
        drawn = np.random.default_rng([plan.seed, 1, step]).random(len(rows))
        batch = self._examples.batch(rows, self._shape, alone=np.asarray(drawn < plan.no_context))
        torch.manual_seed(plan.seed * 1_000_003 + step)  # of dropout
        with _mixed(self._device):
            scores, target = _forward(self.model, batch, self._device)
            loss = nn.functional.cross_entropy(
                scores.flatten(0, 1),
                target.flatten(),
                ignore_index=PAD,
                label_smoothing=plan.smoothing,
            )
        self.model.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        return loss.detach()

    def evaluate(self) -> float:
        return perplexity(self.model, self._shape, self._examples, self._held_out).value


def perplexity(
    model: nn.Module, shape: Shape, examples: Examples, chosen: np.ndarray, *, size: int = 256
) -> Perplexity:
    """Return how surprised a model is by replies: ``exp`` of the mean loss per subword."""
    device = next(model.parameters()).device
    was_training = model.training
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
    model.train(was_training)
    return Perplexity(math.exp(total.item() / tokens), tokens, len(chosen))


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
