"""The gate: rules as they are written, decided on intervals that others compute too."""

from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

from dialens.analysis.gating import Outcome, gate, parse_rule, read_rules
from dialens.analysis.gating._few_differ import sparse_interval
from dialens.base import DialensError
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import Scores, metric, score, turn_mean


@metric("number", meaning="The number said", family="test")
def number(resources):
    return turn_mean(
        "number", lambda batch: batch.turns["text"].cast(float, strict=False).to_numpy()
    )


def run(answers: dict[str, list[float]] | list[float], *, shared: bool = True) -> Scores:
    agents = answers if isinstance(answers, dict) else {"bot": answers}
    talks = [
        Dialogue(
            "s",
            agent,
            f"{agent}{i}",
            [Turn("U", "partner", str(i) if shared else "0"), Turn("B", "agent", str(value))],
        )
        for agent, values in agents.items()
        for i, value in enumerate(values)
    ]
    return score(Corpus.of(talks), metrics=[number])


SPREAD = np.array([-3.0, -2, -1, 0, 1, 2, 3])
BASE = (10 + 2 * SPREAD).tolist()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("engagement drop > 0.02", ("engagement", None, "drop", 0.02, False)),
        ("  length   rise>3 ", ("length", None, "rise", 3.0, False)),
        ("length change > 20%", ("length", None, "change", 0.2, True)),
        ("question < 30 %", ("question", None, "below", 0.3, False)),
        ("toxicity > 1e-2", ("toxicity", None, "above", 0.01, False)),
        ("length[v 2] < -1", ("length", "v 2", "below", -1.0, False)),
        ('length["a]b"] > .5', ("length", "a]b", "above", 0.5, False)),
    ],
)
def test_rules_that_can_be_read(text: str, wanted: tuple[object, ...]) -> None:
    rule = parse_rule(text)
    assert (rule.metric, rule.agent, rule.kind, rule.limit, rule.relative) == wanted


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        ("", 1, "expected the name of a metric"),
        ("length", 7, "expected drop, rise, change, < or >"),
        ("length dorp > 2", 7, "Did you mean drop?"),
        ("length drop < 2", 12, "expected >"),
        ("length drop >= 2", 12, "expected >"),
        ("length drop > much", 14, "expected a number"),
        ("length drop > -1", 14, "counted from 0 upwards"),
        ("length[] > 1", 6, "name an agent"),
        ("length > 1, question > 2", 10, "one rule at a time"),
        ("> 3", 0, "expected the name of a metric"),
    ],
)
def test_an_error_points_at_the_word(text: str, at: int, why: str) -> None:
    with pytest.raises(DialensError) as caught:
        parse_rule(text)
    _, shown, pointer = str(caught.value).splitlines()[:3]
    assert shown == f"  {text}"
    assert pointer.index("^") - 2 == at
    assert why in pointer


def test_rules_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_text('decide = "excluded"\nrules = [\n  "length drop > 2",\n  "length < 3",\n]\n')
    rules, decide = read_rules(path)
    assert ([rule.text for rule in rules], decide) == (
        ["length drop > 2", "length < 3"],
        "excluded",
    )
    for text, why in (
        ('rules = ["length dorp > 1"]', r"gate.toml, line 1: The rule"),
        ("rules = 3", "needs a list"),
        ('rule = ["length < 3"]', "Did you mean rules"),
        ("rules = [", "is no TOML"),
    ):
        path.write_text(text)
        with pytest.raises(DialensError, match=why):
            read_rules(path)
    with pytest.raises(DialensError, match="cannot be read"):
        read_rules(tmp_path / "nowhere.toml")


def test_a_change_has_the_interval_of_the_paired_t_test() -> None:
    after = (np.array(BASE) - 2 + 0.5 * SPREAD[::-1]).tolist()
    (check,) = gate(run(after), baseline=run(BASE), rules=["number drop > 1"]).checks
    drops = np.subtract(BASE, after)
    wanted = stats.ttest_1samp(drops, 0).confidence_interval()
    assert (check.low, check.high) == pytest.approx(tuple(wanted))
    assert check.effect == pytest.approx(2)
    assert check.n_shared == 7


def test_without_shared_prompts_it_is_welchs() -> None:
    after = [9.0, 8, 7, 6, 5, 4, 3]
    new, old = run({"other": after}, shared=False), run(BASE, shared=False)
    (check,) = gate(new, baseline=old, rules=["number rise > 1"]).checks
    wanted = stats.ttest_ind(after, BASE, equal_var=False).confidence_interval()
    assert (check.low, check.high) == pytest.approx(tuple(wanted))
    assert check.n_shared == 0


def test_a_limit_in_percent_is_judged_by_fieller() -> None:
    """The roots of (x − c y)² = t² var(x − c y) / n, solved by another program."""
    y = np.array(BASE)
    x = 7 + 1.5 * SPREAD + np.array([0.2, -0.1, -0.3, 0, 0.3, 0.1, -0.2])
    (check,) = gate(run(x.tolist()), baseline=run(y.tolist()), rules=["number drop > 10%"]).checks
    t = stats.t.ppf(0.975, len(x) - 1)

    def beyond(c: float) -> float:
        return abs((x - c * y).mean()) - t * stats.sem(x - c * y)

    ratio = x.mean() / y.mean()
    low = optimize.brentq(beyond, 0, ratio)
    high = optimize.brentq(beyond, ratio, 2)
    assert (check.low, check.high) == pytest.approx((1 - high, 1 - low), abs=2e-3)
    assert check.effect == pytest.approx(1 - ratio)
    assert check.outcome is Outcome.FAILED


def test_a_percentage_of_nothing_is_not_judged() -> None:
    around = SPREAD.tolist()
    result = gate(run(BASE), baseline=run(around), rules=["number rise > 5%"])
    assert result.checks[0].outcome is Outcome.NOT_JUDGED
    assert "not far enough from 0" in str(result)
    assert not result.passed


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        # BASE has mean 10; its interval is 10 ± 2.447 · 4.3205 / √7 = 6.004 to 13.996.
        ("number > 14", "passed"),
        ("number > 13.9", "undecided"),
        ("number > 6", "failed"),
        ("number < 6", "passed"),
        ("number < 6.1", "undecided"),
        ("number < 14", "failed"),
    ],
)
def test_values_against_limits(rule: str, outcome: str) -> None:
    half = stats.t.ppf(0.975, 6) * stats.sem(BASE)
    assert (10 - half, 10 + half) == pytest.approx((6.004, 13.996), abs=1e-3)
    for decide in ("shown", "excluded"):
        result = gate(run(BASE), rules=[rule], decide=decide)
        assert result.checks[0].outcome == outcome
        stops = outcome == "failed" or (outcome == "undecided" and decide == "excluded")
        assert result.passed is not stops
        assert result.status == int(stops)


def test_a_change_may_go_either_way() -> None:
    for shift in (-5.0, 5.0):
        after = (np.array(BASE) + shift + 0.1 * SPREAD[::-1]).tolist()
        result = gate(run(after), baseline=run(BASE), rules=["number change > 2"])
        assert result.checks[0].outcome is Outcome.FAILED
    near = (np.array(BASE) + 0.1 * SPREAD[::-1]).tolist()
    assert gate(run(near), baseline=run(BASE), rules=["number change > 2"]).checks[0].outcome == (
        "passed"
    )


def test_several_rules_share_the_error_only_where_one_is_enough_to_fail() -> None:
    rules = ["number > 100", "number < 1", "number drop > 5", "number rise > 5", "number > 90"]
    new, old = run(BASE), run(BASE)
    shown = gate(new, baseline=old, rules=rules, decide="shown")
    assert shown.confidence == pytest.approx(0.99)
    excluded = gate(new, baseline=old, rules=rules, decide="excluded")
    assert excluded.confidence == pytest.approx(0.95)
    half = stats.t.ppf(0.995, 6) * stats.sem(BASE)
    assert gate(new, baseline=old, rules=rules).checks[0].high == pytest.approx(10 + half)


def test_the_same_replies_pass_and_few_others_are_judged_with_care() -> None:
    same = gate(run(BASE), baseline=run(BASE), rules=["number drop > 0"], decide="excluded")
    assert same.passed
    assert "the same value for every shared prompt" in str(same)
    before = [*BASE, 11.0, 12.0, 13.0, 14.0, 15.0]
    after = [*before[:9], *(value - 4 for value in before[9:])]
    (check,) = gate(run(after), baseline=run(before), rules=["number drop > 3"]).checks
    exact = stats.binomtest(3, 12).proportion_ci(0.95, method="exact")
    assert check.high == pytest.approx(4 * exact.high, abs=1e-3)
    assert check.outcome is Outcome.PASSED
    assert np.isnan(sparse_interval(np.zeros(9), 0.95)).all()


def test_too_few_dialogues_are_not_passed_over() -> None:
    result = gate(run(BASE[:5]), baseline=run(BASE[:5]), rules=["number drop > 9", "number < 1"])
    assert [check.outcome for check in result.checks] == ["not judged"] * 2
    assert result.status == 1
    assert "fewer than 6" in str(result)


def test_a_metric_without_values_is_not_passed_over() -> None:
    nothing = run(["x"] * 7)  # type: ignore[list-item]
    result = gate(nothing, baseline=run(BASE), rules=["number drop > 9", "number < 1"])
    assert [check.outcome for check in result.checks] == ["not judged"] * 2
    assert "the run has no value" in result.checks[0].sentence


def test_every_agent_is_checked_and_none_may_disappear() -> None:
    before = run({"warm": BASE, "cold": BASE})
    worse = [value - 5 for value in BASE[:6]] + [BASE[6] - 6]
    result = gate(run({"warm": worse, "new": BASE}), baseline=before, rules=["number drop > 1"])
    outcomes = {check.agent: check.outcome for check in result.checks}
    assert outcomes == {"warm": "failed", "new": "not judged", "cold": "not judged"}
    assert "this run has no agent of that name" in str(result)
    one = gate(run({"warm": worse, "new": BASE}), baseline=before, rules=["number[warm] drop > 1"])
    assert [check.agent for check in one.checks] == ["warm"]
    with pytest.raises(DialensError, match="Did you mean warm"):
        gate(before, rules=["number[worm] > 1"])


def test_one_agent_of_another_name_is_the_next_version() -> None:
    result = gate(run({"gpt-5": BASE}), baseline=run({"gpt-4": BASE}), rules=["number drop > 1"])
    assert result.passed


def test_misuse() -> None:
    with pytest.raises(DialensError, match="name a baseline"):
        gate(run(BASE), rules=["number drop > 1"])
    with pytest.raises(DialensError, match="needs a rule"):
        gate(run(BASE), rules=[])
    with pytest.raises(DialensError, match="`shown` or `excluded`"):
        gate(run(BASE), rules=["number > 1"], decide="maybe")
    with pytest.raises(DialensError, match=r"\^\^\^\^ is a family of metrics; name one of number"):
        gate(run(BASE), rules=["test > 1"])
    with pytest.raises(DialensError, match=r"numbr > 1\n  \^\^\^\^\^ is no metric.*number"):
        gate(run(BASE), rules=["numbr > 1"])


def test_how_many_dialogues_would_decide() -> None:
    """Half the interval is 3.996 wide and 3 lie between value and limit: 7 · (3.996/3)² = 12.4."""
    (check,) = gate(run(BASE), rules=["number > 13"]).checks
    assert check.outcome is Outcome.UNDECIDED
    assert check.dialogues_needed == pytest.approx(12.4, abs=2)
