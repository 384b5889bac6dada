"""Perplexity, FED and DialogRPT on tiny GPT-2 models, against the libraries' own arithmetic."""

import math

import numpy as np
import pytest
import torch
import transformers

from dialens.base import DialensError
from dialens.metrics import NotReadyError, ScorerContext, Unit
from dialens.metrics.families import _dialog_rpt as dialog_rpt
from dialens.metrics.families import _fed as fed
from dialens.metrics.families import _perplexity as perplexity
from tests.metrics.automatic import checkpoints

UNITS = [
    Unit(checkpoints.SENTENCES[:2], checkpoints.SENTENCES[3]),
    Unit((checkpoints.SENTENCES[5],), " yes, I do. "),
    Unit((), "the cat sat on the mat"),
    Unit(checkpoints.SENTENCES[:3], "no"),
    Unit((checkpoints.SENTENCES[7],) * 12, "we could go to the cinema tonight"),
]
RANKER = next(one for one in dialog_rpt.FAMILIES if one.name == "dialog_rpt_updown")


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    return checkpoints.gpt2(tmp_path_factory.mktemp("gpt2"))


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return checkpoints.gpt2(
        tmp_path_factory.mktemp("rpt"), seed=3, head="ForSequenceClassification", num_labels=1
    )


def opened(family, folder, **options):
    context = ScorerContext({family.name: str(folder)}, {family.name: options}, device="cpu")
    assert family.ready(context) is None
    return family.open(context)


def alone_and_together(scorer, units):
    together = scorer.score(units)
    for row, unit in enumerate(units):
        np.testing.assert_allclose(scorer.score([unit])[0], together[row], rtol=1e-5)
    return together


def library_loss(folder, given, asked):
    """Mean loss as transformers computes it itself, with labels on the asked tokens only."""
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    ids = torch.tensor([[*given, *asked]])
    labels = ids.clone()
    labels[0, : len(given)] = -100
    with torch.no_grad():
        return float(model(input_ids=ids, labels=labels).loss)


def test_perplexity_is_the_librarys_loss(language_model):
    found = alone_and_together(opened(perplexity.FAMILY, language_model), UNITS)
    tokenizer = transformers.GPT2Tokenizer.from_pretrained(language_model)
    end = tokenizer.eos_token_id
    for row in (0, 1, 2, 3):
        unit = UNITS[row]
        given = [token for turn in unit.context for token in (*tokenizer.encode(turn), end)]
        asked = tokenizer.encode(unit.response.strip())
        expected = math.exp(library_loss(language_model, given or [end], asked))
        assert perplexity.perplexity(found)[row] == pytest.approx(expected, rel=1e-5)
    assert np.isfinite(found).all()  # the last one does not fit into the model's positions


def test_fed_is_the_difference_of_mean_log_probabilities(language_model):
    found = alone_and_together(opened(fed.FAMILY, language_model), UNITS[:3])
    tokenizer = transformers.GPT2Tokenizer.from_pretrained(language_model)
    end = tokenizer.eos_token_id
    unit = UNITS[1]
    given = [*tokenizer.encode(unit.context[0]), end, *tokenizer.encode("yes, I do."), end]

    def mean(texts):
        losses = [
            library_loss(language_model, given, [*tokenizer.encode(text), end]) for text in texts
        ]
        return -sum(losses) / len(losses)

    for column, one in enumerate(fed.QUALITIES.values()):
        expected = mean(one.good) - mean(one.bad)
        assert found[1, column] == pytest.approx(expected, abs=1e-5)


def test_dialog_rpt_is_what_the_authors_model_gives(ranker):
    # Their `predict`: each turn encoded and ended, the reply encoded, the head on the last token.
    units = [unit for unit in UNITS if unit.context]
    found = alone_and_together(opened(RANKER, ranker), units)
    model = transformers.GPT2ForSequenceClassification.from_pretrained(ranker).eval()
    tokenizer = transformers.GPT2Tokenizer.from_pretrained(ranker)
    for row, unit in enumerate(units[:3]):
        text = "<|endoftext|>".join([*unit.context, unit.response.strip()])
        ids = torch.tensor([tokenizer.encode(text)])
        with torch.no_grad():
            states = model.transformer(ids).last_hidden_state[0, -1]
            expected = torch.sigmoid(states @ model.score.weight[0])
            pooled = torch.sigmoid(model(input_ids=ids).logits[0, 0])
        assert found[row, 0] == pytest.approx(float(expected), rel=1e-5)
        assert found[row, 0] == pytest.approx(float(pooled), rel=1e-5)


def test_dialog_rpt_reads_as_many_turns_as_asked(ranker):
    last = Unit(UNITS[0].context[-1:], UNITS[0].response)
    one = opened(RANKER, ranker, turns="1")
    np.testing.assert_allclose(one.score([UNITS[0]]), one.score([last]))
    assert opened(RANKER, ranker).score([UNITS[0]])[0] != pytest.approx(one.score([last])[0])
    assert one.signature != opened(RANKER, ranker).signature
    with pytest.raises(DialensError, match=r"dialog_rpt_updown\.turns=0: give 1"):
        opened(RANKER, ranker, turns="0")


def test_a_language_model_is_no_ranker(language_model):
    with pytest.raises(NotReadyError, match="score"):
        opened(RANKER, language_model)


@pytest.mark.parametrize("family", [perplexity.FAMILY, fed.FAMILY, *dialog_rpt.FAMILIES[:5]])
def test_says_what_it_wants(family):
    assert f"--weights {family.name}=FOLDER" in family.ready(ScorerContext())
    with pytest.raises(NotReadyError, match=f"--weights {family.name}=FOLDER"):
        family.open(ScorerContext())
