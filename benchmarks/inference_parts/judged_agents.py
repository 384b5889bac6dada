"""Agents compared by people on a part and judges everywhere, and by the same people alone."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.analysis.judges import judged_agents
from inference_parts.lines import Line, Tally

RATED = (8, 12, 20, 40)


@dataclass(frozen=True)
class Made:
    """How a study is drawn.

    Attributes:
        rated: Contexts that people rate, of `contexts`.
        r: Of each judge with what people think of a reply.
        bias: What judges give the first agent too much.
        raters: Who rate; they differ in level (.5) and in whom they prefer (.2).
        each: Ratings of a reply, by raters drawn from all; all of them if None.
        paired: Whether both agents answer the same contexts.
        turns: Replies of an agent in a context, which go together.
        answers: `points`, `yes` (half of the answers) or `skewed`.
    """

    rated: int
    r: tuple[float, ...]
    bias: float = 0.0
    raters: int = 5
    each: int | None = None
    contexts: int = 160
    paired: bool = True
    turns: int = 1
    answers: str = "points"

    @property
    def mean(self) -> float:
        """What people would give an agent on average."""
        variance = 0.49 + 1.25 + 0.25 + 0.04 + 0.64
        return {"points": 0.0, "yes": 0.5, "skewed": float(np.exp(variance / 8))}[self.answers]

    def draw(self, rng: np.random.Generator) -> pl.DataFrame:
        """One study without a difference between two agents."""
        n = self.contexts
        level = 0.5 * rng.normal(size=self.raters)
        rows: list[tuple[object, ...]] = []
        shared = rng.normal(size=n)
        for at, agent in enumerate("xy"):
            shared = shared if self.paired or at == 0 else rng.normal(size=n)
            taste = 0.2 * rng.normal(size=self.raters)
            own = rng.normal(size=(n, 1)) + (0.5 * rng.normal(size=(n, self.turns)))
            truth = 0.7 * shared[:, None] + own
            spread = np.sqrt(0.49 + 1.25)
            part = rng.permutation(n)[: self.rated] if not self.paired else np.arange(self.rated)
            for judge, r in enumerate(self.r):
                noise = np.sqrt(1 - r * r) * rng.normal(size=truth.shape)
                said = r * truth / spread + noise + self.bias * (at == 0)
                rows += [
                    (self._context(c, agent), agent, t, f"m{judge}", "llm", float(said[c, t]))
                    for c, t in np.ndindex(truth.shape)
                ]
            for c in part:
                who = np.arange(self.raters)
                if self.each is not None:
                    who = rng.choice(self.raters, self.each, replace=False)
                for t in range(self.turns):
                    felt = truth[c, t] + level[who] + taste[who] + 0.8 * rng.normal(size=len(who))
                    rows += [
                        (self._context(c, agent), agent, t, f"p{k}", "human", self._answer(value))
                        for k, value in zip(who, felt, strict=True)
                    ]
        names = ["dialog", "agent", "turn", "rater", "rater_kind", "value"]
        return pl.DataFrame(rows, names, orient="row").with_columns(
            quality=pl.lit("good"), level=pl.lit("turn")
        )

    def _context(self, number: int, agent: str) -> str:
        return f"c{number}" if self.paired else f"{agent}{number}"

    def _answer(self, felt: float) -> float:
        if self.answers == "yes":
            return float(felt > 0)
        return float(np.exp(felt / 2)) if self.answers == "skewed" else float(felt)


def lines(runs: int, seed: int) -> Iterator[Line]:
    """A difference that is not there, the same by people alone, and an agent's mean."""
    best = (0.9, 0.5, 0.5, 0.2, 0.0)
    for rated in RATED:
        units = f"{rated} of 160"
        for r in (0.0, 0.5, 0.9):
            yield from _line(Made(rated, (r,)), f"a judge of r = {r:g}", units, runs, seed)
        yield from _line(Made(rated, best), "one of five judges, cross-fitted", units, runs, seed)
        none = Made(rated, (0.0,) * 5)
        yield from _line(none, "one of five that know nothing", units, runs, seed)
        biased = Made(rated, (0.5,), bias=1.0)
        yield from _line(biased, "a judge that favours one agent", units, runs, seed)
        few = Made(rated, (0.5,), raters=20, each=2)
        yield from _line(few, "two of 20 raters a reply", units, runs, seed)
        own = Made(rated, (0.5,), paired=False)
        yield from _line(own, "dialogues of each agent's own", units, runs, seed)
        turns = Made(rated, (0.5,), turns=4)
        yield from _line(turns, "four replies a dialogue", units, runs, seed)
        yes = Made(rated, (0.5,), answers="yes")
        yield from _line(yes, "yes and no", units, runs, seed)
        skewed = Made(rated, (0.5,), answers="skewed")
        yield from _line(skewed, "very skewed", units, runs, seed)


def _line(made: Made, design: str, units: str, runs: int, seed: int) -> Iterator[Line]:
    rng = np.random.default_rng(seed)
    pair, own, mean = Tally(), Tally(), Tally()
    narrower = []
    for _ in range(runs):
        table = judged_agents(made.draw(rng))
        row, first = table.row(-1, named=True), table.row(0, named=True)
        pair.add(row["p"], row["low"], row["high"])
        own.add(None, row["people_low"], row["people_high"])
        mean.add(None, first["low"], first["high"], made.mean)
        if row["low"] is not None:
            narrower.append((row["high"] - row["low"]) / (row["people_high"] - row["people_low"]))
    share = f"; width × {np.mean(narrower):.2f}" if narrower else ""
    yield pair.line("judged_agents", design + share, units)
    yield own.line("judged_agents, people alone", design, units)
    yield mean.line("judged_agents, an agent's mean", design, units, null=False)
