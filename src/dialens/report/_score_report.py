"""The report of a run: from one sentence down to single words, in one file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialens.base import RunRecord
from dialens.corpus import Corpus
from dialens.metrics import Resources, Scores
from dialens.report._charts import CONFIG, Chart
from dialens.report._digest import Digest
from dialens.report._distribution_chart import distribution_chart
from dialens.report._drilldown import Sample, drilldown, sample_dialogs
from dialens.report._emotion_chart import emotion_chart
from dialens.report._findings import caution, findings, gaps, headline
from dialens.report._model_emotion_chart import model_emotion_chart
from dialens.report._movement_chart import longest, movement_chart, moving_metrics
from dialens.report._shell import write_page
from dialens.report._tables import headline_table, other_tables, system_table
from dialens.report._wording import counted
from dialens.report.profile import Character, ProfileSection, character, profile_of, profile_section


@dataclass(frozen=True)
class Summary:
    """What a report shows, for a few lines on a terminal.

    Attributes:
        path: Where it is.
        headline: Who was scored.
        findings: The largest differences, one sentence each; may be empty.
        caution: How they were picked.
        dialogs: How many dialogues can be opened in it.
        total_dialogs: How many there are.
        size: Bytes.
    """

    path: Path
    headline: str
    findings: tuple[str, ...]
    caution: str
    dialogs: int
    total_dialogs: int
    size: int

    def lines(self) -> list[str]:
        """The summary as lines of text."""
        return [
            f"{self.headline}.",
            *(f"  {sentence}." for sentence in self.findings),
            self.caution,
        ]


def write_report(
    scores: Scores,
    corpus: Corpus,
    path: Path,
    *,
    run: RunRecord,
    resources: Resources,
    title: str | None = None,
    max_dialogs: int = 150,
    seed: int = 0,
) -> Summary:
    """Write the report of a run into one HTML file that needs nothing else.

    Args:
        scores: What `dialens.score` gives.
        corpus: What was scored.
        path: The file; it appears whole or not at all.
        run: The record of the run, shown in the report.
        resources: Those the run was scored with.
        title: Heading of the report; made from the source's name if not given.
        max_dialogs: How many dialogues can be opened at most; a sample is drawn if there are more.
        seed: Of the sample and the intervals.

    Examples:
        >>> import tempfile
        >>> from dialens.corpus import Dialogue, Turn
        >>> from dialens.metrics import score
        >>> from dialens.base import Recorder
        >>> from dialens.report._run_facts import run_facts
        >>> talk = [Turn("U", "partner", "How are you?"), Turn("B", "agent", "Glad you ask!")]
        >>> corpus = Corpus.of([Dialogue("s", "bot", "d1", talk)])
        >>> page = Path(tempfile.mkdtemp()) / "report.html"
        >>> scores = score(corpus, metrics=["question", "length"])
        >>> run = Recorder("score").observe(**run_facts(corpus=corpus, scores=scores)).record()
        >>> summary = write_report(scores, corpus, page, run=run, resources=Resources())
        >>> summary.dialogs, summary.headline
        (1, 'bot, 1 turn of its own in 1 dialogue, scored on 2 metrics')
    """
    digest = Digest.of(scores, seed=seed)
    sample = sample_dialogs(digest.dialogs, max_dialogs, seed)
    numbers = {(unit.system, str(unit.agent)): unit.number for unit in digest.agents}
    talks = drilldown(
        scores, corpus, sample, numbers, headline=digest.headline, resources=resources
    )
    varied = profile_of(digest, scores, seed=seed)
    traits = character(digest, scores, profile=varied, seed=seed)
    profile = profile_section(digest, scores, corpus, varied, seed=seed)
    figures = _figures(digest, traits, profile, seed)
    found = findings(digest)
    first = headline(digest)
    title = title or _title(run)
    size = write_page(
        "report.html.j2",
        path,
        {
            "config": CONFIG,
            "figures": figures,
            "agents": [unit.name for unit in digest.agents],
            "talks": talks,
            "formats": _formats(digest),
        },
        title=title,
        headline=first,
        findings=found,
        caution=caution(digest, found),
        gaps=gaps(digest),
        table=headline_table(digest),
        systems=system_table(digest),
        others=list(other_tables(digest)),
        run=run,
        metrics=_metric_cards(run, digest),
        picks=_picks(digest),
        sampled=_sampled(sample),
        agents=[unit.name for unit in digest.agents],
        digest=digest,
        longest=longest(digest),
        character=traits,
        profile=profile,
        classified="classified" in figures,
    )
    return Summary(
        path,
        first,
        tuple(f"{finding.heading}: {finding.sentence}" for finding in found),
        caution(digest, found),
        len(sample.dialogs),
        sample.total,
        size,
    )


def _title(run: RunRecord) -> str:
    name = str(run.data.get("name", ""))
    for suffix in (".gz", ".zst", ".bz2", ".xz", ".jsonl", ".json", ".csv", ".parquet", ".txt"):
        name = name.removesuffix(suffix)
    return name or "Conversations"


def _figures(
    digest: Digest, traits: Character | None, profile: ProfileSection, seed: int
) -> dict[str, dict[str, Any]]:
    """Charts by the id of their place, and within it by the choice of a metric."""
    made: dict[str, dict[str, Chart | None]] = {
        "distribution": {
            name: distribution_chart(digest, name, seed=seed) for name in digest.headline
        },
        "emotions": {"": emotion_chart(digest)},
        "classified": {"": model_emotion_chart(digest)},
    }
    made |= {place: dict(charts) for place, charts in profile.charts.items()}
    if traits:
        made |= {place: {"": chart} for place, chart in traits.charts.items()}
    if longest(digest) > 1:
        made["movement"] = {name: movement_chart(digest, name) for name in moving_metrics(digest)}
    return {
        place: {key: chart.to_dict() for key, chart in charts.items() if chart is not None}
        for place, charts in made.items()
        if any(charts.values())
    }


def _picks(digest: Digest) -> dict[str, list[tuple[str, str]]]:
    """The metrics each chart can be switched to."""
    return {
        "distribution": [(name, digest.label(name)) for name in digest.headline],
        "movement": [(name, digest.cards[name].long_label) for name in moving_metrics(digest)],
    }


def _formats(digest: Digest) -> Mapping[str, Mapping[str, Any]]:
    return {
        name: {"percent": scale.percent, "decimals": min(scale.decimals, 2)}
        for name, scale in digest.scales.items()
    }


def _metric_cards(run: RunRecord, digest: Digest) -> list[dict[str, str]]:
    return [
        {
            "name": name,
            "meaning": card.meaning,
            "citation": card.citation,
            "signature": run.signatures.get(name, ""),
        }
        for name, card in digest.cards.items()
    ]


def _sampled(sample: Sample) -> str:
    if sample.whole:
        return f"All {counted(sample.total, 'dialogue')} can be opened here."
    return (
        f"{counted(len(sample.dialogs), 'dialogue')} of {sample.total:,} can be opened here: a "
        "random sample, as even over the agents as it can be. What stands above rests on all."
    )
