"""Agents among people and public systems: a strip a quality, and the places in words.

What a place means is documented in `metrics/_placing.py`; here it is only drawn and worded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dialens.base import counted, listed
from dialens.metrics import PEOPLE, SYSTEMS, MetricCard, PlaceAmong, in_sentence, reference_values
from dialens.report._charts import FEW_AGENTS
from dialens.report._digest import Digest, Unit
from dialens.report._page import Finding
from dialens.report._table import Place
from dialens.report._wording import Scale
from dialens.statistics import FEWEST

_MIDDLE = 50.0
_MOST_UNLIKE = 2
_FAR = 30.0
_LONG = 95.0
_GROUPS = {PEOPLE: "people", SYSTEMS: "public systems"}


@dataclass(frozen=True)
class Dot:
    """An agent on a strip."""

    name: str
    number: int
    place: Place


@dataclass(frozen=True)
class Quality:
    """One metric: what it is, a strip with the people behind the agents, and the places in words.

    Attributes:
        label: What it is called.
        meaning: What it measures, in one line.
        better: Which way is better, where one is.
        band: People's 5th, 25th, 50th, 75th and 95th of a hundred, in percent of the strip.
        dots: Agents.
        ends: What the strip spans, written out.
        middle: Between which values the middle 90 % of people lie.
        lines: Sentences on the agents.
    """

    label: str
    meaning: str
    better: str
    band: tuple[float, ...]
    dots: Sequence[Dot]
    ends: tuple[str, str]
    middle: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Among:
    """The section: qualities with their strips, and what to keep in mind."""

    qualities: Sequence[Quality]
    cautions: Sequence[str]
    agents: Sequence[str]


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
    numbers = (
        f"{card.meaning}: {scale.text(place.value)} in a typical dialogue, where the middle 90 % "
        f"of people have {_middle(scale, place.quantiles)}"
    )
    low = card.higher_is_better is False and (place.percentile or 0.0) <= _MIDDLE
    topic = f"low {card.label.lower()}" if low else card.label.lower()
    return Finding(claim(card, unit.name, place), numbers, heading=f"{heading}: {topic}")


def among(digest: Digest) -> Among | None:
    """The section, or nothing where no metric here has reference values."""
    names = [
        name
        for name in digest.headline
        if any(digest.place(unit.number, name).percentile is not None for unit in digest.agents)
    ]
    if not names:
        return None
    return Among(
        [_quality(digest, name) for name in names],
        _cautions(digest, names),
        [unit.name for unit in digest.agents] if 1 < len(digest.agents) <= FEW_AGENTS else [],
    )


def _quality(digest: Digest, name: str) -> Quality:
    card = digest.cards[name]
    placed = [
        (unit, digest.place(unit.number, name))
        for unit in digest.agents
        if digest.place(unit.number, name).percentile is not None
    ]
    quantiles = tuple(
        sum(each) / len(placed) for each in zip(*(p.quantiles for _, p in placed), strict=True)
    )
    pooled = bool(digest.band(name))
    rows = [
        (
            place.value,
            unit.estimates[name].low if pooled else None,
            unit.estimates[name].high if pooled else None,
        )
        for unit, place in placed
    ]
    scale = Scale.of(card, rows, quantiles)
    dots = [
        Dot(
            unit.name,
            unit.number,
            Place(
                scale.place(value or 0.0),
                None if low is None else scale.place(low),
                None if high is None else scale.place(high),
            ),
        )
        for (unit, _), (value, low, high) in zip(placed, rows, strict=True)
    ]
    better = {True: "Higher is better.", False: "Lower is better.", None: ""}
    return Quality(
        card.label,
        card.meaning,
        better[card.higher_is_better],
        tuple(scale.place(q) for q in quantiles),
        dots,
        (scale.text(scale.low), scale.text(scale.high)),
        _middle(scale, quantiles),
        _lines(digest, card, placed),
    )


def _middle(scale: Scale, quantiles: Sequence[float]) -> str:
    """Between which values the middle 90 % lie, with their unit."""
    return f"{scale.number(quantiles[0])} to {scale.text(quantiles[-1])}"


def _lines(
    digest: Digest, card: MetricCard, placed: Sequence[tuple[Unit, PlaceAmong]]
) -> list[str]:
    if len(digest.agents) == 1:
        (unit, place), *_ = placed
        systems = digest.place(unit.number, card.name, SYSTEMS)
        return [f"{claim(card, 'It', place)}{_and_systems(card, systems)}."]
    ordered = sorted(placed, key=lambda pair: -(pair[1].percentile or 0.0))
    if len(ordered) > FEW_AGENTS:
        (top, first), (bottom, last) = ordered[0], ordered[-1]
        return [
            f"From {bottom.name}, higher than {place_words(last)}, to {top.name}, higher than "
            f"{place_words(first, brief=True)}."
        ]
    parts = [f"{unit.name} {place_words(place, brief=True)}" for unit, place in ordered]
    return [f"Higher than this share of people: {listed(parts)}."]


def _cautions(digest: Digest, names: Sequence[str]) -> list[str]:
    card = reference_values().card
    people = [source for source in card["sources"] if source["group"] == PEOPLE]
    speakers = sum(source["speakers"] for source in people)
    cautions = [
        "The grey band holds the middle 90 % of people, its darker part the middle half, the line "
        "their median. “Higher than 78 % of people” means: take one dialogue of the agent and one "
        "of a person who wrote about as many words; in 78 of 100 such pairs the agent’s scores "
        "higher. Numbers in brackets are 95 % intervals over dialogues.",
        f"People are {counted(speakers, 'speaker')} in English conversations of "
        f"{len(people)} kinds: {_kinds(people)}. What they talk about is not what your agent talks "
        "about, and being unlike them is neither good nor bad by itself.",
    ]
    long = [
        unit.name
        for unit in digest.agents
        if (digest.place(unit.number, "length").percentile or 0.0) > _LONG
    ]
    if long:
        who = listed(long[:3]) if len(long) <= 3 else counted(len(long), "agent")
        cautions.append(
            f"{who} {'writes' if len(long) == 1 else 'write'} longer turns than nearly all people, "
            "who then are those that wrote most."
        )
    small = [unit.name for unit in digest.agents if unit.dialogs < _FEW]
    if small:
        cautions.append(
            f"Few dialogues: {listed(small[:3])}{' and others' if len(small) > 3 else ''} "
            f"{'has' if len(small) == 1 else 'have'} fewer than {_FEW}, so places are rough."
        )
    missing = [name for name in digest.headline if name not in names]
    reasons = dict.fromkeys(
        digest.place(digest.agents[0].number, name).reason or "" for name in missing
    )
    if missing and any(reasons):
        labels = listed([digest.label(name).lower() for name in missing])
        cautions.append(f"Not placed: {labels} ({'; '.join(r for r in reasons if r)}).")
    return cautions


_FEW = 10


def _kinds(sources: Sequence[dict[str, str]]) -> str:
    titles = [source["title"] for source in sources]
    return "; ".join(f"{title[0].lower()}{title[1:]}" for title in titles)
