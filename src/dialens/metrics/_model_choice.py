"""Which models a run uses: their size, and those of the user's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dialens.base import DialensError, did_you_mean
from dialens.models import GET_LARGER, has_larger_models

TEXT_TASKS = ("emotion", "toxicity", "empathy")
PAIR_TASKS = ("engagement", "relevance")
TRAITS = (
    "agreeableness",
    "openness",
    "conscientiousness",
    "extraversion",
    "neuroticism",
    "empathic_concern",
    "state_empathy",
)
TASKS = (*TEXT_TASKS, *PAIR_TASKS, *TRAITS)
"""What a model can be asked for: of a text, of a reply after its context, of an agent's words."""

SIZES = ("default", "small", "base", "none")
"""Which size of each model a run takes; `default` is the one that did better, `none` none."""


@dataclass(frozen=True, eq=False)
class ModelChoice:
    """The models that a run may use.

    Attributes:
        size: One of `SIZES`; a task that has no model of that size takes its default.
        own: Models of the user's own by task: a folder, or a name of `dialens.models.list_models`.
        folder: Where models are found by name; those that ship if not given.
        cache_size: How many inputs' outputs an encoder keeps in memory, for texts that come again.

    Raises:
        DialensError: There is no such size or task.

    Examples:
        >>> ModelChoice("none").size
        'none'
        >>> ModelChoice(own={"beauty": "x"})
        Traceback (most recent call last):
        dialens.DialensError: There is no task 'beauty' ...
    """

    size: str = "default"
    own: Mapping[str, str | Path] = field(default_factory=dict)
    folder: Path | None = None
    cache_size: int = 65_536

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise DialensError(f"Models are {', '.join(SIZES)}; seen: {self.size!r}.")
        if self.size == "base" and self.folder is None and not has_larger_models():
            raise DialensError(f"The base models are not installed ({GET_LARGER}).")
        for task in self.own:
            if task not in TASKS:
                raise DialensError(
                    f"There is no task {task!r} that a model of yours could do. "
                    f"{did_you_mean(task, TASKS)}Tasks: {', '.join(TASKS)}."
                )
