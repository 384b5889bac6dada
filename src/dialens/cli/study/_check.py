"""`dialens study check`: what a study asks of people and costs, before anyone is paid."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialens.base import counted, listed
from dialens.cli._keys import Allow, allow, say_keys
from dialens.cli._options import Seed
from dialens.cli._terminal import plain_table, print_whole
from dialens.cli.study._agents_asked import AskedAgent, ask_agents
from dialens.cli.study._extra import studies_extra

if TYPE_CHECKING:
    from dialens.studies import Study, StudyEstimate

_MOST_CELLS = 24
_SCREENS = 8


def check(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A study file, or the folder that holds it.")
    ],
    cell: Annotated[
        str | None, typer.Option("--cell", help="The cell to preview; the first if not given.")
    ] = None,
    screens: Annotated[
        int | None,
        typer.Option(
            "--screens",
            min=0,
            help="How many of a participant's screens to print; none if not given, 8 with --cell.",
        ),
    ] = None,
    offline: Annotated[
        bool,
        typer.Option(
            "--offline", help="Ask no agent anything; otherwise each is asked one short question."
        ),
    ] = False,
    seed: Seed = 0,
    allowed: Allow = None,
) -> None:
    """Check a study file, and say how long it takes, what it costs and what is left to mend.

    Errors name the line, the key and the remedy. `study preview` shows the screens; --screens
    prints some of them here. Agents that participants are to talk with are asked one short
    question each, at the same time; a service may charge for the answer, and --offline leaves that
    out. The command ends with 1 if one of them does not answer.

    [bold]Examples[/]

      dialens study check anchoring
      dialens study check three-bots --offline
      dialens study check anchoring/study.yaml --cell anchor=both,layout=separate --screens 12
    """
    with studies_extra():
        from dialens.studies import estimate, holds, load_study, preview, study_file
        from dialens.studies.recruiters import entrance_guard
        from dialens.web import open_agents
    loaded = load_study(study)
    estimated = estimate(loaded, seed=seed)
    chosen = loaded.cell(cell).name if cell else loaded.cells[0].name
    design = loaded.design
    asked: Sequence[AskedAgent] = ()
    if design.conversations is not None:
        allow(allowed)
        agents = open_agents(loaded, study_file(study).parent)
        asked = () if offline else ask_agents(agents, design.conversations, seed=seed)
    silent = [one.name for one in asked if one.reply is None]
    longest = max(cell.minutes for cell in estimated.cells)
    paid = f"; cost {estimated.cost:,.2f} {estimated.currency} with fees" if estimated.cost else ""
    if estimated.hourly is not None:
        paid += f", {estimated.hourly:.2f} {estimated.currency} an hour in the longest cell"
    if silent:
        verb = "does" if len(silent) == 1 else "do"
        print(f"{loaded.name} cannot be run yet: {listed(silent)} {verb} not answer.")
    people = counted(estimated.participants, "participant")
    print(
        f"{loaded.name} {'asks for' if silent else 'can be run:'} {people} in "
        f"{counted(len(estimated.cells), 'cell')}, {estimated.ratings:,} ratings, up to "
        f"{counted(round(longest), 'minute')} each{paid}."
    )
    for warning in (*estimated.warnings, *_too_slow(loaded, asked)):
        print(f"! {warning}")
    print(f"{design.title} (version {design.version}, {loaded.hash[:12]})")
    print(
        f"{holds(loaded)}; qualities: "
        + ", ".join(f"{name} ({q.instrument.kind})" for name, q in design.qualities.items())
    )
    if len(loaded.languages) > 1:
        print(f"Languages: {', '.join(loaded.languages)}")
    print(entrance_guard(design))
    if design.conversations is not None:
        print(_agents(loaded, offline=offline))
        say_keys(agents.values())
    for one in asked:
        print(one.line())
    _cells(estimated)
    for number, (name, wave) in enumerate(design.waves.items(), start=2):
        longest = max(cell.minutes for cell in estimate(loaded, seed=seed, wave=number).cells)
        until = "" if wave.within_hours is None else f" to {wave.within_hours:g}"
        print(
            f"Wave {number} ({name}): from {wave.after_hours:g}{until} hours after the part "
            f"before, {wave.items} items, about {longest:.0f} minutes"
        )
    most = screens if screens is not None else _SCREENS if cell else 0
    if most:
        print(f"\nA participant in {chosen} (seed {seed}):\n")
        print("\n".join(preview(loaded, chosen, seed=seed, most=most)))
    if silent:
        raise typer.Exit(1)


def _agents(study: "Study", *, offline: bool) -> str:
    """Which agents there are, and whether they were asked anything."""
    talks = study.design.conversations
    assert talks is not None
    names = ", ".join(f"{agent.name} ({agent.agent})" for agent in talks.agents)
    return f"Agents: {names}." + (" They were not asked whether they answer." if offline else "")


def _too_slow(study: "Study", asked: Sequence[AskedAgent]) -> list[str]:
    """Agents that the pace of the study would not hide."""
    talks = study.design.conversations
    pace = None if talks is None else talks.common_pace
    return [] if pace is None else [told for one in asked if (told := one.too_slow(pace))]


def _cells(estimate: "StudyEstimate") -> None:
    table = plain_table("cell", numbers=("target", "screens", "ratings", "minutes"))
    for cell in estimate.cells[:_MOST_CELLS]:
        numbers = (cell.target, cell.screens, cell.ratings)
        table.add_row(cell.cell, *map(str, numbers), f"{cell.minutes:.0f}")
    print_whole(table)
    if len(estimate.cells) > _MOST_CELLS:
        print(f"… and {len(estimate.cells) - _MOST_CELLS} more cells.")
