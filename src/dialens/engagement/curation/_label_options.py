"""What can be chosen when labelling, checked once, and how it is read from a command line."""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from dialens.base import DialensError

Alpha = Literal["data", "paper"]
EngineName = Literal["duckdb", "spark"]

DIMENSIONS: Final = ("re", "ae", "ee", "be")
WEIGHTS: Final = {"re": 3.0, "ae": 3.0, "ee": 2.0, "be": 1.0}
"""Of the EnDex score (section 2.4)."""
PAPER_ALPHAS: Final = {"re": 1.0, "be": 2.0, "ae": 18.0}
"""Medians that the paper reports for its own data."""

_SUBREDDIT: Final = re.compile(r"[a-z0-9_+.:-]+")
_LEAST_MEMORY: Final = 256 * 2**20


@dataclass(frozen=True)
class LabelOptions:
    """Everything that the labels depend on besides the data and the two models.

    Attributes:
        alpha: Normalise by medians of the `data`, or by those the `paper` reports.
        weights: Of re, ae, ee and be in the score.
        kappa: A post is engaging above this many standard deviations, not engaging below minus it.
        min_replies: Replies that a post must have.
        subreddits: Only these, in lower case; all if empty.
        english: Leave out what is not English.
        toxic_above: Leave out posts whose toxicity is higher, from 0 to 1.
        validation_share: Share of threads that go to validation.
        seed: Of balancing and of the split.

    Examples:
        >>> LabelOptions(kappa=-1)
        Traceback (most recent call last):
        dialens.DialensError: --kappa must be a number from 0; seen: -1.
    """

    alpha: Alpha = "data"
    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    kappa: float = 1.0
    min_replies: int = 1
    subreddits: tuple[str, ...] = ()
    english: bool = False
    toxic_above: float = 0.5
    validation_share: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.alpha not in ("data", "paper"):
            raise DialensError(f"--alpha is data or paper; seen: {self.alpha!r}.")
        if not (math.isfinite(self.kappa) and self.kappa >= 0):
            raise DialensError(f"--kappa must be a number from 0; seen: {self.kappa:g}.")
        if self.min_replies < 1:
            raise DialensError(
                f"--min-replies must be 1 or more, a post is known by its replies; "
                f"seen: {self.min_replies}."
            )
        if not 0 <= self.toxic_above <= 1:
            raise DialensError(f"--toxic-above is from 0 to 1; seen: {self.toxic_above:g}.")
        if not 0 <= self.validation_share < 1:
            raise DialensError(
                "--validation-share is at least 0 and less than 1; "
                f"seen: {self.validation_share:g}."
            )
        check_weights(self.weights)

    def with_threshold(self, toxic_above: float) -> "LabelOptions":
        """The same with another threshold of toxicity."""
        return replace(self, toxic_above=toxic_above)

    @property
    def validation_below(self) -> str:
        """Threads whose draw, in hex, is less than this go to validation."""
        return f"{math.ceil(self.validation_share * 2**32):08x}"


@dataclass(frozen=True)
class EngineOptions:
    """How the work is done; none of it changes a result.

    Attributes:
        engine: `duckdb` on this machine, or `spark`.
        memory: Bytes: for all but the models, or for Spark's driver and for each executor.
        threads: Of DuckDB, processes for the models, or cores of a local Spark.
        master: Of Spark; `local[threads]` if not given.
    """

    engine: EngineName = "duckdb"
    memory: int = 4 * 10**9
    threads: int = 1
    master: str | None = None

    def __post_init__(self) -> None:
        if self.engine not in ("duckdb", "spark"):
            raise DialensError(f"--engine is duckdb or spark; seen: {self.engine!r}.")
        if self.master is not None and self.engine != "spark":
            raise DialensError(f"--master {self.master} goes with --engine spark.")
        if self.threads < 1:
            raise DialensError(f"--threads must be 1 or more; seen: {self.threads}.")
        if self.memory < _LEAST_MEMORY:
            raise DialensError(
                f"--memory of {self.memory / 2**20:.0f} MiB is too little; give 256MB or more."
            )


def available_threads() -> int:
    """Processors that this process may use.

    Examples:
        >>> available_threads() >= 1
        True
    """
    return len(os.sched_getaffinity(0))


def read_weights(text: str) -> dict[str, float]:
    """Weights from `re=3,ae=3,ee=2,be=1`; what is not named keeps its default.

    Examples:
        >>> read_weights("re=1, be=0")
        {'re': 1.0, 'ae': 3.0, 'ee': 2.0, 'be': 0.0}
    """
    weights = dict(WEIGHTS)
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not equals or name not in DIMENSIONS:
            raise DialensError(
                f"--weights takes NAME=NUMBER with NAME {', '.join(DIMENSIONS)}; seen: {entry!r}."
            )
        try:
            weights[name] = float(value)
        except ValueError as error:
            raise DialensError(f"--weights: {value!r} of {name} is no number.") from error
    check_weights(weights)
    return weights


def check_weights(weights: Mapping[str, float]) -> None:
    """Refuse weights that make no mean.

    Raises:
        DialensError: One is missing, negative or not finite, or those that every post has are 0.

    Examples:
        >>> check_weights({"re": 1, "ae": 1, "ee": 0, "be": 0})
    """
    if set(weights) != set(DIMENSIONS):
        raise DialensError(
            f"Weights are needed for {', '.join(DIMENSIONS)}; seen: {', '.join(weights) or 'none'}."
        )
    for name, value in weights.items():
        if not (math.isfinite(value) and value >= 0):
            raise DialensError(f"--weights: {name} must be a number from 0; seen: {value:g}.")
    if weights["re"] + weights["ae"] <= 0:
        raise DialensError(
            "--weights: re and ae are both 0, and every post has only these for certain (votes or "
            "emotion may be unknown). Give one of them a weight."
        )


def read_subreddits(path: Path) -> tuple[str, ...]:
    """Names from a file, one a line; `#` begins a remark, `r/` and case do not matter.

    Raises:
        DialensError: The file cannot be read, has no name, or a line is no name.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DialensError(f"--subreddits: {path} cannot be read: {error}.") from error
    names = set()
    for number, line in enumerate(lines, start=1):
        name = line.partition("#")[0].strip().lower().removeprefix("/").removeprefix("r/")
        if not name:
            continue
        if not _SUBREDDIT.fullmatch(name):
            raise DialensError(
                f"{path}:{number}: {name!r} is no name of a subreddit (letters, digits, _). "
                "Write one name a line."
            )
        names.add(name)
    if not names:
        raise DialensError(f"{path} names no subreddit. Write one a line, or leave the option out.")
    return tuple(sorted(names))
