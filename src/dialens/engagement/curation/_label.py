"""From shards to a Reddit Engagement Dataset: posts, their reactions, scores and labels (EnDex).

Readings that the paper leaves open are in ``docs/engagement.md``; the arithmetic is in ``sql/``.
"""

import json
import math
import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import polars as pl

from dialens.base import FILES as LIST
from dialens.base import (
    RUN,
    DialensError,
    Recorder,
    StepChain,
    list_files,
    listed_files,
    progress,
    refuse_inputs_in,
    set_aside,
    sha256_file,
    step_key,
)
from dialens.engagement.curation._data_card import (
    CARD,
    CARD_PAGE,
    DataCard,
    Facts,
    make_card,
    mean_and_deviation,
    write_card,
)
from dialens.engagement.curation._label_options import (
    DIMENSIONS,
    PAPER_ALPHAS,
    EngineOptions,
    LabelOptions,
)
from dialens.engagement.curation._label_output import FILES, WORDS, write_posts, write_rejected
from dialens.engagement.curation._label_run import Runner, open_engine
from dialens.engagement.curation._shard_scoring import MICRO, Scorer
from dialens.engagement.curation._steps import STEPS, boolean, double, one_of
from dialens.engagement.curation._work_folder import SUBMISSIONS, Work, open_work
from dialens.engagement.curation._writing import writing_to

SCRATCH: Final = ".work"
REJECTED: Final = "rejected"
_OUTPUTS: Final = (*FILES.values(), REJECTED, CARD, CARD_PAGE, RUN)

_NAMES: Final = [step.name for step in STEPS]
_CUTS: Final = [0, *(_NAMES.index(f"{what}_texts") + 1 for what in ("toxicity", "emotion")), None]
_SEGMENTS: Final = [_NAMES[start:end] for start, end in pairwise(_CUTS)]
"""The steps, cut where a model scores texts."""


@dataclass(frozen=True)
class Models:
    """The scorers of emotion and toxicity; None leaves the dimension or the filter out."""

    emotion: Scorer | None
    toxicity: Scorer | None


@dataclass(frozen=True)
class Labelled:
    """The result of a labelling.

    Attributes:
        folder: With the tables, the card and the record.
        card: Counts, medians, classes.
        fresh: False if an earlier run had finished this very dataset.
    """

    folder: Path
    card: DataCard
    fresh: bool


def label(
    work: Path,
    red: Path,
    *,
    models: Models,
    options: LabelOptions | None = None,
    engine: EngineOptions | None = None,
    force: bool = False,
) -> Labelled:
    """Label the posts of an ingested folder.

    A run that was killed goes on where it was; a finished one is not done again.

    Args:
        work: The folder that ingest wrote.
        red: The folder to write. Its hidden folder ``.work`` holds unfinished steps.
        models: Emotion and toxicity.
        options: What the labels depend on.
        engine: How the work is done.
        force: Do it again, and write into a folder with files of others; those are kept.

    Raises:
        DialensError: The shards cannot be used, no post is left, all scores are equal, a class is
            empty, or the engine cannot do its work.
    """
    options, engine = options or LabelOptions(), engine or EngineOptions()
    source = open_work(work)
    identity = _identity(source, options, models)
    refuse_inputs_in(red, [work])
    _check_target(red, force=force)
    if not force and (finished := _earlier_card(red, identity)) is not None:
        return Labelled(red, DataCard(finished), fresh=False)
    arguments = {"work": str(work), "red": str(red), **asdict(options), **asdict(engine)}
    recorder = Recorder("engagement label", arguments, seed=options.seed)
    scratch = red / SCRATCH
    if force:
        shutil.rmtree(scratch, ignore_errors=True)
    try:
        (scratch / engine.engine).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DialensError(f"{red} cannot be written to: {error.strerror or error}.") from error
    with recorder.step("steps"), closing(open_engine(engine, scratch)) as running:
        runner = Runner(running, StepChain(scratch / engine.engine, source.identity))
        _sources(runner, source, scratch)
        facts = _relate(runner, source, options, models)
        recorder.observe(packages=running.versions())
    with writing_to(red, kept="steps"):
        with recorder.step("write"):
            counts = _publish(runner, red)  # with the memory that the engine has given back
            card = make_card(source, options, facts, counts, _signatures(models), red)
            write_card(card, red)
        recorder.observe(
            counts=card.content["counts"],
            details={
                "identity": identity,
                "models": _signatures(models),
                "steps": {name: asdict(table) for name, table in runner.tables.items()},
                "outputs": _hashes(red, card),
            },
        ).finish(red / RUN)
        list_files(red, (name for name in _OUTPUTS if (red / name).is_file()))
    _tidy(scratch)
    return Labelled(red, card, fresh=True)


def _hashes(red: Path, card: DataCard) -> dict[str, str]:
    """SHA-256 of the files of a dataset; those on the card are not computed again."""
    known = {name: about["sha256"] for name, about in card.content["files"].items()}
    names = [path.relative_to(red) for path in sorted(red.rglob("*")) if path.is_file()]
    return {
        str(name): known.get(str(name)) or sha256_file(red / name)
        for name in names
        if str(name) != RUN and not any(part.startswith(".") for part in name.parts)
    }


def _earlier_card(red: Path, identity: str) -> dict[str, Any] | None:
    """The card of a complete dataset of the same data, options and models, if there is one."""
    try:
        record = json.loads((red / RUN).read_bytes())
        complete = all((red / name).is_file() for name in record["outputs"])
        if not complete or record["identity"] != identity:
            return None
        content: dict[str, Any] = json.loads((red / CARD).read_bytes())
    except (OSError, ValueError, KeyError):
        return None
    return content


def planned_steps(work: Path) -> list[tuple[str, str, int | None]]:
    """The steps that labelling would take: name, what it does, rows to expect (None: a few).

    Raises:
        DialensError: The shards cannot be used.
    """
    rows = open_work(work).rows
    steps: list[tuple[str, str, int | None]] = []
    for step in STEPS:
        expected = None if step.share is None else round(step.share * rows["comments"])
        known = rows["submissions"] if step.name == "submissions" else expected
        steps.append((step.name, step.about, known))
    return steps


def _check_target(red: Path, *, force: bool) -> None:
    if red.exists() and not red.is_dir():
        raise DialensError(f"{red} is a file. Name a folder for the dataset.")
    ours = listed_files(red) is not None or (red / SCRATCH).is_dir()
    if red.is_dir() and any(red.iterdir()) and not ours and not force:
        raise DialensError(
            f"{red} exists and was not written by `dialens engagement label` (it has no {LIST}). "
            "Name another place, or add --force to write into it; the files in it are kept."
        )
    if not ours:
        set_aside(red, _OUTPUTS)


def _identity(source: Work, options: LabelOptions, models: Models) -> str:
    return step_key(
        {"work": source.identity, "options": asdict(options), "models": _signatures(models)}
    )


def _signatures(models: Models) -> dict[str, str | None]:
    return {
        "emotion": models.emotion.signature if models.emotion else None,
        "toxicity": models.toxicity.signature if models.toxicity else None,
    }


def _sources(runner: Runner, source: Work, scratch: Path) -> None:
    runner.engine.table("raw_comments", source.comments)
    submissions = list(source.submissions)
    if not submissions:
        empty = scratch / "no-submissions.parquet"
        with writing_to(scratch, kept="steps"):
            pl.DataFrame(schema=SUBMISSIONS).write_parquet(empty)
        submissions = [empty]
    runner.engine.table("raw_submissions", submissions)


def _parameters(options: LabelOptions) -> dict[str, object]:
    return {
        "min_replies": options.min_replies,
        "subreddit_chosen": one_of("c.subreddit", options.subreddits),
        "english_only": boolean(options.english),
        "toxic_above": math.floor(options.toxic_above * MICRO + 0.5),
        "kappa": double(options.kappa),
        "seed": options.seed,
        "validation_below": options.validation_below,
        **{f"weight_{name}": double(options.weights[name]) for name in DIMENSIONS},
    }


def _relate(runner: Runner, source: Work, options: LabelOptions, models: Models) -> Facts:
    """Run all steps; what one finds becomes a parameter of the next."""
    parameters = _parameters(options) | {
        "score_toxicity": boolean(models.toxicity is not None),
        "score_emotion": boolean(models.emotion is not None),
    }
    facts = Facts(rows=source.rows)
    models_of = {
        "toxicity_texts": ("toxicity", models.toxicity),
        "emotion_texts": ("emotion", models.emotion),
    }
    after: Mapping[str, Callable[[], object]] = {
        "related": lambda: runner.find_cycles("cycles", "related"),
        "reasons": lambda: facts.take_reasons(runner.read("reasons")),
        "medians": lambda: parameters.update(_medians(runner, facts, source)),
        "alphas": lambda: parameters.update(_alphas(runner, facts, options)),
        "spread": lambda: parameters.update(_spread(runner, facts)),
        "classes": lambda: parameters.update(_classes(runner, facts, options)),
        "numbers": lambda: runner.number_posts("places", "numbers"),
    }
    for segment in _SEGMENTS:
        with progress("Labelling", total=len(segment), unit="steps") as advance:
            for name in segment:
                runner.step(name, parameters)
                if name in after:
                    after[name]()
                advance(1)
        if segment[-1] in models_of:  # outside: it has a bar of its own
            _score(runner, *models_of[segment[-1]])
    facts.take_tables(runner)
    return facts


def _score(runner: Runner, what: str, scorer: Scorer | None) -> None:
    texts = f"{what}_texts"
    label = {"toxicity": "Toxicity of posts", "emotion": "Emotion of replies"}[what]
    total = runner.tables[texts].rows
    if scorer is None or not total:
        runner.score(f"{what}_scores", texts, scorer, lambda _: None)
        return
    with progress(label, total=total, unit="texts") as advance:
        runner.score(f"{what}_scores", texts, scorer, advance)


def _medians(runner: Runner, facts: Facts, source: Work) -> dict[str, str]:
    medians = {row["dimension"]: row for row in runner.read("medians")}
    if "re" not in medians:
        taken = sorted(facts.reasons.items(), key=lambda reason: -reason[1])
        listed = "; ".join(f"{reason}: {count:,}" for reason, count in taken)
        raise DialensError(
            f"No post is left of {sum(facts.reasons.values()):,} comments in {source.folder}. "
            f"What took them: {listed}. Loosen that filter, or ingest the files with their "
            "parents and replies too."
        )
    facts.medians = _replaced(medians, "median", facts)
    return _constants("median", ("re", "be", "pv"), facts.medians)


def _alphas(runner: Runner, facts: Facts, options: LabelOptions) -> dict[str, str]:
    medians = {row["dimension"]: row for row in runner.read("alphas")}
    facts.adjusted_medians = {name: row["median"] for name, row in sorted(medians.items())}
    if options.alpha == "paper":
        facts.alphas = dict(PAPER_ALPHAS)
    else:
        facts.alphas = _replaced(medians, "alpha", facts)
    return _constants("alpha", ("re", "be", "ae"), facts.alphas)


def _replaced(rows: Mapping[str, Mapping[str, Any]], what: str, facts: Facts) -> dict[str, float]:
    """Medians, with the smallest positive value, or 1 if there is none, in the place of zero."""
    medians = {}
    for name, row in sorted(rows.items()):
        medians[name] = row["median"] or row["least"] or 1.0
        if not row["median"]:
            facts.replaced[f"{what} of {name}"] = medians[name]
    return medians


def _constants(what: str, names: tuple[str, ...], values: Mapping[str, float]) -> dict[str, str]:
    # Without votes there is no median of be, and no value that it would be applied to.
    return {f"{what}_{name}": double(values.get(name, 1.0)) for name in names}


def _spread(runner: Runner, facts: Facts) -> dict[str, str]:
    row = runner.read("spread")[0]
    posts, total, squares = (int(row[name]) for name in ("posts", "total", "squares"))
    facts.mean, facts.deviation = mean_and_deviation(posts, total, squares)
    if facts.deviation == 0:
        raise DialensError(
            f"All {posts:,} posts have the same score ({facts.mean:.6f}), so none is more engaging "
            "than another. Ingest more data, or loosen the filters."
        )
    return {"mean": double(facts.mean), "deviation": double(facts.deviation)}


def _classes(runner: Runner, facts: Facts, options: LabelOptions) -> dict[str, int]:
    facts.classes = {row["label"]: row for row in runner.read("classes")}
    sizes = {value: int(facts.classes.get(value, {"posts": 0})["posts"]) for value in (0, 1)}
    for value, name, side in ((1, "engaging", "above"), (0, "not engaging", "below minus")):
        if sizes[value] == 0:
            raise DialensError(
                f"No post is {name}: of {sum(int(r['posts']) for r in facts.classes.values()):,} "
                f"posts none has a z-score {side} {options.kappa:g}. Give a smaller --kappa, or "
                "ingest more data."
            )
    return {"smaller_class": min(sizes.values())}


def _publish(runner: Runner, red: Path) -> dict[str, int]:
    """Write the tables; the record of an earlier run goes first, it is no longer true."""
    (red / RUN).unlink(missing_ok=True)
    shutil.rmtree(red / REJECTED, ignore_errors=True)
    rejected = write_rejected(runner.parts("rejected"), red / REJECTED)
    with progress("Writing", total=runner.tables["numbers"].rows, unit="posts") as advance:
        words = {name: runner.folder(f"{kind}_words") for name, kind in WORDS.items()}
        rows = write_posts(runner.parts("numbers"), words, red, advance)
    return {**{FILES[name]: count for name, count in rows.items()}, REJECTED: rejected}


def _tidy(scratch: Path) -> None:
    """Delete all but the scores of the models, which are expensive."""
    for path in scratch.iterdir():
        if path.name == "scores":
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    if not any(scratch.iterdir()):
        scratch.rmdir()
