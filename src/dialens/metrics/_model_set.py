"""The models of a run: which is used for which task, what is missing, and every text once.

A task is what a metric asks a model for. Encoders answer `emotion` and `toxicity` from a text,
`engagement` and `relevance` from a pair of context and reply; tasks that one folder answers from
the same input share a pass. Traits have linear models of their own. Nothing is loaded before it is
used, and what cannot be loaded is told, not raised: the other metrics go on.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, RLock

import numpy as np
from numpy.typing import NDArray

from dialens.base import DialensError, did_you_mean
from dialens.metrics._state import Floats
from dialens.metrics.families import TraitScorer
from dialens.models import (
    FORMULA,
    LOGITS,
    SHIPPED,
    EngagementScorer,
    Model,
    TextInput,
    TorchModel,
    activated,
    check_chances,
    list_models,
    load,
    margins,
    positive_label,
    read_card,
)
from dialens.models.traits import TraitModel
from dialens.models.traits import load as load_trait

TEXT_TASKS = ("emotion", "toxicity")
PAIR_TASKS = ("engagement", "relevance")
ENCODER_TASKS = (*TEXT_TASKS, *PAIR_TASKS)
TRAITS = (
    "agreeableness",
    "openness",
    "conscientiousness",
    "extraversion",
    "neuroticism",
    "empathic_concern",
    "state_empathy",
)
SIZES = ("default", "small", "base", "none")
"""Which size of each model a run takes; `default` is the one that did better, `none` none."""

_REMEMBERED = 20_000
_LONGEST_REMEMBERED = 20_000_000  # characters
_POSITIVE = {
    "toxicity": ("toxic",),
    "engagement": ("engaging",),
    "relevance": ("relevant",),
}


@dataclass(frozen=True)
class Head:
    """One task of an encoder: where its numbers stand and how they are read."""

    output: str
    labels: tuple[str, ...]
    activation: str
    columns: slice


@dataclass(frozen=True, eq=False)
class Encoder:
    """A loaded or loadable model with all tasks that one pass of it answers.

    Attributes:
        model: Runs it.
        heads: By task.
    """

    model: Model | TorchModel
    heads: Mapping[str, Head]

    @property
    def pair(self) -> bool:
        """Whether it reads pairs of context and reply."""
        return next(iter(self.heads)) in PAIR_TASKS

    @property
    def width(self) -> int:
        """Columns of all heads."""
        return sum(len(head.labels) for head in self.heads.values())

    @property
    def size(self) -> str:
        """What a person calls this model: `small, int8`."""
        if isinstance(self.model, Model):
            return f"{self.model.card.name}, {self.model.precision}"
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
        if self.folder.parent != SHIPPED:
            self.model.check(self._outputs)

    def run(
        self, inputs: Sequence[TextInput], advance: Callable[[int], None]
    ) -> NDArray[np.float32]:
        """Return the logits of all heads, side by side; NaN for what has no word it knows."""
        read = self.model.read(inputs, self._outputs, advance=advance)
        parts = [read.outputs[head.output] for head in self.heads.values()]
        made: NDArray[np.float32] = np.concatenate(parts, axis=1, dtype=np.float32)
        made[~read.known] = np.nan
        return made


class ModelSet:
    """What a run knows of models. One set may serve many runs and threads.

    Args:
        size: One of `SIZES`; a task that has no model of that size takes its default.
        own: Models of the user's own by task: a folder, or a name of `dialens.models.list_models`.
        folder: Where models are found by name; those that ship if not given.
        threads: Of an encoder; 0 leaves the choice to ONNX Runtime. Encoders run one after the
            other, so that they never compete for cores.
        remember: How many inputs' outputs are kept, for texts that come again.

    Raises:
        DialensError: There is no such size or task.

    Examples:
        >>> ModelSet("none").size
        'none'
        >>> ModelSet(own={"beauty": "x"})
        Traceback (most recent call last):
        dialens.DialensError: There is no task 'beauty' ...
    """

    def __init__(
        self,
        size: str = "default",
        own: Mapping[str, str | Path] | None = None,
        *,
        folder: Path | None = None,
        threads: int = 0,
        remember: int = _REMEMBERED,
    ) -> None:
        if size not in SIZES:
            raise DialensError(f"Models are {', '.join(SIZES)}; seen: {size!r}.")
        for task in own or {}:
            if task not in (*ENCODER_TASKS, *TRAITS):
                known = (*ENCODER_TASKS, *TRAITS)
                raise DialensError(
                    f"There is no task {task!r} that a model of yours could do. "
                    f"{did_you_mean(task, known)}Tasks: {', '.join(known)}."
                )
        self.size = size
        self.own = {task: str(place) for task, place in (own or {}).items()}
        self.folder = SHIPPED if folder is None else folder
        self.threads = threads
        self._remember = remember
        self._lock = RLock()
        self._running = Lock()  # apart, so that nobody waits for a pass to ask a card
        self._models: dict[str, Model | TorchModel] = {}
        self._encoders: dict[str, Encoder] = {}
        self._traits: dict[str, TraitModel] = {}
        self._trait_scorers: dict[tuple[str, ...], TraitScorer] = {}
        self._signatures: dict[str, str] = {}
        self._scorer: EngagementScorer | None = None
        self._memory: dict[int, OrderedDict[TextInput, NDArray[np.float32]]] = {}
        self._held = 0
        self._failures: dict[str, str] = {}

    def of_size(self, size: str) -> "ModelSet":
        """The same choice with models of another size."""
        return ModelSet(
            size, self.own, folder=self.folder, threads=self.threads, remember=self._remember
        )

    def encoder(self, task: str) -> Encoder:
        """The encoder that answers a task, with everything else it answers; weights are not read.

        Raises:
            DialensError: There is none.
        """
        with self._lock:
            if task not in self._encoders:
                self._encode(task)
            return self._encoders[task]

    def _encode(self, task: str) -> None:
        model = self._model(task)
        mates = [task]
        for other in TEXT_TASKS if task in TEXT_TASKS else PAIR_TASKS:
            if other != task and isinstance(model, Model) and self._same_folder(model, other):
                mates.append(other)
        answering = {name: self._model(name) for name in sorted(mates, key=ENCODER_TASKS.index)}
        if isinstance(model, Model) and "engagement" in mates:
            # The formula reads its own folder's tasks, whoever else answers them for the metrics.
            for name in EngagementScorer(model).formula.tasks:
                if name not in answering:
                    answering[name] = load(model.card.folder, name, threads=self.threads)
        heads: dict[str, Head] = {}
        start = 0
        for name, one in answering.items():
            heads[name] = _head(one, start)
            start = heads[name].columns.stop
        found = Encoder(model, heads)
        self._encoders |= dict.fromkeys(mates, found)

    def _same_folder(self, model: Model, other: str) -> bool:
        try:
            mate = self._model(other)
        except DialensError:
            return False
        return isinstance(mate, Model) and mate.card.folder == model.card.folder

    def _model(self, task: str) -> Model | TorchModel:
        if task not in self._models:
            self._models[task] = self._resolved(task)
        return self._models[task]

    def _resolved(self, task: str) -> Model | TorchModel:
        if task in self.own:
            return self._users_own(task, self.own[task])
        listed = [one for one in list_models(self.folder) if one.task == task]
        if not listed:
            raise DialensError(
                f"no model for {task} is installed (install dialens again, or give one of your own "
                f"with --model {task}=FOLDER)"
            )
        ranked = sorted(
            listed,
            key=lambda one: (
                one.size != self.size,
                not self._beside(task, one.size),
                not one.default,
            ),
        )
        return load(ranked[0].name, folder=self.folder, threads=self.threads)

    def _beside(self, task: str, size: str) -> bool:
        """Whether a model is the one that answers engagement already: relevance comes with it."""
        if task != "relevance" or "engagement" in self.own:
            return False
        try:
            model = self._model("engagement")
        except DialensError:
            return False
        return isinstance(model, Model) and model.card.name == size

    def _users_own(self, task: str, place: str) -> Model | TorchModel:
        folder = Path(place)
        named = folder.is_dir() and (folder / "card.json").exists()
        inside = task if named and task in read_card(folder).tasks else None
        found = load(place, inside, folder=self.folder, threads=self.threads)
        if isinstance(found, Model) and found.task.pair not in (None, task in PAIR_TASKS):
            reads = "pairs of context and reply" if found.task.pair else "single texts"
            raise DialensError(
                f"the model {place} cannot do {task}: its task {found.task.name!r} reads {reads}"
            )
        return found

    def trait(self, name: str) -> TraitModel:
        """The trait model of that name.

        Raises:
            DialensError: There is none, or it is damaged.
        """
        with self._lock:
            if name not in self._traits:
                model = load_trait(self._trait_folder(name))
                TraitScorer({name: model})  # refuses what cannot be scored
                self._traits[name] = model
            return self._traits[name]

    def trait_scorer(self, names: tuple[str, ...]) -> TraitScorer:
        """What scores these traits together; they must be `ready`."""
        with self._lock:
            if names not in self._trait_scorers:
                models = {name: self.trait(name) for name in names}
                self._trait_scorers[names] = TraitScorer(models)
            return self._trait_scorers[names]

    def _trait_folder(self, name: str) -> Path:
        place = Path(self.own.get(name, self.folder / f"traits_{name}"))
        shipped = self.folder / f"traits_{place}"
        if not place.is_dir() and shipped.is_dir():
            return shipped
        if not (place / "card.json").is_file():
            raise DialensError(
                f"no model for {name} in {place} (install dialens again, or fit one of your own "
                f"with `dialens traits fit` and give it with --model {name}=FOLDER)"
            )
        return place

    def signature(self, task: str) -> str:
        """What a score's signature says of the model behind it; `none` if there is no model."""
        with self._lock:
            if task not in self._signatures:
                self._signatures[task] = self._signed(task)
            return self._signatures[task]

    def _signed(self, task: str) -> str:
        try:
            if task in TRAITS:
                return _trait_signature(self._trait_folder(task))
            model = self.encoder(task).model
            mark = self._model(task).signature.replace("|", "/")
            if task == "engagement" and isinstance(model, Model) and FORMULA in model.card.facts:
                formula = json.dumps(model.card.facts[FORMULA], sort_keys=True)
                mark += f"/formula@{hashlib.sha256(formula.encode()).hexdigest()[:8]}"
        except DialensError:
            return "none"
        return mark

    def ready(self, task: str) -> bool:
        """Load what a task needs; if that fails, remember why and give false."""
        with self._lock:
            if task in self._failures:
                return False
            try:
                if task in TRAITS:
                    self.trait(task)
                else:
                    self._check(task)
            except DialensError as error:
                self._fail([task], error)
            except ImportError as error:
                package = error.name or str(error)
                self._failures[task] = (
                    f"the model for {task} needs the Python package {package}, which is not "
                    f"installed (pip install {package})"
                )
            return task not in self._failures

    def _check(self, task: str) -> None:
        encoder = self.encoder(task)
        check_chances(encoder.heads[task].activation, task, encoder.folder)
        if task == "engagement":
            self._scorer = EngagementScorer(encoder.model)
        if task in _POSITIVE:
            positive_label(encoder.heads[task].labels, task, _POSITIVE[task])
        encoder.check()

    def _fail(self, tasks: Iterable[str], error: DialensError) -> None:
        self._failures |= dict.fromkeys(tasks, str(error).rstrip("."))

    def failed(self, task: str) -> str | None:
        """Why a task cannot be done, as far as it has been tried."""
        return self._failures.get(task)

    @property
    def scorer(self) -> EngagementScorer:
        """Puts engagement together; there once `ready("engagement")` has been asked."""
        assert self._scorer is not None
        return self._scorer

    def fresh(self, encoder: Encoder, inputs: Sequence[TextInput]) -> list[TextInput]:
        """Those of the inputs that have not been through the encoder, each once."""
        memory = self._memory.get(id(encoder), OrderedDict())
        return [one for one in dict.fromkeys(inputs) if one not in memory]

    def run(
        self,
        encoder: Encoder,
        inputs: Sequence[TextInput],
        advance: Callable[[int], None] = lambda _: None,
    ) -> NDArray[np.float32]:
        """The encoder's logits of inputs, in their order; what was seen before is not run again.

        NaN for what has no word it knows; and if it breaks down, which `failed` tells from then on.
        """
        if not inputs:
            return np.empty((0, encoder.width), np.float32)
        with self._running:
            memory = self._memory.setdefault(id(encoder), OrderedDict())
            fresh = self.fresh(encoder, inputs)
            rows = {one: memory[one] for one in dict.fromkeys(inputs) if one in memory}
            try:
                made = encoder.run(fresh, advance)
            except DialensError as error:
                self._fail([t for t, one in self._encoders.items() if one is encoder], error)
                return np.full((len(inputs), encoder.width), np.nan, np.float32)
            rows |= dict(zip(fresh, made, strict=True))
            for one in fresh:
                memory[one] = rows[one].copy()
                self._held += _characters(one)
            while memory and (len(memory) > self._remember or self._held > _LONGEST_REMEMBERED):
                gone, _ = memory.popitem(last=False)
                self._held -= _characters(gone)
        return np.stack([rows[one] for one in inputs])

    def probabilities(self, task: str, logits: Floats) -> Floats:
        """What an encoder's numbers of a task mean, a column a label."""
        return activated(logits, self.encoder(task).heads[task].activation)

    def logit(self, task: str, logits: Floats, *, by: str | None = None) -> Floats:
        """The logit of the label that a task is about, as the encoder of the task `by` gives it."""
        head = self.encoder(by or task).heads[task]
        column = positive_label(head.labels, task, _POSITIVE.get(task, ()))
        return margins(logits, column, head.activation)


def _head(model: Model | TorchModel, start: int) -> Head:
    if isinstance(model, Model):
        task = model.task
        columns = slice(start, start + len(task.labels))
        return Head(task.output, task.labels, task.activation, columns)
    columns = slice(start, start + len(model.labels))
    return Head(LOGITS, model.labels, model.config.activation, columns)


def _trait_signature(folder: Path) -> str:
    try:
        card = json.loads((folder / "card.json").read_text("utf-8"))
        return f"{card['name']}@{card['files']['model.npz'][:8]}"
    except (KeyError, TypeError, ValueError) as error:
        raise DialensError(f"{folder / 'card.json'} cannot be read ({error})") from error


def _characters(one: TextInput) -> int:
    return len(one) if isinstance(one, str) else len(one[0]) + len(one[1])
