"""`dialens study judge --again`: the same screens on a further occasion, and what moved."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dialens.base import DialensError, counted, listed

if TYPE_CHECKING:
    import polars as pl

    from dialens.studies.judges import JudgePlan, Ledger

_MOST_NAMES = 4


def asked_again(plan: "JudgePlan", ledger: "Ledger | None") -> tuple["JudgePlan", list[str]]:
    """The plan of a further occasion, and what has to be told before anything is asked.

    An occasion that lacks answers, after an interruption say, is gone on with, unless the model or
    the prompt is another by now. Raters that have not taken the study yet, of a new judge or of a
    new setting, have nothing to be held against, and are not asked.

    Args:
        plan: Of the first occasion.
        ledger: What was asked before.
    """
    from dialens.studies.judges import ANSWERED, FIRST_OCCASION, render_hash

    there = [] if ledger is None else ledger.occasions(plan.study.hash)
    if ledger is None or FIRST_OCCASION not in there:
        raise DialensError(
            "No judge has taken this study as it stands, so there is nothing to ask again. Ask "
            "first, without --again."
        )
    before = ledger.frame([plan.study.hash])
    first = before.filter(occasion=FIRST_OCCASION, state=ANSWERED)
    again = replace(plan, only=frozenset(first.select("rater", "cell", "seed").iter_rows()))
    asked = again.raters
    kept = [judge for judge in plan.judges.judges if judge.name in {one.judge for one in asked}]
    new = [rater.name for rater in plan.raters if rater not in asked]
    if not kept:
        raise DialensError(
            f"None of these raters has a first occasion: {_some(new)}. Answers of it are of "
            f"{_some(sorted(set(first['rater']))) or 'nobody'}. Another judge or setting makes "
            "another rater: ask it first, without --again."
        )
    told = []
    if new:
        told.append(
            f"Not asked again, since {counted(len(new), 'rater has', 'raters have')} no first "
            f"occasion (another judge or setting makes another rater): {_some(new)}. The same "
            "command without --again asks first."
        )
    again = replace(again, judges=plan.judges.model_copy(update={"judges": kept}))
    last = replace(again, occasion=there[-1])
    unfinished = there[-1] != FIRST_OCCASION and _lacks_answers(last, before)
    chosen = last if unfinished else replace(again, occasion=there[-1] + 1)
    for judge in kept:
        was = before.filter(judge=judge.name)["identity"].drop_nulls().unique().to_list()
        now = plan.models[judge.name].identity
        if was and now not in was:
            told.append(
                f"{judge.name} is another model than before, or set otherwise: it was "
                f"{listed(was)}, it is {now}."
            )
    read = dict(
        before.sort("occasion", descending=True).select("prompt", "prompt_hash").iter_rows()
    )
    for name, text in plan.judges.prompts.items():
        if read.get(name) and read[name] != render_hash(text):
            told.append(
                f"The prompt {name} reads otherwise than on the first occasion: what moves may be "
                "its doing."
            )
    return chosen, [f"! {line}" for line in told]


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return listed([*names[:_MOST_NAMES], *([f"{more:,} more"] if more > 0 else [])])


def _lacks_answers(plan: "JudgePlan", before: "pl.DataFrame") -> bool:
    """Whether the plan's occasion was begun with these models and prompts, and is not complete."""
    from dialens.studies.judges import ANSWERED, MALFORMED, REFUSED, UNREADABLE, render_hash

    rows = before.filter(occasion=plan.occasion)
    for judge in plan.judges.judges:
        mine = rows.filter(judge=judge.name)
        prompts = {render_hash(text) for text in plan.judges.prompts.values()}
        same = set(mine["identity"].drop_nulls()) <= {plan.models[judge.name].identity}
        if not same or not set(mine["prompt_hash"]) <= prompts:
            return False
    over = rows.filter(rows["state"].is_in([ANSWERED, REFUSED, MALFORMED, UNREADABLE]))
    done = set(over.select("rater", "cell", "seed", "screen", "field").iter_rows())
    return any(
        (place.rater, place.cell, place.seed, place.screen, place.field) not in done
        for sitting in plan.all_sittings()
        for place in (plan.place(sitting, question) for question in plan.questions(sitting))
    )


def show_drift(plan: "JudgePlan", ledger: "Ledger") -> None:
    """Say what changed behind each judge, and how far it moved."""
    from dialens.analysis.judges import judge_drift
    from dialens.report.bias import drift_sentences
    from dialens.studies.judges import judge_ratings

    ratings = judge_ratings(plan.study, ledger)
    drift = judge_drift(ratings).filter(occasion=plan.occasion)
    print(*drift_sentences(drift), sep="\n")
