"""`dialens power` with a judge: the cheapest mix of people and a language model for an effect."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import atanh, sqrt, tanh

import polars as pl

from dialens.analysis.judges import MODELS, TOGETHER, judged_agents
from dialens.base import DialensError, counted, listed
from dialens.cli._power_question import Question
from dialens.statistics.power import FittedParts, JudgeMix, VarianceParts, judge_mix

_FEWEST = 4


@dataclass(frozen=True)
class JudgeAsked:
    """What is known of the judge.

    Attributes:
        r: Its correlation with people, if it was stated.
        price: Of one rating by the judge, if it was stated.
        name: Which judge of the earlier study's.
    """

    r: float | None
    price: float | None
    name: str | None

    @property
    def is_asked(self) -> bool:
        """Whether a judge is to be planned with."""
        return self.r is not None or self.price is not None or self.name is not None


def refuse_judge(asked: JudgeAsked, question: Question, *, of_study: bool) -> None:
    """Refuse a judge where it has no place, before anything is computed."""
    if not asked.is_asked:
        return
    for given, option in (
        (question.outcome != "mean", f"--outcome {question.outcome}"),
        (question.design.between, "--design between"),
        (question.margin is not None, "--equivalence"),
        (question.design.scale is not None, "--scale"),
        (of_study, "--study"),
    ):
        if given:
            raise DialensError(
                f"A judge (--judge-r, --judge-price) has no place beside {option}: the mix is "
                "planned for a difference between the mean ratings of two agents."
            )


def mixes_with_judge(
    asked: JudgeAsked,
    question: Question,
    effects: Sequence[float],
    *,
    pilot: pl.DataFrame | None,
    fitted: FittedParts | None,
    raters: Sequence[int],
    dialogs: Sequence[int],
    price: float | None,
    wanted: float,
) -> dict[float, JudgeMix]:
    """The cheapest mix for each effect; nothing if no judge was asked for."""
    if not asked.is_asked:
        return {}
    if price is None or asked.price is None:
        raise DialensError(
            "The cheapest mix needs both prices: --price of one rating by a person, --judge-price "
            "of one by the judge."
        )
    if len(raters) > 1 or len(dialogs) > 1:
        raise DialensError(
            "--judge-r holds for means of one number of raters: give one number for --raters "
            "(and --dialogs), the one that r was measured with; seen: "
            f"{listed([str(one) for one in (*raters, *dialogs)])}."
        )
    assert isinstance(question.parts, VarianceParts)
    design = replace(question.design, dialogs=dialogs[0] if dialogs else 1)
    name = chosen = None
    if asked.r is not None:
        r, count = asked.r, raters[0] if raters else 1
    else:
        found = r_of_pilot(asked, pilot, fitted, paired=design.paired)
        count = raters[0] if raters else found.raters
        r = _with_raters(
            found.r, found.raters, count, question.parts, question.design.shared_raters
        )
        name, chosen = found.judge, found.chosen
    mixes = {
        effect: judge_mix(
            question.parts,
            effect,
            replace(design, raters=count),
            r,
            price=price,
            judge_price=asked.price,
            power=wanted,
            alpha=question.alpha,
        )
        for effect in effects
    }
    return {effect: replace(mix, judge=name, chosen=chosen) for effect, mix in mixes.items()}


@dataclass(frozen=True)
class MeasuredJudge:
    """How far the judge of an earlier study goes with people.

    Attributes:
        r: Its correlation with their mean.
        raters: With the mean of how many.
        judge: Its name.
        chosen: How it was chosen, where there were several and none was asked for.
    """

    r: float
    raters: int
    judge: str
    chosen: str | None = None


def r_of_pilot(
    asked: JudgeAsked, pilot: pl.DataFrame | None, fitted: FittedParts | None, *, paired: bool
) -> MeasuredJudge:
    """How far the judge of an earlier study goes with people."""
    if pilot is None or fitted is None:
        raise DialensError(
            "How far does the judge go with people? State --judge-r, or give ratings of an earlier "
            "study that people and the judge took."
        )
    machine = pl.col("rater_kind").is_in(MODELS).fill_null(value=False)
    named = pl.col("judge") if "judge" in pilot.columns else pl.col("rater")
    names = pilot.filter(machine).select(named)[:, 0].drop_nulls().unique().sort().to_list()
    if asked.name is not None:
        if asked.name not in names:
            raise DialensError(
                f"There is no judge {asked.name!r} in these ratings. Judges: "
                f"{', '.join(map(str, names)) or 'none'}."
            )
        pilot = pilot.filter(~machine | (named == asked.name))
    if not names:
        raise DialensError(
            "No language model rated in the earlier study (rater_kind `llm`). State --judge-r."
        )
    table = judged_agents(pilot.filter(pl.col("quality") == fitted.quality))
    rows = table.filter(pl.col("other").is_not_null() == paired)
    rows = (rows if rows.height else table).drop_nulls("r").filter(pl.col("n_dialogs") >= _FEWEST)
    if not rows.height:
        raise DialensError(
            f"People and judge share too few dialogues on {fitted.quality} for a correlation. "
            "State --judge-r."
        )
    # Fisher's mean of the correlations of all pairs of agents, by what each rests on.
    weights = [n - 3 for n in rows["n_dialogs"]]
    angles = [atanh(max(min(r, 0.999), -0.999)) for r in rows["r"]]
    mean = sum(w * a for w, a in zip(weights, angles, strict=True)) / sum(weights)
    people = pilot.filter(~machine, pl.col("quality") == fitted.quality)
    replies = [name for name in ("dialog", "system", "agent", "turn") if name in people.columns]
    each = people.group_by(replies).len()["len"].median()
    assert isinstance(each, int | float)
    judge, chosen = str(rows["judge"][0]), None
    if asked.name is None and len(names) > 1:
        chosen = (
            f"of {counted(len(names), 'judge')} what goes best with people in these very ratings, "
            "chosen on other dialogues than those that r is of; elsewhere it may go less far "
            "(--judge names one)"
        )
        if TOGETHER in judge:
            chosen += "; --judge-price is that of all of them"
    return MeasuredJudge(tanh(mean), max(round(each), 1), judge, chosen)


def _with_raters(
    r: float,
    measured: int,
    wanted: int,
    parts: VarianceParts,
    shared_raters: bool,
) -> float:
    """The correlation with the mean of another number of raters, whose errors weigh otherwise."""
    noise = parts.residual**2 + (0.0 if shared_raters else parts.rater**2 + parts.rater_agent**2)
    true = parts.dialog**2
    if measured == wanted or true == 0:
        return r
    before, after = (true / (true + noise / count) for count in (measured, wanted))
    return max(min(r * sqrt(after / before), 1.0), -1.0)
