"""Dialogues are added up in parts that fit into memory, and the numbers are the same."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dialens.analysis.comparison import DialogSums, compare, intervals
from dialens.analysis.gating import gate_runs, parse_rule
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import Scores, score

METRICS = ["length", "question", "distinct_1", "emotional_entropy"]
DIALOGS = 1_500
LITTLE = 1
"""A byte: as few dialogues at once as there can be, a thousand."""


def talks(agents: list[str], seed: int, *, shared: bool) -> Corpus:
    """Agents that answer the same prompts, or each its own."""
    rng = np.random.default_rng(seed)
    words = np.array(["joy", "fear", "rain", "tea", "love", "sad"])
    made = []
    for agent in agents:
        for number in range(DIALOGS):
            said = " ".join(rng.choice(words, rng.integers(1, 9)))
            prompt = f"Case {number}" if shared else f"{agent}, case {number}"
            turns = [Turn("U", "partner", prompt), Turn("B", "agent", said + "?!"[seed % 2])]
            made.append(Dialogue("s", agent, f"{agent}{number}", turns))
    return Corpus.of(made)


@pytest.fixture(scope="module", params=[True, False], ids=["paired", "apart"])
def scores(request: pytest.FixtureRequest) -> Scores:
    return score(talks(["ann", "bob"], 0, shared=request.param), metrics=METRICS)


def test_little_memory_gives_the_same_comparison_to_the_last_bit(scores: Scores) -> None:
    assert compare(scores, memory=LITTLE).equals(compare(scores))
    assert intervals(scores, memory=LITTLE).equals(intervals(scores))


def test_runs_that_lie_in_folders_are_joined_without_being_read_whole(tmp_path: Path) -> None:
    runs = {
        name: score(talks(["ann"], seed, shared=True), metrics=METRICS)
        for seed, name in enumerate(("old", "new"))
    }
    kept = {name: Scores.open(run.save(tmp_path / name)) for name, run in runs.items()}
    assert compare(kept, memory=LITTLE).equals(compare(runs))
    rules = [parse_rule("length change > 1"), parse_rule("question > 0.5")]
    little, much = (
        gate_runs(kept, rules, decide="shown", memory=memory) for memory in (LITTLE, 10**9)
    )
    assert little.checks == much.checks


def test_totals_are_sums_of_what_was_said(scores: Scores) -> None:
    sums = DialogSums(scores, ["length"], memory=LITTLE)
    groups = sums.groups("agent")
    found = sums.values(sums.totals(groups))["length"].value
    dialogs = scores.dialog_values(["length"])
    means = dialogs.group_by("agent", maintain_order=True).agg(pl.col("length").mean())["length"]
    np.testing.assert_allclose(found, means, rtol=1e-12)  # every dialogue has one turn of the agent


def test_dialogues_in_no_slot_are_left_out(scores: Scores) -> None:
    sums = DialogSums(scores, ["length"], memory=LITTLE)
    slots = np.full(2 * DIALOGS, -1)
    slots[[3, DIALOGS + 7]] = 1
    found = sums.values(sums.added_up(slots, 2))["length"].value
    values = scores.dialog_values(["length"])["length"]
    assert np.isnan(found[0])
    assert found[1] == pytest.approx((values[3] + values[DIALOGS + 7]) / 2)
