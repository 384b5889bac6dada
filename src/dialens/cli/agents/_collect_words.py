"""What a collection would take, and what it took, in words."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rich.table import Table

from dialens.agents import KINDS
from dialens.agents.talks import (
    FAILURES,
    Collected,
    CollectionPlan,
    OpenPlan,
    PlannedUse,
    open_plan,
    planned_use,
    refuse_unpriced,
    so_far,
)
from dialens.base import Budget, Spent, counted, duration, exceeded
from dialens.cli._keys import say_keys
from dialens.cli._options import shown
from dialens.cli._terminal import plain_console, plain_table
from dialens.cli.agents._pilot import show_planned


def show_plan(plan: CollectionPlan, target: Path | None, pilot: Path | None) -> None:
    """List the dialogues of a plan, what they would take, and what they could show.

    Args:
        plan: Who talks with whom.
        target: Where they would be kept; what is there already needs no asking.
        pilot: Earlier scores or conversations, to tell how many are needed.
    """
    opened = open_plan(plan)
    try:
        tries, collected = ([], None) if target is None else so_far(opened, target)
        uses, spent = planned_use(plan, opened, tries)
        _show_dialogues(plan, opened)
        if collected is not None:
            there = collected.turns.select(pl.col("dialog").n_unique()).collect().item()
            left = len(opened.conversations) - there
            print(f"{counted(there, 'dialogue is', 'dialogues are')} there already, {left:,} left.")
        if uses:
            _show_uses(uses)
        say_keys(one.agent for one in opened.models)
        _show_budget(plan.budget, uses, spent)
        show_planned(plan, opened, pilot or collected)
        print("Nobody was asked.")
        refuse_unpriced(plan, opened)
    finally:
        opened.close()


def _show_dialogues(plan: CollectionPlan, opened: OpenPlan) -> None:
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


def _show_uses(uses: Sequence[PlannedUse]) -> None:
    """Requests, tokens, price and time, agent by agent, and what that assumes."""
    table = plain_table("who", numbers=("requests", "tokens read", "tokens written", "cost"))
    for use in uses:
        numbers = (use.requests, use.tokens_in, use.tokens_out)
        cost = "not known" if use.cost is None else f"{use.cost:,.4f}" if use.cost else "–"
        table.add_row(use.label, *(f"{number:,}" for number in numbers), cost)
    plain_console().print(table)
    known = sum(use.cost or 0.0 for use in uses)
    unknown = [use.label for use in uses if use.cost is None]
    if unknown:
        least = f"at least {known:,.4f}; " if known else ""
        print(
            f"Cost: {least}the prices of {', '.join(unknown)} are not known (price_in, price_out)."
        )
    elif known:
        print(f"Cost: about {known:,.4f}.")
    minutes = max((use.minutes for use in uses), default=0.0)
    if minutes:
        print(f"Time: at least {duration(60 * minutes)}, by the limits a minute.")
    guessed = [use.label for use in uses if not use.measured and use.cost != 0]
    if guessed:
        print(
            f"That takes replies of {', '.join(guessed)} to have 100 tokens, or max_tokens where "
            "that is less; each request reads the conversation so far again."
        )


def _show_budget(most: Budget, uses: Sequence[PlannedUse], spent: Spent) -> None:
    sought = Spent(spent.requests, spent.tokens, spent.cost)
    for use in uses:
        sought.add(Spent(use.requests, use.tokens_in + use.tokens_out, use.cost or 0.0))
    for name, allowed in exceeded(most, sought):
        print(f"! That is more than the budget of {name} ({allowed:g}) allows: asking stops there.")


def show_done(done: Collected) -> None:
    """What is in the corpus now, and what it took."""
    before = f" ({done.before:,} were there already)" if done.before else ""
    dialogues, turns = counted(done.dialogues, "dialogue"), counted(done.turns, "turn")
    print(f"{shown(done.folder)} holds {dialogues} with {turns}{before}.")
    if done.partial:
        are = "is" if done.partial == 1 else "are"
        print(f"{done.partial:,} of them {are} not whole and marked (`partial`, with the reason).")
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
        if usage.beyond:
            print(
                f"! {label} wrote more tokens than its max_tokens allows in {usage.beyond:,} of "
                f"{counted(usage.replies, 'reply', 'replies')}, up to {usage.longest:,}: its "
                "endpoint does not keep to it, so that a reply can cost more than was set aside "
                "for it, and a budget can be passed by the replies that were under way."
            )
        if usage.notes:
            most = max(usage.notes, key=lambda note: usage.notes[note])
            print(
                f"{sum(usage.notes.values()):,} of {counted(usage.replies, 'reply', 'replies')} of "
                f"{label} have a `note`, most often: {most}."
            )
        if len(usage.models) > 1:
            print(f"{label} was not one model: {', '.join(usage.models)} answered.")
    for label, endings in done.ended.items():
        reasons = ", ".join(f"{ending} {count:,}" for ending, count in endings.items())
        print(f"Dialogues with {label} ended: {reasons}.")


def show_failures(done: Collected) -> None:
    """What failed or is left, and how to go on."""
    if done.stopped:
        spent = _spent(done)
        print(
            f"Stopped: the budget ({done.stopped}) is used up: {spent}. "
            f"{counted(done.left, 'dialogue is', 'dialogues are')} left. The same command with a "
            "larger budget goes on from there."
        )
    if not done.failures:
        return
    kinds = Counter((failure.who, failure.kind) for failure in done.failures.values())
    one = len(done.failures) == 1
    where = "" if done.partial else f" and {'is' if one else 'are'} not in the corpus"
    print(
        f"{counted(len(done.failures), 'dialogue')} failed{where}; see "
        f"{shown(done.folder / FAILURES)}. The same command tries {'it' if one else 'them'} again."
    )
    for (who, kind), count in kinds.items():
        reason = next(
            failure.reason
            for failure in done.failures.values()
            if (failure.who, failure.kind) == (who, kind)
        )
        print(f"  {who} {KINDS.get(kind, kind)}, {count:,} ×: {reason}")


def _spent(done: Collected) -> str:
    """What all runs took, in words."""
    usage = done.usage.values()
    requests = counted(sum(one.attempts for one in usage), "request")
    tokens = sum(one.tokens_in + one.tokens_out for one in usage)
    cost = sum(one.cost or 0.0 for one in usage)
    least = "at least " if any(one.unpriced for one in usage) else ""
    return f"{requests}, {tokens:,} tokens, cost {least}{cost:,.4f}"
