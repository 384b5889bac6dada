"""From shards to a Reddit Engagement Dataset: posts, their reactions, scores and labels (EnDex).

Readings that the paper leaves open are in ``docs/engagement.md``; the arithmetic is in ``sql/``.
"""

import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import polars as pl

from dialens.base import FILES as LIST
from dialens.base import (
    DialensError,
    list_files,
    listed_files,
    progress,
    refuse_inputs_in,
    set_aside,
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
from dialens.engagement.curation._label_engine import open_engine
from dialens.engagement.curation._label_options import (
    DIMENSIONS,
    PAPER_ALPHAS,
    EngineOptions,
    LabelOptions,
)
from dialens.engagement.curation._label_output import FILES, WORDS, write_posts, write_rejected
from dialens.engagement.curation._label_record import RUN, earlier_run, write_record
from dialens.engagement.curation._label_run import Runner
from dialens.engagement.curation._label_work import Work, open_work
from dialens.engagement.curation._neural import MICRO, Scorer
from dialens.engagement.curation._steps import STEPS, boolean, double, one_of
from dialens.engagement.curation._tables import SUBMISSIONS
from dialens.engagement.curation._writing import writing_to

SCRATCH: Final = ".work"
REJECTED: Final = "rejected"
_OUTPUTS: Final = (*FILES.values(), REJECTED, CARD, CARD_PAGE, RUN)

_NAMES: Final = [step.name for step in STEPS]
_CUTS: Final = [0, *(_NAMES.index(f"{what}_texts") + 1 for what in ("toxicity", "emotion")), None]
_SEGMENTS: Final = [_NAMES[start:end] for start, end in pairwise(_CUTS)]
"""The steps, cut where a model goes to work."""


@dataclass(frozen=True)
class Models:
    """What tells emotion and toxicity; None leaves the dimension or the filter out."""

    emotion: Scorer | None
    toxicity: Scorer | None


@dataclass(frozen=True)
class Labelled:
    """What a labelling gave.

    Attributes:
        folder: With the tables, the card and the record.
        card: Counts, medians, classes.
        fresh: False if the folder held this very result already.
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
        force: Do it again, and replace what is in the folder even if it is not ours.

    Raises:
        DialensError: The shards cannot be used, no post is left, all scores are equal, a class is
            empty, or the engine cannot do its work.
    """
    options, engine = options or LabelOptions(), engine or EngineOptions()
    source = open_work(work)
    identity = _identity(source, options, models)
    refuse_inputs_in(red, [work])
    _check_target(red, force=force)
    if not force and (found := earlier_run(red, identity)) is not None:
        return Labelled(red, DataCard(found), fresh=False)
    started, clock = datetime.now(UTC), time.perf_counter()
    scratch = red / SCRATCH
    if force:
        shutil.rmtree(scratch, ignore_errors=True)
    try:
        (scratch / engine.engine).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DialensError(f"{red} cannot be written to: {error.strerror or error}.") from error
    with closing(open_engine(engine, scratch)) as running:
        runner = Runner(running, scratch / engine.engine, source.identity)
        _sources(runner, source, scratch)
        facts = _relate(runner, source, options, models)
        versions = running.versions()
    with writing_to(red, kept="steps"):
        counts = _publish(runner, red)  # with the memory that the engine has given back
        card = make_card(source, options, facts, counts, _signatures(models), red)
        write_card(card, red)
        write_record(
            red,
            identity=identity,
            arguments={"work": str(work), "red": str(red), **asdict(options), **asdict(engine)},
            models=_signatures(models),
            versions=versions,
            steps=runner.done,
            card=card,
            started=started,
            seconds=time.perf_counter() - clock,
        )
        list_files(red, (name for name in _OUTPUTS if (red / name).is_file()))
    _tidy(scratch)
    return Labelled(red, card, fresh=True)


def plan_labelling(work: Path) -> list[tuple[str, str, int | None]]:
    """The steps that labelling would take: name, what it does, rows to expect (None: a few).

    Raises:
        DialensError: The shards cannot be used.
    """
    rows = open_work(work).rows
    made: list[tuple[str, str, int | None]] = []
    for step in STEPS:
        expected = None if step.share is None else round(step.share * rows["comments"])
        known = rows["submissions"] if step.name == "submissions" else expected
        made.append((step.name, step.about, known))
    return made


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
    seen = {"work": source.identity, "options": asdict(options), "models": _signatures(models)}
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


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
    found: Mapping[str, Callable[[], object]] = {
        "related": lambda: runner.walk("cycles", "related"),
        "reasons": lambda: facts.take_reasons(runner.read("reasons")),
        "medians": lambda: parameters.update(_medians(runner, facts, source)),
        "alphas": lambda: parameters.update(_alphas(runner, facts, options)),
        "spread": lambda: parameters.update(_spread(runner, facts)),
        "classes": lambda: parameters.update(_classes(runner, facts, options)),
        "numbers": lambda: runner.number("places", "numbers"),
    }
    for segment in _SEGMENTS:
        with progress("Labelling", total=len(segment), unit="steps") as advance:
            for name in segment:
                runner.step(name, parameters)
                if name in found:
                    found[name]()
                advance(1)
        if segment[-1] in models_of:  # outside: it has a bar of its own
            _score(runner, *models_of[segment[-1]])
    facts.take_tables(runner)
    return facts


def _score(runner: Runner, what: str, scorer: Scorer | None) -> None:
    texts = f"{what}_texts"
    label = {"toxicity": "Toxicity of posts", "emotion": "Emotion of replies"}[what]
    total = runner.done[texts].rows
    if scorer is None or not total:
        runner.score(f"{what}_scores", texts, scorer, lambda _: None)
        return
    with progress(label, total=total, unit="texts") as advance:
        runner.score(f"{what}_scores", texts, scorer, advance)


def _medians(runner: Runner, facts: Facts, source: Work) -> dict[str, str]:
    found = {row["dimension"]: row for row in runner.read("medians")}
    if "re" not in found:
        taken = sorted(facts.reasons.items(), key=lambda one: -one[1])
        listed = "; ".join(f"{reason}: {count:,}" for reason, count in taken)
        raise DialensError(
            f"No post is left of {sum(facts.reasons.values()):,} comments in {source.folder}. "
            f"What took them: {listed}. Loosen that filter, or ingest the files with their "
            "parents and replies too."
        )
    facts.medians = _replaced(found, "median", facts)
    return _constants("median", ("re", "be", "pv"), facts.medians)


def _alphas(runner: Runner, facts: Facts, options: LabelOptions) -> dict[str, str]:
    found = {row["dimension"]: row for row in runner.read("alphas")}
    facts.adjusted_medians = {name: row["median"] for name, row in sorted(found.items())}
    if options.alpha == "paper":
        facts.alphas = dict(PAPER_ALPHAS)
    else:
        facts.alphas = _replaced(found, "alpha", facts)
    return _constants("alpha", ("re", "be", "ae"), facts.alphas)


def _replaced(found: Mapping[str, Mapping[str, Any]], what: str, facts: Facts) -> dict[str, float]:
    """Medians, with the smallest positive value, or 1 if there is none, in the place of zero."""
    made = {}
    for name, row in sorted(found.items()):
        made[name] = row["median"] or row["least"] or 1.0
        if not row["median"]:
            facts.replaced[f"{what} of {name}"] = made[name]
    return made


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
    with progress("Writing", total=runner.done["numbers"].rows, unit="posts") as advance:
        words = {name: runner.folder / f"{kind}_words" for name, kind in WORDS.items()}
        rows = write_posts(runner.parts("numbers"), words, red, advance)
    return {**{FILES[name]: count for name, count in rows.items()}, REJECTED: rejected}


def _tidy(scratch: Path) -> None:
    """Leave the scores of the models, which are dear, and nothing else."""
    for path in scratch.iterdir():
        if path.name == "scores":
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    if not any(scratch.iterdir()):
        scratch.rmdir()
