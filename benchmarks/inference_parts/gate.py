"""`dialens gate`: how often it stops a run in which nothing changed, and one that got worse.

Dialogues are drawn as in `compare`; prompts are shared, and what a prompt is like is half of the
variance, so that pairing has something to remove. The margin of a rule is a fifth of the standard
deviation of dialogues. `p<.05` is the share of gates that fail.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dialens.analysis.gating import DECISIONS, gate_runs, parse_rule
from dialens.metrics import Scores
from dialens.statistics import Floats
from inference_parts.compare import mean, scores_of
from inference_parts.lines import Line

DIALOGS = (10, 30, 100)
MARGIN = 0.2
DROPS = (0.0, 0.2, 0.5, 1.0)
"""True drops, in standard deviations of dialogues; the second is the margin itself."""
Draw = Callable[[np.random.Generator, int, int, float], tuple[Floats, Floats]]
"""Values of the run and of the baseline, simulations × dialogues, with a true drop."""


@dataclass(frozen=True)
class Design:
    """What dialogues are like, the standard deviation of one, and the drops that there can be."""

    name: str
    draw: Draw
    deviation: float
    drops: tuple[float, ...] = DROPS


def normal(rng: np.random.Generator, runs: int, dialogs: int, drop: float) -> tuple[Floats, Floats]:
    prompt = rng.normal(0, np.sqrt(0.5), (runs, dialogs))
    run, baseline = (prompt + rng.normal(3, np.sqrt(0.5), (runs, dialogs)) for _ in range(2))
    return run - drop, baseline


def skewed(rng: np.random.Generator, runs: int, dialogs: int, drop: float) -> tuple[Floats, Floats]:
    """Log-normal, and lower by a factor."""
    spread = 0.7
    centre = np.exp(spread**2 / 2)
    prompt = rng.normal(0, spread * np.sqrt(0.5), (runs, dialogs))
    run, baseline = (
        np.exp(prompt + rng.normal(0, spread * np.sqrt(0.5), (runs, dialogs))) for _ in range(2)
    )
    return run * (1 - drop / centre), baseline


def rare(rng: np.random.Generator, runs: int, dialogs: int, drop: float) -> tuple[Floats, Floats]:
    """1 in a fifth of the dialogues of the baseline, 0 in the others; rarer by as much as said."""
    chance = rng.beta(1, 4, (runs, dialogs))
    baseline = rng.random((runs, dialogs)) < chance
    run = rng.random((runs, dialogs)) < chance * max(1 - drop / 0.2, 0.0)
    return run.astype(np.float64), baseline.astype(np.float64)


def few_replies(
    rng: np.random.Generator, runs: int, dialogs: int, drop: float
) -> tuple[Floats, Floats]:
    """The same reply to nine prompts of ten; the tenth has another, lower by ten times the drop."""
    baseline = rng.normal(3, 1, (runs, dialogs))
    other = rng.random((runs, dialogs)) < 0.1
    apart = rng.normal(-10 * drop, 1, (runs, dialogs))
    return baseline + other * apart, baseline


_SKEWED = float(np.sqrt((np.exp(0.49) - 1) * np.exp(0.49)))
DESIGNS = (
    Design("normal", normal, 1.0),
    Design("log-normal", skewed, _SKEWED),
    Design("0 in 80 %", rare, 0.4, DROPS[:3]),
    Design("nine replies of ten the same", few_replies, 1.0),
)


def _plain(values: Floats) -> Floats:
    return np.stack([values, np.ones_like(values)], axis=-1)


def sides(
    design: Design, runs: int, dialogs: int, drop: float, *, paired: bool, seed: int
) -> dict[str, Scores]:
    """Scores of the run and of its baseline, a metric a simulation."""
    rng = np.random.default_rng([seed, dialogs, round(100 * drop)])
    run, baseline = design.draw(rng, runs, dialogs, drop * design.deviation)
    if not paired:
        baseline = design.draw(rng, runs, dialogs, 0.0)[1]
    return {
        "run": scores_of({"a": _plain(run)}, mean, contexts=paired),
        "baseline": scores_of({"a": _plain(baseline)}, mean, contexts=paired),
    }


def gated(
    design: Design,
    runs: int,
    dialogs: int,
    drop: float,
    *,
    paired: bool,
    rules: int,
    seed: int,
) -> Iterator[Line]:
    """Two lines: the share of gates that fail, by what they are decided on."""
    margin = MARGIN * design.deviation
    every = sides(design, runs * rules, dialogs, drop, paired=paired, seed=seed)
    for decide in DECISIONS:
        texts = [f"m{number} drop > {margin:.6g}" for number in range(runs * rules)]
        known = [parse_rule(text) for text in texts]
        # All gates in one call; each check gets the share of the error that its gate has for it.
        share = 0.05 if decide == "excluded" else 0.05 * runs
        result = gate_runs(every, known, decide=decide, confidence=1 - share, seed=seed)
        stops = np.array([result.stops(check) for check in result.checks])
        failing = float(stops.reshape(runs, rules).any(axis=1).mean())
        kind = "paired" if paired else "unpaired"
        what = "no drop" if drop == 0 else f"drop {drop:g} SD"
        several = f", {rules} rules" if rules > 1 else ""
        yield Line(
            f"gate, {decide}, {kind}",
            f"{design.name}, {what}{several}",
            f"{dialogs}",
            runs,
            failing,
            None,
            0.0,
            null=drop == 0,
        )


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Every design without a drop, with one at the margin, and with two beyond it."""
    for design in DESIGNS:
        for dialogs in DIALOGS:
            for drop in design.drops:
                yield from gated(design, runs, dialogs, drop, paired=True, rules=1, seed=seed)
    for dialogs in DIALOGS:
        for drop in DROPS:
            yield from gated(DESIGNS[0], runs, dialogs, drop, paired=False, rules=1, seed=seed)
            yield from gated(DESIGNS[0], runs, dialogs, drop, paired=True, rules=5, seed=seed)
