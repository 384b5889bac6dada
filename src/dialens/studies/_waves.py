"""When somebody who completed a part of a study may come back for the next one.

The first wave is the study itself and has the number 1; further ones are numbered from 2 on, in
the order of the study file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from dialens.base import DialensError
from dialens.studies.design import Codes, Design, Wave

FIRST = 1
EARLY, OPEN, LATE = "early", "open", "late"


@dataclass(frozen=True)
class NextWave:
    """The wave that somebody may take part in next.

    Attributes:
        number: From 2.
        name: As in the study file.
        opens_at: From when on.
        closes_at: Until when; none if it has no end.
    """

    number: int
    name: str
    opens_at: datetime
    closes_at: datetime | None

    def standing(self, now: datetime) -> str:
        """Whether somebody who comes now is `early`, in time (`open`) or `late`."""
        if now < self.opens_at:
            return EARLY
        return OPEN if self.closes_at is None or now < self.closes_at else LATE


def next_wave(waves: Mapping[str, Wave], done: int, ended_at: datetime) -> NextWave | None:
    """The wave after the one that somebody completed; none if that was the last.

    Args:
        waves: Of the study.
        done: The number of the wave that was completed.
        ended_at: When.

    Examples:
        >>> from datetime import UTC
        >>> later = {"later": Wave(after_hours=24, within_hours=72, items="same")}
        >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
        >>> found = next_wave(later, 1, noon)
        >>> [found.standing(noon + timedelta(hours=hours)) for hours in (23, 24, 72)]
        ['early', 'open', 'late']
        >>> next_wave(later, 2, noon) is None
        True
    """
    for number, (name, wave) in enumerate(waves.items(), start=FIRST + 1):
        if number == done + 1:
            hours = (wave.after_hours, wave.within_hours)
            opens, closes = (None if h is None else ended_at + timedelta(hours=h) for h in hours)
            assert opens is not None
            return NextWave(number, name, opens, closes)
    return None


def wave_number(design: Design, named: str) -> int:
    """The number of a further wave, given as that or by its name.

    Raises:
        DialensError: There is no such wave.
    """
    names = list(design.waves)
    if named in names:
        return names.index(named) + FIRST + 1
    if named.isdecimal() and FIRST < int(named) <= len(names) + FIRST:
        return int(named)
    known = ", ".join(f"{number} ({name})" for number, name in enumerate(names, start=FIRST + 1))
    raise DialensError(
        f"There is no wave {named!r} that people come back for. "
        + (f"Waves: {known}." if names else "The study file has no `waves`.")
    )


def wave_of(design: Design, wave: int) -> Wave | None:
    """The settings of a wave; none for the first."""
    return None if wave == FIRST else list(design.waves.values())[wave - FIRST - 1]


def codes_of(design: Design, wave: int) -> Codes:
    """The completion codes of a wave."""
    if wave == FIRST:
        return design.completion.codes
    return design.completion.waves.get(list(design.waves)[wave - FIRST - 1], Codes())


def item_block(design: Design, wave: int) -> int:
    """Which of a participant's samples of items a wave shows: it counts the waves with new ones.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> new, same = ({"after_hours": 1, "items": items} for items in ("new", "same"))
        >>> sampled = {**TEA, "items": {**TEA["items"], "sample": {"count": 2}}}
        >>> made = Design.model_validate(sampled | {"waves": {"b": new, "c": same, "d": new}})
        >>> [item_block(made, wave) for wave in (1, 2, 3, 4)]
        [0, 1, 1, 2]
    """
    return sum(one.items == "new" for one in list(design.waves.values())[: wave - FIRST])
