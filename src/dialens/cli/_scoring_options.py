"""The options of commands that score conversations, declared once: what is read, what scores it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from dialens.base import rare_collections
from dialens.cli._options import (
    AgentName,
    AllowPickle,
    Cache,
    ColumnNames,
    Device,
    Format,
    Lexicons,
    Memory,
    MetricOptions,
    Models,
    NoCache,
    OnErrorOption,
    OwnModels,
    PrecisionName,
    Prompt,
    RoleNames,
    Seed,
    SystemName,
    Threads,
    Weights,
    WholeTurns,
    memory_bytes,
    read_options,
)
from dialens.corpus import OnError, ReadOptions

if TYPE_CHECKING:
    from dialens.metrics import Resources

_PARAMETER = "scoring"


@dataclass(frozen=True)
class ScoringOptions:
    """How conversations are read and scored; each field is an option of the command line."""

    lexicon: Lexicons = None
    models: Models = "default"
    model: OwnModels = None
    weights: Weights = None
    metric_option: MetricOptions = None
    device: Device = "auto"
    precision: PrecisionName = "int8"
    allow_pickle: AllowPickle = False
    cache: Cache = None
    no_cache: NoCache = False
    prompt: Prompt = "context"
    seed: Seed = 0
    threads: Threads = None
    memory: Memory = "4GB"
    format: Format = None
    agent: AgentName = None
    system: SystemName = None
    column: ColumnNames = None
    role: RoleNames = None
    whole_turns: WholeTurns = False
    on_error: OnErrorOption = OnError.STOP

    @property
    def reading(self) -> ReadOptions:
        """What they say of the input."""
        return read_options(self.agent, self.system, self.column, self.role)

    @property
    def memory_bytes(self) -> int:
        """How much memory they allow."""
        return memory_bytes(self.memory)

    def resources(self, *, master: str | None = None) -> "Resources":
        """What they say of lexicons, models and caches.

        Args:
            master: Of the Spark cluster that runs the models, if one does.
        """
        from dialens.cli._scorers import make_resources, make_scorers

        scorers = make_scorers(
            models=self.models,
            own_models=self.model,
            weights=self.weights,
            options=self.metric_option,
            device=self.device,
            precision=self.precision,
            allow_pickle=self.allow_pickle,
            cache=self.cache,
            no_cache=self.no_cache,
            threads=self.threads,
            master=master,
        )
        return make_resources(self.lexicon, self.prompt, self.seed, scorers)

    def kept_in(self) -> Path | None:
        """Where results are cached; nowhere with `--no-cache`."""
        from dialens.metrics import default_folder

        return None if self.no_cache else self.cache or default_folder()


AS_USUAL = ScoringOptions()


def takes_scoring_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take the options of `ScoringOptions` where its parameter `scoring` stands.

    Examples:
        >>> @takes_scoring_options
        ... def seeded(scoring: ScoringOptions = AS_USUAL) -> None:
        ...     print(scoring.seed)
        >>> seeded(seed=3)
        3
        >>> "lexicon" in inspect.signature(seeded).parameters
        True
    """
    hints = get_type_hints(ScoringOptions, include_extras=True)
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(ScoringOptions)
    ]
    shown: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        shown += options if parameter.name == _PARAMETER else [parameter]

    @wraps(command)
    def with_options(*arguments: Any, **given: Any) -> None:
        chosen = {name: given.pop(name) for name in hints if name in given}
        with rare_collections():
            command(*arguments, **given, **{_PARAMETER: ScoringOptions(**chosen)})

    with_options.__dict__["__signature__"] = inspect.Signature(shown)
    return with_options
