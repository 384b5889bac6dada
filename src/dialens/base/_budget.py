"""What asking models may use, while several requests are under way."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol


@dataclass
class Spent:
    """What was used: requests, tokens, cost."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = field(default=0.0, compare=False)

    def add(self, other: "Spent") -> None:
        """Count what another used."""
        self.requests += other.requests
        self.tokens += other.tokens
        self.cost += other.cost
        self.seconds += other.seconds


class Limits(Protocol):
    """The most that may be used over all runs; None where there is no limit."""

    @property
    def cost(self) -> float | None:
        """In the currency of the prices."""

    @property
    def tokens(self) -> int | None:
        """Read and written."""

    @property
    def requests(self) -> int | None:
        """Failed ones included."""


@dataclass(frozen=True)
class Budget:
    """The most that may be used over all runs.

    Attributes:
        cost: In the currency of the prices.
        tokens: Read and written.
        requests: Failed ones included.
    """

    cost: float | None = None
    tokens: int | None = None
    requests: int | None = None


class OverBudget(Exception):
    """There is nothing left to ask with."""


class RunningBudget:
    """Lets requests through as long as they fit; what is under way is counted as foreseen.

    Who does not fit waits for what is under way, which mostly takes less than was foreseen.

    Args:
        most: What may be used in all.
        used: By earlier runs.

    Examples:
        >>> budget = RunningBudget(Budget(requests=3), Spent(requests=2))
        >>> budget.take(Spent(requests=1))
        >>> budget.settle(Spent(requests=1), Spent(requests=1))
        >>> budget.take(Spent(requests=1))
        Traceback (most recent call last):
        ...
        dialens.base._budget.OverBudget
        >>> budget.said()
        '3 requests'
    """

    def __init__(self, most: Limits, used: Spent) -> None:
        self._most = most
        self._used = replace(used)
        self._changed = threading.Condition()
        self._under_way = 0

    def take(self, foreseen: Spent) -> None:
        """Set aside what a request will use; raises `OverBudget` where it does not fit."""
        with self._changed:
            while not self._fits(foreseen):
                if not self._under_way:
                    raise OverBudget
                self._changed.wait()
            self._used.add(foreseen)
            self._under_way += 1

    def _fits(self, foreseen: Spent) -> bool:
        sought = replace(self._used)
        sought.add(foreseen)
        return not any(exceeded(self._most, sought))

    def settle(self, foreseen: Spent, used: Spent) -> None:
        """Count what a request used in the place of what was foreseen."""
        with self._changed:
            self._used.add(used)
            self._used.add(Spent(-foreseen.requests, -foreseen.tokens, -foreseen.cost))
            self._under_way -= 1
            self._changed.notify_all()

    def said(self) -> str:
        """What was allowed, in words."""
        most = self._most
        parts = [] if most.cost is None else [f"cost {most.cost:g}"]
        parts += [] if most.tokens is None else [f"{most.tokens:,} tokens"]
        parts += [] if most.requests is None else [f"{most.requests:,} requests"]
        return ", ".join(parts)


def exceeded(most: Limits, sought: Spent) -> Iterator[tuple[str, float]]:
    """The limits that would be passed, by name, with what they allow.

    Examples:
        >>> list(exceeded(Budget(cost=2.0, requests=9), Spent(requests=9, cost=2.5)))
        [('cost', 2.0)]
    """
    for name, number, allowed in (
        ("requests", sought.requests, most.requests),
        ("tokens", sought.tokens, most.tokens),
        ("cost", sought.cost, most.cost),
    ):
        if allowed is not None and number > allowed:
            yield name, allowed
