"""Which cell the next participant goes to.

People who completed and people who are still at it both hold a place; who stays away too long
gives it back. The open cell with the fewest places taken is next, so that no cell gets ahead of
another by more than one; where places are given out by precision, the one where most is gained.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialens.studies.store._tables import CLOSED, OPEN


@dataclass(frozen=True)
class Places:
    """A cell and how far it is filled.

    Attributes:
        cell: Its name.
        state: `open`, `paused` or `closed`.
        target: Completed sessions that are wanted.
        taken: Completed and live sessions.
    """

    cell: str
    state: str
    target: int
    taken: int

    @property
    def free(self) -> bool:
        """Whether somebody may be sent there."""
        return self.state == OPEN and self.taken < self.target


def choose(
    cells: Sequence[Places], tie_breaker: int, needs: Mapping[str, float] | None = None
) -> str | None:
    """The free cell with the fewest places taken; `tie_breaker` decides between equals.

    Args:
        cells: All cells.
        tie_breaker: A random number.
        needs: By cell, n(n + 1) times what a person more than n there would tell; then the cell
            where that is largest is next.

    Examples:
        >>> a, b = Places("a", "open", 20, 3), Places("b", "open", 20, 2)
        >>> choose([a, b], tie_breaker=1)
        'b'
        >>> choose([a, b], tie_breaker=1, needs={"a": 9.0, "b": 1.0})
        'a'
        >>> choose([Places("a", "paused", 20, 0), Places("b", "open", 2, 2)], tie_breaker=1) is None
        True
    """
    free = [cell for cell in cells if cell.free]
    if not free:
        return None

    def rank(cell: Places) -> tuple[float, int, bytes]:
        told = (needs or {}).get(cell.cell, 0.0) / max(cell.taken * (cell.taken + 1), 1)
        return -told, cell.taken, _drawn(cell.cell, tie_breaker)

    return min(free, key=rank).cell


def why_none(cells: Sequence[Places]) -> str:
    """Why nobody can be sent anywhere: `full`, `paused` or `closed`.

    Examples:
        >>> why_none([Places("a", "paused", 20, 0), Places("b", "open", 2, 2)])
        'paused'
        >>> why_none([Places("a", "closed", 20, 0), Places("b", "open", 2, 2)])
        'full'
    """
    waiting = [cell for cell in cells if cell.state != OPEN and cell.taken < cell.target]
    if any(cell.state != CLOSED for cell in waiting):
        return "paused"
    return "closed" if all(cell.state == CLOSED for cell in cells) else "full"


def _drawn(cell: str, tie_breaker: int) -> bytes:
    return hashlib.sha256(f"{tie_breaker}:{cell}".encode()).digest()
