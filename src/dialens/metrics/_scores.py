"""Scores: what a run gives back, in memory or in a folder.

They carry whatever is needed later: the cards of their metrics, the values with the reasons of
those that are missing, and the sums from which agents can be resampled. Nothing downstream makes a
plan or asks the registry.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

import dialens
from dialens.base import (
    DialensError,
    atomic_folder,
    counted,
    did_you_mean,
    html_table,
    number,
    text_table,
)
from dialens.corpus import LEVELS, Corpus
from dialens.metrics._card import Metric, MetricCard, Resources
from dialens.metrics._headlines import headline_metrics
from dialens.metrics._parts import UNITS
from dialens.metrics._placing import place_agents
from dialens.metrics._reference import PEOPLE, SYSTEMS
from dialens.metrics._registry import metrics as installed_metrics
from dialens.metrics._registry import named
from dialens.metrics._score_tables import reason_column
from dialens.metrics._scored_metric import LAYOUT, METRICS, ScoredMetric, write_cards

TABLE = "scores.parquet"
STATES = "states.parquet"
DIALOGS = "dialogs.parquet"
POSITIONS = "positions.parquet"

_AGENTS_SHOWN = 6
_METRICS_SHOWN = 5


def _damaged(folder: Path, files: Sequence[str]) -> DialensError:
    return DialensError(
        f"The scores in {folder} are damaged: {', '.join(files)} cannot be read. "
        f"Score again: dialens score CORPUS -o {folder}"
    )


@dataclass(frozen=True, repr=False)
class Scores:
    """The values of a run at every level, and the sums they come from.

    Attributes:
        table: One row a value; columns as `SCORES`.
        states: One row a dialogue: its summed features, from which agents can be resampled.
        dialogs: One row a dialogue: `system`, `agent`, `dialog`, for each metric that dialogues
            have a column of its name, and one `reason_column(name)` that says why it is null.
        positions: Values pooled over the n-th turns of an agent; `turn` is n, from 0.
        metrics: What was computed, in that order.
        corpus: What was scored, in the process that did; the report shows its dialogues.
        resources: What it was scored with, in the process that did.

    Examples:
        >>> from dialens.corpus import Corpus, Dialogue, Turn
        >>> from dialens.metrics import score
        >>> talk = [Turn("U", "partner", "How are you?"), Turn("B", "agent", "Glad you ask!")]
        >>> scores = score(Corpus.of([Dialogue("s", "bot", "d1", talk)]), metrics=["length"])
        >>> scores.wide("agent").rows()
        [('s', 'bot', None, None, 3.0)]
        >>> scores.cards["length"].label
        'Words a turn'
        >>> scores
        Scores: 1 metric of 1 agent over 1 dialogue
        agent  length
        bot       3.0
    """

    table: pl.LazyFrame
    states: pl.LazyFrame
    dialogs: pl.LazyFrame
    positions: pl.DataFrame
    metrics: tuple[ScoredMetric, ...]
    corpus: Corpus | None = field(default=None, compare=False)
    resources: Resources | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        lead, heads, rows, more = self._shown(_METRICS_SHOWN)
        table = [text_table(heads, rows)] if rows else []
        return "\n".join([lead, *table, *([more] if more else [])])

    def _repr_html_(self) -> str:
        lead, heads, rows, more = self._shown(None)
        return html_table(f"{lead}. {more}".strip(), heads, rows)

    def _shown(self, most: int | None) -> tuple[str, list[str], list[list[str]], str]:
        """One line on what is there, and agents by the metrics that come first."""
        counts = self.dialogs.select(
            agents=pl.struct("system", "agent").n_unique(), dialogs=pl.len()
        ).collect(engine="streaming")
        agents, dialogs = counts.row(0)
        lead = (
            f"Scores: {counted(len(self.metrics), 'metric')} of {counted(agents, 'agent')} "
            f"over {counted(dialogs, 'dialogue')}"
        )
        wide = self.wide("agent")
        present = [name for name in self.names if name in wide.columns]
        valued = [name for name in present if wide[name].count()] or present
        names = headline_metrics({name: self.cards[name] for name in valued})[:most]
        rows = [
            [str(row["agent"]), *(number(row[name]) for name in names)]
            for row in wide.head(_AGENTS_SHOWN).iter_rows(named=True)
        ]
        rest = wide.height - len(rows)
        return lead, ["agent", *names], rows, f"… and {counted(rest, 'more agent')}" if rest else ""

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the tables that `dialens score` writes, for `Scores.open` and `dialens compare`.

        Args:
            folder: Where to; files there that an earlier run wrote are replaced.
            force: Write into a folder that holds other files; those are kept.

        Examples:
            >>> import tempfile
            >>> from dialens.corpus import Corpus, Dialogue, Turn
            >>> from dialens.metrics import score
            >>> talks = [Dialogue("s", "bot", "d1", [Turn("B", "agent", "Glad you ask!")])]
            >>> scores = score(Corpus.of(talks), metrics=["length"])
            >>> folder = scores.save(Path(tempfile.mkdtemp()) / "out")
            >>> Scores.open(folder).wide("agent")["length"].to_list()
            [3.0]
        """
        folder = Path(folder)
        with atomic_folder(folder, force=force) as scratch:
            self.table.sink_parquet(scratch / TABLE)
            self.states.sink_parquet(scratch / STATES)
            self.dialogs.sink_parquet(scratch / DIALOGS)
            self.positions.write_parquet(scratch / POSITIONS)
            write_cards(self.metrics, scratch)
        return folder

    def report(
        self, path: str | Path = "report.html", *, corpus: Corpus | None = None, seed: int = 0
    ) -> Path:
        """Write the report, one HTML file to look at.

        Args:
            path: The file; it appears whole or not at all.
            corpus: What was scored, where these scores were opened from a folder.
            seed: Of the sample of dialogues and the intervals.

        Raises:
            DialensError: The conversations are not known.
        """
        shown = corpus or self.corpus
        if shown is None:
            raise DialensError(
                "These scores were opened from a folder, and the report shows the conversations "
                "too. Give them: scores.report(path, corpus=dialens.read(CORPUS))."
            )
        # Reports are made above metrics, so they are asked for at the front door.
        write = dialens.report.write_report
        write(self, shown, Path(path), resources=self.resources, seed=seed)
        return Path(path)

    @classmethod
    def open(cls, folder: str | Path) -> "Scores":
        """The scores that `dialens score` wrote into a folder."""
        folder = Path(folder)
        if not (folder / METRICS).exists():
            raise DialensError(
                f"{folder} holds no scores ({METRICS} is not there). "
                f"Make some with: dialens score CORPUS -o {folder}"
            )
        missing = [
            name for name in (TABLE, STATES, DIALOGS, POSITIONS) if not _is_table(folder / name)
        ]
        written: Any = None
        with suppress(ValueError, RecursionError):
            written = json.loads((folder / METRICS).read_text("utf-8"))
        if not isinstance(written, dict):
            missing.append(METRICS)
        if missing:
            raise _damaged(folder, missing)
        if written.get("layout") != LAYOUT:
            raise DialensError(
                f"The scores in {folder} were written by another version of dialens, whose files "
                f"have another form. Score again: dialens score CORPUS -o {folder}"
            )
        try:
            metrics = tuple(ScoredMetric.from_json(entry) for entry in written["metrics"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(folder, [METRICS]) from error
        return cls(
            pl.scan_parquet(folder / TABLE),
            pl.scan_parquet(folder / STATES),
            pl.scan_parquet(folder / DIALOGS),
            pl.read_parquet(folder / POSITIONS),
            metrics,
        )

    @property
    def names(self) -> list[str]:
        """The names of the metrics."""
        return [metric.name for metric in self.metrics]

    @cached_property
    def cards(self) -> dict[str, MetricCard]:
        """The metrics' cards by name."""
        return {metric.name: metric.card for metric in self.metrics}

    @cached_property
    def signatures(self) -> dict[str, str]:
        """The metrics' signatures by name."""
        return {metric.name: metric.signature for metric in self.metrics}

    def select(self, names: Sequence[str]) -> list[str]:
        """Those of the metrics that are named, by themselves or by family or group.

        Raises:
            DialensError: Nothing of that name was scored.
        """
        selectable = {
            *self.cards,
            *(key for card in self.cards.values() for key in card.selected_by),
        }
        for name in names:
            if name not in selectable and name != "all":
                raise DialensError(
                    f"These scores hold no metric or family {name!r}. "
                    f"{did_you_mean(name, sorted(selectable))}They hold: {', '.join(self.names)}."
                )
        return [card.name for card in named(names, self.cards)]

    @cached_property
    def _computing(self) -> dict[str, Metric | str]:
        """What computes each metric from states, or why nothing can."""
        opened = any(metric.bound is None for metric in self.metrics)
        installed, resources = installed_metrics() if opened else {}, Resources()
        return {metric.name: metric.computing(installed, resources) for metric in self.metrics}

    @property
    def why_not_resampled(self) -> str | None:
        """Why these values can be read but not computed from sums; None where they can."""
        return next((why for why in self._computing.values() if isinstance(why, str)), None)

    @property
    def computing(self) -> dict[str, Metric]:
        """The metrics by name, ready to compute from the states or sums of them.

        In the process that scored they are those of the run; after `open` they are looked up once,
        and compared with the signatures in the folder.

        Raises:
            DialensError: The scores were made by another version of a metric.
        """
        return self.computing_of(self.names)

    def computing_of(self, names: Sequence[str]) -> dict[str, Metric]:
        """The same for some of the metrics, whatever became of the others.

        Raises:
            DialensError: The scores were made by another version of one of these.
        """
        ready: dict[str, Metric] = {}
        for name in names:
            metric = self._computing[name]
            if isinstance(metric, str):
                raise DialensError(
                    f"These scores can be read but not resampled: {metric}. "
                    "Score the corpus again with `dialens score`, or name other metrics."
                )
            ready[name] = metric
        return ready

    def agents(self) -> pl.DataFrame:
        """One row an agent in the order in which they were met: how many dialogues it has.

        `partial` counts those that broke off; it is missing where that is not known.

        Examples:
            >>> from dialens.corpus import Corpus, Dialogue, Turn
            >>> from dialens.metrics import score
            >>> talks = [Dialogue("s", "bot", "d1", [Turn("B", "agent", "Glad you ask!")])]
            >>> score(Corpus.of(talks), metrics=["length"]).agents().rows()
            [('s', 'bot', 1, 0)]
        """
        known = "partial" in self.states.collect_schema().names()
        counts = [pl.len().alias("dialogs"), *([pl.col("partial").sum()] if known else [])]
        by_agent = self.states.group_by("system", "agent", maintain_order=True).agg(counts)
        return by_agent.collect(engine="streaming")

    def dialog_columns(self, names: Sequence[str]) -> pl.LazyFrame:
        """One row a dialogue, not yet read: who it is, then the values of metrics.

        Null where they have none. Of very many dialogues a metric at a time should be read.
        """
        columns = self.dialogs.collect_schema().names()
        values = [
            pl.col(name) if name in columns else pl.lit(None, pl.Float64).alias(name)
            for name in names
        ]
        return self.dialogs.select(*UNITS[:3], *values)

    def dialog_values(self, names: Sequence[str]) -> pl.DataFrame:
        """One row a dialogue: who it is, then the values of metrics; null where they have none."""
        return self.dialog_columns(names).collect(engine="streaming")

    def dialog_reasons(self, names: Sequence[str]) -> pl.LazyFrame:
        """One row a dialogue, not yet read, a column a metric: why it has no value, if it has none.

        In the order of `dialog_columns`.
        """
        columns = self.dialogs.collect_schema().names()
        reasons = [
            pl.col(reason_column(name)).alias(name)
            if reason_column(name) in columns
            else pl.lit("not defined for a dialogue").alias(name)
            for name in names
        ]
        return self.dialogs.with_columns(reasons).select(names)

    def reference(self, groups: Sequence[str] = (PEOPLE, SYSTEMS)) -> pl.DataFrame:
        """Where each agent stands among people and public systems on each metric.

        `percentile` is how many of a hundred dialogues of people (of like length) score lower than
        the agent's do on average, with its interval; `reason` says why there is none.

        Args:
            groups: `people`, `systems`, or sources by their names on the card of the reference
                values.

        Examples:
            >>> from dialens.corpus import Corpus, Dialogue, Turn
            >>> from dialens.metrics import score
            >>> talk = [Turn("U", "partner", "How are you?"), Turn("B", "agent", "Glad you ask!")]
            >>> scores = score(Corpus.of([Dialogue("s", "bot", "d1", talk)]), metrics=["length"])
            >>> place = scores.reference(["people"]).row(0, named=True)
            >>> place["percentile"] < 20, place["reason"]
            (True, 'fewer than 6 dialogs, so the place has no interval')
        """
        wanted = tuple(groups)
        for known, table in self._places.items():
            if wanted == known:
                return table
            if len(wanted) == 1 and wanted[0] in known:
                return table.filter(pl.col("group") == wanted[0])
        self._places[wanted] = place_agents(self, groups=wanted)
        return self._places[wanted]

    @cached_property
    def _places(self) -> dict[tuple[str, ...], pl.DataFrame]:
        """What `reference` gave, by groups: many dialogues take a while, and several ask."""
        return {}

    def state_columns(self, names: Sequence[str]) -> list[str]:
        """The columns of the states that these metrics compute from."""
        wanted = set(names)
        features = {f for metric in self.metrics if metric.name in wanted for f in metric.features}
        return [
            column
            for column in self.states.collect_schema().names()
            if column == "other_turns" or ("|" in column and column.split("|")[1] in features)
        ]

    def wide(self, level: str) -> pl.DataFrame:
        """One row a unit of a level, one column a metric, in the order they were computed."""
        if level not in LEVELS:
            raise DialensError(f"There is no level {level!r}. Levels: {', '.join(LEVELS)}.")
        rows = self.table.filter(pl.col("level") == level).select(*UNITS, "metric", "value")
        return (
            rows.collect(engine="streaming")
            .pivot("metric", index=list(UNITS), values="value", maintain_order=True)
            .sort(UNITS, nulls_last=True)
        )


def _is_table(path: Path) -> bool:
    """Whether a Parquet file is there and whole: its description stands at its end."""
    try:
        pl.read_parquet_schema(path)
    except (OSError, pl.exceptions.PolarsError):
        return False
    return True
