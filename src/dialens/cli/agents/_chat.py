"""`dialens agents chat`: talk with an agent on the terminal."""

import sys
import unicodedata
from collections.abc import Generator
from pathlib import Path
from typing import Annotated

import typer

from dialens.agents import AgentError, AgentSpec, Reply, label_of, make_agent, parse_agent
from dialens.agents.talks import Chat, add_to_corpus, refuse_foreign
from dialens.base import DialensError, counted
from dialens.cli._keys import Allow, allow, say_keys
from dialens.cli._options import Seed, shown
from dialens.cli.agents._options import Settings, with_settings

_HELP = "/again  another answer    /quit  end    /help  this"


def chat(
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", help="KIND or KIND:TARGET; see `agents kinds`.")
    ],
    settings: Settings = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="CORPUS", help="Keep the conversation in this corpus."
        ),
    ] = None,
    seed: Seed = 0,
    allowed: Allow = None,
) -> None:
    """Talk with an agent on the terminal; its answers appear as they come.

    /again gets another answer, /quit (or Ctrl-D) ends. With -o the conversation becomes a dialogue
    of a corpus, which `dialens score` reads; further chats are added to it.

    [bold]Examples[/]

      dialens agents chat hred
      dialens agents chat openai:gpt-4o-mini --set temperature=0.7 --set "persona=You like birds."
      dialens agents chat transformers:models/blenderbot -o chats
    """
    specs = with_settings([parse_agent(agent)], settings or [])
    if len(specs) != 1:
        raise DialensError("A setting is given twice. A chat is with one agent: choose one value.")
    if specs[0].kind == "human":
        raise DialensError("You cannot chat with yourself. Name another agent.")
    if output is not None:
        refuse_foreign(output)
    allow(allowed)
    opened = make_agent(specs[0])
    say_keys([opened])
    talk = Chat(opened, seed=seed)
    print(f"{label_of(opened.system, opened.name)}. {_HELP}")
    try:
        _converse(talk)
    finally:
        close = getattr(opened, "close", None)
        if callable(close):
            close()
        _end(talk, specs[0], output)


def _converse(talk: Chat) -> None:
    while True:
        try:
            line = input("you: ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if not sys.stdin.isatty():
            print(_plain(line))  # what is piped in is not on the screen by itself
        if line == "/quit":
            return
        if line == "/help":
            print(_HELP)
        elif line == "/again":
            _answer(talk, talk.again())
        elif line.startswith("/"):
            print(f"There is no command {line}. {_HELP}")
        elif line:
            _answer(talk, talk.say(line))


def _answer(talk: Chat, pieces: Generator[str, None, Reply]) -> None:
    """Print an answer as it comes; Ctrl-C stops it, and a failure is said."""
    began = False
    try:
        while True:
            try:
                piece = next(pieces)
            except StopIteration as end:
                print()
                if called := end.value.called:
                    print(f"(It called {_plain(', '.join(called))}.)")
                return
            if not began:
                print(f"{talk.agent.system}: ", end="")
                began = True
            print(_plain(piece), end="", flush=True)
    except (AgentError, DialensError) as error:
        print("\n" if began else "", end="")
        print(f"No answer: {error}", file=sys.stderr)
        print("/again asks once more.", file=sys.stderr)
    except KeyboardInterrupt:
        pieces.close()
        print("\nStopped. /again asks once more.")


def _plain(text: str) -> str:
    r"""Text without characters that would steer the terminal.

    Examples:
        >>> _plain("red: \x1b[31m!")
        'red: [31m!'
    """
    return "".join(
        letter for letter in text if letter in "\n\t" or unicodedata.category(letter) != "Cc"
    )


def _end(talk: Chat, spec: AgentSpec, output: Path | None) -> None:
    costs = [
        cost for turn in talk.turns if isinstance(cost := (turn.meta or {}).get("cost"), float)
    ]
    if costs:
        print(f"Cost: {sum(costs):.4f}")
    if output is None:
        return
    if not any(turn.role == "agent" for turn in talk.turns):
        print("Nothing was answered, so nothing is kept.")
        return
    dialog = add_to_corpus(talk, spec, output)
    print(f"Kept as {dialog} with {counted(len(talk.turns), 'turn')} in {shown(output)}.")
