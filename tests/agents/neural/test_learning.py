"""Learning: a toy corpus is memorised, and a run that was killed ends as if it had not been."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dialens.agents.neural import Shape, TrainingPlan
from dialens.agents.neural._conversations import read_threads
from dialens.agents.neural._decoding import Decoding, decode
from dialens.agents.neural._examples import Examples, batches, in_order
from dialens.agents.neural._inference import Writer
from dialens.agents.neural._prepare import Prepared, prepare
from dialens.agents.neural._shape import KINDS
from dialens.models.topics import TopicTable
from tests.agents.neural.conftest import TALKS, small_shape

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
PLAN = TrainingPlan(epochs=2, batch=8, rate=5e-3, warm_up=5, dropout=0.2, seed=4)


def fitted_shape(kind: str, prepared: Prepared, **sizes: int) -> Shape:
    return replace(small_shape(kind, **sizes), vocabulary=len(prepared.subwords))


@pytest.mark.parametrize("kind", KINDS)
def test_a_toy_corpus_is_memorised(kind: str, tmp_path: Path, topics: TopicTable) -> None:
    from dialens.agents.neural._fit import fit, make_network

    file = tmp_path / "talks.txt"
    file.write_text("".join("\t".join(talk) + "\n" for talk in TALKS[:3] * 4))
    few = prepare(
        read_threads(file, format="tabbed"), small_shape(kind), topics=topics, held_out=0.1
    )
    shape = fitted_shape(kind, few, embedding=32, hidden=64)
    plan = TrainingPlan(
        epochs=150, batch=8, rate=1e-2, warm_up=10, dropout=0.0, no_context=0.0, decay=0.0
    )
    model = make_network(shape, plan)
    done = fit(model, shape, few.examples, plan)
    assert done.best_value < 1.3  # the held-out thread is a copy of one that was learned
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    writer, words = Writer(shape, weights), few.subwords
    plain = Decoding(beam=1, contrast=0.0, no_echo=0, no_repeat=0, shortest=0)
    examples = few.examples
    for one, row in enumerate(examples.replies):
        context = [examples.turn(turn, 99).tolist() for turn in examples.context(int(row), 4)]
        about = examples.topic_table[examples.topics[one]].ravel().tolist()
        found = decode(writer, context, about, plain)[0]
        assert words.text(found.ids) == words.text(examples.turn(int(row), 99))


class Killed:
    """Stops a run that has seen so many replies."""

    def __init__(self, most: int) -> None:
        self.left = most

    def __call__(self, seen: int) -> None:
        self.left -= seen
        if self.left <= 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_ends_with_the_same_weights(
    kind: str, prepared: Prepared, tmp_path: Path
) -> None:
    import torch

    from dialens.agents.neural._fit import fit, make_network

    shape = fitted_shape(kind, prepared)
    plan = replace(PLAN, checkpoint_every=2)
    whole = make_network(shape, plan)
    expected = fit(whole, shape, prepared.examples, plan)
    for stop in (3, 7):  # the step after a checkpoint is lost and done again
        network = make_network(shape, plan)
        with pytest.raises(KeyboardInterrupt):
            fit(network, shape, prepared.examples, plan, state=tmp_path, advance=Killed(stop * 8))
    resumed = make_network(shape, plan)
    found = fit(resumed, shape, prepared.examples, plan, state=tmp_path)
    assert [one.value for one in found.history] == [one.value for one in expected.history]
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


def test_perplexity_of_a_network_that_knows_nothing_is_its_vocabulary(prepared: Prepared) -> None:
    import torch

    from dialens.agents.neural._fit import make_network, perplexity

    shape = fitted_shape("seq2seq", prepared)
    model = make_network(shape, PLAN)
    with torch.no_grad():
        model.get_parameter("words.weight").zero_()  # every score is the same
    apart = prepared.examples.part(held_out=True)
    found = perplexity(model, shape, prepared.examples, apart)
    assert found.value == pytest.approx(shape.vocabulary, rel=1e-5)
    assert found.tokens == int(prepared.examples.lengths[apart].sum()) + len(apart)


def test_perplexity_does_not_depend_on_the_size_of_batches(prepared: Prepared) -> None:
    from dialens.agents.neural._fit import make_network, perplexity

    shape = fitted_shape("thred", prepared)
    model = make_network(shape, PLAN)
    apart = prepared.examples.part(held_out=True)
    one, many = (perplexity(model, shape, prepared.examples, apart, size=n) for n in (1, 50))
    assert math.isclose(one.value, many.value, rel_tol=1e-5)


def test_every_reply_is_in_one_batch_of_an_epoch(prepared: Prepared) -> None:
    examples: Examples = prepared.examples
    chosen = examples.part(held_out=False)
    first, again, second = (
        [row.tolist() for row in batches(examples, chosen, 5, seed=1, epoch=epoch)]
        for epoch in (0, 0, 1)
    )
    assert first == again
    assert first != second
    assert sorted(np.concatenate([np.array(row) for row in first])) == sorted(chosen)
    lengths = [n for rows in in_order(examples, chosen, 5) for n in examples.lengths[rows]]
    assert lengths == sorted(lengths)
