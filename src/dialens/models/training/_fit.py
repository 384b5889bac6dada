"""Training of an encoder, and prediction with it.

All tasks have one form: a row of targets per text, each between 0 and 1 (a class, or a teacher's
probability), NaN where a task does not apply. Teachers with hard labels and students with several
teachers differ in their targets only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from dialens.base import Advance
from dialens.models._batches import shuffled_batches, token_batches
from dialens.models.training._encoder import Encoder
from dialens.models.training._graphs import EagerStep, GraphStep
from dialens.models.training._loop import Progress, Schedule, train
from dialens.models.training._tokens import TokenTable


def fit(
    model: Encoder,
    table: TokenTable,
    targets: np.ndarray,
    schedule: Schedule,
    *,
    evaluate: Callable[[Encoder], float],
    weights: np.ndarray | None = None,
    checkpoint: Path | None = None,
    advance: Advance = lambda _: None,
) -> Progress:
    """Train in place and leave the model with the weights of its best epoch.

    Args:
        model: What to train.
        table: Its inputs.
        targets: One row per input, one column per logit; NaN where unknown.
        schedule: Length, rate and seed. The order of batches depends on the seed alone; results
            repeat exactly on a CPU and to rounding on a GPU.
        evaluate: Returns a value to be maximised, after each epoch.
        weights: Of each column in the loss; equal if None.
        checkpoint: A file that holds the whole state after each epoch; where it exists, training
            resumes from it.
        advance: Called with the number of inputs just learned from.
    """
    task = _EncoderTask(model, table, targets, schedule, evaluate, weights)
    return train(task, schedule, checkpoint=checkpoint, advance=advance)


class _EncoderTask:
    """Texts and their targets, as the training loop asks for them."""

    higher_is_better = True

    def __init__(
        self,
        model: Encoder,
        table: TokenTable,
        targets: np.ndarray,
        schedule: Schedule,
        evaluate: Callable[[Encoder], float],
        weights: np.ndarray | None,
    ) -> None:
        device = next(model.parameters()).device
        columns = np.full(targets.shape[1], 1 / targets.shape[1]) if weights is None else weights
        self.model = model
        self.batches_per_epoch = -(-len(table) // schedule.batch)
        self._table = table
        self._targets = torch.as_tensor(targets, dtype=torch.float32)
        self._lengths = table.lengths()
        self._schedule = schedule
        self._evaluate = evaluate
        for weight in model.parameters():
            weight.grad = torch.zeros_like(weight)
        eager = EagerStep(
            model, torch.as_tensor(columns, dtype=torch.float32, device=device), device
        )
        graphs = device.type == "cuda" and os.environ.get("DIALENS_CUDA_GRAPHS", "1") != "0"
        self._step = GraphStep(eager, schedule.batch, table.pad) if graphs else eager

    def batches(self, epoch: int) -> list[np.ndarray]:
        seed = self._schedule.seed
        torch.manual_seed(seed * 1000 + epoch)  # of dropout
        generator = np.random.default_rng([seed, epoch])
        return shuffled_batches(self._lengths, self._schedule.batch, generator)

    def gradients(self, rows: np.ndarray, step: int) -> torch.Tensor:
        self.model.zero_grad(set_to_none=False)  # recorded graphs add to the same tensors
        return self._step(*self._table.batch(rows), self._targets[rows])

    def evaluate(self) -> float:
        return self._evaluate(self.model)


def predict(model: Encoder, table: TokenTable, *, tokens: int = 65536) -> np.ndarray:
    """Return the logits of all inputs, in their order."""
    device = next(model.parameters()).device
    model.eval()
    logits = np.zeros((len(table), model.head.out_features), dtype=np.float32)
    with (
        torch.inference_mode(),
        torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"),
    ):
        for rows in token_batches(table.lengths(), tokens):
            ids, mask, types = (part.to(device, non_blocking=True) for part in table.batch(rows))
            logits[rows] = model(ids, mask, types).float().cpu().numpy()
    return logits
