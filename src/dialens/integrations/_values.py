"""What a tracker is given: one number by one name, and the table behind it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import polars as pl

from dialens.base import DialensError
from dialens.metrics import Scores

_REFUSED = re.compile(r"[^\w\-. /]", re.ASCII)


def tracked_values(scores: Scores, metrics: Sequence[str] | None = None) -> dict[str, float]:
    """Values of agents by the names they are tracked under; what is missing has none.

    One agent's are called by the metric alone, so that runs can be compared; those of several
    `agent/metric`. Characters that trackers refuse in names become an underscore.

    Args:
        scores: What `dialens.score` gives.
        metrics: Only these metrics or families.

    Raises:
        DialensError: No agent has values, or two agents' names become the same.

    Examples:
        >>> from dialens.corpus import Corpus, Dialogue, Turn
        >>> from dialens.metrics import score
        >>> talks = [
        ...     Dialogue("s", name, name, [Turn("B", "agent", text)])
        ...     for name, text in (("bot:1", "Why?"), ("bot:2", "I see now."))
        ... ]
        >>> tracked_values(score(Corpus.of(talks), metrics=["length"]))
        {'bot_1/length': 1.0, 'bot_2/length': 3.0}
    """
    rows = agent_rows(scores, metrics)
    if not rows.height:
        raise DialensError(
            "These scores hold no values of agents. Score with the level `agent` among the levels."
        )
    agents = rows.select("system", "agent").unique()
    of_one = agents.height == 1
    by_system = agents["agent"].n_unique() < agents.height
    values: dict[str, float] = {}
    for system, agent, metric, value in rows.select(
        "system", "agent", "metric", "value"
    ).iter_rows():
        parts = [metric] if of_one else [system, agent, metric] if by_system else [agent, metric]
        name = _REFUSED.sub("_", "/".join(map(str, parts)))
        if name in values:
            raise DialensError(
                f"Two agents would be tracked by the same name {name!r}: trackers take letters, "
                "digits and _-./ only. Rename one of them."
            )
        if value is not None:
            values[name] = value
    return values


def agent_rows(scores: Scores, metrics: Sequence[str] | None) -> pl.DataFrame:
    """The rows of agents, with the reasons of those that are missing."""
    names = scores.names if metrics is None else scores.select(metrics)
    wanted = (pl.col("level") == "agent") & pl.col("metric").is_in(names)
    return scores.table.filter(wanted).drop("level", "dialog", "turn").collect(engine="streaming")


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Say how to get the package of an extra that is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise DialensError(
            f"The package {error.name} is not installed: pip install 'dialens[{name}]'."
        ) from error
