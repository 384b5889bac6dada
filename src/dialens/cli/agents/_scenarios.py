"""`dialens agents scenarios`: who simulated users are."""

from typing import Annotated

import typer
from rich.markup import escape

from dialens.base import counted
from dialens.cli._completion import among
from dialens.cli._terminal import plain_console, plain_table
from dialens.cli.agents._options import agents_extra

_PACKS = ("adversarial", "complaint", "emotional_support", "everyday", "small_talk")


def scenarios(
    pack: Annotated[
        str | None,
        typer.Argument(
            metavar="[PACK|FILE]",
            help="Print the scenarios of this pack, or check and print those of a file.",
            autocompletion=among(*_PACKS),
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--yaml", help="Print the file itself, to write one's own from.")
    ] = False,
) -> None:
    """List the packs of simulated users that ship, or print the scenarios of one.

    A language model plays them in `agents collect --users PACK --by AGENT`. A file of your own is
    written like those that ship (`--yaml`); mistakes in it are reported with their lines.

    [bold]Examples[/]

      dialens agents scenarios
      dialens agents scenarios complaint
      dialens agents scenarios complaint --yaml > mine.yaml
      dialens agents scenarios mine.yaml
    """
    with agents_extra():
        from dialens.agents.users import SHIPPED, read_pack, shipped_packs
    if pack is None:
        table = plain_table("pack", "what it holds", numbers=("scenarios",))
        for name in shipped_packs():
            one = read_pack(name)
            table.add_row(one.name, escape(one.about), f"{len(one.scenarios)}")
        plain_console().print(table)
        print("Next: dialens agents collect -a AGENT --users PACK --by MODEL -o talks")
        return
    found = read_pack(pack)
    if raw and pack in shipped_packs():
        print((SHIPPED / f"{pack}.yaml").read_text("utf-8"), end="")
        return
    print(f"{found.name}: {counted(len(found.scenarios), 'scenario')}. {found.about}".rstrip())
    for scenario in found.scenarios:
        mood = f" ({scenario.mood})" if scenario.mood else ""
        print(f"\n{scenario.name}: {scenario.persona}{mood}\n  wants {scenario.goal}")
        for words, value in (
            ("begins:", scenario.opening),
            ("knows:", "; ".join(scenario.knowledge)),
            ("writes:", scenario.style),
            ("turns of theirs, at most:", scenario.turns),
            ("patience, in replies:", scenario.patience),
            ("satisfied by:", " | ".join(scenario.satisfied_by)),
            ("leaves on:", " | ".join(scenario.leaves_on)),
        ):
            if value:
                print(f"  {words} {value}")
