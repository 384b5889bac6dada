"""What a run record says about a corpus, its scores and the resources behind them."""

from typing import Any

import polars as pl

from dialens.corpus import Corpus
from dialens.metrics import Resources, Scores
from dialens.text import Lexicon


def run_facts(
    *,
    corpus: Corpus | None = None,
    scores: Scores | None = None,
    resources: Resources | None = None,
) -> dict[str, Any]:
    """Counts, origin, signatures, lexicons and prompt, as `Recorder.observe` takes them.

    Args:
        corpus: Where the conversations came from, and how many there are.
        scores: How many values, by which metrics.
        resources: Lexicons and prompt.

    Examples:
        >>> from dialens.corpus import Dialogue, Turn
        >>> talk = [Turn("U", "partner", "How are you?"), Turn("B", "agent", "Glad you ask!")]
        >>> run_facts(corpus=Corpus.of([Dialogue("s", "bot", "d1", talk)]))["counts"]
        {'turns': 2, 'agent_turns': 1, 'rejected': 0}
    """
    counts: dict[str, int] = {}
    facts: dict[str, Any] = {"counts": counts}
    if corpus is not None:
        counts |= _corpus_counts(corpus)
        facts["data"] = _origin(corpus)
    if scores is not None:
        counts |= _score_counts(scores)
        facts["signatures"] = dict(scores.signatures)
    if resources is not None:
        facts["lexicons"] = {
            "emotion": _about(resources.emotion),
            "style": _about(resources.style),
            "stop": _about(resources.stop),
        }
        facts["prompt"] = resources.prompt
    return facts


def _corpus_counts(corpus: Corpus) -> dict[str, int]:
    counted = corpus.turns.select(
        turns=pl.len(), agent_turns=(pl.col("role") == "agent").sum()
    ).collect(engine="streaming")
    rejected = int(corpus.manifest.get("counts", {}).get("rejected", 0))
    return {**counted.row(0, named=True), "rejected": rejected}


def _score_counts(scores: Scores) -> dict[str, int]:
    """From the dialogues' sums, one row each: counting a million ids again costs memory."""
    units = scores.states.select(
        systems=pl.col("system").n_unique(),
        agents=pl.struct("system", "agent").n_unique(),
        dialogs=pl.len(),
    ).collect(engine="streaming")
    values = scores.table.select(pl.len()).collect(engine="streaming").item()
    return {**units.row(0, named=True), "scores": values, "metrics": len(scores.signatures)}


def _origin(corpus: Corpus) -> dict[str, Any]:
    manifest = corpus.manifest
    origin = dict(manifest.get("source", {}))
    tables = {name: about["sha256"] for name, about in manifest.get("files", {}).items()}
    return {**origin, "tables": tables} if tables else origin


def _about(lexicon: Lexicon) -> dict[str, Any]:
    return {
        "name": lexicon.name,
        "sha256": lexicon.sha256,
        "licence": lexicon.licence,
        "source": lexicon.source,
        "terms": len(lexicon),
        "notes": list(lexicon.notes),
    }
