"""`dialens study judge --again`: the same screens on a further occasion, and what moved."""

from dataclasses import replace
from typing import TYPE_CHECKING

from dialens.base import DialensError, listed

if TYPE_CHECKING:
    from dialens.studies.judges import JudgePlan, Ledger


def asked_again(plan: "JudgePlan", ledger: "Ledger | None") -> tuple["JudgePlan", list[str]]:
    """The plan of a further occasion, and what has to be told before anything is asked.

    An occasion that lacks answers, after an interruption say, is gone on with. Judges that have
    not taken the study yet have nothing to be held against, and are not asked.

    Args:
        plan: Of the first occasion.
        ledger: What was asked before.
    """
    from dialens.studies.judges import FIRST_OCCASION, planned_costs, render_hash

    there = [] if ledger is None else ledger.occasions(plan.study.hash)
    if ledger is None or FIRST_OCCASION not in there:
        raise DialensError(
            "No judge has taken this study as it stands, so there is nothing to ask again. Ask "
            "first, without --again."
        )
    before = ledger.frame([plan.study.hash])
    known = set(before["judge"])
    kept = [judge for judge in plan.judges.judges if judge.name in known]
    if not kept:
        raise DialensError(
            f"None of the judges in judges.yaml has taken this study; {listed(sorted(known))} did. "
            "Ask first, without --again."
        )
    told = [
        f"{judge.name} has not judged before and is not asked again."
        for judge in plan.judges.judges
        if judge.name not in known
    ]
    again = replace(plan, judges=plan.judges.model_copy(update={"judges": kept}))
    last = replace(again, occasion=there[-1])
    unfinished = there[-1] != FIRST_OCCASION and any(
        cost.requests for cost in planned_costs(last, ledger)
    )
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


def show_drift(plan: "JudgePlan", ledger: "Ledger") -> None:
    """Say what changed behind each judge, and how far it moved."""
    from dialens.analysis.judges import judge_drift
    from dialens.report.bias import drift_sentences
    from dialens.studies.judges import judge_ratings

    ratings = judge_ratings(plan.study, ledger)
    drift = judge_drift(ratings).filter(occasion=plan.occasion)
    print(*drift_sentences(drift), sep="\n")
