"""The encoders of a run: which model answers which task, and every distinct input once.

Tasks that one folder answers from the same kind of input share an encoder, and so its passes: what
one family asked for is in memory when the next one asks.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dialens.base import DialensError
from dialens.metrics._family import Advance, NotReadyError, ScorerContext, Unit
from dialens.metrics._model_choice import PAIR_TASKS
from dialens.metrics._pace import paced
from dialens.metrics._row_cache import RowCache
from dialens.metrics._state import Floats
from dialens.models import (
    LOGITS,
    Listed,
    Model,
    TextInput,
    TorchModel,
    activated,
    check_chances,
    is_shipped,
    list_models,
    load,
    margins,
    positive_label,
    read_card,
)

UNKNOWN = "no word the model knows"


@dataclass(frozen=True)
class Head:
    """One task of an encoder: where its numbers stand and how they are read."""

    output: str
    labels: tuple[str, ...]
    activation: str
    columns: slice


class Encoder:
    """A model with all tasks that one pass of it answers; weights are read at the first pass.

    Args:
        model: Runs it.
        heads: By the model's own name of the task.
        cache_size: How many inputs' outputs are kept in memory.
        reading: The thread that it reads in, in the order in which it is asked, so that nothing
            depends on a race; one for all encoders on processors, where each takes all cores.
    """

    def __init__(
        self,
        model: Model | TorchModel,
        heads: Mapping[str, Head],
        cache_size: int,
        reading: ThreadPoolExecutor,
    ) -> None:
        self.model = model
        self.heads = heads
        self.width = sum(len(head.labels) for head in heads.values())
        self._cache = RowCache(cache_size, self.width)
        self._reading = reading

    @property
    def label(self) -> str:
        """What a person calls this model: `small, int8`, or `small, fp16x2` on a GPU."""
        if isinstance(self.model, Model):
            return f"{self.model.card.name}, {self.model.arithmetic}"
        return f"{self.model.folder.name}, PyTorch"

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return self.model.card.folder if isinstance(self.model, Model) else self.model.folder

    @property
    def _outputs(self) -> list[str]:
        return list(dict.fromkeys(head.output for head in self.heads.values()))

    def check(self) -> None:
        """Try it on made-up texts, and raise what is wrong; what ships is known by its hashes."""
        if not is_shipped(self.folder):
            self.model.check(self._outputs)

    def uncached(self, inputs: Sequence[TextInput]) -> list[TextInput]:
        """Those of the inputs whose outputs are not in memory, each once."""
        return [item for item in dict.fromkeys(inputs) if item not in self._cache]

    def ask(self, inputs: Sequence[TextInput], units: int, advance: Advance) -> Future[Floats]:
        """Have inputs read after all that were asked for before.

        Args:
            inputs: Texts, or pairs of context and reply.
            units: What `advance` will have heard of in the end.
            advance: Called with the number of units just done, in the reading thread.

        Returns:
            The logits of all heads, side by side, a row an input; NaN where no word is known. To
            wait for them raises a DialensError if the graph breaks down.
        """
        return self._reading.submit(self._logits, inputs, units, advance)

    def _logits(self, inputs: Sequence[TextInput], units: int, advance: Advance) -> Floats:
        advance(0)  # ends here what was asked for before a run was stopped
        distinct = list(dict.fromkeys(inputs))
        places = self._cache.places(distinct)
        kept, rows = places >= 0, np.empty((len(distinct), self.width))
        rows[kept] = self._cache.rows(places[kept])
        fresh = list(compress(distinct, ~kept))
        step = paced(advance, units, len(fresh))
        if fresh:
            rows[~kept] = read = self._run(fresh, step)
            self._cache.put(fresh, read)
        if len(distinct) == len(inputs):
            return rows
        numbers = dict(zip(distinct, range(len(distinct)), strict=True))
        return rows[[numbers[item] for item in inputs]]

    def _run(self, inputs: Sequence[TextInput], advance: Advance) -> NDArray[np.float32]:
        read = self.model.read(inputs, self._outputs, advance=advance)
        parts = [read.outputs[head.output] for head in self.heads.values()]
        logits: NDArray[np.float32] = np.concatenate(parts, axis=1, dtype=np.float32)
        logits[~read.known] = np.nan
        return logits


@dataclass(frozen=True)
class TaskReader:
    """A task, with the encoder that answers it.

    Attributes:
        task: What the metrics call it; the model's folder may call it otherwise.
        model: Does the task.
        encoder: Runs that model, and answers its other tasks too.
    """

    task: str
    model: Model | TorchModel
    encoder: Encoder

    @property
    def signature(self) -> str:
        """Of the model."""
        return self.model.signature.replace("|", "/")

    @property
    def head(self) -> Head:
        """Where its numbers stand."""
        own_name = self.model.task.name if isinstance(self.model, Model) else self.task
        return self.encoder.heads[own_name]

    def check(self, positive: Sequence[str] | None = None) -> None:
        """Refuse a model that gives no probabilities, lacks the label, or does not run.

        Args:
            positive: What the label may be called that the task is about, if it is about one.

        Raises:
            DialensError: With what is wrong.
        """
        check_chances(self.head.activation, self.task, self.encoder.folder)
        if positive is not None:
            positive_label(self.head.labels, self.task, positive)
        self.encoder.check()

    def probabilities(self, logits: Floats) -> Floats:
        """What the encoder's numbers mean, a column a label."""
        return activated(logits[:, self.head.columns], self.head.activation)

    def logit(self, logits: Floats, positive: Sequence[str], task: str | None = None) -> Floats:
        """The logit of the label that the task is about, or another task of the same folder."""
        head = self.head if task in (None, self.task) else self.encoder.heads[task]
        column = positive_label(head.labels, task or self.task, positive)
        return margins(logits[:, head.columns], column, head.activation)


class Encoders:
    """Finds the encoder of each task, as the user chose; cards are read, weights are not.

    Args:
        context: Of the run.
    """

    def __init__(self, context: ScorerContext) -> None:
        self._context = context
        self._choice = context.models
        self._models: dict[str, Model | TorchModel] = {}
        self._encoders: dict[tuple[Path, str | bool], Encoder] = {}
        self._reading = ThreadPoolExecutor(1, "encoders")

    @cached_property
    def _listed(self) -> list[Listed]:
        return self._context.cached(list_models, self._choice.folder)

    def reader(self, task: str, *, beside: str | None = None) -> TaskReader:
        """The task with its encoder.

        Args:
            task: One of `ModelChoice`'s.
            beside: A task whose model is preferred, so that both share its passes.

        Raises:
            DialensError: There is no model for it.
        """
        return self._reader(self._model(task, beside), task)

    def sibling(self, reader: TaskReader, task: str) -> TaskReader:
        """Another task of the model that a reader uses, whatever model was chosen for that task."""
        if not isinstance(reader.model, Model):
            raise DialensError(
                f"the model {reader.encoder.folder} has no task {task!r} beside its own"
            )
        return self._reader(reader.model.beside(task), task)

    def _reader(self, model: Model | TorchModel, task: str) -> TaskReader:
        pair = task in PAIR_TASKS
        if isinstance(model, Model):
            key: tuple[Path, str | bool] = (model.card.folder, pair)
        else:
            key = (model.folder, task)
        if key not in self._encoders:
            heads = _heads(model, task, pair=pair)
            # On a card one encoder's texts become tokens while another's network computes.
            apart = self._context.on_card
            reading = ThreadPoolExecutor(1, "encoder") if apart else self._reading
            self._encoders[key] = Encoder(model, heads, self._choice.cache_size, reading)
        return TaskReader(task, model, self._encoders[key])

    def _model(self, task: str, beside: str | None = None) -> Model | TorchModel:
        if task not in self._models:
            own = self._choice.own.get(task)
            self._models[task] = self._shipped(task, beside) if own is None else self._own(task)
        return self._models[task]

    def _shipped(self, task: str, beside: str | None) -> Model:
        candidates = [entry for entry in self._listed if entry.task == task]
        if not candidates:
            raise DialensError(
                f"no model for {task} is installed (install dialens again, or give one of your own "
                f"with --model {task}=FOLDER)"
            )
        shared = None if beside is None or beside in self._choice.own else self._size(beside)
        best = min(
            candidates,
            key=lambda entry: (
                entry.size != self._choice.size,
                entry.size != shared,
                not entry.default,
            ),
        )
        return Model(best.card, task, **self._context.running)

    def _size(self, task: str) -> str | None:
        """The size of the model that ships for a task and is used."""
        try:
            model = self._model(task)
        except DialensError:
            return None
        return model.card.name if isinstance(model, Model) else None

    def _own(self, task: str) -> Model | TorchModel:
        place, running = str(self._choice.own[task]), self._context.running
        for entry in self._listed:
            if place in (entry.name, f"{entry.task}-{entry.size}"):
                return self._fitting(task, place, Model(entry.card, entry.task, **running))
        folder = Path(place)
        carded = folder.is_dir() and (folder / "card.json").exists()
        inside = task if carded and task in read_card(folder).tasks else None
        model = load(place, inside, folder=self._choice.folder, **running)
        return self._fitting(task, place, model)

    def _fitting(self, task: str, place: str, model: Model | TorchModel) -> Model | TorchModel:
        if isinstance(model, Model) and model.task.pair not in (None, task in PAIR_TASKS):
            reads = "pairs of context and reply" if model.task.pair else "single texts"
            raise DialensError(
                f"the model {place} cannot do {task}: its task {model.task.name!r} reads {reads}"
            )
        return model


def _heads(model: Model | TorchModel, task: str, *, pair: bool) -> dict[str, Head]:
    """All tasks of a model that are answered from the same kind of input, side by side."""
    if not isinstance(model, Model):
        return {task: Head(LOGITS, model.labels, model.config.activation, slice(None))}
    heads = {}
    start = 0
    for name, entry in model.card.tasks.items():
        if entry.pair in (None, pair):
            columns = slice(start, start + len(entry.labels))
            heads[name] = Head(entry.output, entry.labels, entry.activation, columns)
            start = columns.stop
    return heads


def encoders_of(context: ScorerContext) -> Encoders:
    """The encoders of a run, the same for all families."""
    return context.cached(Encoders, context)


def opened_reader(
    context: ScorerContext,
    task: str,
    positive: Sequence[str] | None = None,
    *,
    beside: str | None = None,
) -> TaskReader:
    """A task's reader, tried out.

    Raises:
        DialensError: There is no model for it, or it cannot do the task.
        NotReadyError: A Python package is missing.
    """
    try:
        reader = encoders_of(context).reader(task, beside=beside)
        reader.check(positive)
    except ImportError as error:
        package = error.name or str(error)
        raise NotReadyError(
            f"the model for {task} needs the Python package {package}, which is not "
            f"installed (pip install {package})"
        ) from error
    return reader


class EncoderScorer:
    """Scores units by what encoders say of them; `begin` is what such a scorer has of its own."""

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing is learned from references."""

    def begin(
        self, units: Sequence[Unit], advance: Advance = lambda _: None
    ) -> Callable[[], Floats]:
        """Ask the encoders; what it returns waits for them."""
        raise NotImplementedError

    def score(self, units: Sequence[Unit], advance: Advance = lambda _: None) -> Floats:
        """One row a unit, one column an output."""
        return self.begin(units, advance)()


def where_read(logits: Floats, compute: Callable[[Floats], Floats], width: int) -> Floats:
    """Values of the rows in which a word is known; NaN in the others.

    Examples:
        >>> where_read(np.array([[1.0], [np.nan]]), lambda rows: 2 * rows, 1).tolist()
        [[2.0], [nan]]
    """
    values = np.full((len(logits), width), np.nan)
    read = ~np.isnan(logits[:, 0])
    if read.any():
        values[read] = compute(logits[read])
    return values
