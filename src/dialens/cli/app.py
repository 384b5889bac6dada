"""`dialens`: the commands put together, and errors a person can read."""

import signal
import sys
from types import FrameType

import typer
from rich.console import Console
from rich.text import Text

import dialens
from dialens.cli import (
    agents,
    agreement,
    catalogues,
    compare,
    convert,
    demo,
    engagement,
    models,
    power,
    score,
    study,
    traits,
    validate,
)
from dialens.errors import DialensError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Conversational agents through a human lens.",
    epilog="Start with [bold]dialens demo[/], or "
    "[bold]dialens score chats.jsonl -o out[/] and open out/report.html.",
)


@app.callback(invoke_without_command=True)
def root(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Conversational agents through a human lens."""
    if version:
        print(f"dialens {dialens.__version__}")
        raise typer.Exit


app.command("demo")(demo.demo)
app.command("score")(score.score)
app.command("compare")(compare.compare)
app.command("validate")(validate.validate)
app.command("agreement")(agreement.agreement)
app.command("power")(power.power)
app.add_typer(study.app, name="study")
app.add_typer(engagement.app, name="engagement")
app.add_typer(agents.app, name="agents")
app.add_typer(traits.app, name="traits")
app.command("convert")(convert.convert)
app.command("metrics")(catalogues.metrics)
app.command("formats")(catalogues.formats)
app.command("models")(models.models)


def main() -> None:
    """Run the command line; what the user can mend is printed without a traceback."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        app()
    except DialensError as error:
        Console(stderr=True).print(Text.assemble(("Error: ", "bold red"), str(error)))
        sys.exit(2)
    except KeyboardInterrupt:
        print("Interrupted. Nothing was left half written.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)


def _terminated(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
