"""Forward and backward of one batch, eagerly or replayed from CUDA graphs.

A small encoder on a large GPU waits for Python, not for arithmetic. Recording the kernels of a step
once per padded length and replaying them removes the wait; where recording fails, the step is run
eagerly and the results are the same.
"""

from __future__ import annotations

import logging
from typing import Any

import torch

from dialens.models.training._encoder import Encoder

_log = logging.getLogger(__name__)
_ROUND = 16


def masked_loss(logits: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Binary cross-entropy over the targets that are known, each column with its weight."""
    known = ~torch.isnan(targets)
    each = torch.nn.functional.binary_cross_entropy_with_logits(
        logits.float(), torch.nan_to_num(targets), reduction="none"
    )
    total: torch.Tensor = (each * known * weights).sum() / targets.shape[0]
    return total


class EagerStep:
    """Adds the gradients of one batch to ``.grad`` and returns the loss."""

    def __init__(self, model: Encoder, columns: torch.Tensor, device: torch.device) -> None:
        self.model = model
        self.columns = columns
        self.device = device

    def loss(
        self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor, goals: torch.Tensor
    ) -> torch.Tensor:
        """Return the loss of a batch that is on the device."""
        mixed = self.device.type == "cuda"
        with torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=mixed, cache_enabled=False
        ):
            logits = self.model(ids, mask, types)
        return masked_loss(logits, goals, self.columns)

    def __call__(
        self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor, goals: torch.Tensor
    ) -> torch.Tensor:
        """Run forward and backward."""
        parts = (one.to(self.device, non_blocking=True) for one in (ids, mask, types, goals))
        loss = self.loss(*parts)
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        return loss.detach()


class GraphStep:
    """The same from recorded graphs, one per length rounded up to a multiple of 16."""

    def __init__(self, eager: EagerStep, batch: int, pad: int) -> None:
        self.eager = eager
        self.batch = batch
        self.pad = pad
        self.recorded: dict[int, tuple[Any, list[torch.Tensor], torch.Tensor]] = {}
        self.pool: Any = None
        self.works = True

    def __call__(
        self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor, goals: torch.Tensor
    ) -> torch.Tensor:
        """Run forward and backward."""
        if not self.works or len(ids) < self.batch:
            return self.eager(ids, mask, types, goals)
        length = -(-ids.shape[1] // _ROUND) * _ROUND
        if length not in self.recorded:
            try:
                self._record(length, goals.shape[1])
            except RuntimeError as error:
                _log.warning("no CUDA graphs here, going on without: %s", str(error)[:200])
                self.works = False
                for weight in self.eager.model.parameters():
                    weight.grad = torch.zeros_like(weight)
                return self.eager(ids, mask, types, goals)
        graph, places, loss = self.recorded[length]
        more = length - ids.shape[1]
        fills = (self.pad, 0, 0)
        for place, part, fill in zip(places, (ids, mask, types), fills, strict=False):
            place.copy_(torch.nn.functional.pad(part, (0, more), value=fill), non_blocking=True)
        places[3].copy_(goals, non_blocking=True)
        graph.replay()
        return loss.clone()

    def _record(self, length: int, outputs: int) -> None:
        device = self.eager.device
        shape = (self.batch, length)
        places = [
            torch.zeros(shape, dtype=torch.int64, device=device),
            torch.ones(shape, dtype=torch.int64, device=device),
            torch.zeros(shape, dtype=torch.int64, device=device),
            torch.full((self.batch, outputs), 0.5, device=device),
        ]
        weights = list(self.eager.model.parameters())
        kept = [weight.grad.clone() for weight in weights if weight.grad is not None]
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call, unused-ignore]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                self.eager.loss(*places).backward()  # type: ignore[no-untyped-call, unused-ignore]
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            loss = self.eager.loss(*places)
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        self.pool = graph.pool()
        for weight, before in zip(weights, kept, strict=True):
            if weight.grad is not None:
                weight.grad.copy_(before)
        # Without its history, whose nodes would bind later eager steps to the recording's stream.
        self.recorded[length] = (graph, places, loss.detach())
