"""What the answers of a profile share: their shape, and how numbers stand in their sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dialens.report._charts import Chart
from dialens.report._digest import Digest
from dialens.report.agreement import number

CHANCE = 0.05

YES, PARTLY, NO, UNKNOWN = "yes", "partly", "no", "unknown"


@dataclass(frozen=True)
class Answer:
    """A question and its answer.

    Attributes:
        place: Of its chart on the page.
        question: As a reader would ask it.
        tone: `yes`, `partly`, `no` or `unknown`.
        verdict: In a word or two.
        sentences: With number, n and interval; or why it cannot be told.
        small: What to keep in mind; may be empty.
        charts: By choice; empty where there is nothing to draw.
        picks: The choices and their labels, where there are several.
        what: What is chosen.
    """

    place: str
    question: str
    tone: str
    verdict: str
    sentences: Sequence[str]
    small: str = ""
    charts: Mapping[str, Chart] = field(default_factory=dict)
    picks: Sequence[tuple[str, str]] = ()
    what: str = "Measure"


def unknown(place: str, question: str, why: str) -> Answer:
    """A question that these data cannot answer."""
    return Answer(place, question, UNKNOWN, "Cannot be told here", [why])


def with_interval(value: float | None, low: float | None, high: float | None, digits: int) -> str:
    """A value and its interval in brackets.

    Examples:
        >>> with_interval(0.123, 0.1, 0.2, 2), with_interval(0.5, None, None, 1)
        ('0.12 (0.10 to 0.20)', '0.5')
    """
    text = number(value, digits)
    return text if low is None or high is None else f"{text} ({_ends(low, high, digits)})"


def percent(value: float | None, low: float | None, high: float | None) -> str:
    """A share in percent and its interval in brackets.

    Examples:
        >>> percent(0.881, 0.76, 0.97), percent(1.0, None, None)
        ('88 % (76 to 97)', '100 %')
    """
    if value is None:
        return "–"
    text = f"{number(100 * value, 0)} %"
    return text if low is None or high is None else f"{text} ({_ends(100 * low, 100 * high, 0)})"


def _ends(low: float, high: float, digits: int) -> str:
    return f"{number(low, digits)} to {number(high, digits)}"


def alone(digest: Digest) -> bool:
    """Whether there is one agent only."""
    return len(digest.agents) == 1


def names_of(digest: Digest) -> dict[tuple[str, str], str]:
    """What the page calls each agent."""
    return {(unit.system, str(unit.agent)): unit.name for unit in digest.agents}
