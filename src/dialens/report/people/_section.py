"""The first sections of a study's report: what people said, and who they are."""

from collections.abc import Iterator, Sequence
from typing import Any

from dialens.analysis.people import Participants, People
from dialens.base import capitalised, counted, interval, listed, number, p_value
from dialens.report._charts import Chart
from dialens.report._page import Block, Finding, Findings, Fold, Plot, Section, Text, folded
from dialens.report._table import Cell, Table, explained
from dialens.report.people._charts import agents_chart, distribution_bars, rank, wins_chart
from dialens.report.people._words import Said, headline, said, why_not

_MOST_SENTENCES = 8
_MOST_ROWS = 40
_SHORT = 2.0  # minutes, below which times are told in seconds


def people_tables(people: People) -> dict[str, Table]:
    """Agents, their differences, the distribution of answers, and wins, by key."""
    tables = (_agents(people), _differences(people), _distributions(people), _wins(people))
    return {table.key: table for table in tables if table.rows}


def people_sections(
    people: People, participants: Participants | None, *, judged: bool = False
) -> Iterator[Section]:
    """What people said of agents, where they judged any, and who took part.

    Args:
        people: What raters said.
        participants: Who took part, where that is known.
        judged: Whether nobody but language models rated.
    """
    tables = people_tables(people)
    names = people.agents.drop_nulls("mean")["quality"].unique(maintain_order=True).to_list()
    if names:
        title = "What judges said" if judged else "What people said"
        yield Section("people", title, list(_blocks(people, tables, names)), "Answer")
    if participants is not None:
        yield Section("participants", "Who took part", list(_who(participants)), "Who")


def _blocks(people: People, tables: dict[str, Table], names: list[str]) -> Iterator[Block]:
    every = said(people)
    clear = sorted((one for one in every if one.clear), key=lambda one: -one.strength)
    main = headline(names)
    ordered = [main, *(name for name in names if name != main)]
    if every:
        tested = any(one.row["p_adjusted"] is not None for one in every)
        none = "No difference between agents can be told from chance."
        untested = f"No difference between agents was tested{why_not(people)}."
        yield Findings(_findings(clear), none if tested else untested)
    yield _plot("agents", {name: agents_chart(people, name) for name in ordered}, "Agents")
    if "agent_differences" in tables:
        table = tables["agent_differences"]
        yield folded(table, open=len(table.rows) <= _MOST_ROWS)
    spread = [name for name in ordered if name in people.distributions["quality"]]
    if spread:
        yield _plot(
            "answers", {name: distribution_bars(people, name) for name in spread}, "Answers"
        )
    fought = [name for name in ordered if name in people.wins["quality"]]
    if fought:
        yield _plot("wins", {name: wins_chart(people, name) for name in fought}, "Who won")
    yield from (folded(tables[key]) for key in ("agents", "distributions", "wins") if key in tables)
    for sentence in _methods(people):
        yield Text(sentence)


def _plot(key: str, charts: dict[str, Chart], title: str) -> Plot:
    """A chart for each quality; a single one needs no choice."""
    if len(charts) > 1:
        return Plot(key, charts, "Quality", title=title)
    return Plot(key, dict(zip([""], charts.values(), strict=True)), title=title)


def _findings(clear: Sequence[Said]) -> list[Finding]:
    return [
        Finding(
            f"{one.better} rather than {one.worse} on {one.quality}: {one.told}",
            f"{one.numbers}; corrected p {p_value(one.row['p_adjusted'], equals=True)}, "
            f"family of {counted(one.row['family'], 'test')}",
            topic="people",
        )
        for one in clear[:_MOST_SENTENCES]
    ]


def _methods(people: People) -> Iterator[str]:
    """How the numbers came about, each way once."""
    ways: dict[str, list[str]] = {}
    for quality, method in (
        people.agents.select("quality", "method").unique(maintain_order=True).iter_rows()
    ):
        if method:
            ways.setdefault(method, []).append(quality)
    for method, qualities in ways.items():
        yield f"{capitalised(listed(qualities))}: {method}."
    for quality, note in people.notes:
        yield f"{quality}: {note}."


def _agents(people: People) -> Table:
    rows = []
    for row in people.agents.iter_rows(named=True):
        percent = row["unit"] == "share"
        rows.append(
            (
                row["quality"],
                row["agent"],
                explained(number(row["mean"], _digits(row), percent=percent), row["mean"],
                          row["reason"]),
                interval(row["low"], row["high"], _digits(row), percent=percent),
                rank(row["rank"], row["rank_low"], row["rank_high"]),
                f"{row['n']:,}",
                f"{row['n_raters'] or 0:,}",
                f"{row['n_items'] or 0:,}",
            )
        )  # fmt: skip
    heads = (
        "Quality", "Agent", "Mean", "95 % interval", "Rank", "Judgements", "Raters", "Items",
    )  # fmt: skip
    note = "Rank 1 is best; in brackets the ranks that comparing all pairs at once leaves open."
    if people.lower:
        note += f" Less is better of {listed(sorted(people.lower))}."
    return Table("agents", "Agents by quality", heads, rows, note, people.agents)


def _differences(people: People) -> Table:
    rows: list[tuple[Cell | str, ...]] = []
    for one in said(people):
        row = one.row
        effect, low, high = one.effect
        size, reach = number(effect, 2), interval(low, high, 2)
        tested = [p_value(row["p"]), p_value(row["p_adjusted"])]
        if people.smallest:
            tested.append(p_value(row["p_equivalence"]))
        rows.append(
            (
                one.quality,
                f"{one.better} over {one.worse}",
                explained(
                    f"{one.size} (by the model)" if one.modelled else one.size,
                    one.strength,
                    row["reason"],
                ),
                one.ends or "–",
                *tested,
                f"{row['effect'] or '–'} {size}",
                reach,
            )
        )
    heads = [
        "Quality", "Agents", "Difference", "95 % interval", "p", "Corrected p",
        *(["Equivalent, p"] if people.smallest else []), "Effect size", "95 % interval",
    ]  # fmt: skip
    note = "Corrected over all pairs and qualities (Benjamini & Hochberg 1995)."
    if any(one.modelled for one in said(people)):
        note += " By the model: nobody compared the two directly."
    if people.smallest:
        parts = [f"{quality} {value:g}" for quality, value in people.smallest.items()]
        note += (
            " The last p tests that a difference is smaller than the smallest that matters: "
            f"{listed(parts)}."
        )
    title = "Differences between agents"
    return Table("agent_differences", title, heads, rows, note, people.agent_differences)


def _distributions(people: People) -> Table:
    rows = [
        (r["quality"], r["agent"], r["answer"], f"{r['n']:,}", number(r["share"], percent=True))
        for r in people.distributions.iter_rows(named=True)
    ]
    heads = ("Quality", "Agent", "Answer", "Answers", "Share")
    title = "Distribution of answers"
    return Table("distributions", title, heads, rows, "", people.distributions)


def _wins(people: People) -> Table:
    rows = [
        (r["quality"], r["first"], r["second"], *(f"{r[k]:,}" for k in _COUNTS))
        for r in people.wins.iter_rows(named=True)
    ]
    heads = ("Quality", "First", "Second", "First won", "Ties", "Second won", "Choices")
    return Table("wins", "Wins and losses", heads, rows, "", people.wins)


_COUNTS = ("wins", "ties", "losses", "n")


def _digits(row: dict[str, Any]) -> int | None:
    return 2 if row["unit"] in ("points", "score") and (row["mean"] or 0) < 20 else None


def _time(median: float, least: float, most: float) -> str:
    """How long people took; in seconds where it was less than two minutes for half of them.

    Examples:
        >>> _time(0.2, 0.1, 0.4)
        'Half of those who completed it took less than 12 seconds, all from 6 to 24.'
    """
    times, unit = (median, least, most), "minutes"
    if median < _SHORT:
        times, unit = (60 * median, 60 * least, 60 * most), "seconds"
    middle, low, high = (number(time, 0) for time in times)
    return (
        f"Half of those who completed it took less than {middle} {unit}, all from {low} to {high}."
    )


def _who(found: Participants) -> Iterator[Block]:
    flow = [f"{count:,} {words}" for words, count in found.flow.items()]
    sentence = f"{counted(found.began, 'person', 'people')} took part"
    sentence += f": {listed(flow)}." if flow else "."
    median, least, most = found.ratings
    sentence += (
        f" {found.rated:,} gave ratings: {median:g} each in the middle, from {least:,} to {most:,}."
    )
    if found.minutes is not None:
        sentence += f" {_time(*found.minutes)}"
    if found.failed_checks is not None:
        sentence += f" {counted(found.failed_checks, 'person', 'people')} failed a check."
    if found.left_out == 0:
        sentence += " Nobody was left out."
    elif found.left_out:
        was = "was" if found.left_out == 1 else "were"
        sentence += f" {counted(found.left_out, 'person', 'people')} {was} left out."
    yield Text(sentence, soft=False)
    if found.questions.height:
        rows = [
            (r["prompt"], r["answer"], f"{r['n']:,}", number(r["share"], percent=True))
            for r in found.questions.iter_rows(named=True)
        ]
        heads = ("Question", "Answer", "People", "Share")
        yield folded(Table("questions", "What they were asked", heads, rows, "", found.questions))
    for (prompt,), part in found.remarks.group_by(["prompt"], maintain_order=True):
        lines = [(row["rater"], row["answer"]) for row in part.iter_rows(named=True)]
        key = f"remarks_{part['question'][0]}"
        table = Table(key, str(prompt), ("Rater", "Answer"), lines)
        yield Fold(str(prompt), [table], counted(len(lines), "answer"))
