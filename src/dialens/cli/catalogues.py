"""`dialens metrics` and `dialens formats`: what there is, with cards."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from dialens.corpus import LEVELS
from dialens.corpus import formats as all_formats
from dialens.errors import DialensError
from dialens.metrics import MetricCard, Resources, select
from dialens.metrics import metrics as all_metrics


def metrics(
    name: Annotated[str | None, typer.Argument(help="Show this metric's or family's card.")] = None,
) -> None:
    """List the metrics, or show the card of one.

    [bold]Examples[/]

      dialens metrics
      dialens metrics emotional_entropy
    """
    if name is not None:
        for card in select([name]):
            _show(card)
        return
    table = Table("metric", "what it says", "levels", box=None, pad_edge=False)
    family = None
    for card in all_metrics().values():
        if card.family != family:
            family = card.family
            table.add_section()
            table.add_row(f"[bold]{family}[/]")
        levels = "all" if card.levels == LEVELS else ", ".join(card.levels)
        table.add_row(f"  {card.name}", card.meaning, levels)
    Console().print(table)


def _show(card: MetricCard) -> None:
    low, high = ("…" if end is None else f"{end:g}" for end in card.range)
    better = {None: "neither end is better", True: "higher is better", False: "lower is better"}
    facts = {
        "meaning": card.meaning,
        "family": card.family,
        "levels": ", ".join(card.levels),
        "needs": ", ".join(card.needs) or "the agent's words only",
        "range": f"{low} to {high}; {better[card.higher_is_better]}",
        "citation": card.citation or "none",
        "licence": card.licence,
        "signature": card.bind(Resources()).signature,
    }
    table = Table(show_header=False, box=None, pad_edge=False, title_justify="left")
    table.title = f"[bold]{card.name}[/]"
    for key, value in facts.items():
        table.add_row(f"[dim]{key}[/]", value)
    Console().print(table, "")


def formats(
    name: Annotated[str | None, typer.Argument(help="Show an example of this format.")] = None,
) -> None:
    """List the formats that can be read and written, or show an example of one.

    [bold]Examples[/]

      dialens formats
      dialens formats openai
    """
    known = {entry.name: entry for entry in all_formats()}
    if name is not None:
        if name not in known:
            raise DialensError(f"There is no format {name!r}. Known: {', '.join(known)}.")
        print(f"{name}: {known[name].summary}\n\n{known[name].example}")
        return
    table = Table("format", "reads", "writes", "what it is", box=None, pad_edge=False)
    for entry in known.values():
        reads, writes = ("yes" if can else "" for can in (entry.reads, entry.writes))
        table.add_row(entry.name, reads, writes, entry.summary)
    Console().print(table)
