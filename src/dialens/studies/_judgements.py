"""From answers to rows: ratings with everything that was on the screen, and checks passed."""

import json
from collections.abc import Mapping

import polars as pl

from dialens.studies._types import JSON, LOWER, Answer, Field, Screen
from dialens.studies.design import PER_RESPONSE
from dialens.studies.instruments import Rows, instrument
from dialens.studies.plan import understood

PASSED, FAILED = "passed", "failed"
COMPREHENSION = "check_comprehension"
SWAPPED: dict[str, pl.DataType | type[pl.DataType]] = {
    "pair": pl.String,
    "order_shown": pl.Int64,
    "place": pl.Int64,
}
"""Further columns of ratings where items came in both orders."""

_FACTOR = "factor."
_TARGET = ("level", "system", "agent", "dialog", "turn", "position", "length")


def rating_rows(screen: Screen, field: Field, value: JSON) -> list[dict[str, JSON]]:
    """The ratings that an answer stands for, in the columns of `dialens.corpus.RATINGS`.

    Study, rater and times are the store's to add. An answer about several candidates gives a row
    for each; a missing answer, free text and what is no rating (practice, checks) give none.

    Args:
        screen: What was shown.
        field: What was asked.
        value: The answer in its stored form.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies.plan import plan
        >>> from dialens.studies._study import study_of
        >>> screen = plan(study_of(TEA), "anchor=both,layout=separate", seed=1)[2]
        >>> row = rating_rows(screen, screen.fields[0], 80.0)[0]
        >>> row["quality"], row["value"], row["anchor"], row["position"], row["order"]
        ('readability', 80.0, '100', 0, 0)
    """
    if screen.kind != "rating" or field.quality is None or value is None:
        return []
    used = instrument(field.instrument)
    number = field.options.get("anchor_value")
    lower = any(target.get(LOWER) for target in field.targets.values())
    rows = used.rows(field, value)
    shared = {
        "quality": field.quality,
        "scale": _json({**used.scale(field), LOWER: True} if lower else used.scale(field)),
        "condition": screen.state.get("condition"),
        "order": screen.state.get("order"),
        "anchor": f"{number:g}" if number is not None else screen.state.get("anchor"),
    }
    levels, both = factor_levels(screen), _both_orders(screen, field, rows)
    return [
        {name: field.targets[slot].get(name) for name in _TARGET}
        | shared
        | both
        | {"value": rating, "factors": _json(levels | _own_levels(field.targets[slot]))}
        for slot, rating in rows
    ]


def _own_levels(target: Mapping[str, JSON]) -> dict[str, JSON]:
    """The levels of factors that differ between the responses of a screen."""
    return {name: target[name] for name in PER_RESPONSE if name in target}


def _both_orders(screen: Screen, field: Field, rows: Rows) -> dict[str, JSON]:
    """Of an item that comes in both orders: which it is, in which order, and which place won."""
    if "pair" not in screen.state:
        return {}
    shown = {name: screen.state[name] for name in ("pair", "order_shown")}
    if len(rows) < 2:
        return shown
    small = instrument(field.instrument).scale(field).get("reversed")
    best = (min if small else max)(rating for _, rating in rows)
    won = [int(field.targets[slot]["position"]) + 1 for slot, rating in rows if rating == best]
    return {**shown, "place": won[0] if len(won) == 1 else 0}


def factor_levels(screen: Screen) -> dict[str, JSON]:
    """The level of every factor on a screen.

    Examples:
        >>> factor_levels(Screen("s", "rating", "", state={"factor.anchor": "none", "order": 3}))
        {'anchor': 'none'}
    """
    return {
        name.removeprefix(_FACTOR): level
        for name, level in screen.state.items()
        if name.startswith(_FACTOR)
    }


def check_outcomes(screen: Screen, answers: Answer) -> dict[str, str]:
    """Which checks on a screen were passed; the keys are questions for the questionnaires table.

    Args:
        screen: What was shown.
        answers: By field, in their stored form.

    Examples:
        >>> asked = Field("sum", "number", expected={"check": "check_sum_1", "correct": [4]})
        >>> check_outcomes(Screen("c", "check", "", fields=(asked,)), {"sum": 5})
        {'check_sum_1': 'failed'}
    """
    if screen.kind == "comprehension":
        return _comprehension(screen, answers)
    outcomes: dict[str, bool] = {}
    for field in screen.fields:
        if field.expected is None:
            continue
        name = str(field.expected["check"])
        if "correct" in field.expected:
            passed = answers.get(field.name) in field.expected["correct"]
        else:
            numbers = _numbers(screen, str(field.quality), answers)
            small = bool(instrument(field.instrument).scale(field).get("reversed"))
            passed = all(
                _holds(rule, numbers, small_is_better=small) for rule in field.expected["rules"]
            )
        outcomes[name] = outcomes.get(name, True) and passed
    return {name: PASSED if passed else FAILED for name, passed in outcomes.items()}


def _comprehension(screen: Screen, answers: Answer) -> dict[str, str]:
    """Comprehension counts once: when it was passed, or at the last try."""
    if understood(screen, answers):
        return {COMPREHENSION: PASSED}
    last = screen.state.get("try") == screen.state.get("tries")
    return {COMPREHENSION: FAILED} if last else {}


def _numbers(screen: Screen, quality: str, answers: Answer) -> dict[str, float]:
    """The number each response got."""
    found: dict[str, float] = {}
    for field in screen.fields:
        value = answers.get(field.name)
        if field.quality != quality or value is None:
            continue
        for slot, number in instrument(field.instrument).rows(field, value):
            found[str(field.targets[slot]["response"])] = number
    return found


def _holds(
    rule: Mapping[str, JSON], numbers: Mapping[str, float], *, small_is_better: bool
) -> bool:
    given = numbers.get(rule["response"])
    if given is None:
        return False
    if "above" in rule:
        other = numbers.get(rule["above"])
        if other is None or not (given < other if small_is_better else given > other):
            return False
    if "at_least" in rule and given < rule["at_least"]:
        return False
    return not ("at_most" in rule and given > rule["at_most"])


def _json(value: Mapping[str, JSON]) -> str:
    return json.dumps(value, ensure_ascii=False)
