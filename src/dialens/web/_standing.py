"""Where a study stands, in sentences: people, the time it will still take, money."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from scipy.stats import f as f_distribution

from dialens.base import counted
from dialens.studies import PRECISE, Precision
from dialens.studies.recruiters import Cost
from dialens.studies.store import CellProgress

_FEWEST = 3
_QUANTILES = (0.1, 0.5, 0.9)
_YEAR = timedelta(days=365)


@dataclass(frozen=True)
class Forecast:
    """When the last person will have completed: as likely before as after `middle`.

    Attributes:
        low: In one of ten cases it is earlier.
        middle: The median.
        high: In one of ten cases it is later.
    """

    low: timedelta
    middle: timedelta
    high: timedelta


def forecast(completed: int, elapsed: timedelta, missing: int) -> Forecast | None:
    """How long it takes until `missing` more people complete, at the pace so far.

    If people complete at a constant rate, independently of each other, the time to the next m of
    them relative to the time that n took follows an F distribution with 2m and 2n degrees of
    freedom (Nelson, 1982, Applied Life Data Analysis, section 6.3). The uncertainty of the rate is
    in it.

    Args:
        completed: People who completed so far.
        elapsed: Since the first of them began.
        missing: How many are still wanted.

    Returns:
        None with fewer than three completions, and when nobody is missing.

    Examples:
        >>> hours = timedelta(hours=1)
        >>> ahead = forecast(4, 4 * hours, 1)
        >>> round(ahead.middle / hours, 3)  # 4 × (2^(1/4) − 1)
        0.757
        >>> forecast(2, timedelta(hours=4), 1) is None
        True
    """
    if completed < _FEWEST or missing < 1 or elapsed <= timedelta():
        return None
    each = elapsed / completed * missing
    pace = f_distribution(2 * missing, 2 * completed)
    low, middle, high = (min(each * float(pace.ppf(q)), _YEAR) for q in _QUANTILES)
    return Forecast(low, middle, high)


@dataclass(frozen=True)
class Standing:
    """Where a study stands.

    Attributes:
        completed: People who completed and count.
        wanted: People that all cells want.
        live: People at it now.
        sentences: The same in words, with forecast and money.
    """

    completed: int
    wanted: int
    live: int
    sentences: tuple[str, ...]


def standing(
    cells: Sequence[CellProgress],
    began: datetime | None,
    now: datetime,
    *,
    finished: int,
    cost: Cost,
    precision: Precision | None = None,
) -> Standing:
    """Where a study stands.

    Args:
        cells: Progress of each.
        began: When the first person began; none if nobody has.
        now: The time.
        finished: People who completed, those included that were excluded later: they are paid.
        cost: What one person is paid.
        precision: What is known, where that says when it is enough.
    """
    completed, wanted = sum(c.completed for c in cells), sum(c.target for c in cells)
    missing = sum(max(cell.target - cell.completed, 0) for cell in cells)
    if precision is not None:
        wanted = min(wanted, precision.at_most)
        missing = min(missing, max(wanted - completed, 0))
        missing = 0 if precision.stopped == PRECISE else missing
    live = sum(cell.live for cell in cells)
    people = f"{completed:,} of {counted(wanted, 'person has', 'people have')} completed the study"
    if completed > wanted:
        people = (
            f"{counted(completed, 'person has', 'people have')} completed the study, "
            f"{counted(wanted, 'was', 'were')} wanted"
        )
    at_it = f", and {counted(live, 'is', 'are')} at it now" if live else ""
    sentences = [f"{people}{at_it}.", _ending(cells, began, now, finished, missing)]
    if cost.each:
        sentences.append(_money(cost, finished, missing))
    return Standing(completed, wanted, live, tuple(sentences))


def _ending(
    cells: Sequence[CellProgress],
    began: datetime | None,
    now: datetime,
    finished: int,
    missing: int,
) -> str:
    if not missing:
        return "Everybody who is wanted has completed."
    open_ = sum(max(c.target - c.completed, 0) for c in cells if c.state == "open")
    open_ = min(open_, missing)
    if not open_:
        return "No cell that still wants people is open, so nobody new is let in."
    elapsed = timedelta() if began is None else now - began
    ahead = forecast(finished, elapsed, open_)
    if ahead is None:
        return f"When the last will finish can be said once {_FEWEST} people have completed."
    shut = "" if open_ == missing else f" Cells that are not open want {missing - open_:,} more."
    return (
        f"If people keep coming as they have so far, the last one finishes in about "
        f"{in_words(ahead.middle)}, and in eight of ten cases between {in_words(ahead.low)} and "
        f"{in_words(ahead.high)} from now.{shut}"
    )


def _money(cost: Cost, finished: int, missing: int) -> str:
    each = cost.each + cost.fee_each
    fees = " with fees" if cost.fee_each else ""
    return (
        f"At {cost.each} {cost.currency} for each, {each * finished:,.2f} {cost.currency}{fees} "
        f"have been earned so far, and {each * missing:,.2f} {cost.currency} are still to come."
    )


def in_words(length: timedelta) -> str:
    """A length of time in its largest sensible unit, spelled out.

    Examples:
        >>> [in_words(timedelta(minutes=m)) for m in (0.2, 45, 150, 2880)]
        ['a minute', '45 minutes', '2.5 hours', '2 days']
    """
    minutes = length.total_seconds() / 60
    if minutes < 1.5:
        return "a minute"
    if minutes < 90:
        return f"{minutes:.0f} minutes"
    if minutes < 36 * 60:
        return f"{_rounded(minutes / 60)} hours"
    return f"{_rounded(minutes / 1440)} days"


def _rounded(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if value < 10 else f"{value:.0f}"
