"""One reply to what was said before it: the shortest way from two texts to values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import polars as pl

from dialens.base import DialensError, html_table, number
from dialens.corpus import Corpus, Dialogue, Turn, role_of
from dialens.metrics._card import MetricCard, Resources
from dialens.metrics._headlines import headline_metrics
from dialens.metrics._scored_metric import ScoredMetric
from dialens.metrics._scoring import score

_SHOWN = 6
_NOT_SPOKEN = ("system", "developer", "tool", "function")


@dataclass(frozen=True, repr=False)
class TextScore:
    """The values of one reply.

    Attributes:
        table: One row a metric: `metric`, `value`, `reason` (why it is null), `signature`.
        metrics: What was computed, in that order.
    """

    table: pl.DataFrame
    metrics: tuple[ScoredMetric, ...]

    @cached_property
    def values(self) -> dict[str, float | None]:
        """Values by metric; None where there is none, and `reasons` says why."""
        return dict(self.table.select("metric", "value").iter_rows())

    @cached_property
    def reasons(self) -> dict[str, str]:
        """Why metrics have no value, by metric."""
        missing = self.table.filter(pl.col("value").is_null())
        return dict(missing.select("metric", "reason").iter_rows())

    def __getitem__(self, metric: str) -> float | None:
        if metric not in self.values:
            raise DialensError(f"{metric!r} was not scored. Scored were: {', '.join(self.values)}.")
        return self.values[metric]

    def __repr__(self) -> str:
        known = [name for name in self._first() if self.values[name] is not None]
        parts = [f"{name} {number(self.values[name])}" for name in known[:_SHOWN]]
        without = f", {len(self.reasons)} without" if self.reasons else ""
        return f"TextScore({', '.join(parts)}; {len(self.values)} metrics{without})"

    def _repr_html_(self) -> str:
        cards = {metric.name: metric.card for metric in self.metrics}
        rows = [[cards[name].label, number(self.values[name])] for name in self._first()]
        lead = f"One reply, {len(self.values)} metrics; shown are those that come first."
        return html_table(lead, ["metric", "value"], rows)

    def _first(self) -> list[str]:
        """The metrics that are shown first, those without a value among them."""
        return headline_metrics({metric.name: metric.card for metric in self.metrics})


def score_text(
    context: str | Sequence[str | Mapping[str, Any] | Turn],
    reply: str,
    *,
    metrics: str | MetricCard | Sequence[str | MetricCard] | None = None,
    resources: Resources | None = None,
) -> TextScore:
    """Score one reply to what was said before it.

    Args:
        context: What the other side said; or everything said so far, in order: texts by turns
            (the last is the other side's), messages with `role` and `content`, or `Turn`s. Empty
            if the reply opens the conversation.
        reply: What the agent said.
        metrics: Names of metrics or families, or cards; those of `score` if not given.
        resources: Lexicons, models, prompt and seed, where the defaults will not do.

    Raises:
        DialensError: The reply is empty or no text, or a message cannot be read.

    Examples:
        >>> found = score_text("I lost my job.", "I am so sorry!", metrics=["length", "question"])
        >>> found["length"], found["question"]
        (4.0, 0.0)
        >>> found
        TextScore(question 0.00, length 4.0; 2 metrics)
        >>> talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
        >>> more = [*talk, {"role": "user", "content": "How are you?"}]
        >>> score_text(more, "Fine, and you?", metrics=["question"]).values
        {'question': 1.0}
    """
    if not isinstance(reply, str):
        raise DialensError(f"The reply is a text, not {type(reply).__name__}; seen: {reply!r}.")
    if not reply.strip():
        raise DialensError(f"The reply is empty, so there is nothing to score; seen: {reply!r}.")
    turns = [*_turns(context), Turn("agent", "agent", reply)]
    corpus = Corpus.of([Dialogue("text", "agent", "text", turns)])
    scores = score(
        corpus, metrics=metrics, levels=["turn"], resources=resources or _shared_resources()
    )
    rows = scores.table.filter(pl.col("turn") == len(turns) - 1).collect()
    order = pl.DataFrame({"metric": scores.names, "signature": scores.signatures.values()})
    table = order.join(
        rows.select("metric", "value", "reason"), on="metric", how="left", maintain_order="left"
    ).with_columns(
        pl.when(~pl.col("metric").is_in(rows["metric"].implode()))
        .then(pl.lit("not defined for a single turn"))
        .otherwise("reason")
        .alias("reason")
    )
    return TextScore(table.select("metric", "value", "reason", "signature"), scores.metrics)


@cache
def _shared_resources() -> Resources:
    """The defaults, once a process: their models would be loaded again for every single text."""
    return Resources()


def _turns(context: str | Sequence[str | Mapping[str, Any] | Turn]) -> list[Turn]:
    """What was said before, with roles."""
    if isinstance(context, str):
        return [Turn("partner", "partner", context)] if context.strip() else []
    if not isinstance(context, Sequence):
        raise DialensError(
            f"The context is a text or a list of texts or messages, not {type(context).__name__}."
        )
    turns = []
    for place, entry in enumerate(context):
        if isinstance(entry, Turn):
            turns.append(entry)
        elif isinstance(entry, str):
            role = ("partner", "agent")[(len(context) - 1 - place) % 2]
            turns.append(Turn(role, role, entry))
        else:
            turns.extend(_message(entry, place))
    return turns


def _message(entry: object, place: int) -> list[Turn]:
    """A message as a turn; none where it is no turn of text: an instruction, or a tool's."""
    if not isinstance(entry, Mapping):
        raise DialensError(
            f"context[{place}] is neither a text nor a message with `role` and `content`; "
            f"seen: {entry!r}."
        )
    named, text = entry.get("role"), entry.get("content")
    if named in _NOT_SPOKEN or (text in (None, "") and entry.get("tool_calls")):
        return []
    role = role_of(named) if isinstance(named, str) else None
    if role is None:
        raise DialensError(
            f"context[{place}].role is {named!r}. Use `user` or `assistant` (`system` and `tool` "
            "are left out: nobody says them)."
        )
    if not isinstance(text, str):
        raise DialensError(f"context[{place}].content is not a text; seen: {text!r}.")
    return [Turn(role, role, text)]
