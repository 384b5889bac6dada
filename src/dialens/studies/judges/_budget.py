"""What judges may still use, while several requests are under way."""

import threading

from dialens.studies.judges._model import Spent
from dialens.studies.judges._settings import JudgeBudget


class OverBudget(Exception):
    """There is nothing left to ask with."""


class RunningBudget:
    """Lets requests through as long as they fit; what is under way is counted as foreseen."""

    def __init__(self, most: JudgeBudget, used: Spent) -> None:
        """Start from what was used before.

        Args:
            most: What may be used in all.
            used: By earlier runs.
        """
        self._most = most
        self._used = used
        self._lock = threading.Lock()

    def take(self, foreseen: Spent) -> None:
        """Set aside what a request will use; raises `OverBudget` where it does not fit."""
        with self._lock:
            pairs = (
                (self._used.requests + foreseen.requests, self._most.requests),
                (self._used.tokens + foreseen.tokens, self._most.tokens),
                (self._used.cost + foreseen.cost, self._most.cost),
            )
            if any(most is not None and sought > most for sought, most in pairs):
                raise OverBudget
            self._used.add(foreseen)

    def settle(self, foreseen: Spent, used: Spent) -> None:
        """Count what a request used in the place of what was foreseen."""
        with self._lock:
            self._used.add(used)
            self._used.add(Spent(-foreseen.requests, -foreseen.tokens, -foreseen.cost))

    def said(self) -> str:
        """What was allowed, in words."""
        most = self._most
        parts = [] if most.cost is None else [f"cost {most.cost:g}"]
        parts += [] if most.tokens is None else [f"{most.tokens:,} tokens"]
        parts += [] if most.requests is None else [f"{most.requests:,} requests"]
        return ", ".join(parts)
