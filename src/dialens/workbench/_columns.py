"""What a column of the workbench is: a fact, a metric, what people or judges said, or a flag."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from dialens.metrics import MetricCard, ScoredMetric, Scores
from dialens.workbench._catalogue import Item

FACT, METRIC, PEOPLE, JUDGE, FLAG = "fact", "metric", "people", "judge", "flag"


@dataclass(frozen=True)
class Column:
    """One column that a table can show, sort and filter by.

    Attributes:
        name: In addresses, unique at its level: `engagement`, `people:warmth`, `flag:1`.
        label: In words.
        kind: `fact`, `metric`, `people`, `judge` or `flag`.
        group: What it is listed under.
        sql: The expression that gives its values.
        numeric: Whether it has numbers, which can be brushed.
        live: Whether it can change while the page is open.
        better: Whether higher is better, lower (False), or neither.
        percent: Whether values read as percentages.
        headline: Its rank among those that are shown first; None for the rest.
        about: What it means, in a sentence.
        run: The item whose values these are, if they are of one.
        signature: What a metric's numbers depend on.
    """

    name: str
    label: str
    kind: str
    group: str
    sql: str
    numeric: bool = True
    live: bool = False
    better: bool | None = None
    percent: bool = False
    headline: int | None = None
    about: str = ""
    run: str = ""
    signature: str = ""

    def as_json(self) -> dict[str, Any]:
        """Everything, for the index's own file."""
        return asdict(self)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Self:
        """From what `as_json` gave."""
        return cls(**entry)


def metric_column(name: str, place: int, card: MetricCard, run: Item, signature: str) -> Column:
    """The column of a metric that one run computed."""
    return Column(
        name=name,
        label=card.label if name == card.name else f"{card.label} ({run.name})",
        kind=METRIC,
        group=card.family_label,
        sql=f"m{place}",
        better=card.higher_is_better,
        percent=card.percent,
        headline=card.headline,
        about=card.meaning,
        run=run.name,
        signature=signature,
    )


def facts(level: str) -> tuple[Column, ...]:
    """What is known of a unit of a level whatever was scored."""
    shared = (
        Column("agent", "Agent", FACT, "Conversations", "agent", numeric=False),
        Column("system", "System", FACT, "Conversations", "system", numeric=False),
        Column("source", "Source", FACT, "Conversations", "source", numeric=False),
    )
    if level == "turn":
        return (
            *shared,
            Column("dialog", "Conversation", FACT, "Conversations", "dialog", numeric=False),
            Column("role", "Who speaks", FACT, "Conversations", "role", numeric=False),
            Column("turn", "Turn", FACT, "Conversations", "turn", about="Number of the turn"),
            Column("words", "Words", FACT, "Conversations", "words"),
        )
    counts = (
        Column("turns", "Turns", FACT, "Conversations", "turns"),
        Column("agent_turns", "Agent's turns", FACT, "Conversations", "agent_turns"),
        Column("words", "Words", FACT, "Conversations", "words"),
    )
    if level == "dialog":
        dialog = Column("dialog", "Conversation", FACT, "Conversations", "dialog", numeric=False)
        return (*shared, dialog, *counts)
    talks = Column("dialogs", "Conversations", FACT, "Conversations", "dialogs")
    return (*shared, talks, *counts)


def column_name(metric: ScoredMetric, run: Item, taken: Mapping[str, str]) -> str | None:
    """The column that holds the values of a run's metric; None where another run gave the same.

    Args:
        metric: The metric.
        run: The score folder.
        taken: Signatures by name of the columns that newer runs of the same conversations have.
    """
    if metric.name not in taken:
        return metric.name
    if taken[metric.name] == metric.signature:
        return None
    return f"{metric.name}@{run.name}"


class MetricColumns:
    """Names the columns of all runs: the newest run of a metric has its plain name."""

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self._places: dict[str, int] = {}

    def of(self, run: Item, scores: Scores, taken: Mapping[str, str]) -> dict[str, int]:
        """Places of a run's metrics; those whose values another run of the same texts gave are out.

        Args:
            run: The score folder.
            scores: What it holds.
            taken: Signature by name of the columns that the same conversations have already.
        """
        places = {}
        for metric in scores.metrics:
            name = column_name(metric, run, taken)
            if name is None:
                continue
            if name not in self._places:
                self._places[name] = len(self.columns)
                made = metric_column(name, len(self.columns), metric.card, run, metric.signature)
                self.columns.append(made)
            places[metric.name] = self._places[name]
        return places
