"""How many dialogues a comparison of agents needs, in words."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from dialens.agents.talks import CollectionPlan, OpenPlan
from dialens.analysis.comparison import Pilot, is_score_folder, pilot
from dialens.base import number
from dialens.corpus import Corpus, read
from dialens.metrics import MetricCard, Scores, headline_metrics, score
from dialens.statistics.power import dialogs_for, found_with

_CHEAP = ("length", "question", "distinct_1")
"""Metrics of any language that need no model."""
_EFFECTS = (0.5, 0.3, 0.2, 0.1)
_FEW = 20
_SMALLEST = 0.001
_TOO_FEW = "Fewer than six dialogues an agent are not tested."


def pilot_of(source: Path | Corpus) -> tuple[Pilot | None, dict[str, MetricCard]]:
    """What scores or conversations tell, and the cards of the metrics it is told in."""
    if isinstance(source, Path) and is_score_folder(source):
        scores = Scores.open(source)
        names = headline_metrics(scores.cards)
    else:
        corpus = source if isinstance(source, Corpus) else read(source)
        scores, names = score(corpus, metrics=list(_CHEAP)), list(_CHEAP)
    return pilot(scores, names), dict(scores.cards)


def show_pilot(corpus: Path) -> None:
    """Say what the dialogues of a corpus can show, and how many more it would take."""
    found, cards = pilot_of(corpus)
    if found is not None:
        print(_with_data(found, cards, found.dialogs))


def show_planned(plan: CollectionPlan, opened: OpenPlan, source: Path | Corpus | None) -> None:
    """Say what a plan can show: by an earlier collection, or by the number of dialogues alone."""
    found, cards = (None, {}) if source is None else pilot_of(source)
    apart = min(Counter(one.agent.label for one in opened.conversations).values())
    pairs = _pairs(plan, opened)
    if found is None:
        print(_without_data(apart, pairs))
    else:
        print(_with_data(found, cards, pairs if found.paired else apart))
    if not plan.contexts and plan.dialogues > pairs:
        if plan.with_users:
            what = "scenarios make no more pairs than that: name further ones (--users FILE)."
        else:
            what = "openings make no more pairs than that; --openings brings more."
        print(f"{pairs:,} {what}")


def _pairs(plan: CollectionPlan, opened: OpenPlan) -> int:
    """How many different things each agent is given to answer."""
    first = [one for one in opened.conversations if one.agent is opened.agents[0]]
    given = {one.given for one in first if one.given}
    return len(given) if given else plan.dialogues


def _without_data(apart: int, pairs: int) -> str:
    r"""By the number of dialogues alone.

    Examples:
        >>> told = _without_data(20, 20)
        >>> told[:89]
        '20 dialogues an agent find a difference of 0.93 standard deviations in four of five cases'
        >>> told[-50:]
        'within them). For 0.5, 65 are needed, or 35 pairs.'
        >>> _without_data(4, 4)[-56:]
        'For 0.5 standard deviations, 65 are needed, or 35 pairs.'
    """
    found, within = found_with(apart, paired=False), found_with(pairs, paired=True)
    effect = _smaller(found)
    needed = dialogs_for(effect, paired=False), dialogs_for(effect, paired=True)
    rest = f"{needed[0]:,} are needed, or {needed[1]:,} pairs."
    if found is None or within is None:
        return f"{_TOO_FEW} For {effect:g} standard deviations, {rest}"
    return (
        f"{apart:,} dialogues an agent find a difference of {found:.2f} standard deviations in "
        f"four of five cases ({pairs:,} pairs, of agents given the same to answer: {within:.2f} of "
        f"the differences within them). For {effect:g}, {rest}"
    )


def _with_data(known: Pilot, cards: Mapping[str, MetricCard], dialogs: int) -> str:
    """What so many dialogues can show, by the spread of those there are."""
    found = found_with(dialogs, paired=known.paired)
    effect = _smaller(found)
    needed = dialogs_for(effect, paired=known.paired)
    what = "pairs of dialogues" if known.paired else "dialogues an agent"
    of = " of the differences within pairs" if known.paired else ""
    name, deviation = next(iter(known.deviations.items()))
    first = _told(cards[name], effect * deviation)
    if found is None:
        return f"{_TOO_FEW} For {effect:g} standard deviations{of} ({first}), {needed:,} {what}."
    rough = f" (rough: from {known.dialogs:,})" if known.dialogs < _FEW else ""
    each = "; ".join(_told(cards[one], size) for one, size in known.found(dialogs).items())
    return (
        f"{dialogs:,} {what} find a difference of {found:.2f} standard deviations{of} in four of "
        f"five cases{rough}: {each}. For {effect:g} ({first}), {needed:,} are needed."
    )


def _smaller(found: float | None) -> float:
    """A difference that is worth looking for, smaller than the one that is found.

    Examples:
        >>> [_smaller(found) for found in (None, 0.91, 0.4, 0.05)]
        [0.5, 0.5, 0.3, 0.025]
    """
    return next((one for one in _EFFECTS if found is None or one < found), (found or 0.0) / 2)


def _told(card: MetricCard, value: float) -> str:
    size = f"{100 * value:.0f} points" if card.percent else number(value)
    if not card.percent and value < _SMALLEST:
        size = f"less than {_SMALLEST:g}"
    return f"{card.long_label.lower()} {size}"
