"""What judges said of the conversations of a corpus, as metrics beside the others.

A judge's value of a response or dialogue is marginal over everything that is not about it: the
mean over repeats and orders in each combination of prompt, setting, cell, place, anchor and tag,
then over these combinations, each with the same weight. What it said of other variants of a
response is about other texts and is left out.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dialens.analysis.judges._units import known_units
from dialens.base import DialensError, counted, listed
from dialens.corpus import Corpus
from dialens.metrics import GIVEN, MetricCard, given_metric
from dialens.statistics import parsed_scale
from dialens.studies import Planner, Study, quality_label
from dialens.studies.judges import ANSWERED, FIRST_OCCASION, Ledger, judge_ratings

FAMILY = "judge"
"""The family of metrics that language models gave."""

_PLAIN = "plain"
_LONGEST = 40
_HEADLINE = 1
_UNIT = ("dialog", "turn")
_CONDITION = (
    "prompt", "temperature", "memory", "think", "answer_mode", "language", "condition", "factors",
    "anchor", "position", "order_shown",
)  # fmt: skip
_WHY = {
    "refused": "the judge refused",
    "malformed": "the judge gave no valid answer",
    "failed": "the judge did not answer",
    "unreadable": "a judge that reads cannot see it",
    "over_budget": "the judge's budget was used up",
}


@dataclass(frozen=True)
class JudgeMetrics:
    """Judges' scores of a corpus.

    Attributes:
        cards: A metric a quality and judge.
        notes: What has to be known of them, in sentences.
    """

    cards: tuple[MetricCard, ...]
    notes: tuple[str, ...]


def judge_metrics(
    study: Study, ledger: Ledger, corpus: Corpus, *, skip: bool = False
) -> JudgeMetrics:
    """What judges said in a study of the conversations of a corpus.

    A metric is called `judge_QUALITY`, with several judges `judge_QUALITY_JUDGE`. Answers of later
    occasions (`study judge --again`) are left aside.

    Args:
        study: Whose items come from the corpus.
        ledger: What judges answered.
        corpus: The conversations.
        skip: Whether what is not in the corpus is left out and counted; it is an error otherwise.

    Raises:
        DialensError: Nobody judged this version of the study, or its items are not those of the
            corpus.
    """
    asked = ledger.frame([study.hash])
    if not asked.height:
        other = " (it holds another version of the study)" if ledger.frame().height else ""
        raise DialensError(
            f"No judge has taken this study as it stands: {ledger.path} has no answers to it"
            f"{other}. First: dialens study judge {ledger.path.parent}"
        )
    first = asked.filter(pl.col("occasion") == FIRST_OCCASION)
    ratings = judge_ratings(study, ledger).filter(pl.col("occasion") == FIRST_OCCASION)
    notes = _later(asked)
    ratings = _as_they_are(ratings, notes)
    lacking = _lacking(study, first)
    units = pl.concat([ratings.select(_KEYS), lacking.select(_KEYS)]).unique(maintain_order=True)
    known = known_units(units, study, corpus, skip=skip, notes=notes)
    judges = first["judge"].unique(maintain_order=True).to_list()
    names = _names(judges)
    cards: list[MetricCard] = []
    lopsided: dict[str, list[str]] = {}
    for judge in judges:
        asks = first.filter(pl.col("judge") == judge)
        notes += _fingerprints(judge, asks)
        for quality in study.design.qualities:
            mine = (pl.col("judge") == judge) & (pl.col("quality") == quality)
            given = ratings.filter(mine).join(known, on=_UNIT, how="semi", nulls_equal=True)
            gaps = lacking.filter(mine).join(known, on=_UNIT, how="semi", nulls_equal=True)
            if not given.height and not gaps.height:
                continue
            name = f"{FAMILY}_{quality}{names[judge]}"
            kinds = [parsed_scale(one) for one in given["scale"].drop_nulls().unique()]
            if len({(one.get("kind"), one.get("low"), one.get("high")) for one in kinds}) > 1:
                notes.append(
                    f"{name} is left out: {quality} was asked on several scales, which have no "
                    "common mean."
                )
                continue
            for text in _unbalanced(given):
                lopsided.setdefault(text, []).append(name)
            cards.append(_card(name, study, judge, quality, _values(given, gaps), asks, kinds))
    notes += [f"{listed(those)}: {text}" for text, those in lopsided.items()]
    return JudgeMetrics(tuple(cards), tuple(notes))


_KEYS = ("agent", "dialog", "turn")


def _later(asked: pl.DataFrame) -> list[str]:
    later = sorted(set(asked["occasion"]) - {FIRST_OCCASION})
    if not later:
        return []
    which = (
        f"occasion {later[0]}"
        if len(later) == 1
        else f"occasions {listed([str(one) for one in later])}"
    )
    return [f"{which.capitalize()}: for drift alone, left aside; metrics are of the first."]


def _as_they_are(ratings: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Without what was said of padded or otherwise changed forms of a response."""
    if "variant" not in ratings.columns:
        return ratings
    changed = ratings.filter(pl.col("variant").fill_null(_PLAIN) != _PLAIN)
    if changed.height:
        notes.append(
            f"{counted(changed.height, 'rating')} of judges are about other variants of a response "
            "than its own text, and left out."
        )
    return ratings.filter(pl.col("variant").fill_null(_PLAIN) == _PLAIN)


def _lacking(study: Study, asked: pl.DataFrame) -> pl.DataFrame:
    """What judges were shown and did not answer: judge, quality, unit, and why."""
    planner, rows = Planner(study), []
    for row in asked.filter(pl.col("state") != ANSWERED).iter_rows(named=True):
        screens = planner.screens(row["cell"], row["seed"], row["language"])
        for screen in screens:
            if screen.id != row["screen"] or screen.kind != "rating":
                continue
            for field in screen.fields:
                if row["field"] not in ("", field.name):
                    continue
                rows += [
                    {
                        "judge": row["judge"],
                        "quality": field.quality,
                        "reason": _WHY.get(row["state"], row["state"]),
                        **{name: target.get(name) for name in _KEYS},
                    }
                    for target in field.targets.values()
                    if field.quality is not None and (target.get("variant") or _PLAIN) == _PLAIN
                ]
    columns = {"judge": pl.String, "quality": pl.String, "reason": pl.String}
    return pl.DataFrame(
        rows, schema={**columns, "agent": pl.String, "dialog": pl.String, "turn": pl.Int32}
    )


def _values(given: pl.DataFrame, gaps: pl.DataFrame) -> pl.DataFrame:
    """A value a unit, each condition with the same weight; the reason where there is none."""
    conditions = [name for name in _CONDITION if name in given.columns]
    means = (
        given.group_by(*_UNIT, *conditions, maintain_order=True)
        .agg(pl.col("value").mean())
        .group_by(*_UNIT, maintain_order=True)
        .agg(pl.col("value").mean())
        .with_columns(reason=pl.lit(None, pl.String))
    )
    never = (
        gaps.group_by(*_UNIT, maintain_order=True)
        .agg(pl.col("reason").mode(maintain_order=True).first())
        .with_columns(value=pl.lit(None, pl.Float64))
        .join(means, on=_UNIT, how="anti", nulls_equal=True)
    )
    return pl.concat([part.select(GIVEN.names()) for part in (means, never)])


def _unbalanced(given: pl.DataFrame) -> Iterator[str]:
    """Says where units were not all judged under the same conditions."""
    varied = [one for one in _CONDITION if one in given.columns and given[one].n_unique() > 1]
    if not varied:
        return
    count = given.select(varied).n_unique()
    seen = given.group_by(_UNIT).agg(pl.struct(varied).n_unique().alias("seen"))
    some = seen.filter(pl.col("seen") < count).height
    if some:
        yield (
            f"{some:,} of {seen.height:,} were judged under some of the {count} "
            f"combinations of {listed(varied)} only, so their means are not quite comparable. More "
            "`participations` in judges.yaml, or `responses: swap`, show all of them."
        )


def _fingerprints(judge: str, asks: pl.DataFrame) -> Iterator[str]:
    prints = asks["fingerprint"].drop_nulls().unique(maintain_order=True).to_list()
    models = asks["identity"].drop_nulls().n_unique()
    if len(prints) > 1:
        yield (
            f"What runs behind {judge} changed while it judged: fingerprints {listed(prints)} "
            "stand in one metric."
        )
    if models > 1:
        yield f"{judge} is {models} different models or settings in one metric: see its signature."


def _names(judges: Sequence[str]) -> dict[str, str]:
    """What follows the quality in a metric's name; nothing for a single judge."""
    if len(judges) == 1:
        return {judges[0]: ""}
    made = {judge: f"_{re.sub(r'[^0-9a-z]+', '_', judge.lower()).strip('_')}" for judge in judges}
    if len(set(made.values())) < len(made):
        raise DialensError(
            f"The judges {listed(judges)} would give metrics of one name. Call them by names that "
            "differ in letters or digits."
        )
    return made


def _card(
    name: str,
    study: Study,
    judge: str,
    quality: str,
    values: pl.DataFrame,
    asks: pl.DataFrame,
    kinds: Sequence[Mapping[str, object]],
) -> MetricCard:
    asked = study.design.qualities[quality]
    label = quality_label(study.design, quality)
    scale = dict(kinds[0]) if kinds else {}
    low, high = (scale.get(end) for end in ("low", "high"))
    reversed_ = bool(scale.get("reversed")) != bool(asked.lower_is_better)
    said = (asked.definition or asked.question or label).rstrip(".")
    rubric = json.dumps([label, asked.definition, asked.question, sorted(map(str, scale.items()))])
    return given_metric(
        name,
        values,
        meaning=f"{said}, as the language model {judge} judged it",
        family=FAMILY,
        family_label="Judges",
        label=f"{label} ({judge})",
        higher_reads=f"is rated higher on {label.lower()} by {judge}",
        uses={
            "model": _joined(map(_model, _distinct(asks, "identity"))),
            "fingerprint": _joined(_distinct(asks, "fingerprint")) or "none",
            "prompts": _joined(
                f"{row['prompt']}@{row['prompt_hash'][:8]}"
                for row in asks.select("prompt", "prompt_hash").unique().sort("prompt").to_dicts()
            ),
            "ways": _joined(
                "/".join(str(part) for part in row if part is not None)
                for row in asks.select("temperature", "memory", "think", "answer")
                .unique()
                .sort("temperature", "memory", "think", "answer")
                .iter_rows()
            ),
            "asked": hashlib.sha256(rubric.encode()).hexdigest()[:8],
        },
        range=(
            float(low) if isinstance(low, int | float) else None,
            float(high) if isinstance(high, int | float) else None,
        ),
        higher_is_better=not reversed_,
        headline=_HEADLINE,
    )


def _distinct(asks: pl.DataFrame, column: str) -> list[str]:
    return sorted(asks[column].drop_nulls().unique().to_list())


def _joined(parts: Iterator[str] | Sequence[str]) -> str:
    return "+".join(parts)


def _model(identity: str) -> str:
    """A model in few characters: kind, name, and a hash of everything that it is.

    Examples:
        >>> _model('["openai", "gpt-4o-mini at https://api.openai.com/v1", {}]')
        'openai:gpt-4o-mini@49dc953f'
    """
    mark = hashlib.sha256(identity.encode()).hexdigest()[:8]
    try:
        kind, known, *_ = json.loads(identity)
    except ValueError:
        return f"{identity[:_LONGEST]}@{mark}"
    return f"{kind}:{str(known).partition(' at ')[0][:_LONGEST]}@{mark}"
