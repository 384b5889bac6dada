"""Emotion and toxicity of texts: whole numbers from a model, shard by shard.

A shard is made of the texts whose MD5 begins with the same digits, in the order of their MD5: it
depends on the texts alone. The scores of a user's quantised model may move with the texts that
share a batch; with shards that are the same in every engine, so are the batches and the scores.
"""

import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.base import (
    Advance,
    DialensError,
    atomic_file,
    begin_worker,
    end_workers,
    step_key,
)
from dialens.models import POSITIVE_EMOTIONS, Model, load, read_card
from dialens.text import emotion_lexicon, tokenise_texts

MICRO: Final = 1_000_000
_LEXICON_POSITIVE: Final = ("joy", "trust", "anticipation")
_SHARD_TEXTS: Final = 8_192
_ONE_SHARD: Final = 1_024
_KEY_DIGITS: Final = 24


@runtime_checkable
class Scorer(Protocol):
    """Anything that gives each text a number from 0 to 1,000,000. It must be picklable."""

    @property
    def signature(self) -> str:
        """What the numbers depend on besides the text: name, version, hash of weights."""

    def __call__(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """One number a text, in their order."""


def micro_units(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Probabilities as whole millionths, kept within 0 and 1.

    Examples:
        >>> micro_units(np.array([0.25, 1.7, -0.1])).tolist()
        [250000, 1000000, 0]
    """
    kept: NDArray[np.float64] = np.clip(np.asarray(probabilities, np.float64), 0.0, 1.0)
    return np.floor(kept * MICRO + 0.5).astype(np.int64)


@dataclass(frozen=True)
class ModelScorer:
    """Summed probability of some labels of a classifier; weights are read at the first text.

    Attributes:
        name: As :func:`dialens.models.load` takes it.
        task: Which one is meant, of a folder with several.
        labels: Whose probabilities are summed.
        device: `cpu`, `cuda`, or `auto` for a GPU where there is one.
    """

    name: str
    task: str
    labels: tuple[str, ...]
    device: str = "cpu"
    _cache: dict[str, Model] = field(default_factory=dict, compare=False, repr=False)

    @property
    def on_gpu(self) -> bool:
        """Whether a GPU computes, which one process fills."""
        return self.model().device != "cpu"

    def model(self) -> Model:
        """The model, on one thread: shards run side by side."""
        if "model" not in self._cache:
            model = load(self.name, self._task(), threads=1, device=self.device)
            if not isinstance(model, Model):
                raise DialensError(
                    f"{self.name} is a model for PyTorch, too slow for millions of texts. Export "
                    "it to ONNX first."
                )
            missing = [label for label in self.labels if label not in model.labels]
            if missing:
                raise DialensError(
                    f"{self.name} has no label {', '.join(missing)}; it has: "
                    f"{', '.join(model.labels)}. Give a model with the labels of GoEmotions "
                    "(--emotion) or with the label toxic (--toxicity)."
                )
            self._cache["model"] = model
        return self._cache["model"]

    def _task(self) -> str | None:
        """The task to ask for: named models have theirs, a folder may have several."""
        folder = Path(self.name)
        if not (folder / "card.json").is_file():
            return None
        return self.task if self.task in read_card(folder).tasks else None

    @property
    def signature(self) -> str:
        """Of the weights, the task and the labels."""
        return f"{self.model().signature}|{'+'.join(self.labels)}"

    @property
    def threshold(self) -> float:
        """Where the model's card draws the line for the first label."""
        model = self.model()
        return float(model.task.thresholds[model.labels.index(self.labels[0])])

    def __call__(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Micro-units of the summed probability."""
        model = self.model()
        columns = [model.labels.index(label) for label in self.labels]
        probabilities = model.predict(list(texts), advance=lambda _: None)
        return micro_units(probabilities[:, columns].astype(np.float64).sum(axis=1))

    def __getstate__(self) -> dict[str, object]:
        """Without the open model, which every process opens for itself."""
        return {**vars(self), "_cache": {}}


@dataclass(frozen=True)
class LexiconScorer:
    """Share of joy, trust and anticipation in the emotion words of a text, by the shipped lexicon.

    Another instrument than a classifier, and a coarse one; fast, and the same on every machine.
    A text without an emotion word has 0.

    Examples:
        >>> LexiconScorer()(["thanks, wonderful!", "scary"]).tolist()[0] > 500_000
        True
    """

    @property
    def signature(self) -> str:
        """Of the lexicon."""
        return f"lexicon:{emotion_lexicon().sha256[:12]}|{'+'.join(_LEXICON_POSITIVE)}"

    def __call__(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Micro-units of the share."""
        lexicon = emotion_lexicon()
        tokens = tokenise_texts(texts)
        lengths = [len(words) for words in tokens]
        words = pl.Series(list(chain.from_iterable(tokens)), dtype=pl.String)
        weights = lexicon.weights(words).astype(np.float64)
        positive = [lexicon.categories.index(name) for name in _LEXICON_POSITIVE]
        owner = np.repeat(np.arange(len(texts)), lengths)
        rows = len(texts)
        joy = np.bincount(owner, weights[:, positive].sum(axis=1), minlength=rows)
        every = np.bincount(owner, weights.sum(axis=1), minlength=rows)
        share: NDArray[np.float64] = np.divide(joy, every, out=np.zeros(rows), where=every > 0)
        return micro_units(share)


def emotion_scorer(name: str, device: str = "cpu") -> Scorer | None:
    """The scorer that `--emotion` names: a model, `lexicon`, or None for `none`.

    Examples:
        >>> emotion_scorer("none"), emotion_scorer("lexicon")
        (None, LexiconScorer())
    """
    if name == "none":
        return None
    if name == "lexicon":
        return LexiconScorer()
    return ModelScorer(name, "emotion", POSITIVE_EMOTIONS, device)


def toxicity_scorer(name: str, device: str = "cpu") -> ModelScorer | None:
    """The scorer that `--toxicity` names: a model, or None for `none`.

    Examples:
        >>> toxicity_scorer("none") is None
        True
    """
    return None if name == "none" else ModelScorer(name, "toxicity", ("toxic",), device)


@dataclass(frozen=True)
class ShardPlan:
    """How many texts there are, and by how many digits of their key they fall into shards."""

    texts: int
    digits: int

    @classmethod
    def of(cls, texts: int) -> "ShardPlan":
        """The plan for a number of texts.

        Examples:
            >>> ShardPlan.of(1_000).digits, ShardPlan.of(100_000).digits, ShardPlan.of(10**7).digits
            (0, 1, 3)
        """
        digits = 0 if texts <= _ONE_SHARD else 1
        while texts > _SHARD_TEXTS * 16**digits:
            digits += 1
        return cls(texts, digits)


def cut(batches: Iterable[pl.DataFrame], digits: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Shards from batches in the order of text_key, each with the digits its keys begin with.

    Examples:
        >>> batch = pl.DataFrame({"text_key": ["0a", "0b", "1c"], "text": ["x", "y", "z"]})
        >>> [(digits, table.height) for digits, table in cut([batch[:1], batch[1:]], 1)]
        [('0', 2), ('1', 1)]
    """
    pending: list[pl.DataFrame] = []
    current: str | None = None
    for batch in batches:
        pieces = batch.with_columns(shard=pl.col("text_key").str.slice(0, digits)).partition_by(
            "shard", maintain_order=True
        )
        for piece in pieces:
            shard = piece["shard"][0]
            if pending and shard != current:
                yield current or "", pl.concat(pending)
                pending = []
            current = shard
            pending.append(piece.select("text_key", "text"))
    if pending:
        yield current or "", pl.concat(pending)


def score_shards(
    shards: Iterable[tuple[str, pl.DataFrame]],
    scorer: Scorer,
    folder: Path,
    *,
    processes: int,
    advance: Advance,
) -> list[Path]:
    """Score shards in a pool of processes; those whose scores are in `folder` are not done again.

    Args:
        shards: Digits and texts.
        scorer: What gives the numbers.
        folder: Where each shard leaves a Parquet file (text_key, micro), named by its key.
        processes: How many; 1 works in this one.
        advance: Called with the number of texts that were done.

    Returns:
        The files, in the order of shards.

    Raises:
        DialensError: The scorer breaks its contract, or a process was killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    signature = scorer.signature
    alone = isinstance(scorer, ModelScorer) and scorer.on_gpu
    paths: list[Path] = []
    waiting: deque[tuple[Future[None], int]] = deque()
    pool: ProcessPoolExecutor | None = None
    try:
        for digits, table in shards:
            key = step_key([signature, *table["text_key"]])[:_KEY_DIGITS]
            path = folder / f"{digits or 'all'}-{key}.parquet"
            paths.append(path)
            if path.exists():
                advance(table.height)
            elif processes == 1 or not digits or alone:
                score_shard(scorer, table, path)
                advance(table.height)
            else:
                pool = pool or ProcessPoolExecutor(
                    processes,
                    mp_context=multiprocessing.get_context("spawn"),
                    initializer=begin_worker,
                )
                waiting.append((pool.submit(score_shard, scorer, table, path), table.height))
                if len(waiting) > 2 * processes:  # so that few texts are in memory
                    _settle(waiting, advance)
        while waiting:
            _settle(waiting, advance)
    except BrokenProcessPool as error:
        raise DialensError(
            "A process that was scoring texts was killed, probably because the memory was full: "
            "each holds the model. Run the same command again with fewer --threads: finished "
            "shards are kept."
        ) from error
    except BaseException:
        if pool is not None:
            end_workers(pool)
        raise
    if pool is not None:
        pool.shutdown()
    return paths


def _settle(waiting: deque[tuple[Future[None], int]], advance: Advance) -> None:
    future, texts = waiting.popleft()
    future.result()
    advance(texts)


def score_shard(scorer: Scorer, table: pl.DataFrame, path: Path) -> None:
    """Score one shard into a file that appears when it is whole."""
    scores = scored(scorer, table)
    with atomic_file(path) as scratch:
        scores.write_parquet(scratch)


def scored(scorer: Scorer, table: pl.DataFrame) -> pl.DataFrame:
    """Keys and micro-units of the texts of a shard.

    Raises:
        DialensError: The scorer breaks its contract.

    Examples:
        >>> table = pl.DataFrame({"text_key": ["0a"], "text": ["chair"]})
        >>> scored(LexiconScorer(), table).row(0)
        ('0a', 0)
    """
    micro = np.asarray(scorer(table["text"].to_list()))
    if micro.shape != (table.height,) or micro.dtype != np.int64:
        raise DialensError(
            f"The scorer {scorer.signature} gave {micro.dtype} of shape {micro.shape} for "
            f"{table.height} texts; it must give one int64 a text."
        )
    if micro.size and (micro.min() < 0 or micro.max() > MICRO):
        raise DialensError(
            f"The scorer {scorer.signature} gave {micro.min()} to {micro.max()}; micro-units are "
            f"from 0 to {MICRO:,}."
        )
    return pl.DataFrame({"text_key": table["text_key"], "micro": micro})
