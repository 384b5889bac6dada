"""What an automatic metric declares, and what its scorer does with a reply."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from dialens.base import DialensError
from dialens.metrics._state import Floats

T = TypeVar("T")


@dataclass(frozen=True)
class Unit:
    """A reply to score.

    Attributes:
        context: The turns before it, oldest first, whoever spoke.
        response: The reply.
        references: What people, or better systems, said instead; none where there are none.
    """

    context: tuple[str, ...]
    response: str
    references: tuple[str, ...] = ()


class Scorer(Protocol):
    """Scores replies; made once a run, when the first reply is there."""

    signature: str
    """What the numbers depend on: library and version, weights' hash, layer, options."""

    def prepare(self, references: Iterable[str]) -> None:
        """See all references of the corpus, each as often as it stands there, before scoring.

        Where that changes the numbers (inverse document frequencies), the signature says so
        afterwards.
        """

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a unit, one column an output; NaN where there is none.

        A row does not depend on which other units are asked for. `advance` is told how many units
        are done.
        """


class PoolScorer(Protocol):
    """Scores many replies together against many references, as MAUVE does.

    The engine embeds each distinct text once, keeps the rows of every agent, and compares when all
    are there. Rows come in an order that does not depend on the order of the corpus.
    """

    signature: str
    """What the numbers depend on: library and version, weights' hash, layer, options."""

    def embed(
        self, texts: Sequence[str], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """One row a text, which does not depend on the other texts."""

    def compare(self, responses: Floats, references: Floats) -> Floats:
        """One number an output for all replies of an agent or system; NaN if there are too few."""


class NotReadyError(DialensError):
    """A metric cannot be computed here; says which package, folder or file it wants."""


def first_line(error: BaseException) -> str:
    """What an error of a library says first; its name where it says nothing.

    Examples:
        >>> first_line(ValueError("no header")), first_line(EOFError())
        ('no header', 'EOFError')
    """
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@dataclass(frozen=True)
class Workshop:
    """What scorers are made from.

    Attributes:
        weights: Folders, or `hub:ORGANISATION/NAME@REVISION`, by the name of the weights.
        options: Settings by family, such as `{"bert_score": {"layer": "5"}}`.
        threads: Of one core each.
        device: `cpu`, `cuda`, or `auto` for a GPU where there is one.
        allow_pickle: Whether weights that can run code may be loaded.
    """

    weights: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    threads: int | None = None
    device: str = "auto"
    allow_pickle: bool = False
    _made: dict[str, object] = field(default_factory=dict, repr=False, compare=False)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What was made under this key before, or is made now: encoders are loaded once for all."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]  # type: ignore[return-value]


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
        label: Its heading; made from the name if not given.
        headline: Its rank among the metrics that are shown first; None leaves it to the tables.
    """

    name: str
    meaning: str
    range: tuple[float | None, float | None] = (None, None)
    higher_is_better: bool | None = True
    needs: tuple[str, ...] = ()
    label: str = ""
    headline: int | None = None


@dataclass(frozen=True)
class Family:
    """Metrics that come out of one pass.

    Attributes:
        name: Selects them together, and names their options.
        outputs: In the order of the scorer's columns.
        open: Makes the scorer; raises `NotReadyError` if something is missing.
        ready: Why it cannot be made here, cheaply found out, without loading; None where it can.
        needs: Of `reference` and `context`: a unit without them has no value.
        weights: Names of the weights it wants, and what must be in their folders.
        options: Names of its options, and what they do.
        citation: Where it comes from.
        licence: Of what it uses.
        version: Raised when its numbers change.
        pooled: Whether `open` makes a `PoolScorer`, whose values only agents and systems have.
        ignores: Of `reference` and `context`: what it never reads, so that it need not tell apart
            units that differ in nothing else.
        groups: Larger groups that it can be selected with, beside `automatic`.
        cached: Whether results are worth keeping on disk; not if they are as fast to compute.
        label: Its heading; made from the name if not given.
    """

    name: str
    outputs: tuple[Output, ...]
    open: Callable[[Workshop], Scorer | PoolScorer]
    ready: Callable[[Workshop], str | None]
    needs: tuple[str, ...] = ()
    weights: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    citation: str = ""
    licence: str = "Apache-2.0"
    version: int = 1
    pooled: bool = False
    ignores: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    cached: bool = True
    label: str = ""
