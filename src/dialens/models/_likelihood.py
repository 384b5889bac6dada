"""How likely the shipped language model finds a text: each token predicted while it is hidden.

Phy et al. (2020) hide one token at a time, so that a text of n tokens costs n passes. By default
every sixth token is hidden at once (as many as in training), which costs at most six passes a text;
``each=True`` is the paper's way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dialens.base import DialensError
from dialens.models._batches import token_batches
from dialens.models._card import ModelCard
from dialens.models._device_model import (
    DeviceModel,
    arithmetic_of,
    device_for,
    open_device_model,
)
from dialens.models._inputs import encode_inputs
from dialens.models._runtime import Precision, length_sorted
from dialens.models._sessions import check_files, open_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

STRIDE = 6
_HIDDEN_SHARE = 4  # of a batch on a device, for its hidden tokens
_WINDOW = 2048  # texts as tokens in memory at a time


@dataclass(frozen=True)
class Likelihood:
    """Of some texts: the sum of their tokens' log-probabilities, and how many tokens each has."""

    total: np.ndarray
    tokens: np.ndarray


@dataclass(frozen=True)
class _Pass:
    """One text with some of its tokens to hide."""

    row: int
    ids: list[int]
    places: np.ndarray


class LanguageModel:
    """The masked language model of a folder, loaded on first use; shares no state between texts.

    Args:
        card: Of a folder that has ``likelihood.int8.onnx`` and ``likelihood.fp32.onnx``.
        precision: ``int8`` or ``fp32``, as for other models.
        threads: Batches worked on at once, each on one core; 0 takes all cores.
        device: ``cpu``, ``cuda`` or ``auto``, as for other models.
    """

    def __init__(
        self,
        card: ModelCard,
        *,
        precision: Precision = "int8",
        threads: int = 0,
        device: str = "cpu",
    ) -> None:
        self.card = card
        self.precision = precision
        self.threads = threads
        self.wanted_device = device
        self._open: tuple[_Runner, Tokenizer, int] | None = None

    @cached_property
    def device(self) -> str:
        """Where it computes.

        Raises:
            DialensError: A graphics card was asked for, and it cannot be used.
        """
        return device_for(self.card, self.wanted_device)

    @property
    def signature(self) -> str:
        """What to write beside a number: model, hash of its weights, arithmetic."""
        arithmetic = arithmetic_of(self.card, self.wanted_device, self.precision)
        return f"{self.card.signature},likelihood,{arithmetic}"

    def score(
        self,
        texts: Sequence[str],
        *,
        each: bool = False,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Likelihood:
        """Return the likelihood of texts, cut at as many tokens as the model reads.

        Args:
            texts: To be scored; one without a token has a sum of 0.
            each: Whether one token is hidden at a time.
            advance: Called with the number of texts just done.

        Raises:
            DialensError: The folder has no language model, or a file is damaged.
        """
        runner, tokenizer, mask = self._loaded()
        total, tokens = np.zeros(len(texts)), np.zeros(len(texts), dtype=np.int64)
        workers = self.threads or len(os.sched_getaffinity(0)) if runner.side_by_side else 1
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, len(texts), _WINDOW):
                window = texts[start : start + _WINDOW]
                encoded = encode_inputs(tokenizer, list(window), longest=self.card.longest)
                passes = []
                for row, ids in enumerate(encoded.ids):
                    tokens[start + row] = len(ids) - 2
                    passes += _passes(row, ids, each=each)
                batches = [
                    [passes[i] for i in rows]
                    for rows in runner.batches([len(p.ids) for p in passes])
                ]

                def run(batch: list[_Pass]) -> np.ndarray:
                    return runner.run(_Hidden.of(batch, self.card.pad, mask))

                for batch, found in zip(batches, pool.map(run, batches), strict=True):
                    owners = np.repeat([p.row for p in batch], [len(p.places) for p in batch])
                    np.add.at(total, start + owners, found)
                advance(len(window))
        return Likelihood(total, tokens)

    def _loaded(self) -> tuple[_Runner, Tokenizer, int]:
        if self._open is None:
            precision = self.precision if self.device == "cpu" else "int8"
            graph = f"likelihood.{precision}.onnx"
            if graph not in self.card.files:
                raise DialensError(
                    f"{self.card.folder} has no {graph}: it is not a folder of a language model"
                )
            if self.device == "cpu":
                check_files(self.card, graph)
                runner: _Runner = _OnProcessor(self.card.folder / graph)
            else:
                runner = _OnDevice(open_device_model(self.card, graph, self.device))
            tokenizer = open_tokenizer(self.card)
            self._open = (runner, tokenizer, _mask_token(tokenizer, self.card))
        return self._open


@dataclass(frozen=True)
class _Hidden:
    """A batch with hidden tokens: their places in the flattened batch, and what stood there."""

    ids: np.ndarray
    lengths: np.ndarray
    places: np.ndarray
    tokens: np.ndarray

    @classmethod
    def of(cls, batch: list[_Pass], pad: int, mask: int) -> _Hidden:
        width = max(len(one.ids) for one in batch)
        ids = np.full((len(batch), width), pad, dtype=np.int64)
        places, tokens = [], []
        for row, one in enumerate(batch):
            ids[row, : len(one.ids)] = one.ids
            tokens.append(ids[row, one.places])
            ids[row, one.places] = mask
            places.append(row * width + one.places)
        lengths = np.array([len(one.ids) for one in batch])
        return cls(ids, lengths, np.concatenate(places), np.concatenate(tokens))


class _Runner(Protocol):
    side_by_side: bool
    """Whether batches run at once, each on a core."""

    def batches(self, lengths: list[int]) -> Iterable[np.ndarray]:
        """The rows of batches that suit it."""

    def run(self, hidden: _Hidden) -> np.ndarray:
        """The log-probability of each hidden token."""


class _OnProcessor:
    """The graph in ONNX Runtime."""

    side_by_side = True

    def __init__(self, file: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"]
        )
        self._names = {one.name for one in self._session.get_inputs()}

    def batches(self, lengths: list[int]) -> Iterable[np.ndarray]:
        return length_sorted(lengths, alike=True)

    def run(self, hidden: _Hidden) -> np.ndarray:
        seen = np.arange(hidden.ids.shape[1]) < hidden.lengths[:, None]
        feed = {
            "ids": hidden.ids,
            "mask": seen.astype(np.int64),
            "types": np.zeros_like(hidden.ids),
            "places": hidden.places,
            "tokens": hidden.tokens,
        }
        own = {name: value for name, value in feed.items() if name in self._names}
        log_probability: np.ndarray = self._session.run(None, own)[0]
        return log_probability


class _OnDevice:
    """The same network on a graphics card."""

    side_by_side = False

    def __init__(self, model: DeviceModel) -> None:
        self._model = model

    def batches(self, lengths: list[int]) -> Iterable[np.ndarray]:
        # A hidden token takes a number for every word there is, many times what a token takes.
        return token_batches(lengths, self._model.tokens // _HIDDEN_SHARE)

    def run(self, hidden: _Hidden) -> np.ndarray:
        return self._model.log_probabilities(
            hidden.ids, hidden.lengths, hidden.places, hidden.tokens
        )


def _mask_token(tokenizer: Tokenizer, card: ModelCard) -> int:
    for name in ("[MASK]", "<mask>"):
        token = tokenizer.token_to_id(name)
        if token is not None:
            return int(token)
    raise DialensError(f"{card.folder / 'tokenizer.json'} has no token to hide others with")


def _passes(row: int, ids: list[int], *, each: bool) -> list[_Pass]:
    own = np.arange(1, len(ids) - 1)
    stride = len(own) if each else STRIDE
    parts = [own[own % max(1, stride) == turn] for turn in range(stride)]
    return [_Pass(row, ids, places) for places in parts if len(places)]
