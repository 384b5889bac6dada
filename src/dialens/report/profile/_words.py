"""What the answers of a profile share: shape, words for verdicts, numbers in sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from dialens.analysis.profiles import Difference, Matching, Movement, Stability
from dialens.base import number
from dialens.models import GET_TRAITS
from dialens.report._charts import Chart
from dialens.report._digest import Digest

YES, PARTLY, NO, UNKNOWN = "yes", "partly", "no", "unknown"

_VERDICTS: Mapping[Enum, tuple[str, str]] = {
    Difference.IN_MOST: (YES, "Yes"),
    Difference.IN_SOME: (PARTLY, "In part"),
    Difference.IN_NONE: (NO, "Not that it shows"),
    Stability.STABLE: (YES, "Yes"),
    Stability.NEARLY: (YES, "Yes, nearly"),
    Stability.UNSEEN: (PARTLY, "No drift seen"),
    Stability.SMALL: (PARTLY, "Mostly"),
    Stability.SOME_DRIFT: (PARTLY, "Not in everything"),
    Stability.ALL_DRIFT: (NO, "No"),
    Movement.WITHIN: (YES, "Yes"),
    Movement.BOTH: (PARTLY, "In part"),
    Movement.BETWEEN: (NO, "Hardly"),
    Movement.NONE: (NO, "No"),
    Movement.UNCOMPARED: (UNKNOWN, "They move"),
    Matching.OWN_PARTNERS: (YES, "{own}"),
    Matching.SOME_OWN: (PARTLY, "{own}, in part"),
    Matching.NOBODY: (NO, "Nobody in particular"),
}
"""The tone and the word or two of every verdict that was reached."""

NO_TRAITS = (
    "No trait was scored with a model that is better than chance. Personality and empathy come "
    "from models: score with --models default, and with the family personality. Most of these "
    f"models are a package of their own, for research only ({GET_TRAITS})."
)
_REASONS: Mapping[Enum, str] = {
    Difference.NO_TRAIT: NO_TRAITS,
    Difference.ONE_AGENT: "There is one agent here. Whether traits vary shows only beside other "
    "agents of its system: the same model with another persona or temperature, say.",
    Difference.SINGLE_DIALOGS: "No agent has two dialogues, so what lies between agents cannot be "
    "told from what lies between dialogues.",
    Difference.UNTESTED: "Not from these dialogues: {why}.",
    Movement.UNSCORED: "No emotion was scored. Emotions are the states that dialens follows: score "
    "with the family emotion.",
    Matching.UNSCORED: "No matching was scored: score with the metrics language_style_matching and "
    "emotion_matching.",
    Matching.NO_PARTNER: "Nobody but the agent speaks in these dialogues, so there is no one to "
    "match.",
    Matching.NO_OTHERS: "No agent has two dialogues with a partner, and how it matches its own "
    "shows only beside the partners of other dialogues.",
    Matching.UNKNOWN: "No dialogue has a value: {why}.",
}
"""Why a verdict was not reached."""


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


def is_known(kind: Enum) -> bool:
    """Whether a verdict was reached."""
    return kind in _VERDICTS


def worded(kind: Enum, *, one: bool) -> tuple[str, str]:
    """The tone of a verdict, and the verdict in a word or two, for one agent or several.

    Examples:
        >>> worded(Matching.SOME_OWN, one=True)
        ('partly', 'Its own partner, in part')
    """
    tone, verdict = _VERDICTS[kind]
    return tone, verdict.format(own="Its own partner" if one else "Their own partners")


def reason(kind: Enum, why: str) -> str:
    """Why a verdict was not reached, in a sentence."""
    return _REASONS[kind].format(why=why)


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


def stability_words(value: float | None) -> str:
    """A share of variance that an estimate may put below 0, where it means none.

    Examples:
        >>> stability_words(0.634), stability_words(-0.33), stability_words(None)
        ('0.63', 'none', '–')
    """
    return "none" if value is not None and value < 0 else number(value, 2)


def over_systems(digest: Digest) -> str:
    """Why agents of different systems were compared with each other."""
    systems = [unit.system for unit in digest.agents]
    if len(set(systems)) == len(systems):
        return "Every system here has one agent, so agents are held against all others."
    return (
        "Some agents here are alone in their system, so all agents are held against each other, "
        "whichever system they are of."
    )


def alone(digest: Digest) -> bool:
    """Whether there is one agent only."""
    return len(digest.agents) == 1


def names_of(digest: Digest) -> dict[tuple[str, str], str]:
    """What the page calls each agent."""
    return {(unit.system, str(unit.agent)): unit.name for unit in digest.agents}
