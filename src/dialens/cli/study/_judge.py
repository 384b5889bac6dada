"""`dialens study judge`: language models take a study."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column

from dialens.base import DialensError, Spent, counted, duration, exceeded, listed, progress
from dialens.cli._keys import Allow, allow, say_keys
from dialens.cli._options import shown, told_if_stopped
from dialens.cli._terminal import plain_console, plain_table
from dialens.cli.study._database import StudyPath
from dialens.cli.study._extra import studies_extra

if TYPE_CHECKING:
    import polars as pl

    from dialens.studies.judges import Judged, JudgePlan, Judges, Ledger, PlannedCosts

_MOST_ROWS = 24
_MOST_REASONS = 5
_WORDS = {
    "refused": "refused",
    "malformed": "malformed after a second try",
    "failed": "failed",
    "repairing": "failed",
    "unreadable": "unreadable",
    "over_budget": "over the budget",
}


def judge(
    study: StudyPath,
    judges: Annotated[
        Path | None,
        typer.Option(
            "--judges", metavar="FILE", help="Which models; judges.yaml beside the study file."
        ),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Write a judges.yaml to start from; ask nobody.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be asked and what it costs; ask nobody."),
    ] = False,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            metavar="KIND:NAME",
            help="Write a judges.yaml with this model alone, as `openai:gpt-4o-mini`, and go on.",
        ),
    ] = None,
    send_to: Annotated[
        list[str] | None,
        typer.Option(
            "--send-to", metavar="HOST", help="With --agent: a host to which texts may be sent."
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Ask the same anew as a further occasion, kept apart, and say how far each judge "
            "moved since the first.",
        ),
    ] = False,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=256, help="Requests at the same time.")
    ] = 4,
    allowed: Allow = None,
) -> None:
    """Let language models take a study: the same screens, rules and columns as people.

    Models stand in judges.yaml beside the study file, with prompts, temperatures, memory, repeats,
    a budget, and the hosts to which texts may be sent; nothing is sent to any other. A judge reads
    what stands on a person's screen and answers under the same rules; what it cannot answer is
    missing, with a reason. Answers are kept in judges.db beside the study, each before it counts:
    after an interruption the same command asks only what is missing. They take up no places. The
    exit status is 1 where requests failed; refused or malformed answers are results.

    [bold]Examples[/]

      dialens study judge anchoring --new
      dialens study judge anchoring --dry-run
      dialens study judge anchoring --at-once 8
      dialens study judge judged --agent openai:gpt-4o-mini --send-to api.openai.com
      dialens study judge anchoring --again
      dialens study analyze anchoring
    """
    with studies_extra():
        from dialens.studies import load_study, study_file
        from dialens.studies.judges import (
            JUDGES,
            LEDGER,
            JudgePlan,
            Ledger,
            planned_costs,
            read_judges,
            write_judge,
        )
    file = study_file(study)
    if new:
        _write_new(file.parent)
        return
    path = judges or file.parent / JUDGES
    if send_to and agent is None:
        raise DialensError("--send-to goes with --agent; else hosts stand in judges.yaml.")
    if agent is None and not path.exists():
        raise DialensError(
            f"{path} does not exist. `dialens study judge {study} --new` writes one to start from."
        )
    loaded = load_study(file)
    wanted = read_judges(path) if agent is None else _single(path, agent, send_to or [])
    from dialens.cli.study._judge_models import forbidden, open_models

    allow(allowed)
    models = open_models(wanted, path.parent)
    try:
        say_keys(agent for model in models.values() for agent in model.agents.values())
        plan = JudgePlan(loaded, wanted, models)
        refusal = forbidden(wanted, models)
        if not path.exists() and not refusal:
            write_judge(path, wanted)
            print(f"{shown(path)}: {agent}. Prompts, repeats and a budget can be set there.")
        place = file.parent / LEDGER
        if dry_run:
            with Ledger.open(place) if place.exists() else nullcontext() as ledger:
                plan = _of_occasion(plan, ledger) if again else plan
                _show_plan(plan, planned_costs(plan, ledger), at_once)
            print(f"! {refusal}" if refusal else "Nobody was asked.")
            return
        if refusal:
            raise DialensError(refusal)
        with Ledger.open(place, asking=True) as ledger:
            plan = _of_occasion(plan, ledger) if again else plan
            done = _asked(plan, ledger, at_once)
            _show_done(plan, done, ledger, study)
    finally:
        for model in models.values():
            model.close()


def _of_occasion(plan: "JudgePlan", ledger: "Ledger | None") -> "JudgePlan":
    """The plan of a further occasion; says first what is not as it was."""
    from dialens.cli.study._judge_again import asked_again

    plan, told = asked_again(plan, ledger)
    print(*told, f"Occasion {plan.occasion}:", sep="\n")
    return plan


def _single(path: Path, agent: str, send_to: Sequence[str]) -> "Judges":
    """One judge alone: the file's where it says the same, else one that is still to be written."""
    from dialens.studies.judges import one_judge, read_judges

    if not path.exists():
        return one_judge(path, agent, send_to)
    there = read_judges(path)
    if [judge.agent for judge in there.judges] != [agent] or not {*send_to} <= {*there.send_to}:
        raise DialensError(
            f"{path} exists and says something else than --agent {agent}"
            f"{''.join(f' --send-to {host}' for host in send_to)}. Edit it and leave these away, "
            "or move it away first."
        )
    return there


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise DialensError(f"{path} exists. Edit it, or move it away first.")


def _write_new(folder: Path) -> None:
    from dialens.studies.judges import JUDGES, write_judges

    _refuse_existing(folder / JUDGES)
    path = write_judges(folder)
    print(f"{shown(path)}: name your models there, then `dialens study judge {folder} --dry-run`.")


def _asked(plan: "JudgePlan", ledger: "Ledger", at_once: int) -> "Judged":
    from dialens.studies.judges import judge_study, planned_costs

    total = sum(cost.requests for cost in planned_costs(plan, ledger))
    with (
        told_if_stopped("What was answered is", ledger.path),
        progress("Judging", total=total, unit="screens") as advance,
    ):
        return judge_study(plan, ledger, at_once=at_once, advance=advance)


def _show_plan(plan: "JudgePlan", costs: Sequence["PlannedCosts"], at_once: int) -> None:
    requests, screens = sum(c.requests for c in costs), sum(c.screens for c in costs)
    tokens = sum(c.tokens_in + c.tokens_out for c in costs)
    prices = [c.cost for c in costs]
    price = "at a price that is not known (set price_in and price_out)"
    if all(cost is not None for cost in prices):
        price = f"at about {sum(cost or 0.0 for cost in prices):,.2f}"
    paces = [c.seconds for c in costs]
    time = "; how long that takes is known after the first requests"
    if all(one is not None for one in paces):
        taken = sum(one or 0.0 for one in paces) / at_once
        time = f", in about {duration(taken)} with {at_once} at once"
    print(
        f"{_who(plan)}: {screens:,} screens to answer, for which "
        f"{counted(requests, 'request')} with about {tokens:,} tokens would be made {price}{time}."
    )
    heads = ("raters", "cells", "screens", "known", "saved", "requests", "tokens", "cost")
    table = plain_table("judge", numbers=heads)
    for cost in costs:
        numbers = (cost.raters, cost.cells, cost.screens, cost.known, cost.saved, cost.requests)
        price = "–" if cost.cost is None else f"{cost.cost:,.2f}"
        count = f"{cost.tokens_in + cost.tokens_out:,}"
        table.add_row(cost.judge, *(f"{number:,}" for number in numbers), count, price)
    plain_console().print(table)
    unreadable = sum(c.unreadable for c in costs)
    if unreadable:
        print(f"! {unreadable:,} screens show pictures or sounds and will be missing.")
    _show_budget(plan, requests, tokens, [cost or 0.0 for cost in prices])
    for note in plan.notes:
        print(f"! {note}")


def _show_budget(plan: "JudgePlan", requests: int, tokens: int, costs: Sequence[float]) -> None:
    for name, allowed in exceeded(plan.judges.budget, Spent(requests, tokens, sum(costs))):
        print(f"! That is more than budget.{name} allows ({allowed:g}): asking stops there.")


def _who(plan: "JudgePlan") -> str:
    names = listed([judge.name for judge in plan.judges.judges])
    raters = counted(len(plan.raters), "rater")
    taken = {sitting.cell for sitting in plan.all_sittings()}
    return (
        f"{names} ({raters} by prompt, temperature, memory, thought and repeat) "
        f"in {counted(len(taken), 'cell')} of {plan.study.name}"
    )


def _show_done(plan: "JudgePlan", done: "Judged", ledger: "Ledger", study: Path) -> None:
    from dialens.cli.study._judge_again import show_drift
    from dialens.studies.judges import ANSWERED, FAILED, FIRST_OCCASION, with_conditions

    total, answered = sum(done.states.values()), done.states[ANSWERED]
    lost = [f"{n:,} {_WORDS[s]}" for s, n in sorted(done.states.items()) if s != ANSWERED]
    missing = f"missing: {total - answered:,} ({', '.join(lost)})" if lost else "none is missing"
    priced = all(model.prices is not None for model in plan.models.values())
    cost = f", cost {done.spent.cost:,.4f}" if priced else ", cost not known"
    print(
        f"{_who(plan)} judged: {answered:,} of {total:,} screens answered, "
        f"{missing}; {counted(done.spent.requests, 'request')}, {done.spent.tokens:,} "
        f"tokens{cost}; saved: {done.saved:,} screens that read the same as another"
        + (f" ({done.saved_cost:,.4f})" if done.saved_cost else "")
        + "."
    )
    if known := [f"{n:,} {_WORDS.get(s, s)}" for s, n in sorted(done.known.items()) if n]:
        print(f"Of these, an earlier run had {listed(known)}.")
    if done.repaired:
        print(f"{counted(done.repaired, 'answer')} counted at the second try.")
    if done.stopped:
        print(f"Stopped: {done.stopped}. Raise it in judges.yaml, and run the same command.")
    for (who, reason), count in done.reasons.most_common(_MOST_REASONS):
        print(f"  {who} failed, {count:,} ×: {reason}")
    if done.reasons:
        print("  The same command tries them again.")
    raters = [rater.name for rater in plan.raters]
    rows = ledger.frame([plan.study.hash])
    _show_missing(with_conditions(plan.study, rows.filter(rows["rater"].is_in(raters))))
    for judge in plan.judges.judges:
        identity = plan.models[judge.name].identity
        prints = ledger.fingerprints(identity, plan.study.hash, plan.occasion)
        if len(prints) > 1:
            print(
                f"! What runs behind {judge.name} changed while it judged: fingerprints "
                f"{', '.join(prints)}."
            )
    if plan.occasion != FIRST_OCCASION:
        show_drift(plan, ledger)
    print(f"{shown(ledger.path)} holds everything. Next: dialens study analyze {study}")
    if done.states[FAILED]:
        raise typer.Exit(1)


def _show_missing(frame: "pl.DataFrame") -> None:
    """Missing answers by condition: a judge that refuses in one of them alone is a finding."""
    import polars as pl

    missing = frame.filter(pl.col("state") != "answered")
    if missing.is_empty():
        return
    keys = ["judge", "condition"]
    counts = frame.group_by(keys, maintain_order=True).agg(
        pl.len().alias("screens"),
        *(
            (pl.col("state") == state).sum().alias(state)
            for state in missing["state"].unique(maintain_order=True)
        ),
    )
    heads = counts.columns[2:]
    names = (Column(key, overflow="fold") for key in keys)  # cut short, conditions read the same
    table = plain_table(*names, numbers=[head.replace("_", " ") for head in heads])
    for row in counts.head(_MOST_ROWS).iter_rows():
        table.add_row(row[0], row[1], *(f"{number:,}" for number in row[2:]))
    plain_console().print(table)
    if counts.height > _MOST_ROWS:
        print(f"… and {counts.height - _MOST_ROWS} more.")
