"""`validate`: metrics against ratings, pooled and within agents, with no effect and a known one."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from dialens.statistics import ClusterDraws, Floats, Ints
from dialens.statistics.correlation import correlate, correlation_difference
from inference_parts.lines import Line, Tally

RESAMPLES = 300
PERMUTATIONS = 999
KINDS = ("normal", "log-normal", "rare events", "near the ceiling")
_TRUTH = 400_000


@dataclass(frozen=True)
class Design:
    """So many clusters of so many units, each unit of a cluster by another agent.

    Attributes:
        clusters: Contexts or dialogues.
        size: Units of each.
        alike: Share of the variance of both variables that a cluster has in common.
        agents: Share that an agent has in common, where units come from several.
        rho: Correlation of the two variables within agents.
    """

    clusters: int
    size: int
    alike: float = 0.0
    agents: float = 0.0
    rho: float = 0.0

    @property
    def units(self) -> str:
        return f"{self.clusters} × {self.size}" if self.size > 1 else f"{self.clusters}"

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Ints, Ints]:
        """Two variables, the clusters and the agents."""
        clusters = np.repeat(np.arange(self.clusters), self.size)
        agents = np.tile(np.arange(self.size), self.clusters)
        shared = np.linalg.cholesky([[1, self.rho], [self.rho, 1]])
        parts = (
            (self.alike, clusters, shared),
            (self.agents, agents, np.eye(2)),
            (1 - self.alike - self.agents, np.arange(len(clusters)), shared),
        )
        both = np.zeros((len(clusters), 2))
        for share, group, mix in parts:
            both += np.sqrt(share) * (rng.normal(size=(group.max() + 1, 2)) @ mix.T)[group]
        return both, clusters, agents


def shaped(latent: Floats, kind: str) -> Floats:
    """Normal variables as lengths, rare events, or ratings of which nine in ten are the highest."""
    if kind == "log-normal":
        return np.exp(latent)
    if kind == "rare events":
        return (latent > special.ndtri([0.90, 0.95])).astype(np.float64)
    if kind == "near the ceiling":
        asked = (latent[:, 0] > special.ndtri(0.77)).astype(np.float64)
        return np.column_stack([asked, np.minimum(latent[:, 1], special.ndtri(0.08)).round(1)])
    return latent


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Every design for every kind of data."""
    alone = [Design(n, 1) for n in (5, 10, 20, 60, 300)]
    clustered = [Design(10, 5, 0.5), Design(20, 5, 0.5), Design(60, 5), Design(60, 5, 0.5)]
    for kind in KINDS:
        for design in alone + clustered:
            if design.clusters * design.size >= 60 or kind in KINDS[:2]:
                yield from simulated(kind, design, runs, seed, within=False)
        for design in (Design(20, 4, 0.3, 0.3), Design(60, 4, 0.3, 0.3)):
            yield from simulated(kind, design, runs, seed, within=True)
            yield from simulated(kind, design, runs, seed, within=False)
        for design in (Design(20, 1, rho=0.4), Design(60, 1, rho=0.4), Design(60, 5, 0.3, rho=0.4)):
            if design.clusters * design.size >= 60 or kind in KINDS[:2]:
                yield from simulated(kind, design, runs, seed, within=False)
        yield from simulated(kind, Design(60, 4, 0.3, 0.3, 0.4), runs, seed, within=True)
        for clusters, size in ((20, 1), (60, 1), (300, 1), (60, 5)):
            yield difference(kind, clusters, size, runs, seed)


def difference(kind: str, clusters: int, size: int, runs: int, seed: int) -> Line:
    """Two metrics that are equally good, r = .4 with the ratings and .5 with each other."""
    rng = np.random.default_rng([seed, clusters, size])
    mix = np.linalg.cholesky([[1, 0.5, 0.4], [0.5, 1, 0.4], [0.4, 0.4, 1]])
    which = np.repeat(np.arange(clusters), size)
    tally = Tally()
    for _ in range(runs):
        latent = rng.normal(size=(len(which), 3)) @ mix.T
        if size > 1:
            latent = (latent + (rng.normal(size=(clusters, 3)) @ mix.T)[which]) / np.sqrt(2)
        # both metrics take the shape of the first variable, the ratings that of the second
        first, rated = shaped(latent[:, [0, 2]], kind).T
        second = shaped(latent[:, [1, 2]], kind)[:, 0]
        draws = ClusterDraws.of(which, RESAMPLES, rng)
        one = correlation_difference(first, second, rated, draws)
        tally.add(one.p, one.low, one.high)
    units = f"{clusters} × {size}" if size > 1 else f"{clusters}"
    return tally.line("difference of two correlations", f"{kind}, both .4", units)


def simulated(kind: str, design: Design, runs: int, seed: int, *, within: bool) -> Iterator[Line]:
    """One design, for all three coefficients."""
    rng = np.random.default_rng([seed, design.clusters, design.size, within])
    truth = _truth(kind, design, within=within)
    tallies = {name: Tally() for name in truth}
    for run in range(runs):
        latent, clusters, agents = design.draw(rng)
        data = shaped(latent, kind)
        draws = ClusterDraws.of(clusters, RESAMPLES, rng)
        several = agents if design.agents else None
        made = correlate(
            data[:, :1],
            data[:, 1:],
            draws,
            agents=several,
            within=within,
            seed=run,
            permutations=PERMUTATIONS,
        )
        for name, tally in tallies.items():
            one = made.estimates[name][0][0]
            tally.add(one.p, one.low, one.high, truth[name])
    where = "within agents" if within else "pooled over agents" if design.agents else "plain"
    what = f"r = {design.rho:g}" if design.rho else "no correlation"
    alike = f", {design.alike:.0%} shared" if design.alike else ""
    for name, tally in tallies.items():
        described = f"{kind}, {what}{alike}"
        yield tally.line(f"{name}, {where}", described, design.units, null=not design.rho)


def _truth(kind: str, design: Design, *, within: bool) -> dict[str, float]:
    """The coefficients of a population; those of an agent where agents' means do not count."""
    if not design.rho:
        return dict.fromkeys(("pearson", "spearman", "kendall"), 0.0)
    if within and kind != "normal":  # what an agent's mean does to a curve has no closed form
        many = [_coefficients(kind, design, seed) for seed in range(20)]
        return {name: float(np.mean([one[name] for one in many])) for name in many[0]}
    return _coefficients(kind, Design(_TRUTH, 1, rho=design.rho), 0)


def _coefficients(kind: str, design: Design, seed: int) -> dict[str, float]:
    large = Design(
        _TRUTH // 20 // design.size, design.size, design.alike, design.agents, design.rho
    )
    latent, clusters, agents = large.draw(np.random.default_rng([seed, 99]))
    data = shaped(latent, kind)
    draws = ClusterDraws.of(clusters, 2, np.random.default_rng(0))
    several = bool(design.agents)
    made = correlate(
        data[:, :1],
        data[:, 1:],
        draws,
        agents=agents if several else None,
        within=several,
        permutations=1,
    )
    return {name: float(made.estimates[name][0][0].value or 0.0) for name in made.estimates}
