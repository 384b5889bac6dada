"""`dialens agents`: things that talk: which there are, talking with them, letting them talk."""

import typer

from dialens.cli.agents_chat import chat
from dialens.cli.agents_collect import collect
from dialens.cli.agents_kinds import kinds
from dialens.cli.agents_train import train

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Agents: train or connect them, talk with them, collect conversations.",
)


@app.callback()
def root() -> None:
    """Agents: train or connect them, talk with them, collect conversations."""


app.command("kinds")(kinds)
app.command("train")(train)
app.command("chat")(chat)
app.command("collect")(collect)
