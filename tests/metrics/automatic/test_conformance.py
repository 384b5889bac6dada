"""What every metric must keep, for the automatic ones: with references, and with tiny weights."""

import string
from random import Random

import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from dialens.corpus import LEVELS, Corpus, Dialogue, Reference
from dialens.metrics import (
    Family,
    MetricCard,
    Resources,
    ScorerContext,
    ScorerSet,
    check_names,
    make_plan,
    metrics,
)
from dialens.metrics._engine import open_scorers, score_parts
from dialens.metrics._score_tables import long
from tests.metrics.automatic.tiny_weights import tiny_context
from tests.metrics.strategies import corpora, texts

CARDS = [card for card in metrics().values() if card.scored_by and "automatic" in card.groups]
FAMILIES = [*{card.scored_by.name: card.scored_by for card in CARDS}.values()]
BRIEFLY = settings(max_examples=5, deadline=None, phases=(Phase.generate,))
"""Every example goes through all networks; to shrink one would take minutes."""

TOLERANCE = 1e-4  # networks pad, and MAUVE clusters what they say


def scorers() -> ScorerSet:
    """Models are loaded once, in the context; nothing that was scored before is remembered."""
    return ScorerSet(tiny_context())


def lacks_our_weights(family: Family) -> bool:
    """Whether weights of our own, which ship, are not in this tree (they are trained last)."""
    return family.name.endswith("_dialens") and family.ready(tiny_context()) is not None


READY = [card for card in CARDS if not lacks_our_weights(card.scored_by)]


@st.composite
def referenced(draw: st.DrawFn) -> list[Dialogue]:
    """Conversations some of whose turns have references, blank ones among them."""
    talks = draw(corpora())
    for talk in talks:
        for turn in range(len(talk.turns)):
            for text in draw(st.lists(texts, max_size=2)):
                talk.references.append(Reference(turn, text))
    return talks


def table(talks: list[Dialogue], *, batch: int = 1000, threads: int = 1) -> pl.DataFrame:
    plan = make_plan(["automatic"], Resources(scorers=scorers()))
    corpus = Corpus.of(talks)
    references = open_scorers(corpus, plan)
    signatures = {metric.name: metric.signature for metric in plan.metrics}
    batches = corpus.batches(turns=batch)
    parts = score_parts(batches, plan, references=references, threads=threads)
    rows = pl.concat([long(part, signatures) for part in parts])
    return rows.sort("metric", "level", "system", "agent", "dialog", "turn")


@BRIEFLY
@given(referenced(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_every_promise_is_kept(talks: list[Dialogue], batch: int, random: Random) -> None:
    rows = table(talks)
    assert_frame_equal(rows, table(talks, batch=batch, threads=2), abs_tol=TOLERANCE)
    assert_frame_equal(rows, table(random.sample(talks, len(talks))), abs_tol=TOLERANCE)
    account_for_every_turn(rows.filter(pl.col("level") != "position"), talks)
    lie_in_the_declared_range(rows)
    lack_only_what_is_needed(rows)


def account_for_every_turn(rows: pl.DataFrame, talks: list[Dialogue]) -> None:
    agent_turns = sum(turn.role == "agent" for talk in talks for turn in talk.turns)
    systems = rows.filter(pl.col("level") == "system")
    counted = systems.group_by("metric").agg((pl.col("n") + pl.col("n_missing")).sum())
    assert counted["n"].unique().to_list() == [agent_turns]
    assert counted.height == len(CARDS)
    assert rows.filter(pl.col("value").is_null() & pl.col("reason").is_null()).height == 0
    assert rows.filter(pl.col("value").is_nan()).height == 0
    turns = rows.filter(pl.col("level") == "turn")
    assert turns.group_by("metric").len()["len"].unique().to_list() in ([agent_turns], [])


def lie_in_the_declared_range(rows: pl.DataFrame) -> None:
    for card in CARDS:
        low, high = card.range
        got = rows.filter(pl.col("metric") == card.name)["value"].drop_nulls()
        assert all((low is None or v >= low - 1e-6) for v in got), card.name
        assert all((high is None or v <= high + 1e-6) for v in got), card.name


def lack_only_what_is_needed(rows: pl.DataFrame) -> None:
    """A turn lacks a value for want of a reference exactly where the metric needs one."""
    turns = rows.filter(pl.col("level") == "turn", pl.col("reason").is_not_null())
    for card in READY:
        reasons = set(turns.filter(pl.col("metric") == card.name)["reason"])
        allowed = {"nothing said", "no value"}
        allowed |= {f"no {need}" for need in card.needs if need in ("reference", "context")}
        assert reasons <= allowed, card.name


@pytest.mark.parametrize("card", CARDS, ids=[card.name for card in CARDS])
def test_cards_are_filled_in(card: MetricCard) -> None:
    assert set(card.name) <= set(string.ascii_lowercase + string.digits + "_")
    assert card.meaning
    assert card.meaning[0].isupper()
    assert card.citation
    assert card.groups[-1] == "automatic"
    assert set(card.levels) <= set(LEVELS)
    assert set(card.needs) <= {"reference", "context", "weights"}
    signature = card.bind(Resources()).signature  # without anything being loaded
    assert signature.startswith(f"{card.name}|v{card.version}|")
    assert signature.endswith("|scorer:none")


@pytest.mark.parametrize("family", FAMILIES, ids=[family.name for family in FAMILIES])
def test_families_are_ready_or_say_what_they_want(family: Family) -> None:
    if lacks_our_weights(family):
        pytest.skip("our own weights are not in this tree")
    reason = family.ready(ScorerContext())
    if reason is not None:
        assert family.weights, f"{family.name} wants {reason}"
        assert all(f"--weights {name}=" in reason for name in list(family.weights)[:1]), reason
    check_names(tiny_context(), FAMILIES)
    made = scorers()
    assert made.ready(family), made.failed(family)
    signature = made.signature(family)
    assert signature != "none"
    assert "|" not in signature
    assert "\n" not in signature
