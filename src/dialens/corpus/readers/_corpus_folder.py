"""Our own folder: three Parquet tables and a manifest."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from dialens.corpus._corpus import MANIFEST, Corpus, is_corpus_folder
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._source import Source
from dialens.corpus._tables import RATINGS, REFERENCES, Tables

_ROWS = 65_536


@dataclass(frozen=True)
class CorpusFolderReader:
    """Reads a corpus that dialens wrote; its files are checked against the manifest's hashes."""

    name: str = "corpus"
    summary: str = "Our own folder: turns, ratings and references as Parquet, with a manifest"
    example: str = (
        "talks/\n  turns.parquet\n  ratings.parquet\n  references.parquet\n  manifest.json\n"
    )

    def recognises(self, source: Source) -> bool:
        """Whether the folder holds our manifest."""
        return source.is_folder and is_corpus_folder(source.path)

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """The turns in batches, then references and ratings."""
        corpus = Corpus.open(source.path)
        for turns in corpus.batches(turns=_ROWS):
            for dialog in turns.filter(pl.col("turn") == 0)["dialog"]:
                try:
                    intake.claim(dialog, source.path / MANIFEST, 0)
                except RecordError as error:
                    intake.reject(source.path / "turns.parquet", 0, error)
                    turns = turns.filter(pl.col("dialog") != dialog)
            yield Tables.of(turns)
        for ratings in _batches(corpus.ratings):
            yield Tables.of(ratings=ratings.select(RATINGS.names()))
        for references in _batches(corpus.references):
            yield Tables.of(references=references.select(REFERENCES.names()))


def _batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    yield from frame.collect_batches(chunk_size=_ROWS, maintain_order=True)


CORPUS = CorpusFolderReader()
