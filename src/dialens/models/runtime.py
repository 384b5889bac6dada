"""Runs a model on ONNX Runtime: length-sorted batches, scores that depend on the text alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from dialens.errors import DialensError
from dialens.models.card import ModelCard, Task, check_file
from dialens.models.inputs import TextInput, encode_inputs

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

Precision = Literal["int8", "fp32"]
Advance = Callable[[int], None]

_ROWS = 16  # sorted batches of 16 beat 64 on mixed lengths
_TOKENS = 1024  # short texts may share a larger batch
_WINDOW = 8192  # texts in memory as tokens at a time
_WORTH_A_BAR = 256


class Model:
    """One task of one model folder. Nothing is read before the first use.

    Args:
        card: Of the model's folder.
        task: Which of its tasks.
        precision: ``int8`` (default) computes in int8. ``fp32`` computes in float *from the same
            stored int8 weights*; the weights before quantisation do not ship.
        threads: CPU threads; 0 leaves the choice to ONNX Runtime.
    """

    def __init__(
        self,
        card: ModelCard,
        task: str,
        *,
        precision: Precision = "int8",
        threads: int = 0,
    ) -> None:
        if task not in card.tasks:
            names = ", ".join(card.tasks)
            raise DialensError(f"model {card.name!r} has no task {task!r}; it has: {names}")
        if precision not in ("int8", "fp32"):
            raise DialensError(f"precision {precision!r} is neither int8 nor fp32")
        self.card = card
        self.task: Task = card.tasks[task]
        self.precision = precision
        self.threads = threads
        self._session: InferenceSession | None = None
        self._tokenizer: Tokenizer | None = None

    def __repr__(self) -> str:
        return f"Model({self.card.name!r}, {self.task.name!r}, {self.precision})"

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns of what :meth:`predict` returns."""
        return self.task.labels

    @property
    def signature(self) -> str:
        """What to write beside a score: model, hash of its weights, task and precision."""
        return f"{self.card.signature}|{self.task.name}|{self.precision}"

    def predict(self, inputs: Sequence[TextInput], *, label: str | None = None) -> np.ndarray:
        """Return one row of probabilities per input, one column per label.

        Args:
            inputs: Texts, or (context, reply) pairs where the task reads pairs.
            label: Of the progress bar; none is shown for short jobs.
        """
        return self._activated(self.run(inputs, self.task.name, label=label))

    def embed(self, texts: Sequence[TextInput], *, label: str | None = None) -> np.ndarray:
        """Return the mean of the last hidden states of each text."""
        return self.run(texts, "embedding", label=label)

    def decide(self, inputs: Sequence[TextInput]) -> list[tuple[str, ...]]:
        """Return the labels whose probability reaches the threshold the card gives."""
        chosen = self.predict(inputs) >= np.array(self.task.thresholds)
        names = np.array(self.task.labels)
        return [tuple(names[row].tolist()) for row in chosen]

    def run(
        self, inputs: Sequence[TextInput], output: str, *, label: str | None = None
    ) -> np.ndarray:
        """Return one output of the graph for all inputs, in their order."""
        self._check(inputs)
        session, tokenizer = self._loaded()
        width = session.get_outputs()[[o.name for o in session.get_outputs()].index(output)]
        found = np.empty((len(inputs), int(width.shape[1])), dtype=np.float32)
        title = label or f"Model {self.card.name}: {self.task.name}"
        with self._progress(title, len(inputs)) as advance:
            for start in range(0, len(inputs), _WINDOW):
                window = inputs[start : start + _WINDOW]
                encoded = encode_inputs(tokenizer, window, longest=self.card.longest)
                for rows in length_sorted([len(one) for one in encoded.ids]):
                    feed = self._feed([encoded.ids[i] for i in rows], encoded.second, rows)
                    found[start + rows] = session.run([output], feed)[0]
                    advance(len(rows))
        return found

    def _feed(self, ids: list[list[int]], second: list[int], rows: np.ndarray) -> dict[str, object]:
        shape = (len(ids), max(len(one) for one in ids))
        feed = {
            "ids": np.full(shape, self.card.pad, dtype=np.int64),
            "mask": np.zeros(shape, dtype=np.int64),
            "types": np.zeros(shape, dtype=np.int64),
        }
        for place, (one, row) in enumerate(zip(ids, rows, strict=True)):
            feed["ids"][place, : len(one)] = one
            feed["mask"][place, : len(one)] = 1
            feed["types"][place, second[row] : len(one)] = 1
        return {name: feed[name] for name in self.card.inputs}

    def _activated(self, logits: np.ndarray) -> np.ndarray:
        if self.task.activation == "sigmoid":
            result: np.ndarray = 1 / (1 + np.exp(-logits))
            return result
        if self.task.activation == "softmax":
            powers = np.exp(logits - logits.max(axis=1, keepdims=True))
            shares: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
            return shares
        return logits

    def _check(self, inputs: Sequence[TextInput]) -> None:
        for place, one in enumerate(inputs):
            pair = not isinstance(one, str)
            if pair != self.task.pair:
                wanted = "(context, reply) pairs" if self.task.pair else "single texts"
                raise DialensError(
                    f"{self.task.name} reads {wanted}; input {place} is {type(one).__name__}"
                )

    def _loaded(self) -> tuple[InferenceSession, Tokenizer]:
        if self._session is None or self._tokenizer is None:
            self._session, self._tokenizer = open_session(self.card, self.precision, self.threads)
        return self._session, self._tokenizer

    def _progress(self, title: str, total: int) -> contextlib.AbstractContextManager[Advance]:
        if total < _WORTH_A_BAR:
            return contextlib.nullcontext(lambda _: None)
        from dialens.progress import progress

        return progress(title, total=total, unit="texts")


def open_session(
    card: ModelCard, precision: str, threads: int
) -> tuple[InferenceSession, Tokenizer]:
    """Check the files a session needs against the card, and open them."""
    import onnxruntime
    from tokenizers import Tokenizer

    graph = f"{precision}.onnx"
    if graph not in card.files:
        have = ", ".join(name for name in card.files if name.endswith(".onnx"))
        raise DialensError(f"{card.folder} has no {graph}; it has: {have}")
    needed = {graph, "tokenizer.json", *(n for n in card.files if n.endswith((".bin", ".data")))}
    for name in sorted(needed):
        if name not in card.files:
            raise DialensError(f"{card.folder / 'card.json'} lists no {name}")
        check_file(card.folder / name, card.files[name])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(card.folder / graph), options, providers=["CPUExecutionProvider"]
    )
    return session, Tokenizer.from_file(str(card.folder / "tokenizer.json"))


def length_sorted(lengths: Sequence[int]) -> Iterator[np.ndarray]:
    """Yield the rows of batches, long texts first, so that little is padding.

    Examples:
        >>> [rows.tolist() for rows in length_sorted([3, 500, 3])]
        [[1, 0, 2]]
    """
    known = np.asarray(lengths)
    order = np.argsort(-known, kind="stable")
    start = 0
    while start < len(order):
        size = max(_ROWS, _TOKENS // max(1, int(known[order[start]])))
        yield order[start : start + size]
        start += size
