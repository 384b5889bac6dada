"""What scores, as options ask for it: lexicons, models, weights and where results are kept."""

from dataclasses import replace
from pathlib import Path

from dialens.base import DialensError
from dialens.cli._options import DEVICES
from dialens.metrics import (
    Family,
    ModelChoice,
    Resources,
    ResultCache,
    ScorerContext,
    ScorerSet,
    check_names,
    default_folder,
)
from dialens.metrics import metrics as all_metrics
from dialens.metrics.cluster import workers_device
from dialens.models import Precision, chosen_device
from dialens.text import Lexicon, read_emotion_lexicon, read_lexicon


def make_resources(
    lexicons: list[str] | None,
    prompt: str,
    seed: int,
    scorers: ScorerSet,
) -> Resources:
    """What `--lexicon`, `--prompt` and `--seed` ask for, defaults for the rest."""
    read: dict[str, Lexicon] = {}
    for entry in lexicons or []:
        kind, equals, path = entry.partition("=")
        if not equals or kind not in ("emotion", "style", "stop"):
            raise DialensError(
                f"--lexicon takes KIND=FILE with KIND emotion, style or stop; seen: {entry!r}."
            )
        read[kind] = read_emotion_lexicon(path) if kind == "emotion" else read_lexicon(path)
    plain = Resources(prompt=prompt, seed=seed, scorers=scorers)
    return replace(
        plain,
        emotion=read.get("emotion", plain.emotion),
        style=read.get("style", plain.style),
        stop=read.get("stop", plain.stop),
    )


def make_scorers(
    *,
    models: str = "default",
    own_models: list[str] | None = None,
    weights: list[str] | None = None,
    options: list[str] | None = None,
    device: str = "auto",
    precision: Precision = "int8",
    allow_pickle: bool = False,
    cache: Path | None = None,
    no_cache: bool = False,
    threads: int | None = None,
    master: str | None = None,
) -> ScorerSet:
    """What `--models`, `--weights`, `--metric-option`, `--device` and `--cache` ask for.

    Examples:
        >>> scorers = make_scorers(weights=["bert_score=models/x"], no_cache=True)
        >>> scorers.context.weights["bert_score"]
        'models/x'
    """
    if device not in DEVICES:
        raise DialensError(
            f"--device is {', '.join(DEVICES[:-1])} or {DEVICES[-1]}; seen: {device!r}"
        )
    if master is not None:
        device = workers_device(master, device)
    if master is None or master.startswith("local"):
        chosen_device(device)  # what cannot be used is said before anything is read
    if cache is not None and no_cache:
        raise DialensError("--cache and --no-cache exclude each other; give one of them.")
    folders = {}
    for entry in weights or []:
        name, equals, place = entry.partition("=")
        if not equals or not name or not place:
            raise DialensError(
                f"--weights takes NAME=FOLDER or NAME=hub:ORGANISATION/NAME@REVISION; "
                f"seen: {entry!r}."
            )
        folders[name] = place
    settings: dict[str, dict[str, str]] = {}
    for entry in options or []:
        name, equals, value = entry.partition("=")
        family, point, option = name.partition(".")
        if not equals or not point or not option:
            raise DialensError(f"--metric-option takes FAMILY.OPTION=VALUE; seen: {entry!r}.")
        settings.setdefault(family, {})[option] = value
    choice = ModelChoice(models, _own_models(own_models))
    context = ScorerContext(folders, settings, threads, device, allow_pickle, choice, precision)
    check_names(context, families().values())
    return ScorerSet(context, ResultCache(None if no_cache else cache or default_folder()))


def families() -> dict[str, Family]:
    """The families of metrics that scorers compute, by name, other packages' among them."""
    families = (card.scored_by for card in all_metrics().values())
    return {family.name: family for family in families if family is not None}


def _own_models(entries: list[str] | None) -> dict[str, str]:
    models = {}
    for entry in entries or []:
        task, equals, place = entry.partition("=")
        if not equals or not place:
            raise DialensError(f"--model takes TASK=FOLDER or TASK=NAME; seen: {entry!r}.")
        models[task] = place
    return models
