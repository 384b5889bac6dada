"""The report of a run: from one sentence down to single words, in one file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dialens.analysis.profiles import TraitProfile, trait_profile
from dialens.base import MEMORY, Recorder, RunRecord, counted
from dialens.corpus import Corpus
from dialens.metrics import Resources, Scores
from dialens.report._among import standing_answer, standing_findings
from dialens.report._charts import Chart
from dialens.report._digest import Digest
from dialens.report._distribution_chart import distribution_chart
from dialens.report._drilldown import Sample, drilldown, sample_dialogs
from dialens.report._emotion_chart import emotion_chart
from dialens.report._examples import Examples, find_examples
from dialens.report._findings import (
    Gap,
    caution,
    gaps,
    headline,
    missing_values,
    several_answer,
)
from dialens.report._model_emotion_chart import model_emotion_chart
from dialens.report._movement_chart import longest, movement_chart, moving_metrics
from dialens.report._page import (
    Block,
    Fact,
    Facts,
    Findings,
    Fold,
    Page,
    Plot,
    Remark,
    Section,
    Summary,
    Text,
    View,
    write_page,
)
from dialens.report._people_strips import Among, among
from dialens.report._run_facts import run_facts
from dialens.report._tables import headline_tables, other_tables, size, system_tables
from dialens.report.profile import Character, ProfileSection, character, profile_section
from dialens.statistics import FEWEST

_PACKED = (".gz", ".zst", ".bz2", ".xz")
_ENDING = len("parquet")
_LEXICONS = {"emotion": "Emotion words", "style": "Function words", "stop": "Stop words"}


def write_report(
    scores: Scores,
    corpus: Corpus,
    path: Path,
    *,
    run: RunRecord | None = None,
    resources: Resources | None = None,
    title: str | None = None,
    max_dialogs: int = 150,
    seed: int = 0,
    remarks: Sequence[Remark] = (),
    profile: TraitProfile | None = None,
    memory: int = MEMORY,
) -> Summary:
    """Write the report of a run into one HTML file that needs nothing else.

    Args:
        scores: What `dialens.score` gives.
        corpus: What was scored.
        path: The file; it appears whole or not at all.
        run: The record of the run, shown in the report; made of what is known if not given.
        resources: Those the run was scored with; the defaults if not given.
        title: Heading of the report; made from the source's name if not given.
        max_dialogs: How many dialogues can be opened at most; a sample is drawn if there are more.
        seed: Of the sample and the intervals.
        remarks: What has to be known before the first number.
        profile: Of the traits, where it is known already.
        memory: Bytes that may be taken.

    Examples:
        >>> import tempfile
        >>> from dialens.corpus import Dialogue, Turn
        >>> from dialens.metrics import score
        >>> talk = [Turn("U", "partner", "How are you?"), Turn("B", "agent", "Glad you ask!")]
        >>> corpus = Corpus.of([Dialogue("s", "bot", "d1", talk)])
        >>> page = Path(tempfile.mkdtemp()) / "report.html"
        >>> scores = score(corpus, metrics=["question", "length"])
        >>> summary = write_report(scores, corpus, page)
        >>> summary.scope
        'bot, 1 turn of its own in 1 dialogue, scored on 2 metrics'
    """
    resources = resources or Resources()
    if run is None:
        facts = run_facts(corpus=corpus, scores=scores, resources=resources)
        run = Recorder("score", seed=seed).observe(**facts).record()
    digest = Digest.of(scores, seed=seed, memory=memory)
    examples = find_examples(digest, scores, corpus)
    sample = sample_dialogs(digest.dialogs, max_dialogs, seed)
    numbers = {(unit.system, str(unit.agent)): unit.number for unit in digest.agents}
    talks = drilldown(
        scores, corpus, sample, numbers, headline=digest.headline, resources=resources
    )
    varied = profile or trait_profile(scores, seed=seed)
    traits = character(digest, scores, profile=varied, seed=seed)
    profiled = profile_section(digest, scores, corpus, varied, seed=seed)
    apart = gaps(digest)
    sections = [
        _standing_out(digest, apart),
        *([_among(standing)] if (standing := among(digest)) else []),
        *([_examples(examples, sample, alone=len(digest.agents) == 1)] if examples else []),
        _agents(digest),
        _profile(profiled),
        *([_character(traits)] if traits else []),
        _distributions(digest, seed),
        _emotions(digest),
        _movement(digest),
        _dialogues(sample),
        _about(run, digest),
    ]
    page = Page(
        title or _title(run),
        _answer(digest, apart),
        headline(digest),
        sections,
        remarks=remarks,
        agents=_names(digest),
        data={"talks": talks, "formats": _formats(digest)},
    )
    return write_page(page, path)


def _title(run: RunRecord) -> str:
    """The names of what was read, without their endings."""
    inputs = run.data.get("inputs") or [run.data]
    names = [_without_ending(str(each.get("name", ""))) for each in inputs]
    return ", ".join(names) if all(names) else "Conversations"


def _without_ending(name: str) -> str:
    for ending in _PACKED:
        name = name.removesuffix(ending)
    stem, dot, ending = name.rpartition(".")
    # “chats.jsonl” loses its ending, “gpt-4.1” and “run 2. second” do not.
    return stem if dot and stem and ending.isalpha() and len(ending) <= _ENDING else name


def _names(digest: Digest) -> list[str]:
    return [unit.name for unit in digest.agents]


def _answer(digest: Digest, apart: Sequence[Gap]) -> str:
    """Who is better in what and by how much, or that it cannot be told."""
    if not digest.agents:
        return "No agent speaks here, so there is nothing to score"
    if len(digest.agents) == 1:
        name = digest.agents[0].name
        return standing_answer(digest) or (
            f"{name} is the only agent, and none of its metrics has reference values of people, so "
            "its values stand by themselves"
        )
    if sum(unit.dialogs >= FEWEST for unit in digest.agents) < 2:
        return (
            f"Too few dialogues to tell {counted(len(digest.agents), 'agent')} apart: it takes "
            f"{FEWEST} of each"
        )
    return several_answer(digest, apart)


def _standing_out(digest: Digest, apart: Sequence[Gap]) -> Section:
    notes = [caution(digest, apart), missing_values(digest)]
    alone = len(digest.agents) == 1
    found = standing_findings(digest) if alone else [gap.finding for gap in apart]
    blocks: list[Block] = [Findings(found), *(Text(note) for note in notes if note)]
    title = "How it comes across" if alone else "What stands out"
    return Section("standing-out", title, blocks)


def _among(standing: Among) -> Section:
    before, after = ([Text(each) for each in some] for some in (standing.lead, standing.cautions))
    return Section("people", "Among people", [*before, View("among", standing), *after])


def _examples(examples: Examples, sample: Sample, *, alone: bool) -> Section:
    lead = Text(
        f"The replies that score highest and lowest on {examples.label.lower()}: "
        f"{examples.meaning[0].lower()}{examples.meaning[1:]}. A score has an error: read the "
        "replies before you believe it."
    )
    content = {"examples": examples, "opened": frozenset(sample.dialogs)}
    title = "In its own words" if alone else "In their own words"
    return Section("examples", title, [lead, View("examples", content)], "Examples")


def _agents(digest: Digest) -> Section:
    lead = Text(
        "Values with 95 % intervals over dialogues; the dot and line show where an agent lies "
        "beside the others. Below stands how many of a hundred people it scores higher than, where "
        "that is known. Sort by a column’s head; an agent’s name leads to its dialogues."
    )
    blocks: list[Block] = [lead, *headline_tables(digest)]
    systems = system_tables(digest)
    if systems:
        heading = f"{counted(len(digest.systems), 'system')}, their agents pooled"
        blocks.append(Fold(heading, systems))
    blocks += [Fold(tables[0].title, tables, size(tables)) for tables in other_tables(digest)]
    return Section("agents", "Agents", blocks)


def _profile(profile: ProfileSection) -> Section:
    lead = (
        "Traits are a matter of the agent, states of the moment, matching of the conversation. So "
        "four questions can be asked of a system, its agents, their dialogues and the turns in "
        f"them. {profile.sampled}"
    )
    blocks: list[Block] = [Text(lead.strip()), View("profile", profile, profile.charts)]
    return Section("profile", profile.heading, blocks, "Profile")


def _character(traits: Character) -> Section:
    blocks: list[Block] = [Text(traits.sentence, soft=False)] if traits.sentence else []
    blocks.append(
        Text(
            "A faint dot is a dialogue; the strong one is an agent’s mean with its 95 % interval. "
            "Stability is the share of the differences between single dialogues that lies between "
            "agents (ICC): 1 if every agent always sounds like itself and unlike the others, 0 if "
            "knowing the agent tells nothing. Spreads are standard deviations on the trait’s own "
            "scale."
        )
    )
    charts = {place: {"": chart} for place, chart in traits.charts.items()}
    return Section("character", "Character", [*blocks, View("character", traits, charts)])


def _distributions(digest: Digest, seed: int) -> Section:
    charts = {name: distribution_chart(digest, name, seed=seed) for name in digest.headline}
    labels = {name: digest.label(name) for name in charts}
    plot = Plot("distribution", _drawn(charts), "Metric", labels)
    return Section("distributions", "How single dialogues differ", [plot], "Distributions")


def _emotions(digest: Digest) -> Section:
    names = _names(digest)
    classified = _drawn({"": model_emotion_chart(digest)})
    heading = "By lexicon: the words they use" if classified else ""
    plots = [Plot("emotions", _drawn({"": emotion_chart(digest)}), title=heading, agents=names)]
    if classified:
        title = "By classifier: whole turns"
        plots.append(Plot("classified", classified, title=title, agents=names))
    return Section("emotions", "Emotions in the agents’ words", plots, "Emotions")


def _movement(digest: Digest) -> Section:
    block: Block = Text(
        "Every dialogue here holds one turn of the agent, so there is nothing to follow from turn "
        "to turn."
    )
    if longest(digest) > 1:
        charts = {name: movement_chart(digest, name) for name in moving_metrics(digest)}
        labels = {name: digest.cards[name].long_label for name in charts}
        block = Plot("movement", _drawn(charts), "Metric", labels, agents=_names(digest))
    return Section("movement", "Over the turns of a dialogue", [block], "Over a dialogue")


def _drawn(charts: Mapping[str, Chart | None]) -> dict[str, Chart]:
    return {name: chart for name, chart in charts.items() if chart is not None}


def _dialogues(sample: Sample) -> Section:
    lead = Text(
        f"{_sampled(sample)} The words that made each score are marked; emotion words that weigh "
        "no more than function words do count, but are left plain."
    )
    blocks: list[Block] = [lead, View("dialogues", None)]
    return Section("dialogues", "Dialogues, turn by turn", blocks, "Dialogues")


def _formats(digest: Digest) -> Mapping[str, Mapping[str, Any]]:
    return {
        name: {"percent": scale.percent, "decimals": min(scale.decimals, 2)}
        for name, scale in digest.scales.items()
    }


def _about(run: RunRecord, digest: Digest) -> Section:
    metrics = _metric_facts(run, digest)
    signed = f"{len(metrics)} with their signatures"
    folds = [
        Fold("What was scored, and with what", [Facts(_run_facts(run))]),
        Fold("What the metrics mean", [Facts(metrics)], signed),
    ]
    return Section("about", "How this was made", folds, "How it was made")


def _run_facts(run: RunRecord) -> list[Fact]:
    facts = []
    if run.data:
        name, form = run.data.get("name", "made in Python"), run.data.get("format")
        hashes = [f"sha256 {run.data['sha256']}"] if run.data.get("sha256") else []
        hashes += [f"{table} {digest}" for table, digest in run.data.get("tables", {}).items()]
        text = f"{name}, read as {form}" if form else str(name)
        facts.append(Fact("Source", text, code=hashes))
    for use, lexicon in run.lexicons.items():
        text = f"{lexicon['name']}, {lexicon['terms']:,} terms. {lexicon['source']}"
        licence = f"Licence: {lexicon['licence']}"
        code = f"sha256 {lexicon['sha256']}"
        facts.append(Fact(_LEXICONS.get(use, use), text, lines=[licence], code=[code]))
    if run.prompt:
        before = "everything said" if run.prompt == "context" else "the turn"
        facts.append(Fact("Prompt", f"A turn is compared with {before} before it."))
    counts = ", ".join(
        f"{number:,} {name.replace('_', ' ')}" for name, number in run.counts.items()
    )
    rejected = [f"{number:,} records left out: {why}" for why, number in run.rejected.items()]
    packages = "".join(f", {name} {version}" for name, version in run.packages.items())
    commit = f" {run.commit}" if run.commit else ""
    ended = f", ended {run.ended}" if run.ended else ""
    seconds = ", ".join(f"{step} {seconds} s" for step, seconds in run.seconds.items())
    return [
        *facts,
        Fact("Counted", counts, lines=rejected),
        Fact("Seed", str(run.seed)),
        Fact(
            "Made by",
            f"dialens {run.dialens}{commit}, command “{run.command}”, Python {run.python}"
            f"{packages}; {run.platform}",
        ),
        Fact("When", f"begun {run.started}{ended}{'; ' if seconds else ''}{seconds}"),
    ]


def _metric_facts(run: RunRecord, digest: Digest) -> list[Fact]:
    return [
        Fact(name, f"{card.meaning}.", card.citation or "", code=[run.signatures.get(name, "")])
        for name, card in digest.cards.items()
    ]


def _sampled(sample: Sample) -> str:
    if sample.whole:
        return f"All {counted(sample.total, 'dialogue')} can be opened here."
    return (
        f"{counted(len(sample.dialogs), 'dialogue')} of {sample.total:,} can be opened here: a "
        "random sample, as even over the agents as it can be. What stands above rests on all."
    )
