"""Progress in other units: who works counts texts or pairs, who watches wants turns.

Steps too small for a whole unit are told as 0: whoever watches may end the work by an exception.
"""

from dialens.metrics._family import Advance


def paced(advance: Advance, units: int, items: int) -> Advance:
    """What to call with the number of items just done, so that `advance` hears of units.

    All units have been reported when all items are done; where there is nothing to do, at once.

    Examples:
        >>> reported = []
        >>> step = paced(reported.append, units=2, items=6)
        >>> step(2), step(2), step(2), reported
        (None, None, None, [0, 1, 1])
    """
    done = reported = 0

    def step(more: int) -> None:
        nonlocal done, reported
        done += more
        now = units if items == 0 else min(units, units * done // items)
        more_units, reported = now - reported, now
        advance(more_units)

    if items == 0:
        step(0)
    return step


class Shares:
    """Progress of a batch in turns, of which each step has an equal share.

    Examples:
        >>> reported = []
        >>> shares = Shares(10, 2, reported.append)
        >>> shares.next(4)(2)
        >>> shares.next(100)(50)
        >>> shares.finish()
        >>> reported
        [2, 5, 3]
    """

    def __init__(self, turns: int, steps: int, advance: Advance) -> None:
        """`turns` are reported in all, over so many steps."""
        self._turns, self._steps, self._advance = turns, max(steps, 1), advance
        self._begun = self._reported = 0

    def next(self, total: int) -> Advance:
        """What the next step calls with how much more of its `total` is done."""
        start = self._turns * self._begun // self._steps
        self._begun += 1
        end = self._turns * self._begun // self._steps
        done = 0

        def step(count: int) -> None:
            nonlocal done
            done += count
            self._report(start + (end - start) * min(done, total) // max(total, 1))

        return step

    def finish(self) -> None:
        """All of it is done."""
        self._report(self._turns)

    def _report(self, turns: int) -> None:
        more = max(0, turns - self._reported)
        self._reported += more
        self._advance(more)
