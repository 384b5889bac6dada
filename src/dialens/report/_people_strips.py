"""The section on agents among people: for every quality, where each agent stands.

Dot, line and words are one quantity, the place among people (`metrics/_placing.py`): the share of
their dialogues that score lower. Values are not drawn, since agents that write more or less are
held against other people, and one axis of values cannot show two crowds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dialens.base import counted, listed
from dialens.metrics import PEOPLE, SYSTEMS, PlaceAmong, reference_values
from dialens.report._among import place_words
from dialens.report._charts import FEW_AGENTS
from dialens.report._digest import Digest, Unit
from dialens.report._reordered import reordered
from dialens.report._table import Place

_GROUPS = (
    (PEOPLE, "Among people", "people’s"),
    (SYSTEMS, "Among public systems", "systems’"),
)
_LONG = 95.0
_FEW = 10
_LEAD = (
    "Each strip runs from lower than everybody (0 %) to higher than everybody (100 %), and the dot "
    "is the share of people that the agent scores higher than; the line around it is its 95 % "
    "interval over dialogues. In the darker part lie the middle half of people, in all of the grey "
    "the middle 90 %. “Higher than 78 % of people” means: take one dialogue of the agent and one "
    "of a person who wrote about as many words; in 78 of 100 such pairs the agent’s scores higher."
)


@dataclass(frozen=True)
class Strip:
    """One agent among one group.

    Attributes:
        name: Whose dot it is, or among whom it stands.
        number: Of the agent, for its colour; None where there is one agent only.
        place: The share of people below, with its interval.
        share: The same in words.
        typical: A typical dialogue beside one of those it is held against.
    """

    name: str
    number: int | None
    place: Place
    share: str
    typical: str


@dataclass(frozen=True)
class Quality:
    """One metric.

    Attributes:
        label: What it is called.
        meaning: What it measures, in one line.
        better: Which way is better, where one is.
        strips: A strip each, where agents are few.
        crowd: All agents on one strip, where they are many.
        line: Who is lowest and highest then.
    """

    label: str
    meaning: str
    better: str
    strips: Sequence[Strip] = ()
    crowd: Sequence[Place] = ()
    line: str = ""


@dataclass(frozen=True)
class Among:
    """The section: how to read it, qualities with their strips, and what to keep in mind."""

    lead: Sequence[str]
    qualities: Sequence[Quality]
    cautions: Sequence[str]


def among(digest: Digest) -> Among | None:
    """The section, or nothing where no metric here has reference values."""
    names = [name for name in digest.headline if _placed(digest, name)]
    if not names:
        return None
    return Among(
        [_LEAD, *reordered(digest, names)],
        [_quality(digest, name) for name in names],
        _cautions(digest, names),
    )


def _placed(digest: Digest, name: str) -> list[tuple[Unit, PlaceAmong]]:
    places = [(unit, digest.place(unit.number, name)) for unit in digest.agents]
    return [(unit, place) for unit, place in places if place.percentile is not None]


def _quality(digest: Digest, name: str) -> Quality:
    card, placed = digest.cards[name], _placed(digest, name)
    better = {True: "Higher is better.", False: "Lower is better.", None: ""}
    words = (card.label, card.meaning, better[card.higher_is_better])
    if len(digest.agents) == 1:
        (unit, _), *_ = placed
        strips = [
            _strip(digest, name, unit, place, label, whom)
            for group, label, whom in _GROUPS
            if (place := digest.place(unit.number, name, group)).percentile is not None
        ]
        return Quality(*words, strips)
    if len(digest.agents) <= FEW_AGENTS:
        return Quality(*words, [_strip(digest, name, unit, place) for unit, place in placed])
    ordered = sorted(placed, key=lambda pair: pair[1].percentile or 0.0)
    (bottom, last), (top, first) = ordered[0], ordered[-1]
    return Quality(
        *words,
        crowd=[Place(_at(place.percentile)) for _, place in placed],
        line=f"From {bottom.name}, higher than {place_words(last)}, to {top.name}, higher than "
        f"{place_words(first, brief=True)}.",
    )


def _strip(
    digest: Digest,
    name: str,
    unit: Unit,
    place: PlaceAmong,
    label: str = "",
    whom: str = "people’s",
) -> Strip:
    scale = digest.scales[name]
    typical = scale.text(digest.typical(unit.number, name))
    return Strip(
        label or unit.name,
        None if label else unit.number,
        Place(
            _at(place.percentile),
            None if place.low is None else _at(place.low),
            None if place.high is None else _at(place.high),
        ),
        f"higher than {place_words(place, brief=True)}",
        f"typical dialogue {typical}, {whom} {scale.text(place.quantiles[2])}",
    )


def _at(percentile: float | None) -> float:
    """Where a place lies on the strip, in percent of its length: the strip is the share itself."""
    return round(percentile or 0.0, 1)


def _cautions(digest: Digest, names: Sequence[str]) -> list[str]:
    card = reference_values().card
    people = [source for source in card["sources"] if source["group"] == PEOPLE]
    speakers = sum(source["speakers"] for source in people)
    cautions = [
        f"People are {counted(speakers, 'speaker')} in English conversations of "
        f"{len(people)} kinds: {_kinds(people)}. What they talk about is not what your agent talks "
        "about, and being unlike them is neither good nor bad by itself.",
        *_long_turns(digest),
    ]
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


def _long_turns(digest: Digest) -> list[str]:
    long = [
        unit.name
        for unit in digest.agents
        if (digest.place(unit.number, "length").percentile or 0.0) > _LONG
    ]
    if not long:
        return []
    who = listed(long[:3]) if len(long) <= 3 else counted(len(long), "agent")
    return [
        f"{who} {'writes' if len(long) == 1 else 'write'} longer turns than nearly all people, "
        "who then are those that wrote most."
    ]


def _kinds(sources: Sequence[dict[str, str]]) -> str:
    titles = [source["title"] for source in sources]
    return "; ".join(f"{title[0].lower()}{title[1:]}" for title in titles)
