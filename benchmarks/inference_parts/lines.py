"""A line of `benchmarks/inference.py`: one method on one design, simulated many times."""

from collections.abc import Iterable
from dataclasses import dataclass, field

HEADER = (
    f"{'method':34}{'design':44}{'units':>14}{'runs':>7}{'p<.05':>8}{'covered':>9}{'refused':>9}"
)


@dataclass(frozen=True)
class Line:
    """Error rates of one method on one design.

    Attributes:
        method: What is tried, e.g. `compare, unpaired`.
        design: What the data are like, e.g. `log-normal, no difference`.
        units: How many units, e.g. `5 raters × 20 items`.
        runs: Simulations.
        rejected: Share of simulations that were tested and had p < .05; None if nothing was tested.
        covered: Share of intervals that held the true value; None if there was no interval.
        refused: Share of simulations in which the method gave no test and no interval.
        null: Whether there was no effect, so that `rejected` should be .05.
    """

    method: str
    design: str
    units: str
    runs: int
    rejected: float | None
    covered: float | None
    refused: float
    null: bool = True

    def __str__(self) -> str:
        shares = (self.rejected, self.covered, self.refused)
        cells = "".join(
            f"{'' if share is None else f'{share:.3f}':>{width}}"
            for share, width in zip(shares, (8, 9, 9), strict=True)
        )
        return f"{self.method:34}{self.design:44}{self.units:>14}{self.runs:7}{cells}"


@dataclass
class Tally:
    """Counts results of one design until a line can be made of them."""

    p: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    n: int = 0

    def add(
        self, p: float | None, low: float | None, high: float | None, truth: float = 0.0
    ) -> None:
        """Take in one simulation: its p, its interval, and the value that it should hold."""
        self.n += 1
        if p is not None:
            self.p.append(p)
        if low is not None and high is not None:
            self.held.append(low <= truth <= high)

    def line(self, method: str, design: str, units: str, *, null: bool = True) -> Line:
        """The line."""
        return Line(
            method,
            design,
            units,
            self.n,
            _share(p < 0.05 for p in self.p),
            _share(self.held),
            1 - max(len(self.p), len(self.held)) / self.n,
            null,
        )


def _share(values: Iterable[bool]) -> float | None:
    counted = list(values)
    return sum(counted) / len(counted) if counted else None
