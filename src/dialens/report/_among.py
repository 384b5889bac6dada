"""Agents among people and public systems, in words.

What a place means is documented in `metrics/_placing.py`; `report/_people_strips.py` draws it.
"""

from dataclasses import replace

from dialens.base import counted
from dialens.metrics import PEOPLE, SYSTEMS, MetricCard, PlaceAmong, in_sentence
from dialens.report._digest import Digest, Unit
from dialens.report._page import Finding
from dialens.statistics import FEWEST

_MIDDLE = 50.0
_MOST_UNLIKE = 2
_FAR = 30.0
_ANYWHERE = 0.9
_GROUPS = {PEOPLE: "people", SYSTEMS: "public systems"}


def place_words(place: PlaceAmong, group: str = PEOPLE, *, brief: bool = False) -> str:
    """A place as it follows "than": its share, whose it is, and the interval.

    Examples:
        >>> place_words(PlaceAmong(percentile=78.2, low=70.1, high=86.0))
        '78 % of people (70 to 86)'
        >>> place_words(PlaceAmong(percentile=99.8), SYSTEMS)
        'over 99 % of public systems'
    """
    if place.percentile is None:
        return ""
    whom = "" if brief else f" of {_GROUPS.get(group, group)}"
    return f"{_share(place.percentile)}{whom}{_ends(place)}"


def _share(percentile: float) -> str:
    if percentile > 99:
        return "over 99 %"
    return "under 1 %" if percentile < 1 else f"{percentile:.0f} %"


def _ends(place: PlaceAmong) -> str:
    if place.low is None or place.high is None or place.low > 99 or place.high < 1:
        return ""
    return f" ({place.low:.0f} to {place.high:.0f})"


def claim(card: MetricCard, name: str, place: PlaceAmong, group: str = PEOPLE) -> str:
    """A sentence on an agent among people, without a full stop.

    Where lower is better, it is said how many the agent lies below.

    Examples:
        >>> from dialens.metrics import metrics
        >>> place = PlaceAmong(percentile=21.0, low=13.0, high=31.0)
        >>> claim(metrics()["question"], "bot", place)
        'bot asks in more of its turns than only 21 % of people (13 to 31)'
        >>> claim(metrics()["toxicity"], "bot", place)
        'bot scores lower on toxicity than 79 % of people (69 to 87)'
    """
    verb = card.higher_reads
    if card.higher_is_better is False:
        place, verb = _reversed(place), f"scores lower on {in_sentence(card.long_label)}"
    only = "only " if (place.percentile or 0.0) < _MIDDLE else ""
    return f"{name} {verb} than {only}{place_words(place, group)}"


def _reversed(place: PlaceAmong) -> PlaceAmong:
    """The same place counted from above."""
    low, high = (None if end is None else 100 - end for end in (place.high, place.low))
    percentile = None if place.percentile is None else 100 - place.percentile
    return replace(place, percentile=percentile, low=low, high=high)


def standing_findings(digest: Digest) -> list[Finding]:
    """For one agent: its strongest and weakest quality, and what is most unlike people."""
    (unit,) = digest.agents
    known = _known(digest, unit) if unit.dialogs >= FEWEST else []
    judged = sorted(
        (name for name in known if digest.cards[name].higher_is_better is not None),
        key=lambda name: -_goodness(digest, unit, name),
    )
    named: dict[str, str] = {}
    if judged:
        named[judged[0]] = "Strongest"
    if len(judged) > 1:
        weak = _goodness(digest, unit, judged[-1]) < _MIDDLE
        named[judged[-1]] = "Weakest" if weak else "Least strong"
    apart = [
        name for name in known if name not in named and _apart(digest.place(unit.number, name))
    ]
    apart.sort(key=lambda name: -abs((digest.place(unit.number, name).percentile or 0) - _MIDDLE))
    named |= dict.fromkeys(apart[:_MOST_UNLIKE], "Unlike people")
    return [_finding(digest, unit, name, heading) for name, heading in named.items()]


def standing_answer(digest: Digest) -> str:
    """How one agent comes across, in one sentence; empty where nothing is known of people."""
    (unit,) = digest.agents
    known = _known(digest, unit)
    if not known:
        return ""
    if unit.dialogs < FEWEST:
        return (
            f"{unit.name} has {counted(unit.dialogs, 'dialogue')} here, too few to say how it "
            f"comes across: it takes {FEWEST}"
        )
    judged = [name for name in known if digest.cards[name].higher_is_better is not None]
    first = (judged or known)[0]
    place, systems = (digest.place(unit.number, first, group) for group in (PEOPLE, SYSTEMS))
    text = claim(digest.cards[first], unit.name, place)
    text += _and_systems(digest.cards[first], systems)
    rest = [name for name in judged if name != first]
    if rest:
        other = min(rest, key=lambda name: _goodness(digest, unit, name))
        text += f"; it {claim(digest.cards[other], '', digest.place(unit.number, other)).lstrip()}"
    return text


def _and_systems(card: MetricCard, place: PlaceAmong) -> str:
    if place.percentile is None:
        return ""
    seen = _reversed(place) if card.higher_is_better is False else place
    return f" and {place_words(seen, SYSTEMS)}"


def _known(digest: Digest, unit: Unit) -> list[str]:
    """Headline metrics that the agent has a place on, those to be beaten aside."""
    return [
        name
        for name in digest.headline
        if digest.place(unit.number, name).percentile is not None
        and not digest.cards[name].is_baseline
    ]


def _goodness(digest: Digest, unit: Unit, name: str) -> float:
    percentile = digest.place(unit.number, name).percentile or 0.0
    return percentile if digest.cards[name].higher_is_better else 100 - percentile


def _apart(place: PlaceAmong) -> bool:
    """Whether it is unlike four of five people, and its interval leaves out their middle.

    Where all of enough dialogues have the same place there is no interval, and no doubt either.
    """
    if place.percentile is None or abs(place.percentile - _MIDDLE) < _FAR:
        return False
    if place.low is None or place.high is None:
        return True
    return not place.low <= _MIDDLE <= place.high


def _finding(digest: Digest, unit: Unit, name: str, heading: str) -> Finding:
    card, place = digest.cards[name], digest.place(unit.number, name)
    scale = digest.scales[name]
    numbers = f"{card.meaning}: {scale.text(digest.typical(unit.number, name))} in a typical "
    numbers += "dialogue"
    if not _says_nothing(card, place):
        low, high = place.quantiles[0], place.quantiles[-1]
        people = f"{scale.number(low)} to {scale.text(high)}"
        numbers += f", where the middle 90 % of people have {people}"
    low_is_good = card.higher_is_better is False and (place.percentile or 0.0) <= _MIDDLE
    topic = f"low {card.label.lower()}" if low_is_good else card.label.lower()
    return Finding(claim(card, unit.name, place), numbers, heading=f"{heading}: {topic}")


def _says_nothing(card: MetricCard, place: PlaceAmong) -> bool:
    """Whether the middle 90 % of people lie nearly anywhere that the metric can."""
    least, most = card.range
    if least is None or most is None:
        return False
    return place.quantiles[-1] - place.quantiles[0] >= _ANYWHERE * (most - least)
