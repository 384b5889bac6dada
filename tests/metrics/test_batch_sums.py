"""Batches by themselves: any cut, any process, any vocabulary, any memory give the same scores."""

import pickle
from collections.abc import Iterator
from concurrent.futures import CancelledError
from math import fsum
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import (
    BatchScorer,
    Groups,
    Resources,
    ScoredBatch,
    ScoringPlan,
    Scratch,
    long,
    make_plan,
    merged_parts,
    score_into,
    score_parts,
)
from dialens.metrics._engine import _until_stopped
from dialens.metrics._exact_sums import exact_sums, whole
from tests.metrics.strategies import WORDS, corpora

BRIEFLY = settings(max_examples=8, deadline=None, phases=(Phase.generate,))
LEXICAL = ["emotion", "style", "surface"]


def plan() -> ScoringPlan:
    return make_plan(LEXICAL, Resources())


def scored(corpus: Corpus, plan: ScoringPlan, rows: int, *, most_words: int) -> list[ScoredBatch]:
    scorer = BatchScorer(plan, most_words=most_words)
    return [scorer.score(scorer.see(turns)) for turns in corpus.batches(turns=rows)]


def table(batches: Iterator[ScoredBatch] | list[ScoredBatch], plan: ScoringPlan) -> pl.DataFrame:
    signatures = {metric.name: metric.signature for metric in plan.metrics}
    parts = merged_parts(batches, plan)
    rows = pl.concat([long(part, signatures) for part in parts])
    return rows.sort("metric", "level", "system", "agent", "dialog", "turn")


@BRIEFLY
@given(corpora(), st.integers(1, 6), st.integers(0, 6))
def test_any_cut_and_any_vocabulary_give_equal_scores(
    talks: list[Dialogue], rows: int, most_words: int
) -> None:
    corpus, computed = Corpus.of(talks), plan()
    whole_corpus = table(scored(corpus, computed, 1000, most_words=1000), computed)
    parts = scored(corpus, computed, rows, most_words=most_words)
    assert_frame_equal(table(parts, computed), whole_corpus, check_exact=True)
    sent = [pickle.loads(pickle.dumps(batch)) for batch in parts]
    assert_frame_equal(table(sent, computed), whole_corpus, check_exact=True)


@BRIEFLY
@given(corpora(), st.randoms(use_true_random=False))
def test_sums_depend_on_their_batch_alone(talks: list[Dialogue], random) -> None:
    """Whatever words a process saw before, the bytes of a batch's sums are the same."""
    computed = plan()
    first, second = BatchScorer(computed), BatchScorer(computed)
    (turns,) = Corpus.of(talks).batches()
    others = Dialogue("s", "b", "other", [Turn("B", "agent", " ".join(random.sample(WORDS, 20)))])
    for earlier in Corpus.of([others]).batches():
        second.score(second.see(earlier))
    one, two = (scorer.score(scorer.see(turns)).sums for scorer in (first, second))
    assert pickle.dumps(one) == pickle.dumps(two)


def test_agents_stand_in_the_order_of_the_corpus() -> None:
    turns = [Turn("B", "agent", "hey you")]
    talks = [Dialogue("s", name, f"d{n}", turns) for n, name in enumerate("cabac")]
    computed = make_plan(["length"], Resources())
    groups = Groups(computed)
    for batch in scored(Corpus.of(talks), computed, 2, most_words=10):
        groups.add(batch.sums)
    agents, systems, positions = groups.parts()
    assert agents.units["agent"].to_list() == ["c", "a", "b"]
    assert agents.columns["length"].n.tolist() == [2, 2, 1]
    assert systems.columns["length"].n.tolist() == [5]
    assert positions.units["turn"].to_list() == [0, 0, 0]


def test_nothing_scored_gives_no_agents() -> None:
    assert list(score_parts([], plan())) == []


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(-1000, 1000).filter(lambda x: x == 0 or abs(x) > 2.0**-20), min_size=1),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
def test_exact_sums_are_those_of_fsum(values: list[float], cut: int, random) -> None:
    def total(numbers: list[float]) -> np.ndarray:
        sums = np.zeros((1, 3))
        for start in range(0, len(numbers), cut):
            rows = np.array(numbers[start : start + cut])[:, None]
            sums += exact_sums(rows, np.zeros(len(rows), np.int64), 1)
        return whole(sums)

    found = float(total(values)[0, 0])
    assert found == pytest.approx(fsum(values), rel=1e-15, abs=1e-21)
    shuffled = random.sample(values, len(values))
    assert float(total(shuffled)[0, 0]) == found


def test_memory_changes_no_value(tmp_path: Path) -> None:
    """With hardly any, every batch is a dialogue and every set goes to a file."""
    draw = np.random.default_rng(3)
    talks = [
        Dialogue(
            f"s{number % 2}",
            f"a{number % 3}",
            f"d{number}",
            [
                Turn("x", ("agent", "partner")[place % 2], " ".join(draw.choice(WORDS, 6)))
                for place in range(4)
            ],
        )
        for number in range(12)
    ]
    corpus = Corpus.of(talks)
    for name, memory in (("much", 4_000_000_000), ("little", 1_000)):
        score_into(corpus, tmp_path / name, plan(), memory=memory)
    tables = sorted(path.name for path in (tmp_path / "much").glob("*.parquet"))
    assert len(tables) == 4
    assert sorted(path.name for path in (tmp_path / "little").iterdir()) == sorted(
        path.name for path in (tmp_path / "much").iterdir()
    )
    for name in tables:
        much, little = (pl.read_parquet(tmp_path / folder / name) for folder in ("much", "little"))
        keys = [
            key for key in ("metric", "level", "system", "agent", "dialog", "turn") if key in much
        ]
        assert_frame_equal(little.sort(keys), much.sort(keys), check_exact=True)


def test_scratch_is_shared_by_sets() -> None:
    """Many words of one turn each, with room for a few: the count is that of a Python set."""
    draw = np.random.default_rng(5)
    words = [f"w{number}" for number in draw.integers(0, 300, 2_000).tolist()]
    texts = [" ".join(words[start : start + 10]) for start in range(0, 2_000, 10)]
    talks = [
        Dialogue("s", f"a{n % 2}", f"d{n}", [Turn("B", "agent", t)]) for n, t in enumerate(texts)
    ]
    computed = make_plan(["distinct_1", "distinct_2"], Resources())
    groups = Groups(computed, Scratch(memory=4_000))
    for batch in scored(Corpus.of(talks), computed, 20, most_words=50):
        groups.add(batch.sums)
    agents, systems, _ = groups.parts()
    for n in (1, 2):
        of_texts = [{tuple(text.split()[i : i + n]) for i in range(11 - n)} for text in texts]
        wanted = [len(set().union(*of_texts[start::2])) for start in (0, 1)]
        counts = agents.state.own[f"distinct-{n}"][:, 0]
        assert counts.tolist() == wanted
        assert systems.state.own[f"distinct-{n}"][:, 0].tolist() == [len(set().union(*of_texts))]


def test_who_tells_of_progress_after_the_end_is_ended() -> None:
    told: list[int] = []
    with _until_stopped(told.append) as tell:
        tell(3)
    with pytest.raises(CancelledError):
        tell(4)
    assert told == [3]
