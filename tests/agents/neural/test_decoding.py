"""Choosing a reply: greedy, beam and nucleus against each other and against all there is."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from dialens.agents.neural import Shape
from dialens.agents.neural._decoding import Decoding, Guards, Taboo, decode, nucleus_draw
from dialens.agents.neural._inference import State, Writer
from dialens.agents.neural._shape import BEGIN, END
from tests.agents.neural.conftest import small_shape

PLAIN = Decoding(beam=1, longest=8, shortest=0, no_repeat=0, no_echo=0, contrast=0.0)
CONTEXT = [[7, 8, 5], [6, 7]]


def random_writer(kind: str, seed: int, shape: Shape | None = None) -> Writer:
    """A network with random weights, made without PyTorch from the shapes its parts must have."""
    shape = shape or small_shape(kind, vocabulary=60)
    e, h, a, d = shape.embedding, shape.hidden, shape.attention, shape.annotation
    told = {"seq2seq": h, "hred": h, "thred": h + e}[kind]
    sizes: dict[str, tuple[int, ...]] = {
        "words.weight": (shape.vocabulary, e),
        "first.weight": (h, h),
        "first.bias": (h,),
        "decoder.readout.weight": (e, h + told + e),
        "decoder.readout.bias": (e,),
        "decoder.bias": (shape.vocabulary,),
        "message.weight": (h, 2 * h),
        "message.bias": (h,),
        "topic_readout.weight": (e, h + 2 * e),
        "topic_readout.bias": (e,),
        "topic_bias": (1,),
    }
    for name, query, memory in (("attention", h, h), ("topic_attention", 2 * h, e)):
        sizes |= {f"{name}.query.weight": (a, query), f"{name}.query.bias": (a,)}
        sizes |= {f"{name}.memory.weight": (a, memory), f"{name}.energy.weight": (1, a)}
    for name, into, state, ends in (
        ("encoder.gru", e, d, ("_l0", "_l0_reverse")),
        ("context.gru", h, h, ("_l0",)),
        ("decoder.cell", e + told, h, ("",)),
    ):
        for end in ends:
            sizes |= {
                f"{name}.weight_ih{end}": (3 * state, into),
                f"{name}.bias_ih{end}": (3 * state,),
            }
            sizes |= {
                f"{name}.weight_hh{end}": (3 * state, state),
                f"{name}.bias_hh{end}": (3 * state,),
            }
    drawn = np.random.default_rng(seed)
    weights: Any = {name: drawn.normal(0, 0.7, size) for name, size in sizes.items()}
    return Writer(shape, weights)


def greedy(writer: Writer, longest: int) -> tuple[int, ...]:
    state = writer.begin(CONTEXT, [20, 21])
    ids: list[int] = []
    while len(ids) < longest:
        scores, state = writer.step([ids[-1] if ids else BEGIN], state)
        scores[:, [0, 1, 2, 4]] = -np.inf
        word = int(np.argmax(scores[0]))
        if word == END:
            break
        ids.append(word)
    return tuple(ids)


@pytest.mark.parametrize("kind", ["seq2seq", "hred", "thred"])
@pytest.mark.parametrize("seed", range(4))
def test_beam_of_one_and_a_nucleus_of_nothing_are_greedy(kind: str, seed: int) -> None:
    writer = random_writer(kind, seed)
    expected = greedy(writer, PLAIN.longest)
    assert decode(writer, CONTEXT, [20, 21], PLAIN)[0].ids == expected
    narrow = replace(PLAIN, sample=True, candidates=3, top_p=0.0, temperature=1.0)
    assert {one.ids for one in decode(writer, CONTEXT, [20, 21], narrow, seed=seed)} == {expected}
    cold = replace(narrow, top_p=1.0, temperature=0.0)
    assert decode(writer, CONTEXT, [20, 21], cold)[0].ids == expected


def test_a_wide_beam_finds_the_best_of_all_replies() -> None:
    writer = random_writer("hred", 1, small_shape("hred", vocabulary=9))
    words = [5, 6, 7, 8]
    best: tuple[int, ...] = ()
    best_score = -np.inf
    for length in range(4):
        for ids in product(words, repeat=length):
            score = total(writer, ids)
            if score > best_score:
                best, best_score = ids, score
    wide = replace(PLAIN, beam=400, longest=3, length_power=0.0)
    found = decode(writer, CONTEXT, [], wide)[0]
    assert found.ids == best
    assert found.score == pytest.approx(best_score)


def total(writer: Writer, ids: tuple[int, ...]) -> float:
    state: State = writer.begin(CONTEXT)
    found = 0.0
    for last, word in zip((BEGIN, *ids), (*ids, END), strict=True):
        scores, state = writer.step([last], state)
        found += float(scores[0, word])
    return found


def test_normalised_score_is_log_probability_over_a_power_of_the_length() -> None:
    writer = random_writer("seq2seq", 2)
    for one in decode(writer, CONTEXT, [], replace(PLAIN, beam=4, length_power=0.5)):
        assert one.score == pytest.approx(total(writer, one.ids) / (len(one.ids) + 1) ** 0.5)


def test_the_same_seed_draws_the_same_and_another_draws_something_else() -> None:
    writer = random_writer("thred", 3)
    free = replace(PLAIN, sample=True, top_p=1.0, temperature=1.0)
    one, again, other = (decode(writer, CONTEXT, [20], free, seed=s) for s in (1, 1, 2))
    assert one == again
    assert one != other


def test_no_n_gram_twice_none_from_earlier_and_a_least_length() -> None:
    writer = random_writer("hred", 4, small_shape("hred", vocabulary=12))
    guarded = replace(PLAIN, sample=True, candidates=8, temperature=1.0, top_p=1.0)
    guarded = replace(guarded, shortest=6, longest=20, no_repeat=2, no_echo=2)
    earlier = ((5, 6, 7), (8, 8))
    for one in decode(writer, CONTEXT, [], guarded, taboo=Taboo(earlier)):
        pairs = list(zip(one.ids, one.ids[1:], strict=False))
        assert len(pairs) == len(set(pairs))
        assert not {(5, 6), (6, 7), (8, 8)} & set(pairs)
        assert 6 <= len(one.ids) <= 20
        assert min(one.ids) > 4  # no special subword is ever said


def test_blocked_words_are_not_written_whole() -> None:
    guards = Guards(PLAIN, Taboo(blocked=((30,), (31, 32))))
    assert guards.forbidden([9, 9]) == {30}
    assert guards.forbidden([9, 31]) == {30, 32}


def test_forbidden_by_hand() -> None:
    guards = Guards(replace(PLAIN, no_repeat=3, no_echo=4), Taboo(earlier=((1, 2, 3, 4, 5),)))
    assert guards.forbidden([7, 8, 9, 7, 8]) == {9}
    assert guards.forbidden([2, 3, 4]) == {5}
    assert guards.forbidden([3, 4]) == set()


def test_the_nucleus_is_what_its_paper_says() -> None:
    chances = np.log(np.array([0.05, 0.5, 0.15, 0.3]))
    drawn = np.random.default_rng(0)
    seen = [nucleus_draw(chances, 0.75, 1.0, drawn) for _ in range(4000)]
    assert set(seen) == {1, 3}  # .5 alone does not reach .75, .5 + .3 does
    assert seen.count(1) / len(seen) == pytest.approx(0.5 / 0.8, abs=0.03)


def test_contrast_takes_away_what_would_be_said_to_anybody() -> None:
    writer = random_writer("seq2seq", 5)
    contrast = replace(PLAIN, contrast=0.4, contrast_steps=2, longest=4, length_power=0.0)
    one = decode(writer, CONTEXT, [], contrast)[0]
    state, nobody = writer.begin(CONTEXT), writer.begin(())
    expected = 0.0
    for step, (last, word) in enumerate(zip((BEGIN, *one.ids), (*one.ids, END), strict=True)):
        scores, state = writer.step([last], state)
        anyway, nobody = writer.step([last], nobody)
        expected += float(scores[0, word]) - (0.4 * float(anyway[0, word]) if step < 2 else 0.0)
    assert one.score == pytest.approx(expected)
