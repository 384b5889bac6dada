"""Simulated users held against real ones: are they like people?

The turns of users are scored as if they were an agent's, on every metric that looks at nothing but
a speaker's own words, and compared as agents are. Simulated dialogues of one scenario are one
person's, so that scenarios are the units there; two seeds of one person tell little of others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import polars as pl

from dialens.analysis.comparison._compare import RESAMPLES, compared_pairs
from dialens.analysis.comparison._dialog_sums import DialogSums
from dialens.analysis.comparison._runs import join_runs
from dialens.analysis.comparison._sides import Sides
from dialens.analysis.comparison._tables import COMPARISONS
from dialens.base import DialensError
from dialens.corpus import Corpus, Tables
from dialens.metrics import MetricCard, Resources, Scores, score, select
from dialens.statistics import FEWEST, Ints

SIMULATED, REAL = "simulated", "real"
ALPHA, POWER = 0.05, 0.8
_OTHERS = {"partner", "context", "reference", "references"}

SAID_BY_USERS = pl.Schema([*COMPARISONS.items(), ("detectable", pl.Float64())])
"""As the table of comparisons; `detectable` is the smallest difference that would have been found
in four of five such comparisons, were it the only one of its family."""


@dataclass(frozen=True)
class UserComparison:
    """Simulated and real users side by side.

    Attributes:
        table: A row a metric; `a` is the simulated side.
        cards: Of the metrics.
        turns: How many turns of users were compared, by side.
        after_first: Whether the first turn of every user is left out, since simulated ones are
            given theirs.
        most_turns: Turns of a user that are compared at most; what real users say after the last
            turn of the longest simulated dialogue, or the other way round, has no counterpart.
        scenarios: How many scenarios the simulated users come from; None if that is not known.
    """

    table: pl.DataFrame
    cards: dict[str, MetricCard] = field(repr=False)
    turns: dict[str, int]
    after_first: bool
    most_turns: int
    scenarios: int | None

    @property
    def by_scenario(self) -> bool:
        """Whether scenarios are the units of the simulated side."""
        return self.scenarios is not None and self.scenarios >= FEWEST


def compare_users(
    simulated: Corpus,
    real: Corpus,
    *,
    metrics: Sequence[str] | None = None,
    resources: Resources | None = None,
    threads: int | None = None,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
) -> UserComparison:
    """Compare what simulated users say with what real ones say.

    Args:
        simulated: Conversations whose partners are simulated users.
        real: Conversations whose partners are people.
        metrics: Names of metrics or families; if not given, all of the usual ones that look at a
            speaker's own words.
        resources: Lexicons, models and seed.
        threads: Batches that are scored at once.
        resamples: How many times dialogues are drawn, for metrics in steps.
        confidence: Of the intervals.

    Raises:
        DialensError: A side has no turn of a user, or a metric looks at others' words too.
    """
    cards = _own_words(metrics)
    resources = resources or Resources()
    after_first = bool(simulated.turns.select(_is_opening().any()).collect().item())
    sides = {
        name: users_as_agents(corpus, name, after_first=after_first)
        for name, corpus in ((REAL, real), (SIMULATED, simulated))
    }
    most = min(_most_turns(users) for users in sides.values())
    sides = {name: _up_to(users, most) for name, users in sides.items()}
    scored = {
        name: score(users, metrics=cards, resources=resources, threads=threads)
        for name, users in sides.items()
    }
    persons = _persons(simulated)
    scenarios = persons["scenario"].n_unique() if persons.height else None
    if scenarios is None or scenarios < FEWEST:
        persons = persons.clear()
    joined = join_runs(scored)
    chosen = joined.select(None)
    kept = [name for name in chosen if name not in joined.different]
    sums = _UserSums(_by_person(joined.scores, scored, persons), kept, persons["dialog"])
    groups = joined.called(sums.groups("agent"))
    table = compared_pairs(
        Sides(sums, groups, resamples=resamples, seed=resources.seed),
        [(1, 0)],
        [name for name in chosen if name in joined.different],
        joined.different,
        joined.cards,
        confidence,
    )
    return UserComparison(
        table.with_columns(level=pl.lit("agent"), detectable=_detectable()).select(
            pl.col(name).cast(dtype) for name, dtype in SAID_BY_USERS.items()
        ),
        dict(joined.cards),
        {
            name: users.turns.filter(role="agent").select(pl.len()).collect().item()
            for name, users in sides.items()
        },
        after_first,
        most,
        scenarios,
    )


def users_as_agents(corpus: Corpus, name: str, *, after_first: bool = False) -> Corpus:
    """The users' turns of a corpus as those of one agent; what others said is left out.

    Args:
        corpus: The conversations.
        name: What the users are called together.
        after_first: Take the first turn of every user as given, as openings are.

    Examples:
        >>> from dialens.corpus import Dialogue, Turn
        >>> talk = [Turn("U", "partner", "Hi"), Turn("B", "agent", "Ha"), Turn("U", "partner", "O")]
        >>> users = users_as_agents(Corpus.of([Dialogue("s", "b", "d", talk)]), "people")
        >>> users.turns.select("agent", "role", "text").collect().rows()
        [('people', 'agent', 'Hi'), ('people', 'agent', 'O')]
    """
    said = corpus.turns.filter(
        pl.col("role") == "partner", pl.col("text").str.strip_chars() != ""
    ).collect()
    first = pl.int_range(pl.len()).over("dialog") == 0
    given = said.select(_is_opening() | (first & pl.lit(after_first))).to_series()
    said = said.with_columns(
        pl.when(given).then(pl.lit("partner")).otherwise(pl.lit("agent")).alias("role"),
        system=pl.lit(name),
        agent=pl.lit(name),
        turn=pl.int_range(pl.len(), dtype=pl.Int32).over("dialog"),
        reply_to=pl.lit(None, pl.String),
    ).filter((pl.col("role") == "agent").any().over("dialog"))
    if not said.height:
        after = " after the first" if after_first else ""
        raise DialensError(
            f"The {name} side holds no turn of a user{after}. Name conversations in which users "
            "(partners) speak; --role says who is who."
        )
    return Corpus.from_tables([Tables.of(said.select(corpus.turns.collect_schema().names()))])


def _own_number() -> pl.Expr:
    """Which of their own turns in the dialogue it is, from 1; given ones do not count."""
    return (pl.col("role") == "agent").cum_sum().over("dialog")


def _most_turns(users: Corpus) -> int:
    most: int = users.turns.select(_own_number().max()).collect().item()
    return most


def _up_to(users: Corpus, most: int) -> Corpus:
    return replace(users, turns=users.turns.filter(_own_number() <= most))


class _UserSums(DialogSums):
    """Dialogues of users; those of one scenario are drawn together, however many there are."""

    def __init__(self, scores: Scores, metrics: Sequence[str], by_scenario: pl.Series) -> None:
        super().__init__(scores, metrics)
        known = (pl.col("system") == SIMULATED) & pl.col("dialog").is_in(by_scenario.implode())
        self._by_scenario = scores.states.select(known).collect().to_series()

    def keyed(self, rows: Ints) -> bool:
        """Whether dialogues are drawn by context: by scenario, where it is known."""
        return bool(self._by_scenario.gather(rows).all()) or super().keyed(rows)


def _own_words(names: Sequence[str] | None) -> list[MetricCard]:
    """The metrics that describe a speaker by nothing but their own words."""
    every = [card for card in select(list(names) if names else None) if not card.is_baseline]
    kept = [card for card in every if not _looks_at_others(card)]
    if names and len(kept) < len(every):
        wrong = next(card.name for card in every if card not in kept)
        raise DialensError(
            f"{wrong} looks at more than a speaker's own words, so that it cannot compare users. "
            "Leave it out."
        )
    return kept


def _looks_at_others(card: MetricCard) -> bool:
    reads = card.scored_by.reads if card.scored_by else ()
    return bool(_OTHERS & {*card.needs, *reads}) or "dialog" not in card.levels


def _is_opening() -> pl.Expr:
    return (pl.col("meta").str.json_path_match("$.opening") == "true").fill_null(value=False)


def _persons(corpus: Corpus) -> pl.DataFrame:
    """The scenario of every dialogue that has one."""
    scenario = pl.col("meta").str.json_path_match("$.scenario").drop_nulls().first()
    return (
        corpus.turns.group_by("dialog", maintain_order=True)
        .agg(scenario=scenario)
        .drop_nulls()
        .collect()
    )


def _by_person(joined: Scores, scored: Mapping[str, Scores], persons: pl.DataFrame) -> Scores:
    """The joined scores with each side's own contexts, which tell its people apart.

    Those of simulated dialogues are their scenarios; of real ones what was left out at their
    beginning, which is the same where one person told it to several agents.
    """
    contexts = pl.concat(
        [one.states.select("system", "dialog", "context").collect() for one in scored.values()]
    )
    keys = persons.select(
        "dialog", system=pl.lit(SIMULATED), key=pl.col("scenario").rank("dense").cast(pl.UInt64)
    )
    found = joined.states.collect().drop("context")
    for table in (contexts, keys):
        found = found.join(table, on=["system", "dialog"], how="left", maintain_order="left")
    context = pl.coalesce("key", "context").alias("context")
    return replace(joined, states=found.with_columns(context).drop("key").lazy())


def _detectable() -> pl.Expr:
    """The smallest difference that would have been found: by its error, and by its family."""
    normal = NormalDist()
    needed = pl.col("family").map_elements(
        lambda tests: normal.inv_cdf(1 - ALPHA / (2 * tests)) + normal.inv_cdf(POWER),
        return_dtype=pl.Float64,
    )
    return pl.col("standard_error") * needed
