"""Replies that some agents did not give: what can still be asked about an item, and what not."""

from collections.abc import Mapping, Sequence

from dialens.base import DialensError
from dialens.studies._items import Item
from dialens.studies.instruments import instrument

_MOST_NAMED = 5

Kinds = Mapping[str, set[str]]
"""The instruments that each quality is judged with, over all conditions."""


def fewest(used: set[str]) -> int:
    """How many replies a quality needs in every condition.

    Examples:
        >>> fewest({"likert"}), fewest({"pairwise"}), fewest({"likert", "best_worst"})
        (1, 2, 3)
    """
    return max(instrument(kind).fewest if _compares(kind) else 1 for kind in used)


def judgeable(item: Item, kinds: Kinds) -> bool:
    """Whether anything can be asked about an item."""
    return any(
        not _compares(kind) or len(item.candidates) >= instrument(kind).fewest
        for used in kinds.values()
        for kind in used
    )


def missing_replies(items: Sequence[Item], kinds: Kinds, written: Mapping[str, str]) -> list[str]:
    """What is not asked because an agent did not reply, one sentence an item.

    Args:
        items: Before they are made into pairs.
        kinds: The instruments of each quality.
        written: Where items are written, by id.

    Raises:
        DialensError: A quality could not be judged in any item.
    """
    compared = {quality: fewest(used) for quality, used in kinds.items() if fewest(used) > 1}
    if not compared:
        return []
    for quality, need in compared.items():
        if items and max(len(item.candidates) for item in items) < need:
            kind = next(kind for kind in kinds[quality] if _compares(kind))
            raise DialensError(
                f"{written.get(items[0].id, 'items')}: {quality} is judged by {kind}, which needs "
                f"{need} responses; the item {items[0].id!r} has {len(items[0].candidates)}, and "
                "no item has more. Give more responses, or another instrument."
            )
    agents = list(dict.fromkeys(one.agent for item in items for one in item.candidates))
    told = [_told(item, agents, compared, kinds, written) for item in items if _lacks(item, agents)]
    rest = len(told) - _MOST_NAMED
    more = [f"… and {rest} more items in which an agent has no reply."] if rest > 0 else []
    return told[:_MOST_NAMED] + more


def _compares(kind: str) -> bool:
    return instrument(kind).judges == "several"


def _lacks(item: Item, agents: Sequence[str]) -> list[str]:
    there = {one.agent for one in item.candidates}
    return [agent for agent in agents if agent not in there]


def _told(
    item: Item,
    agents: Sequence[str],
    compared: Mapping[str, int],
    kinds: Kinds,
    written: Mapping[str, str],
) -> str:
    place = f"{written[item.id]}: " if item.id in written else ""
    lacking = " and ".join(_lacks(item, agents))
    start = f"{place}the item {item.id!r} has no reply of {lacking}"
    lost = [name for name, need in compared.items() if len(item.candidates) < need]
    if not judgeable(item, kinds):
        return f"{start}, so that there is nothing to compare: it is left out."
    if not lost:
        return f"{start}: it is compared without."
    kept = [name for name in kinds if name not in lost]
    rest = f"; {', '.join(kept)} {'is' if len(kept) == 1 else 'are'}" if kept else ""
    return f"{start}: {', '.join(lost)} {'is' if len(lost) == 1 else 'are'} not asked there{rest}."
