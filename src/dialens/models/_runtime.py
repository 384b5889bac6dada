"""Runs a model, on ONNX Runtime or on a graphics card: scores that depend on the text alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from dialens.base import DialensError, did_you_mean, first_line, progress
from dialens.models._card import ModelCard, Task
from dialens.models._device_model import (
    DeviceModel,
    arithmetic_of,
    device_for,
    open_device_model,
)
from dialens.models._inputs import EncodedInputs, TextInput, check_inputs, encode_inputs
from dialens.models._sessions import ALSO, OpenModel, open_model

Precision = Literal["int8", "fp32"]
Advance = Callable[[int], None]

EMBEDDING = "embedding"
"""The output of our graphs that holds the mean of the last hidden states."""

_ROWS = 16  # sorted batches of 16 beat 64 on mixed lengths
_TOKENS = 1024  # short texts may share a larger batch
_WINDOW = 8192  # texts in memory as tokens at a time
_WORTH_A_BAR = 256


@dataclass(frozen=True)
class Reading:
    """What a model says of some inputs.

    Attributes:
        outputs: By name, one row an input, before any activation.
        known: Whether the model knows any word of an input; in a pair, of both of its texts. What
            it says of others rests on nothing.
    """

    outputs: dict[str, np.ndarray]
    known: np.ndarray


class Model:
    """One task of one model folder. Nothing is read before the first use.

    Models of the same folder and precision share what they have loaded, and give it back when the
    last of them is gone. A model may be used from several threads.

    Args:
        card: Of the model's folder.
        task: Which of its tasks.
        precision: ``int8`` (default) computes in int8. ``fp32`` computes in float *from the same
            stored int8 weights*; the weights before quantisation do not ship.
        threads: Batches worked on at once, each on one core; 0 takes all cores.
        device: ``cpu``, ``cuda``, or ``auto`` for a graphics card where there is one that PyTorch
            sees. There it computes in pairs of halves, which is as exact as ``fp32``.
    """

    def __init__(
        self,
        card: ModelCard,
        task: str,
        *,
        precision: Precision = "int8",
        threads: int = 0,
        device: str = "cpu",
    ) -> None:
        if precision not in ("int8", "fp32"):
            raise DialensError(f"precision {precision!r} is neither int8 nor fp32")
        if threads < 0:
            raise DialensError(f"threads is {threads}; give 0 (as many as there are) or more")
        self.card = card
        self.task: Task = _task(card, task)
        self.precision: Precision = precision
        self.threads = threads
        self.wanted_device = device
        self._open: OpenModel | DeviceModel | None = None

    def __repr__(self) -> str:
        return f"Model({self.card.name!r}, {self.task.name!r}, {self.precision})"

    @cached_property
    def device(self) -> str:
        """Where it computes.

        Raises:
            DialensError: A graphics card was asked for, and it cannot be used.
        """
        return device_for(self.card, self.wanted_device)

    @property
    def arithmetic(self) -> str:
        """What it computes in: ``int8`` or ``fp32`` on processors, ``fp16x2`` elsewhere."""
        return arithmetic_of(self.card, self.wanted_device, self.precision)

    def beside(self, task: str) -> Model:
        """Return another task of the same folder, computed in the same way."""
        return Model(
            self.card,
            task,
            precision=self.precision,
            threads=self.threads,
            device=self.wanted_device,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns of what :meth:`predict` returns."""
        return self.task.labels

    @property
    def signature(self) -> str:
        """What to write beside a score: model, hash of its weights, task and arithmetic."""
        return f"{self.card.signature}|{self.task.name}|{self.arithmetic}"

    @property
    def loaded(self) -> bool:
        """Whether the weights have been read."""
        return self._open is not None

    def predict(
        self,
        inputs: Sequence[TextInput],
        *,
        label: str | None = None,
        advance: Advance | None = None,
    ) -> np.ndarray:
        """Return one row of probabilities per input, one column per label.

        Args:
            inputs: Texts, or (context, reply) pairs where the task reads pairs.
            label: Of the progress bar; none is shown for short jobs.
            advance: Called with the number of inputs just done; replaces the bar.
        """
        return self.predict_many(inputs, [self.task.name], label=label, advance=advance)[
            self.task.name
        ]

    def predict_many(
        self,
        inputs: Sequence[TextInput],
        tasks: Sequence[str],
        *,
        label: str | None = None,
        advance: Advance | None = None,
    ) -> dict[str, np.ndarray]:
        """Return the probabilities of several tasks of this folder from one pass of the encoder.

        Args:
            inputs: As :meth:`predict` takes them; all tasks must read the same kind.
            tasks: Names of tasks.
            label: Of the progress bar.
            advance: Called with the number of inputs just done.

        Raises:
            DialensError: The folder has no such task, or it does not read such inputs.
        """
        chosen = [_task(self.card, name) for name in tasks]
        for task in chosen:
            check_inputs(inputs, pair=task.pair, what=task.name)
        raw = self.run_many(inputs, [task.output for task in chosen], label=label, advance=advance)
        return {task.name: activated(raw[task.output], task.activation) for task in chosen}

    def embed(
        self,
        inputs: Sequence[TextInput],
        *,
        label: str | None = None,
        advance: Advance | None = None,
    ) -> np.ndarray:
        """Return the mean of the last hidden states of each input, whatever the task reads."""
        return self.run_many(inputs, [EMBEDDING], label=label, advance=advance)[EMBEDDING]

    def decide(
        self, inputs: Sequence[TextInput], *, advance: Advance | None = None
    ) -> list[tuple[str, ...]]:
        """Return the labels whose probability reaches the threshold the card gives."""
        chosen = self.predict(inputs, advance=advance) >= np.array(self.task.thresholds)
        names = np.array(self.task.labels)
        return [tuple(names[row].tolist()) for row in chosen]

    def run(
        self,
        inputs: Sequence[TextInput],
        output: str,
        *,
        label: str | None = None,
        advance: Advance | None = None,
    ) -> np.ndarray:
        """Return one output of the graph, before any activation, in the order of the inputs."""
        return self.run_many(inputs, [output], label=label, advance=advance)[output]

    def run_many(
        self,
        inputs: Sequence[TextInput],
        outputs: Sequence[str],
        *,
        label: str | None = None,
        advance: Advance | None = None,
    ) -> dict[str, np.ndarray]:
        """Return several outputs of the graph from one pass, before any activation.

        Args:
            inputs: Texts or pairs, not mixed; the caller sees to it that the outputs read them.
            outputs: Names of outputs: the folder's tasks, and ``embedding``.
            label: Of the progress bar; none is shown for short jobs.
            advance: Called with the number of inputs just done; replaces the bar.

        Raises:
            DialensError: There is no such output, inputs are mixed, or the graph does not fit its
                tokenizer or its labels.
        """
        return self.read(inputs, outputs, label=label, advance=advance).outputs

    def read(
        self,
        inputs: Sequence[TextInput],
        outputs: Sequence[str],
        *,
        label: str | None = None,
        advance: Advance | None = None,
    ) -> Reading:
        """Do as :meth:`run_many`, and say which inputs have a word that the model knows."""
        check_inputs(inputs, pair=None, what=self.card.name)
        model = self._with(outputs)
        title = label or f"Model {self.card.name}: {self.task.name}"
        with shown_progress(title, len(inputs), advance) as tell:
            if isinstance(model, OpenModel):
                return self._read(model, inputs, list(outputs), tell)
            names = list(dict.fromkeys(outputs))
            values, known = model.read(
                inputs, names, longest=self.card.longest, pad=self.card.pad, advance=tell
            )
            return Reading(values, known)

    def _read(
        self, session: OpenModel, inputs: Sequence[TextInput], names: list[str], tell: Advance
    ) -> Reading:
        """Batches side by side on a core each: within a batch, small steps leave cores idle."""
        rows = len(inputs)
        results = {name: np.empty((rows, session.widths[name]), dtype=np.float32) for name in names}
        known = np.empty(rows, dtype=np.bool_)
        workers = self.threads or len(os.sched_getaffinity(0))
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, rows, _WINDOW):
                window = inputs[start : start + _WINDOW]
                encoded = encode_inputs(session.tokenizer, window, longest=self.card.longest)
                known[start : start + len(window)] = encoded.known

                def run(batch: np.ndarray, encoded: EncodedInputs = encoded) -> list[np.ndarray]:
                    found = self._run(session, names, self._feed(encoded, batch))
                    return [values[: len(batch)] for values in found]

                batches = list(length_sorted(encoded.lengths, parts=workers, alike=True))
                for batch, values in zip(batches, pool.map(run, batches), strict=True):
                    for name, value in zip(names, values, strict=True):
                        if results[name].shape[1] != value.shape[1]:  # the graph did not tell
                            results[name] = np.empty((rows, value.shape[1]), dtype=np.float32)
                        results[name][start + batch] = value
                    tell(len(batch))
        return Reading(results, known)

    def check(self, outputs: Sequence[str]) -> None:
        """Try the graph on the last word of its tokenizer, once and as often as it can be read.

        Raises:
            DialensError: Graph, tokenizer and labels do not fit each other.
        """
        session = open_model(self.card, self.precision)
        last = max(session.tokenizer.get_vocab(with_added_tokens=False).values(), default=0)
        lengths = np.array([self.card.longest, 1])
        tokens = np.full(lengths.sum(), last, dtype=np.int32)
        starts, yes = np.array([0, *np.cumsum(lengths)]), np.ones(2, dtype=np.bool_)
        encoded = EncodedInputs(tokens, starts, lengths, ~yes, yes)
        self._run(session, list(outputs), self._feed(encoded, np.arange(2)))

    def _run(
        self, found: OpenModel, names: list[str], feed: dict[str, np.ndarray]
    ) -> list[np.ndarray]:
        try:
            values: list[np.ndarray] = found.session.run(
                names, {name: feed[name] for name in found.inputs}
            )
        except Exception as error:  # ONNX Runtime's kinds have no common base
            raise DialensError(
                f"{self._graph} cannot read what tokenizer.json makes of texts "
                f"({first_line(error)}): both must come from one model, and the "
                "graph must take any number of texts of any length"
            ) from error
        for name, value in zip(names, values, strict=True):
            for task in self.card.tasks.values():
                if task.output == name and value.shape[1:] != (len(task.labels),):
                    raise self._misfit(task, value.shape)
        return values

    def _misfit(self, task: Task, shape: tuple[int, ...]) -> DialensError:
        labels = "card.json" if (self.card.folder / "card.json").is_file() else "config.json"
        numbers = " × ".join(map(str, shape[1:])) or "no"
        return DialensError(
            f"{self._graph} gives {numbers} numbers a text for {task.name!r}, and {labels} names "
            f"{len(task.labels)} labels ({', '.join(task.labels)}): mend the labels, or export the "
            "graph again"
        )

    @property
    def _graph(self) -> Path:
        return self.card.folder / self.card.graphs[self.precision]

    def _feed(self, encoded: EncodedInputs, rows: np.ndarray) -> dict[str, np.ndarray]:
        if len(rows) == 1:  # the last product of a single row is added up in another order
            rows = np.repeat(rows, 2)
        ids = encoded.padded(rows, self.card.pad).astype(np.int64)
        place = np.arange(ids.shape[1])
        inside = place < encoded.lengths[rows, None]
        second = inside & (place >= encoded.second[rows, None])
        feed = {"ids": ids, "mask": inside.astype(np.int64), "types": second.astype(np.int64)}
        feed.update({other: feed[name] for name, other in ALSO.items()})
        return feed

    def _with(self, outputs: Sequence[str]) -> OpenModel | DeviceModel:
        """The open model, which has these outputs."""
        if self._open is None and self.device == "cpu":
            self._open = open_model(self.card, self.precision)
        elif self._open is None:
            self._open = open_device_model(self.card, self.card.graphs["int8"], self.device)
        widths = self._open.widths
        for output in outputs:
            if output not in widths:
                raise DialensError(
                    f"{self.card.folder} has no output {output!r}. "
                    f"{did_you_mean(output, widths)}It has: {', '.join(widths)}"
                )
        return self._open


def _task(card: ModelCard, name: str) -> Task:
    if name not in card.tasks:
        raise DialensError(
            f"model {card.name!r} has no task {name!r}. {did_you_mean(name, card.tasks)}"
            f"It has: {', '.join(card.tasks)}"
        )
    return card.tasks[name]


def activated(logits: np.ndarray, activation: str) -> np.ndarray:
    """Return what a task's numbers mean: ``sigmoid``, ``softmax``, or the logits themselves.

    Examples:
        >>> activated(np.array([[0.0, 0.0]]), "softmax").tolist()
        [[0.5, 0.5]]
    """
    if activation == "sigmoid":
        result: np.ndarray = 1 / (1 + np.exp(-np.clip(logits, -80, 80)))
        return result
    if activation == "softmax":
        powers = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
        shares: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
        return shares
    return logits


def length_sorted(
    lengths: Sequence[int] | np.ndarray, *, parts: int = 1, alike: bool = False
) -> Iterator[np.ndarray]:
    """Yield the rows of batches, long texts first, so that little is padding.

    Args:
        lengths: In tokens.
        parts: How many batches there should be at least, where there are as many texts.
        alike: Whether all texts of a batch have the same length. Without padding the numbers of a
            text are the same to the last bit whoever shares its batch, so that they do not depend
            on the number of threads, or on the machine of a cluster that comes upon it.

    Examples:
        >>> [rows.tolist() for rows in length_sorted([3, 500, 3])]
        [[1, 0, 2]]
        >>> [rows.tolist() for rows in length_sorted([3, 500, 3], parts=2)]
        [[1, 0], [2]]
        >>> [rows.tolist() for rows in length_sorted([3, 500, 3], alike=True)]
        [[1], [0, 2]]
    """
    known = np.asarray(lengths)
    order = np.argsort(-known, kind="stable")
    most = -(-len(order) // parts)
    start = 0
    while start < len(order):
        size = min(most, max(_ROWS, _TOKENS // max(1, int(known[order[start]]))))
        batch = order[start : start + size]
        if alike:
            batch = batch[known[batch] == known[batch[0]]]
        yield batch
        start += len(batch)


def shown_progress(
    title: str, total: int, advance: Advance | None
) -> contextlib.AbstractContextManager[Advance]:
    """Give the caller's own way to tell progress, else a bar where the job is worth one."""
    if advance is not None:
        return contextlib.nullcontext(advance)
    if total < _WORTH_A_BAR:
        return contextlib.nullcontext(lambda _: None)
    return progress(title, total=total, unit="texts")
