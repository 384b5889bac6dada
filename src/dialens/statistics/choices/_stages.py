"""From choices to stages: which alternatives a person chose among, step by step.

Choices come as a long table, one row a candidate that was shown: `choice`, `candidate`, `rank`
(1 is the best, equal ranks are ties, null is below all that have a rank), perhaps `shown_first`.

A ranking is a sequence of choices: the best of all, the best of the rest, and so on (Plackett
1975). Candidates that tie are chosen as a set, whose worth is the geometric mean of theirs times a
parameter for ties of that size (Turner, van Etten, Firth & Kosmidis 2020); for pairs that is
Davidson (1970). A best–worst answer is the choice of the best, then of the worst of the rest, whose
log worth counts negatively (sequential best–worst; Lancsar, Louviere, Donaldson, Currie & Burgess
2013).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from scipy import sparse
from scipy.sparse import csgraph

from dialens.base import DialensError, listed
from dialens.statistics._bootstrap import Floats, Ints
from dialens.statistics.choices._likelihood import Stages

_MOST_ALTERNATIVES = 2_000


@dataclass(frozen=True)
class Layout:
    """Which parameter is which.

    Attributes:
        candidates: Their names in order; the first has no parameter of its own.
        tie_sizes: Sizes of ties that occur.
        position: Whether there is a parameter for being shown first.
    """

    candidates: tuple[str, ...]
    tie_sizes: tuple[int, ...]
    position: bool

    @property
    def parameters(self) -> int:
        """How many there are."""
        return len(self.candidates) - 1 + len(self.tie_sizes) + self.position

    def ability(self, candidate: int) -> Floats:
        """Weights that make an ability, relative to the mean of all, from the parameters."""
        weights = np.zeros(self.parameters)
        k = len(self.candidates)
        weights[: k - 1] = -1 / k
        if candidate:
            weights[candidate - 1] += 1
        return weights

    def tie(self, size: int) -> Floats:
        """Weights that pick the parameter of ties of a size."""
        return self._only(len(self.candidates) - 1 + self.tie_sizes.index(size))

    def shown_first(self) -> Floats:
        """Weights that pick the parameter for being shown first."""
        return self._only(self.parameters - 1)

    def _only(self, place: int) -> Floats:
        weights = np.zeros(self.parameters)
        weights[place] = 1
        return weights


def stages_of(shown: pl.DataFrame, *, best_worst: bool, position: bool) -> tuple[Stages, Layout]:
    """The stages of choices.

    Args:
        shown: Columns `choice` (0, 1, 2, …), `candidate`, `rank`, and `shown_first` if `position`.
        best_worst: Whether rank 1 is the best, the largest rank the worst, the rest between.
        position: Whether to add a parameter for the candidate that was shown first.

    Examples:
        >>> shown = pl.DataFrame(
        ...     {"choice": [0, 0, 0], "candidate": ["a", "b", "c"], "rank": [2, 1, 3]}
        ... )
        >>> stages, layout = stages_of(shown, best_worst=False, position=False)
        >>> np.diff(np.append(stages.start, 5)).tolist(), layout.candidates
        ([2, 3], ('a', 'b', 'c'))
    """
    candidates = tuple(sorted(shown["candidate"].unique().to_list()))
    codes = pl.DataFrame({"candidate": candidates, "code": range(len(candidates))})
    first = pl.col("shown_first").cast(pl.Float64).fill_null(0.5) if position else pl.lit(0.0)
    rows = shown.join(codes, on="candidate").select(
        "choice", "code", pl.col("rank").cast(pl.Float64), first.alias("first")
    )
    asked = _best_worst_rows(rows) if best_worst else _ranking_rows(rows)
    sizes = asked.group_by("choice", "stage").agg(
        pl.len().alias("n"), pl.col("picked").sum().cast(pl.Int64).alias("size")
    )
    asked = asked.join(sizes.filter(pl.col("n") > 1), on=["choice", "stage"]).sort(
        "n", "choice", "stage", pl.col("picked").not_(), "code"
    )
    ties = sorted(set(asked["size"].unique().to_list()) - {1})
    layout = Layout(candidates, tuple(ties), position)
    return _assembled(_alike(asked), layout), layout


def _alike(asked: pl.DataFrame) -> pl.DataFrame:
    """One row a stage, its alternatives as lists, with the number of those that are alike."""
    stages = asked.group_by("choice", "stage", maintain_order=True).agg(
        pl.first("n", "size", "sign"), "code", "first"
    )
    words = [pl.col(name).cast(pl.List(pl.String)).list.join(",") for name in ("code", "first")]
    pattern = pl.concat_str("n", "size", "sign", *words, separator=";")
    return stages.with_columns(kind=pattern.rank("dense")).sort("n", "kind")


def _ranking_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Every stage of every ranking with its alternatives: those of this rank or a lower one."""
    steps = rows.filter(pl.col("rank").is_not_null()).select("choice", stage="rank").unique()
    alternatives = steps.join(rows, on="choice").filter(
        pl.col("rank").is_null() | (pl.col("rank") >= pl.col("stage"))
    )
    picked = (pl.col("rank") == pl.col("stage")).fill_null(value=False)
    return alternatives.with_columns(picked=picked, sign=pl.lit(1.0))


def _best_worst_rows(rows: pl.DataFrame) -> pl.DataFrame:
    best = rows.with_columns(stage=pl.lit(1.0), picked=pl.col("rank") == 1, sign=pl.lit(1.0))
    worst = rows.filter(pl.col("rank") != 1).with_columns(
        stage=pl.lit(2.0),
        picked=pl.col("rank") == pl.col("rank").max().over("choice"),
        sign=pl.lit(-1.0),
    )
    return pl.concat([best, worst], how="diagonal")


def _assembled(stages: pl.DataFrame, layout: Layout) -> Stages:
    """Features of all alternatives, stages of equally many alternatives at a time."""
    features: list[Floats] = []
    start: list[Ints] = []
    chosen: list[Ints] = []
    offset = 0
    distinct = stages.unique("kind", maintain_order=True)
    for (n,), part in distinct.group_by("n", maintain_order=True):
        template = _Template.of(int(str(n)), layout.tie_sizes)
        code, first = (np.array(part[name].to_list()) for name in ("code", "first"))
        features.append(template.features(code, first, part["sign"].to_numpy(), layout))
        start.append(offset + np.arange(part.height) * template.sets)
        chosen.append(start[-1] + np.array([template.first_of[size] for size in part["size"]]))
        offset += part.height * template.sets
    numbered = distinct.select("kind").with_row_index("place")
    occurred = stages.select("kind").join(numbered, on="kind", maintain_order="left")["place"]
    return Stages(
        np.concatenate(features),
        np.concatenate(start),
        np.concatenate(chosen),
        stages["choice"].to_numpy().astype(np.int64),
        occurred.to_numpy().astype(np.int64),
    )


@dataclass(frozen=True)
class _Template:
    """The sets that can be chosen from n alternatives.

    Attributes:
        set_of: For each member of each set, the set.
        place: Which alternative it is.
        share: One by the size of the set.
        tie: The size of each set.
        first_of: For each size, the set of the first so many alternatives.
    """

    set_of: Ints
    place: Ints
    share: Floats
    tie: Ints
    first_of: dict[int, int]

    @property
    def sets(self) -> int:
        return len(self.tie)

    @classmethod
    def of(cls, n: int, tie_sizes: tuple[int, ...]) -> "_Template":
        sizes = [1, *(size for size in tie_sizes if size <= n)]
        sets = [chosen for size in sizes for chosen in combinations(range(n), size)]
        if len(sets) > _MOST_ALTERNATIVES:
            raise DialensError(
                f"Ties of {listed([str(size) for size in sizes[1:]])} among {n} candidates make "
                f"{len(sets):,} outcomes a choice, too many to fit. Rank fewer at a time, or break "
                "the largest ties."
            )
        tie = np.array([len(chosen) for chosen in sets])
        return cls(
            np.repeat(np.arange(len(sets)), tie),
            np.array([place for chosen in sets for place in chosen]),
            np.repeat(1 / tie, tie),
            tie,
            {size: int(np.argmax(tie == size)) for size in sizes},
        )

    def features(self, code: Ints, first: Floats, sign: Floats, layout: Layout) -> Floats:
        """Rows of the sets of each stage; the worth of a set is the mean of its members'."""
        m, k = len(code), len(layout.candidates)
        found = np.zeros((m, self.sets, layout.parameters + 1))
        stage = np.arange(m)[:, None]
        members = (stage, self.set_of[None, :], code[:, self.place])
        found[members] = sign[:, None] * self.share
        for number, size in enumerate(layout.tie_sizes):
            found[:, self.tie == size, k + number] = 1
        if layout.position:
            shown = sign[:, None] * self.share * first[:, self.place]
            starts = np.flatnonzero(np.diff(self.set_of, prepend=-1))
            found[:, :, -1] = np.add.reduceat(shown, starts, axis=1)
        return found.reshape(m * self.sets, -1)[:, 1:]


def groups_of(shown: pl.DataFrame) -> list[list[str]]:
    """Groups of candidates that were never shown together with one of another group.

    Examples:
        >>> shown = pl.DataFrame(
        ...     {"choice": [0, 0, 1, 1], "candidate": ["a", "b", "c", "d"], "rank": [1, 2, 1, 2]}
        ... )
        >>> groups_of(shown)
        [['a', 'b'], ['c', 'd']]
    """
    names, code = np.unique(shown["candidate"].to_numpy().astype(str), return_inverse=True)
    choice = np.unique(shown["choice"].to_numpy(), return_inverse=True)[1]
    shape = (len(names) + int(choice.max()) + 1,) * 2
    edges = sparse.coo_array((np.ones(len(code)), (code, len(names) + choice)), shape=shape)
    label = csgraph.connected_components(edges, directed=False)[1][: len(names)]
    return [names[label == group].tolist() for group in dict.fromkeys(label.tolist())]


def one_sided(shown: pl.DataFrame) -> list[str]:
    """Candidates of the smallest group that always won or always lost against the others.

    Maximum likelihood has no finite estimate for them. Empty if there are none.

    Examples:
        >>> shown = pl.DataFrame(
        ...     {"choice": [0, 0, 1, 1], "candidate": ["a", "b", "a", "b"], "rank": [1, 2, 1, 2]}
        ... )
        >>> one_sided(shown)
        ['a']
    """
    names = sorted(shown["candidate"].unique().to_list())
    codes = pl.DataFrame({"candidate": names, "code": range(len(names))})
    low = pl.col("rank").fill_null(pl.col("rank").max() + 1)
    rows = shown.join(codes, on="candidate").select("choice", "code", rank=low)
    pairs = rows.join(rows, on="choice").filter(pl.col("rank") <= pl.col("rank_right"))
    edges = pairs.select("code", "code_right").unique().to_numpy()
    graph = sparse.coo_array((np.ones(len(edges)), edges.T), shape=(len(names),) * 2)
    label = csgraph.connected_components(graph, directed=True, connection="strong")[1]
    sizes = np.bincount(label)
    if len(sizes) == 1:
        return []
    smallest = int(np.argmin(sizes[label]))
    return [name for name, group in zip(names, label, strict=True) if group == label[smallest]]
