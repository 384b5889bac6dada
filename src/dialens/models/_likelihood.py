"""How likely the shipped language model finds a text: each token predicted while it is hidden.

Phy et al. (2020) hide one token at a time, so that a text of n tokens costs n passes. By default
every sixth token is hidden at once (as many as in training), which costs at most six passes a text;
``each=True`` is the paper's way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dialens.base import DialensError
from dialens.models._card import ModelCard, check_file
from dialens.models._inputs import encode_inputs, make_plain
from dialens.models._runtime import Precision, length_sorted

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

STRIDE = 6
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
    """

    def __init__(self, card: ModelCard, *, precision: Precision = "int8", threads: int = 0) -> None:
        self.card = card
        self.precision = precision
        self.threads = threads
        self._open: tuple[InferenceSession, Tokenizer, int] | None = None

    @property
    def signature(self) -> str:
        """What to write beside a number: model, hash of its weights, precision."""
        return f"{self.card.signature},likelihood,{self.precision}"

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
        session, tokenizer, mask = self._loaded()
        total, tokens = np.zeros(len(texts)), np.zeros(len(texts), dtype=np.int64)
        with ThreadPoolExecutor(self.threads or len(os.sched_getaffinity(0))) as pool:
            for start in range(0, len(texts), _WINDOW):
                window = texts[start : start + _WINDOW]
                encoded = encode_inputs(tokenizer, list(window), longest=self.card.longest)
                passes = []
                for row, ids in enumerate(encoded.ids):
                    tokens[start + row] = len(ids) - 2
                    passes += _passes(row, ids, each=each)
                batches = [
                    [passes[i] for i in rows]
                    for rows in length_sorted([len(p.ids) for p in passes])
                ]

                def run(batch: list[_Pass]) -> np.ndarray:
                    return _log_probabilities(session, self.card.pad, mask, batch)

                for batch, found in zip(batches, pool.map(run, batches), strict=True):
                    owners = np.repeat([p.row for p in batch], [len(p.places) for p in batch])
                    np.add.at(total, start + owners, found)
                advance(len(window))
        return Likelihood(total, tokens)

    def _loaded(self) -> tuple[InferenceSession, Tokenizer, int]:
        if self._open is None:
            self._open = _opened(self.card, f"likelihood.{self.precision}.onnx")
        return self._open


def _opened(card: ModelCard, graph: str) -> tuple[InferenceSession, Tokenizer, int]:
    import onnxruntime
    from tokenizers import Tokenizer

    if graph not in card.files:
        raise DialensError(f"{card.folder} has no {graph}: it is not a folder of a language model")
    for name in (graph, "weights.bin", "tokenizer.json"):
        check_file(card.folder / name, card.files[name])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(card.folder / graph), options, providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(str(card.folder / "tokenizer.json"))
    make_plain(tokenizer)
    mask = tokenizer.token_to_id("[MASK]")
    if mask is None:
        mask = tokenizer.token_to_id("<mask>")
    if mask is None:
        raise DialensError(f"{card.folder / 'tokenizer.json'} has no token to hide others with")
    return session, tokenizer, mask


def _passes(row: int, ids: list[int], *, each: bool) -> list[_Pass]:
    own = np.arange(1, len(ids) - 1)
    stride = len(own) if each else STRIDE
    parts = [own[own % max(1, stride) == turn] for turn in range(stride)]
    return [_Pass(row, ids, places) for places in parts if len(places)]


def _log_probabilities(
    session: InferenceSession, pad: int, mask: int, batch: list[_Pass]
) -> np.ndarray:
    width = max(len(one.ids) for one in batch)
    ids = np.full((len(batch), width), pad, dtype=np.int64)
    seen = np.zeros_like(ids)
    places, tokens = [], []
    for row, one in enumerate(batch):
        ids[row, : len(one.ids)] = one.ids
        seen[row, : len(one.ids)] = 1
        tokens.append(ids[row, one.places])
        ids[row, one.places] = mask
        places.append(row * width + one.places)
    feed = {
        "ids": ids,
        "mask": seen,
        "types": np.zeros_like(ids),
        "places": np.concatenate(places),
        "tokens": np.concatenate(tokens),
    }
    names = {one.name for one in session.get_inputs()}
    log_probability: np.ndarray = session.run(None, {n: v for n, v in feed.items() if n in names})[
        0
    ]
    return log_probability
