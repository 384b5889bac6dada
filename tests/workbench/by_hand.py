"""Folders for the workbench, made by hand: known texts, known values."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from dialens.base import Recorder, RunRecord
from dialens.corpus import Corpus, Dialogue, Rating, Turn, batches, write_corpus
from dialens.metrics import ScoredMetric, Scores, metrics
from dialens.workbench import Catalogue, Index, Item, Source, collections_of
from dialens.workbench._building import build_index

TALKS = (
    ("calm", "exam", ["I failed my exam.", "I am so sorry to hear that.", "Thanks.", "What now?"]),
    ("calm", "cat", ["My cat died.", "Sorry. How old was she?", "Twelve.", "A good long life."]),
    ("curt", "exam", ["I failed my exam.", "Bad luck.", "Thanks.", "Study more."]),
    ("curt", "cat", ["My cat died.", "Get another <b>cat</b>.", "Wow.", "Cats die."]),
)
VALUES = {
    ("calm", "exam"): {1: 0.9, 3: 0.5},
    ("calm", "cat"): {1: 0.8, 3: 0.7},
    ("curt", "exam"): {1: 0.2, 3: 0.1},
    ("curt", "cat"): {1: 0.05, 3: None},
}


def talks() -> list[Dialogue]:
    """Two agents on the same two openings, with a few ratings of one conversation."""
    made = []
    for agent, topic, texts in TALKS:
        roles = ("partner", "agent")
        turns = [Turn(roles[n % 2], roles[n % 2], text) for n, text in enumerate(texts)]
        ratings = []
        if (agent, topic) == ("calm", "exam"):
            ratings = [
                Rating(rater="r1", quality="warmth", value=4.0, turn=1),
                Rating(rater="r2", quality="warmth", value=5.0, turn=1),
            ]
        made.append(Dialogue("s", agent, f"{topic}-{agent}", turns, ratings))
    return made


def corpus_folder(folder: Path) -> Corpus:
    """The conversations as a corpus folder."""
    return write_corpus(batches(talks()), folder, source={"name": "by hand", "format": "python"})


def score_folder(folder: Path, corpus: Path, *, name: str = "empathy", plus: float = 0.0) -> None:
    """Scores of one metric, with the values above."""
    folder.mkdir()
    rows = [
        ("turn", agent, f"{topic}-{agent}", turn, None if value is None else value + plus)
        for (agent, topic), values in VALUES.items()
        for turn, value in values.items()
    ]
    means = {
        key: [value for value in values.values() if value is not None]
        for key, values in VALUES.items()
    }
    dialogs = [
        (agent, f"{topic}-{agent}", sum(found) / len(found) + plus)
        for (agent, topic), found in means.items()
    ]
    rows += [("dialog", agent, dialog, None, value) for agent, dialog, value in dialogs]
    for agent in ("calm", "curt"):
        own = [value for who, _, value in dialogs if who == agent]
        rows.append(("agent", agent, None, None, sum(own) / len(own)))
    card = metrics()[name]
    signature = f"{name}|v{card.version}|plus:{plus}"
    table = pl.DataFrame(
        [(name, *row) for row in rows],
        schema={
            "metric": pl.String,
            "level": pl.String,
            "agent": pl.String,
            "dialog": pl.String,
            "turn": pl.Int32,
            "value": pl.Float64,
        },
        orient="row",
    ).with_columns(
        system=pl.lit("s"),
        n=pl.lit(1, pl.Int64),
        n_missing=pl.lit(0, pl.Int64),
        reason=pl.lit(None, pl.String),
        signature=pl.lit(signature),
    )
    wide = pl.DataFrame(
        [("s", *row) for row in dialogs],
        schema={"system": pl.String, "agent": pl.String, "dialog": pl.String, name: pl.Float64},
        orient="row",
    )
    scores = Scores(
        table.lazy(), wide.lazy(), wide.lazy(), table.clear(), (ScoredMetric(card, signature, ()),)
    )
    scores.save(folder, force=True)
    recorder = Recorder("score", {"corpus": str(corpus)}, now=lambda: datetime.now(UTC))
    recorder.finish(folder / "run.json")
    written = json.loads((folder / "run.json").read_text())
    manifest = json.loads((corpus / "manifest.json").read_text())
    tables = {file: entry["sha256"] for file, entry in manifest["files"].items()}
    written["data"] = {"name": corpus.name, "format": "corpus", "tables": tables}
    (folder / "run.json").write_text(json.dumps(written))


def scores_item(folder: Path, corpus: Path) -> Item:
    """What finding would say of a score folder."""
    record = RunRecord.open(folder / "run.json")
    made = datetime.fromisoformat(record.started)
    sources = (Source(corpus, None, corpus.name),)
    return Item("scores", folder.name, folder, "", made, None, sources, record=record)


def catalogue(folder: Path, *items: Item) -> Catalogue:
    """A catalogue of a corpus and some more."""
    return Catalogue(folder, (Item("corpus", "talks", folder / "talks", ""), *items))


def built(folder: Path, place: Path, *runs: str) -> Index:
    """The index of the conversations in a folder, with some runs of theirs."""
    items = [scores_item(folder / name, folder / "talks") for name in runs]
    place.mkdir()
    build_index(collections_of(catalogue(folder, *items)), place, lambda _: None)
    return Index(place)
