"""The contract for whatever costs something: a family declares outputs, its scorer computes them.

An encoder, a network of the field, counts against a reference, linear models over words: each is a
`Family`. The engine (`_scorers`, `_family_features`) opens its scorer when it is first needed, asks
for every distinct unit once, and remembers why one could not be opened.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, ParamSpec, Protocol, TypedDict, TypeVar, runtime_checkable

from dialens.base import DialensError
from dialens.metrics._batch import TurnBatch
from dialens.metrics._memo import Memo
from dialens.metrics._model_choice import ModelChoice
from dialens.metrics._state import Floats
from dialens.models import Precision, chosen_device

P = ParamSpec("P")
T = TypeVar("T")
Advance = Callable[[int], None]


class Unit(NamedTuple):
    """A turn to score.

    Attributes:
        context: The turns before it, oldest first, whoever spoke.
        response: The turn itself.
        references: What people, or better systems, said instead; none where there are none.
        background: What its speaker was given to speak from (a persona, a fact), where known.
    """

    context: tuple[str, ...]
    response: str
    references: tuple[str, ...] = ()
    background: str | None = None


class Scorer(Protocol):
    """Scores units; opened once a run, when the first unit is there."""

    signature: str
    """What the numbers depend on: library and version, weights' hash, layer, options."""

    def prepare(self, references: Iterable[str]) -> None:
        """See all references of the corpus, each as often as it stands there, before scoring.

        Where that changes the numbers (inverse document frequencies), the signature says so
        afterwards.
        """

    def score(self, units: Sequence[Unit], advance: Advance = lambda _: None) -> Floats:
        """One row a unit, one column an output; NaN where there is none.

        A row does not depend on which other units are asked for. `advance` is
        called with the number of units just done.
        """


@runtime_checkable
class AheadScorer(Scorer, Protocol):
    """A scorer whose networks compute in a thread of their own while others go on."""

    def begin(
        self, units: Sequence[Unit], advance: Advance = lambda _: None
    ) -> Callable[[], Floats]:
        """Have the networks begin; what it returns waits for them and gives what `score` does.

        The networks of one run compute in the order in which they were asked.
        """


class PoolScorer(Protocol):
    """Scores many replies together against many references, as MAUVE does.

    The engine embeds each distinct text once, keeps the rows of every agent, and compares when all
    are there. Rows come in an order that does not depend on the order of the corpus.
    """

    signature: str
    """What the numbers depend on: library and version, weights' hash, layer, options."""

    def embed(self, texts: Sequence[str], advance: Advance = lambda _: None) -> Floats:
        """One row a text, which does not depend on the other texts."""

    def compare(self, responses: Floats, references: Floats) -> Floats:
        """One number an output for all replies of an agent or system; NaN if there are too few."""


class WordScorer(Protocol):
    """Scores the agent's turns and dialogues from words that the run has tokenised already.

    For models of pooled text, whose value of a dialogue is no function of its turns' values. Called
    from several threads, a batch in each.
    """

    signature: str
    """What the numbers depend on."""

    def score_words(self, batch: TurnBatch) -> tuple[Floats, Floats]:
        """One row a turn, and one row a dialogue; NaN where no word is known."""


AnyScorer = Scorer | PoolScorer | WordScorer


class NotReadyError(DialensError):
    """A metric cannot be computed here; says which package, folder or file it wants."""


class Running(TypedDict):
    """How a model runs: see `dialens.models.load`."""

    precision: Precision
    threads: int
    device: str


@dataclass(frozen=True, eq=False)
class ScorerContext:
    """What scorers are opened with.

    Attributes:
        weights: Folders, or `hub:ORGANISATION/NAME@REVISION`, by the name of the weights.
        options: Settings by family, such as `{"bert_score": {"layer": "5"}}`.
        threads: Of one core each; all cores if not given.
        device: `cpu`, `cuda`, or `auto` for a GPU where there is one.
        precision: What the models that ship compute in on processors: `int8` or `fp32`.
        allow_pickle: Whether weights that can run code may be loaded.
        models: Which of the models that ship are used, and those in their place.
    """

    weights: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    threads: int | None = None
    device: str = "auto"
    allow_pickle: bool = False
    models: ModelChoice = field(default_factory=ModelChoice)
    precision: Precision = "int8"
    _memo: Memo = field(default_factory=Memo, init=False, repr=False)

    @property
    def running(self) -> Running:
        """How models that ship are run, as `dialens.models.load` takes it."""
        return {
            "precision": self.precision,
            "threads": self.threads or 0,
            "device": self.device,
        }

    @property
    def on_card(self) -> bool:
        """Whether networks compute on a graphics card, here or on the workers of a cluster."""
        return self.device == "cuda" or chosen_device(self.device) != "cpu"

    def cached(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """The function's result, computed once a context: encoders are loaded once for all."""
        return self._memo.get(function, *arguments, **options)


class NamedModel(Protocol):
    """A model behind a family; families with the same one share its passes."""

    @property
    def label(self) -> str:
        """What a person calls it: `small, int8`."""


Side = Literal["psychological", "automatic", "baseline"]
Describes = Literal["", "trait", "momentary trait", "state"]


@dataclass(frozen=True)
class Output:
    """One number of a family: a metric of its own.

    Attributes:
        name: Of the metric.
        meaning: One line.
        range: Lowest and highest possible value.
        higher_is_better: Or None, where neither is.
        needs: Of `reference` and `context`: what it wants beyond its family. Its column is NaN for
            a unit without.
        version: Raised when its numbers change; the family's if not given.
        levels: Where it is defined, if not on all levels of its family.
        of_sums: For what is no mean of its turns' values: makes values of sums over turns (units ×
            columns of the scorer). Such an output has no column of its own.
        uses: What its numbers depend on beside the scorer, for the signature.
        label: As those that follow, see `MetricCard`; here the default of `headline` is None.
    """

    name: str
    meaning: str
    range: tuple[float | None, float | None] = (None, None)
    higher_is_better: bool | None = True
    needs: tuple[str, ...] = ()
    version: int | None = None
    levels: tuple[str, ...] = ()
    of_sums: Callable[[Floats], Floats] | None = None
    uses: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    long_label: str = ""
    higher_reads: str = ""
    headline: int | None = None
    percent: bool = False
    describes: Describes = ""
    part_of: str = ""


LACKS = ("text", "reference", "turn", "context")
"""What a unit may lack: words, a reference, a turn before it, and anything said in those turns."""

_REASONS = {
    "text": "nothing said",
    "reference": "no reference",
    "context": "no context",
}


@dataclass(frozen=True)
class Family:
    """Metrics that come out of one pass.

    Attributes:
        name: Selects them together, and names their options.
        outputs: In the order of the scorer's columns; those that are made of sums come last.
        open: Opens the scorer; raises `NotReadyError` if something is missing.
        ready: Why it cannot be opened here, cheaply found out, without loading; None where it can.
        needs: Of `reference` and `context`, without which a unit has no value; `model`, if
            `--models` chooses what it uses.
        kind: What `open` gives: a `Scorer` of units, a `PoolScorer`, whose values only agents and
            systems have, or a `WordScorer`.
        reads: Of `context`, `reference` and `background`: what tells units apart beside the reply.
        context_turns: How many turns before a reply are read, blank ones among them; if not given,
            all that say something.
        reasons: Why there is no value, by what is lacking (`LACKS`, and `value` for what the scorer
            gives none for), in the order in which reasons are listed.
        whole: Whether a unit has all outputs or none, so that one count of values serves all.
        tallies: Columns of the scorer after those of the outputs: counts that only add up, from
            which outputs are made (`Output.of_sums`). Such a family is `whole`.
        scores_silence: Whether a reply that says nothing is scored where a reference says
            something; missing otherwise.
        weights: Names of the weights it wants, and what must be in their folders.
        options: Names of its options, and what they do.
        citation: Where it comes from.
        licence: Of what it uses.
        version: Raised when its numbers change.
        listed: The family that its metrics are listed in, if not its own name.
        groups: Larger groups that it can be selected with.
        by_default: Whether it is computed when no metric is named; else in the group `automatic`.
        cached: Whether results are worth keeping on disk; not if they are as fast to compute.
        uses: What its numbers depend on beside the scorer, for the signature.
        model: The model behind it, for the forecast of a run, once it is open.
        label: Its heading; made from the name if not given.
        side: Whether its metrics look at a speaker as at a person, or not (see `MetricCard`).
        language: The only language that it knows (see `MetricCard`).
    """

    name: str
    outputs: tuple[Output, ...]
    open: Callable[[ScorerContext], AnyScorer]
    ready: Callable[[ScorerContext], str | None] = lambda _: None
    needs: tuple[str, ...] = ()
    kind: Literal["units", "pool", "words"] = "units"
    reads: tuple[str, ...] = ("context", "reference")
    context_turns: int | None = None
    reasons: Mapping[str, str] = field(default_factory=lambda: dict(_REASONS))
    whole: bool = False
    tallies: int = 0
    scores_silence: bool = False
    weights: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    citation: str = ""
    licence: str = "Apache-2.0"
    version: int = 1
    listed: str = ""
    groups: tuple[str, ...] = ()
    by_default: bool = False
    cached: bool = True
    uses: Mapping[str, str] = field(default_factory=dict)
    model: Callable[[ScorerContext], NamedModel] | None = None
    label: str = ""
    side: Side = "automatic"
    language: str = ""

    def __post_init__(self) -> None:
        last = "too few replies" if self.kind == "pool" else "no value"
        if "value" not in self.reasons:
            object.__setattr__(self, "reasons", {**self.reasons, "value": last})

    @property
    def width(self) -> int:
        """How many columns the scorer gives."""
        return sum(output.of_sums is None for output in self.outputs) + self.tallies

    @property
    def lacks(self) -> tuple[str, ...]:
        """What units are counted as lacking."""
        return tuple(lack for lack in self.reasons if lack != "value")

    @property
    def signed_as(self) -> str:
        """What stands before its scorer in a signature."""
        return "model" if "model" in self.needs else "scorer"
