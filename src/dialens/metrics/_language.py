"""Conversations that are not in English: whose, and which metrics do not know their words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dialens.base import DialensError, counted, listed
from dialens.corpus import Corpus, agent_labels
from dialens.metrics._card import Metric, Resources
from dialens.metrics._parts import ScoringPlan
from dialens.text import MIXED, OTHER, languages

_ENGLISH = "en"
_MOST_NAMED = 3
_LEXICONS = {"emotion": "emotion", "style": "style", "content": "stop"}


@dataclass(frozen=True)
class OtherLanguage:
    """What was noticed: who speaks another language than English, and what follows.

    Attributes:
        agents: Labels of those who do.
        metrics: Names of the metrics that only know English.
        left_out: Whether those were left out.
        in_part: Labels of those who speak English in part, with the share of turns that are not.
    """

    agents: tuple[str, ...]
    metrics: tuple[str, ...]
    left_out: bool
    in_part: tuple[tuple[str, float], ...] = ()

    @property
    def text(self) -> str:
        """The sentences for people."""
        return " ".join(filter(None, (self._elsewhere(), self._in_part())))

    def _in_part(self) -> str:
        if not self.in_part:
            return ""
        more = len(self.in_part) - _MOST_NAMED
        shown = self.in_part[:_MOST_NAMED]
        names = [f"{name} (in {100 * share:.0f} % of its turns)" for name, share in shown]
        who = listed([*names, *([f"{more:,} more agents"] if more > 0 else [])])
        seem = "seems" if len(self.in_part) == 1 else "seem"
        said = f"{who} {seem} to speak another language than English."
        if not self.metrics or self.left_out:
            return said
        known = counted(len(self.metrics), "metric")
        one = len(self.metrics) == 1
        return (
            f"{said} {known} {'knows' if one else 'know'} only English: "
            f"{'its' if one else 'their'} values say nothing of those turns."
        )

    def _elsewhere(self) -> str:
        if not self.agents:
            return ""
        more = len(self.agents) - _MOST_NAMED
        names = [*self.agents[:_MOST_NAMED], *([f"{more:,} more agents"] if more > 0 else [])]
        speak = "does not seem to speak" if len(self.agents) == 1 else "do not seem to speak"
        who = f"{listed(names)} {speak} English."
        if not self.metrics:
            return f"{who} None of these metrics depends on it."
        known = counted(len(self.metrics), "metric")
        one = len(self.metrics) == 1
        if self.left_out:
            return (
                f"{who} {known} that only {'knows' if one else 'know'} English "
                f"{'was' if one else 'were'} left out; --any-language computes "
                f"{'it' if one else 'them'} all the same."
            )
        return (
            f"{who} {known} that only {'knows' if one else 'know'} English "
            f"{'was' if one else 'were'} computed all the same: "
            f"{'its' if one else 'their'} values say nothing."
        )


def fit_to_language(
    plan: ScoringPlan, corpus: Corpus, resources: Resources, *, any_language: bool = False
) -> tuple[ScoringPlan, OtherLanguage | None]:
    """The plan without metrics that do not know the corpus's language, and what was noticed.

    Metrics that run on a lexicon or a model of the user's own are kept: those may know it. For an
    agent that speaks English in part nothing is left out: it is said.

    Args:
        plan: What was asked for.
        corpus: What is to be scored.
        resources: Those the plan's metrics were bound to.
        any_language: Leave nothing out.

    Raises:
        DialensError: Every metric that was asked for only knows English.
    """
    found = languages(corpus.turns)
    labels = agent_labels(found.select("system", "agent").rows())
    judged = list(zip(labels, found["verdict"], found["foreign"], strict=True))
    agents = tuple(label for label, verdict, _ in judged if verdict == OTHER)
    in_part = tuple((label, share) for label, verdict, share in judged if verdict == MIXED)
    if not agents and not in_part:
        return plan, None
    bound = english_only(plan.metrics, resources)
    noticed = OtherLanguage(agents, tuple(bound), bool(agents) and not any_language, in_part)
    if any_language or not bound or not agents:
        return plan, noticed
    kept = tuple(metric for metric in plan.metrics if metric.name not in bound)
    if not kept:
        raise DialensError(
            f"{noticed.text.partition('English.')[0]}English, and all the metrics that were asked "
            "for only know English. Choose others (length, question, distinct_1), or add "
            "--any-language to compute them all the same."
        )
    return replace(plan, metrics=kept), noticed


def english_only(metrics: Sequence[Metric], resources: Resources) -> list[str]:
    """The metrics that only know English, with what the run gives them.

    Examples:
        >>> from dialens.metrics._registry import select
        >>> resources = Resources()
        >>> cards = select(["length", "emotional_entropy"])
        >>> english_only([card.bind(resources) for card in cards], resources)
        ['emotional_entropy']
    """
    plain = Resources()
    own_models = resources.scorers.context.models.own
    own_lexicons = {
        lens for lens, name in _LEXICONS.items() if getattr(resources, name) != getattr(plain, name)
    }
    return [
        metric.name
        for metric in metrics
        if metric.card.language == _ENGLISH
        and not (metric.card.lens in own_lexicons and not metric.families)
        and not any(family.name in own_models for family in metric.families)
    ]
