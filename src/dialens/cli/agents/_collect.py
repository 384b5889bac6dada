"""`dialens agents collect`: let agents talk, and keep what they say as a corpus."""

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from dialens.agents import AgentSpec, parse_agent
from dialens.agents.talks import (
    Collected,
    CollectionPlan,
    Partners,
    named_apart,
    read_contexts,
    read_openings,
    simulated_users,
    work_folder,
)
from dialens.agents.talks import collect as collect_talks
from dialens.base import DialensError, progress
from dialens.cli._keys import Allow, allow, say_keys
from dialens.cli._options import Force, shown, told_if_stopped
from dialens.cli.agents._collect_words import show_done, show_failures, show_plan
from dialens.cli.agents._options import Settings, agents_extra, with_settings
from dialens.cli.agents._pilot import show_pilot

_USERS = "user."
_WORDS: tuple[Literal["each_other", "themselves"], ...] = ("each_other", "themselves")


def collect(
    plan: Annotated[
        Path | None, typer.Argument(metavar="[PLAN]", help="A plan in YAML; or name agents.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="CORPUS", help="Folder to write.")
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", metavar="AGENT", help="Agent that is studied; repeatable."),
    ] = None,
    partners: Annotated[
        list[str] | None,
        typer.Option(
            "--partner",
            "-p",
            metavar="AGENT",
            help="Partners: agents, each_other (default), themselves, or human (you).",
        ),
    ] = None,
    users: Annotated[
        list[str] | None,
        typer.Option(
            "--users",
            metavar="PACK|FILE",
            help="Simulated users as partners: a pack of `agents scenarios`, or a file; "
            "repeatable.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="AGENT",
            help="The language model that plays them; its settings: --set user.NAME=VALUE.",
        ),
    ] = None,
    settings: Settings = None,
    turns: Annotated[
        int | None, typer.Option("--turns", min=2, help="Turns in a dialogue; default: 8.")
    ] = None,
    dialogs: Annotated[
        int | None,
        typer.Option(
            "--dialogs", min=1, help="Dialogues of each agent with each partner; default: 20."
        ),
    ] = None,
    openings: Annotated[
        Path | None,
        typer.Option("--openings", metavar="FILE", help="File with opening messages, one a line."),
    ] = None,
    contexts: Annotated[
        Path | None,
        typer.Option(
            "--contexts",
            metavar="FILE",
            help="Conversations in any format: every agent answers each once, up to the partner's "
            "last words.",
        ),
    ] = None,
    first: Annotated[
        str | None, typer.Option("--first", help="Who speaks first: partner (default) or agent.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Random seed; the same seed gives the same random choices."),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", "-w", min=1, max=256, help="Dialogues held in parallel.")
    ] = 4,
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost",
            min=0,
            metavar="MONEY",
            help="Stop before a request that could make the cost of all runs larger than this.",
        ),
    ] = None,
    keep_partial: Annotated[
        bool,
        typer.Option(
            "--keep-partial",
            help="Keep what was said in dialogues that failed in the corpus, marked (`partial`).",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="List the dialogues that would be held, what they would take and what they could "
            "show; ask no agent.",
        ),
    ] = False,
    pilot: Annotated[
        Path | None,
        typer.Option(
            "--pilot",
            metavar="SCORES|CORPUS",
            help="With --dry-run: earlier scores or dialogues, to say how many are needed.",
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete what an earlier run collected in the folder.")
    ] = False,
    force: Force = False,
    allowed: Allow = None,
) -> None:
    """Let agents talk with each other, or with you, and keep what they say as a corpus.

    Each dialogue is kept as soon as it ends: after an interruption the same command resumes where
    it was, and dialogues that failed are tried again. A setting with several values makes several
    agents of one system. With `--contexts`, or with recorded users (`--partner replay:FILE`), all
    agents get the same words, and `compare` pairs them. With `--users` a language model plays
    people with a goal, the same ones for all agents. At the end, and in a dry run, stands how many
    dialogues a comparison needs. A plan holds the same things in a file; `agents kinds` lists
    agents.

    [bold]Examples[/]

      dialens agents collect --agent hred --agent seq2seq --turns 8 --dialogs 5 -o talks
      dialens agents collect -a openai:gpt-4o-mini --set temperature=0.2 --set temperature=1 \
-p hred -o talks
      dialens agents collect -a hred -a thred --partner human --dialogs 2 -o talks
      dialens agents collect -a hred -a thred --contexts chats.jsonl -o talks
      dialens agents collect -a hred -a thred --partner replay:chats.jsonl -o talks
      dialens agents collect -a hred -a thred --users complaint --by openai:gpt-4o-mini -o talks
      dialens agents collect plan.yaml -o talks --dry-run
      dialens agents collect plan.yaml -o talks --workers 8 --max-cost 2.50
      dialens score talks -o out
    """
    allow(allowed)
    options = {
        "--agent": agents,
        "--partner": partners,
        "--users": users,
        "--by": by,
        "--set": settings,
        "--turns": turns,
        "--dialogs": dialogs,
        "--openings": openings,
        "--contexts": contexts,
        "--first": first,
        "--seed": seed,
    }
    if plan is not None:
        named = [name for name, value in options.items() if value is not None]
        if named:
            key = "dialogues" if named[0] == "--dialogs" else ""
            where = f" (as `{key}`)" if key else ""
            raise DialensError(
                f"{named[0]} belongs into the plan{where}. Write it there, or leave one."
            )
        with agents_extra():
            from dialens.agents.talks import read_plan
        wanted = read_plan(plan)
    else:
        played, settings = _played(users, by, settings)
        if played and partners:
            raise DialensError("Simulated users are the partners: leave --partner or --users out.")
        wanted = _plan(agents, partners, settings, turns, dialogs, openings, first, seed, output)
        if played:
            wanted = replace(wanted, partners=played)
        if contexts is not None:
            talking = ("--partner", "--users", "--turns", "--dialogs", "--openings", "--first")
            for name in (name for name in talking if options[name] is not None):
                raise DialensError(
                    f"Contexts are answered once each, so that there is no {name}. Leave it out."
                )
            wanted = replace(wanted, contexts=read_contexts(contexts))
    if max_cost is not None:
        wanted = replace(wanted, budget=replace(wanted.budget, cost=max_cost))
    if dry_run:
        show_plan(wanted, None if fresh else output, pilot)
        return
    if pilot is not None:
        raise DialensError("--pilot goes with --dry-run: it tells how many dialogues to collect.")
    if output is None:
        raise DialensError("Where to? Name a folder for the corpus: -o CORPUS.")
    done = _collect(
        wanted, output, workers=workers, fresh=fresh, force=force, keep_partial=keep_partial
    )
    show_done(done)
    show_failures(done)
    show_pilot(done.folder)
    print(f"Next: dialens score {shown(done.folder)} -o out")
    if done.failures or done.left:
        raise typer.Exit(1)


def _played(
    users: list[str] | None, by: str | None, settings: list[str] | None
) -> tuple[tuple[AgentSpec, ...], list[str] | None]:
    """The simulated users that options name, and the settings that are not theirs."""
    if not users:
        if by is not None:
            raise DialensError("--by plays simulated users. Name whom: --users PACK or FILE.")
        return (), settings
    if by is None:
        raise DialensError(
            "Who plays the users? Name a language model: --by openai:MODEL, --by llama:FILE …"
        )
    own = [entry for entry in settings or [] if entry.startswith(_USERS)]
    rest = [entry for entry in settings or [] if not entry.startswith(_USERS)]
    players = with_settings([parse_agent(by)], [entry.removeprefix(_USERS) for entry in own])
    if len(players) > 1:
        raise DialensError("One setting of a user has two values. Give one, or collect twice.")
    return simulated_users(users, players[0]), rest or None


def _plan(
    agents: list[str] | None,
    partners: list[str] | None,
    settings: list[str] | None,
    turns: int | None,
    dialogs: int | None,
    openings: Path | None,
    first: str | None,
    seed: int | None,
    output: Path | None,
) -> CollectionPlan:
    """A plan from options."""
    if not agents:
        raise DialensError("Who is to talk? Name a plan, or agents: --agent hred --agent seq2seq.")
    if first not in (None, "partner", "agent"):
        raise DialensError(f"--first is partner or agent; seen: {first!r}.")
    usual = CollectionPlan((parse_agent(agents[0]),))
    specs = with_settings([parse_agent(text) for text in agents], settings or [])
    whom: Partners = usual.partners
    for word in _WORDS:
        if partners == [word] or partners == [word.replace("_", " ")]:
            whom = word
            break
    else:
        if partners:
            whom = tuple(parse_agent(text) for text in partners)
    return CollectionPlan(
        agents=named_apart(specs),
        partners=whom,
        openings=None if openings is None else read_openings(openings),
        turns=usual.turns if turns is None else turns,
        dialogues=usual.dialogues if dialogs is None else dialogs,
        seed=usual.seed if seed is None else seed,
        first="agent" if first == "agent" else "partner",
        name=usual.name if output is None else output.name,
    )


def _collect(
    plan: CollectionPlan,
    output: Path,
    *,
    workers: int,
    fresh: bool,
    force: bool,
    keep_partial: bool,
) -> Collected:
    bar = (
        contextlib.nullcontext(lambda count: None)  # it would be drawn over what a person types
        if plan.with_people
        else progress("Collecting", total=_count(plan), unit="dialogs")
    )
    with told_if_stopped("Dialogues that had ended are", work_folder(output)), bar as advance:
        return collect_talks(
            plan,
            output,
            workers=workers,
            fresh=fresh,
            force=force,
            keep_partial=keep_partial,
            advance=advance,
            begin=lambda opened: say_keys(one.agent for one in opened.models),
        )


def _count(plan: CollectionPlan) -> int:
    agents = len(plan.agents)
    if plan.contexts:
        return agents * len(plan.contexts)
    if isinstance(plan.partners, tuple):
        pairs = agents * len(plan.partners)
    else:
        pairs = agents if plan.partners == "themselves" or agents == 1 else agents * (agents - 1)
    return pairs * plan.dialogues
