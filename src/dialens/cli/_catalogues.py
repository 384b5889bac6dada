"""`dialens metrics` and `dialens formats`: what there is, with cards."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dialens.base import DialensError, counted
from dialens.cli._completion import any_format_name, one_metric_name
from dialens.cli._options import AllowPickle, Device, MetricOptions, Weights
from dialens.cli._scorers import make_scorers
from dialens.cli._terminal import marked_console, plain_table
from dialens.corpus import LEVELS
from dialens.corpus import formats as all_formats
from dialens.metrics import Metric, MetricCard, Resources, ScoringPlan, make_plan, select
from dialens.metrics import metrics as all_metrics


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(help="Show this metric's or family's card.", autocompletion=one_metric_name),
    ] = None,
    weights: Weights = None,
    metric_option: MetricOptions = None,
    device: Device = "auto",
    allow_pickle: AllowPickle = False,
) -> None:
    """List the metrics and whether they are ready here, or show the card of one.

    With --weights and the like, as `dialens score` takes them, it says what that would change.

    [bold]Examples[/]

      dialens metrics
      dialens metrics emotional_entropy
      dialens metrics bert_score --weights bert_score=roberta-large/
    """
    scorers = make_scorers(
        weights=weights,
        options=metric_option,
        device=device,
        allow_pickle=allow_pickle,
        no_cache=True,
    )
    resources = Resources(scorers=scorers)
    chosen = list(all_metrics().values()) if name is None else select([name])
    plan = make_plan(chosen, resources)
    lacking = {metric.name: _lacking(plan, metric) for metric in plan.metrics}
    if name is not None:
        for card in chosen:
            _show(card, resources, lacking[card.name])
        return
    table = plain_table("metric", "what it says", "levels", "ready")
    family = None
    for card in chosen:
        if card.family != family:
            family = card.family
            table.add_section()
            table.add_row(f"[bold]{escape(family)}[/]")
        levels = "all" if card.levels == LEVELS else ", ".join(card.levels)
        ready = "yes" if lacking[card.name] is None else "no"
        table.add_row(escape(f"  {card.name}"), escape(card.meaning), levels, ready)
    console = marked_console()
    usable = sum(reason is None for reason in lacking.values())
    print(f"{counted(len(chosen), 'metric')}, {usable:,} of them ready here.\n")
    console.print(table)
    _say_why(console, chosen, lacking)


def _lacking(plan: ScoringPlan, metric: Metric) -> str | None:
    """Why a metric is not ready; the user's weights are looked for, not loaded."""
    for family in metric.families:
        if family.model is not None:
            plan.open([family.name])
            continue
        try:
            reason = family.ready(plan.scorers.context)
        except DialensError as error:
            reason = str(error)
        if reason is not None:
            return reason
    return plan.failures.get(metric.name)


def _say_why(console: Console, cards: list[MetricCard], lacking: dict[str, str | None]) -> None:
    """Below the list, what the families that are not ready want."""
    wants: dict[str, dict[str, None]] = {}
    for card in cards:
        reason = lacking[card.name]
        if reason is not None:
            wants.setdefault(reason, {})[card.family] = None
    ready = sum(reason is None for reason in lacking.values())
    console.print(f"\n{ready} of {len(cards)} metrics are ready.")
    if wants:
        console.print("Not ready:")
    for reason, families in wants.items():
        console.print(
            f"  [bold]{escape(', '.join(families))}[/]: {escape(reason)}.", soft_wrap=True
        )


def _show(card: MetricCard, resources: Resources, lacking: str | None) -> None:
    low, high = ("…" if end is None else f"{end:g}" for end in card.range)
    better = {None: "neither end is better", True: "higher is better", False: "lower is better"}
    facts = {
        "meaning": card.meaning,
        "family": card.family,
        "levels": ", ".join(card.levels),
        "needs": ", ".join(card.needs) or "the agent's words only",
        "language": {"en": "English only", "": "any"}.get(card.language, card.language),
        "range": f"{low} to {high}; {better[card.higher_is_better]}",
        "citation": card.citation or "none",
        "licence": card.licence,
        "ready": "yes" if lacking is None else f"no: {lacking}",
        "signature": card.bind(resources).signature,
    }
    family = card.scored_by
    if family is not None:
        facts |= {f"--weights {key}": what for key, what in family.weights.items()}
        facts |= {
            f"--metric-option {family.name}.{key}": what for key, what in family.options.items()
        }
    table = Table(show_header=False, box=None, pad_edge=False, title_justify="left")
    table.title = f"[bold]{escape(card.name)}[/]"
    for key, value in facts.items():
        table.add_row(f"[dim]{escape(key)}[/]", escape(value))
    marked_console().print(table, "")


def formats(
    name: Annotated[
        str | None,
        typer.Argument(help="Show an example of this format.", autocompletion=any_format_name),
    ] = None,
) -> None:
    """List the formats that can be read and written, or show an example of one.

    [bold]Examples[/]

      dialens formats
      dialens formats openai
    """
    entries = {entry.name: entry for entry in all_formats()}
    if name is not None:
        if name not in entries:
            raise DialensError(f"There is no format {name!r}. Known: {', '.join(entries)}.")
        print(f"{name}: {entries[name].summary}\n\n{entries[name].example}")
        return
    reading = sum(entry.reads for entry in entries.values())
    print(f"{reading:,} formats are read; `dialens formats NAME` shows an example of one.\n")
    table = plain_table("format", "reads", "writes", "what it is")
    for entry in entries.values():
        reads, writes = ("yes" if can else "" for can in (entry.reads, entry.writes))
        table.add_row(*map(escape, (entry.name, reads, writes, entry.summary)))
    marked_console().print(table)
