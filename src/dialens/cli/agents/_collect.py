"""`dialens agents collect`: let agents talk, and keep what they say as a corpus."""

import contextlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from dialens.agents import KINDS, AgentSpec, parse_agent
from dialens.agents.talks import (
    FAILURES,
    Collected,
    CollectionPlan,
    Partners,
    open_plan,
    read_contexts,
    read_openings,
    simulated_users,
    work_folder,
)
from dialens.agents.talks import collect as collect_talks
from dialens.base import DialensError, counted, progress
from dialens.cli._options import Force, shown
from dialens.cli._terminal import plain_console, plain_table
from dialens.cli.agents._options import Settings, agents_extra, with_settings

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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the dialogues that would be held; ask no agent.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete what an earlier run collected in the folder.")
    ] = False,
    force: Force = False,
) -> None:
    """Let agents talk with each other, or with you, and keep what they say as a corpus.

    Each dialogue is kept as soon as it ends: after an interruption the same command resumes where
    it was, and dialogues that failed are tried again. A setting with several values makes several
    agents of one system. With `--contexts`, or with recorded users (`--partner replay:FILE`), all
    agents get the same words, and `compare` pairs them. With `--users` a language model plays
    people with a goal, the same ones for all agents. A plan holds the same things in a file;
    `agents kinds` lists agents.

    [bold]Examples[/]

      dialens agents collect --agent hred --agent seq2seq --turns 8 --dialogs 5 -o talks
      dialens agents collect -a openai:gpt-4o-mini --set temperature=0.2 --set temperature=1 \
-p hred -o talks
      dialens agents collect -a hred -a thred --partner human --dialogs 2 -o talks
      dialens agents collect -a hred -a thred --contexts chats.jsonl -o talks
      dialens agents collect -a hred -a thred --partner replay:chats.jsonl -o talks
      dialens agents collect -a hred -a thred --users complaint --by openai:gpt-4o-mini -o talks
      dialens agents collect plan.yaml -o talks --workers 8
      dialens score talks -o out
    """
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
            raise DialensError(f"{named[0]} belongs into the plan. Write it there, or leave one.")
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
    if dry_run:
        _show_plan(wanted)
        return
    if output is None:
        raise DialensError("Where to? Name a folder for the corpus: -o CORPUS.")
    done = _collect(wanted, output, workers=workers, fresh=fresh, force=force)
    _show_done(done)


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
        agents=tuple(specs),
        partners=whom,
        openings=None if openings is None else read_openings(openings),
        turns=usual.turns if turns is None else turns,
        dialogues=usual.dialogues if dialogs is None else dialogs,
        seed=usual.seed if seed is None else seed,
        first="agent" if first == "agent" else "partner",
        name=usual.name if output is None else output.name,
    )


def _collect(
    plan: CollectionPlan, output: Path, *, workers: int, fresh: bool, force: bool
) -> Collected:
    bar = (
        contextlib.nullcontext(lambda count: None)  # it would be drawn over what a person types
        if plan.with_people
        else progress("Collecting", total=_count(plan), unit="dialogs")
    )
    try:
        with bar as advance:
            return collect_talks(
                plan, output, workers=workers, fresh=fresh, force=force, advance=advance
            )
    except KeyboardInterrupt:
        if work_folder(output).exists():
            print(
                f"\nStopped. Dialogues that had ended are kept in {shown(work_folder(output))}; "
                "the same command resumes from there."
            )
        raise


def _count(plan: CollectionPlan) -> int:
    agents = len(plan.agents)
    if plan.contexts:
        return agents * len(plan.contexts)
    if isinstance(plan.partners, tuple):
        pairs = agents * len(plan.partners)
    else:
        pairs = agents if plan.partners == "themselves" or agents == 1 else agents * (agents - 1)
    return pairs * plan.dialogues


def _show_plan(plan: CollectionPlan) -> None:
    opened = open_plan(plan)
    try:
        table = Table("agent", "partner", "dialogs", "opening of the first", box=None)
        pairs = Counter(
            (planned.agent.label, planned.partner.label) for planned in opened.conversations
        )
        firsts: dict[tuple[str, str], str] = {}
        for planned in opened.conversations:
            said = planned.given[0].text if planned.given else "their own words"
            firsts.setdefault((planned.agent.label, planned.partner.label), said)
        for pair, count in pairs.items():
            table.add_row(*pair, f"{count:,}", firsts[pair])
        replies = sum(planned.turns - len(planned.given) for planned in opened.conversations)
        if plan.contexts:
            each = counted(len(plan.contexts), "context")
            print(f"{each}, each answered once by every agent: {replies:,} replies to be given.")
        else:
            print(
                f"{len(opened.conversations):,} dialogues of {plan.turns} turns, {replies:,} "
                "replies to be given."
            )
        plain_console().print(table)
        print("Nobody was asked.")
    finally:
        opened.close()


def _show_done(done: Collected) -> None:
    before = f" ({done.before:,} were there already)" if done.before else ""
    dialogues, turns = counted(done.dialogues, "dialogue"), counted(done.turns, "turn")
    print(f"{shown(done.folder)} holds {dialogues} with {turns}{before}.")
    table = plain_table(
        "who", numbers=("replies", "requests", "tokens read", "tokens written", "cost")
    )
    for label, usage in done.usage.items():
        numbers = (usage.replies, usage.attempts, usage.tokens_in, usage.tokens_out)
        cost = "–" if usage.cost is None else f"{usage.cost:.4f}"
        table.add_row(label, *(f"{number:,}" if number else "–" for number in numbers), cost)
    plain_console().print(table)
    costs = [usage.cost for usage in done.usage.values() if usage.cost is not None]
    unpriced = sum(usage.unpriced for usage in done.usage.values())
    if costs and unpriced:
        without = counted(unpriced, "reply has", "replies have")
        print(f"Cost of all: at least {sum(costs):.4f}; {without} no price.")
    elif len(costs) > 1:
        print(f"Cost of all: {sum(costs):.4f}")
    for label, usage in done.usage.items():
        if usage.cut_off:
            print(
                f"{label} was cut off at its most tokens in {usage.cut_off:,} of "
                f"{counted(usage.replies, 'reply', 'replies')}; these are marked (`finish`). Raise "
                "max_tokens, or ask for shorter answers."
            )
        if len(usage.models) > 1:
            print(f"{label} was not one model: {', '.join(usage.models)} answered.")
    for label, endings in done.ended.items():
        reasons = ", ".join(f"{ending} {count:,}" for ending, count in endings.items())
        print(f"Dialogues with {label} ended: {reasons}.")
    if done.failures:
        _show_failures(done)
    print(f"Next: dialens score {shown(done.folder)} -o out")
    if done.failures:
        raise typer.Exit(1)


def _show_failures(done: Collected) -> None:
    kinds = Counter((failure.who, failure.kind) for failure in done.failures.values())
    one = len(done.failures) == 1
    print(
        f"{counted(len(done.failures), 'dialogue')} failed and {'is' if one else 'are'} not in the "
        f"corpus; see {shown(done.folder / FAILURES)}. The same command tries "
        f"{'it' if one else 'them'} again."
    )
    for (who, kind), count in kinds.items():
        reason = next(
            failure.reason
            for failure in done.failures.values()
            if (failure.who, failure.kind) == (who, kind)
        )
        print(f"  {who} {KINDS.get(kind, kind)}, {count:,} ×: {reason}")
