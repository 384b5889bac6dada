"""How much there was to read: words that a participant had not seen before."""

from collections.abc import Iterable, Mapping

from dialens.studies._items import Candidate, Item
from dialens.studies._study import Study
from dialens.studies._types import Screen

_Judged = tuple[str, int | None]


class Reading:
    """Counts, screen by screen, the words that are new to a participant.

    What stands on the screen a second time, as where each quality has a screen of its own, need
    not be read again. Instructions and questions are not counted.
    """

    def __init__(self, studies: Mapping[str, Study]) -> None:
        """Count in these studies, by version."""
        self._items = {
            version: {item.id: item for item in (*study.items, *study.gold, *study.practice)}
            for version, study in studies.items()
        }
        self._seen: dict[tuple[str, int], set[tuple[str, str]]] = {}

    def drop(self, rater: str) -> None:
        """Forget what somebody has seen, who sees no more or begins anew."""
        for seen in [one for one in self._seen if one[0] == rater]:
            del self._seen[seen]

    def new_words(self, version: str, rater: str, attempt: int, screen: Screen) -> int | None:
        """Words on a screen that the rater has not seen; none if nobody knows what it showed."""
        item = self._items.get(version, {}).get(str(screen.state.get("item")))
        if item is None:
            return None
        seen = self._seen.setdefault((rater, attempt), set())
        fresh = {(item.id, text) for text in _texts(item, screen)} - seen
        seen |= fresh
        return sum(len(text.split()) for _, text in fresh)


def _texts(item: Item, screen: Screen) -> Iterable[str]:
    """The texts that a screen shows of an item: the context, and what is judged."""
    yield from (said.text for said in item.context)
    judged = {_key(target) for field in screen.fields for target in field.targets.values()}
    for candidate in item.candidates:
        if (candidate.agent, candidate.turn) in judged:
            yield from (said.text for said in candidate.before)
            yield from _own(candidate)


def _own(candidate: Candidate) -> Iterable[str]:
    if candidate.text:
        yield candidate.text


def _key(target: Mapping[str, object]) -> _Judged:
    turn = target.get("turn")
    return str(target.get("agent")), turn if isinstance(turn, int) else None
