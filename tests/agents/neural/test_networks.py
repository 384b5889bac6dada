"""The three networks against first principles: attention, padding, teacher forcing, arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dialens.agents.neural import TrainingPlan
from dialens.agents.neural._examples import pad_contexts
from dialens.agents.neural._inference import Writer
from dialens.agents.neural._shape import BEGIN, KINDS, PAD
from tests.agents.neural.conftest import small_shape

if TYPE_CHECKING:
    import torch

CONTEXTS = ([[7, 8, 9], [10, 11]], [[12]], [[30, 31, 32, 33, 34], [40], [41, 42]])
TOPICS = np.array([[0, 50, 51], [0, 0, 0], [52, 53, 54]])
REPLIES = ([20, 21, 22, 23], [24], [25, 26])


def network(kind: str, seed: int = 1) -> torch.nn.Module:
    from dialens.agents.neural._fit import make_network

    model = make_network(small_shape(kind), TrainingPlan(seed=seed, dropout=0.0))
    return model.double().eval()


def writer(kind: str, model: torch.nn.Module) -> Writer:
    # In double precision, so that what is compared is the arithmetic and not its rounding.
    weights: Any = {name: value.numpy() for name, value in model.state_dict().items()}
    return Writer(small_shape(kind), weights)


def inputs(rows: list[int], *, wider: int = 0) -> tuple[torch.Tensor, ...]:
    import torch

    context = pad_contexts([[np.array(turn) for turn in CONTEXTS[row]] for row in rows])
    context = np.pad(context, ((0, 0), (0, wider), (0, wider)))
    longest = max(len(REPLIES[row]) for row in rows) + 1 + wider
    reply = np.full((len(rows), longest), PAD)
    for place, row in enumerate(rows):
        reply[place, : len(REPLIES[row]) + 1] = [BEGIN, *REPLIES[row]]
    topics = np.pad(TOPICS[rows], ((0, 0), (wider, 0)))
    return torch.from_numpy(context), torch.from_numpy(reply), torch.from_numpy(topics)


def log_probabilities(model: torch.nn.Module, *given: torch.Tensor) -> np.ndarray:
    import torch

    with torch.inference_mode():
        return np.asarray(torch.log_softmax(model(*given).double(), dim=2).numpy())


@pytest.mark.parametrize("kind", KINDS)
def test_padding_and_company_never_change_a_result(kind: str) -> None:
    model = network(kind)
    together = log_probabilities(model, *inputs([0, 1, 2], wider=3))
    for row, reply in enumerate(REPLIES):
        alone = log_probabilities(model, *inputs([row]))[0, : len(reply) + 1]
        np.testing.assert_allclose(together[row, : len(reply) + 1], alone, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_teacher_forcing_equals_writing_step_by_step_in_another_implementation(kind: str) -> None:
    model = network(kind)
    write = writer(kind, model)
    for row, reply in enumerate(REPLIES):
        forced = log_probabilities(model, *inputs([row]))[0]
        state = write.begin(CONTEXTS[row], TOPICS[row].tolist())
        for step, word in enumerate([BEGIN, *reply]):
            scores, state = write.step([word], state)
            np.testing.assert_allclose(scores[0], forced[step], atol=1e-5)
            assert np.exp(scores[0]).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["seq2seq", "thred"])
def test_attention_weights_sum_to_one(kind: str) -> None:
    write = writer(kind, network(kind))
    state = write.begin(CONTEXTS[0], [50, 51])
    assert len(state.memory) == 3 + 2 + 2  # words, and the mark at the end of each turn
    _, state = write.step([BEGIN], state)
    assert state.weights.shape == (1, 7)
    assert (state.weights > 0).all()
    assert state.weights.sum() == pytest.approx(1.0)


def test_attention_layer_ignores_what_is_not_there() -> None:
    import torch

    from dialens.agents.neural._attention import AdditiveAttention

    torch.manual_seed(0)
    layer = AdditiveAttention(4, 3, 5)
    memory = torch.randn(2, 6, 3)
    there = torch.tensor([[True] * 4 + [False] * 2, [False] * 6])
    read, weights = layer(torch.randn(2, 4), memory, layer.keys(memory), there)
    assert weights[0].sum().item() == pytest.approx(1.0)
    assert weights[0, 4:].abs().max() == 0
    assert read[1].abs().max() == 0  # nothing to attend to gives nothing
    by_hand = sum(weights[0, part] * memory[0, part] for part in range(4))
    torch.testing.assert_close(read[0], by_hand)


def test_replies_written_side_by_side_do_not_touch_each_other() -> None:
    write = writer("thred", network("thred"))
    state = write.begin(CONTEXTS[2], [52, 53])
    both, pair = write.step([BEGIN, BEGIN], state.select([0, 0]))
    np.testing.assert_allclose(both[0], both[1])
    words, _ = write.step([20, 21], pair)
    alone, _ = write.step([21], pair.select([1]))
    np.testing.assert_allclose(words[1], alone[0], atol=1e-6)


def test_topic_words_gain_by_topic_biased_generation() -> None:
    import torch

    model: Any = network("thred")
    with torch.no_grad():
        model.topic_bias.fill_(3.0)
        biased = log_probabilities(model, *inputs([2]))[0]
        model.topic_bias.fill_(-1e9)
        plain = log_probabilities(model, *inputs([2]))[0]
    assert (biased[:, TOPICS[2]] > plain[:, TOPICS[2]]).all()
    others = np.setdiff1d(np.arange(biased.shape[1]), TOPICS[2])
    assert (biased[:, others] < plain[:, others]).all()
    np.testing.assert_allclose(np.exp(biased).sum(axis=1), 1.0)


def test_order_of_turns_matters_to_all() -> None:
    for kind in KINDS:
        write = writer(kind, network(kind))
        one, _ = write.step([BEGIN], write.begin([[7, 8], [9]], [50]))
        other, _ = write.step([BEGIN], write.begin([[9], [7, 8]], [50]))
        assert np.abs(one - other).max() > 1e-4
