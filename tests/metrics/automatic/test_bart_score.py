"""BARTScore against the formula, a token at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BartForConditionalGeneration

from dialens.base import DialensError
from dialens.metrics import NotReadyError, ScorerContext, Unit
from dialens.metrics.families._bart_score import FAMILY
from tests.metrics.automatic import checkpoints
from tests.metrics.automatic.checkpoints import POSITIONS, SENTENCES

UNITS = [
    Unit((SENTENCES[0], SENTENCES[1]), SENTENCES[2], (SENTENCES[3],)),
    Unit((SENTENCES[5],), SENTENCES[6], (SENTENCES[4], SENTENCES[7])),
    Unit((), SENTENCES[4], (SENTENCES[0],)),
    Unit((SENTENCES[3],), SENTENCES[7]),
    Unit((SENTENCES[0], SENTENCES[1]), SENTENCES[7], (SENTENCES[3],)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoints.bart(tmp_path_factory.mktemp("bart") / "bart")


@pytest.fixture(scope="module")
def parts(folder: Path):
    return BartForConditionalGeneration.from_pretrained(
        folder
    ).eval(), AutoTokenizer.from_pretrained(str(folder))


def scorer(folder: Path, **options: str):
    return FAMILY.open(
        ScorerContext({"bart_score": str(folder)}, {"bart_score": options}, threads=1, device="cpu")
    )


def by_hand(parts, source: str, target: str) -> float:
    """(1/m) Σ log p(y_t | y_<t, x), the decoder fed one more token at every step (Yuan, eq. 2)."""
    model, tokenizer = parts
    read = tokenizer(source, return_tensors="pt")["input_ids"]
    wanted = tokenizer(target)["input_ids"]
    said, total = [model.config.decoder_start_token_id], 0.0
    with torch.no_grad():
        for token in wanted:
            logits = model(input_ids=read, decoder_input_ids=torch.tensor([said])).logits
            total += float(torch.log_softmax(logits[0, -1].double(), dim=0)[token])
            said.append(token)
    return total / len(wanted)


def test_every_direction_equals_the_formula(folder: Path, parts):
    got = scorer(folder).score(UNITS)
    for row, unit in zip(got, UNITS, strict=True):
        if unit.context:
            wanted = by_hand(parts, " ".join(unit.context), unit.response)
            assert row[0] == pytest.approx(wanted, abs=1e-5)
        else:
            assert np.isnan(row[0])
        if not unit.references:
            assert np.isnan(row[1:]).all()
            continue
        recall = np.mean([by_hand(parts, unit.response, one) for one in unit.references])
        precision = np.mean([by_hand(parts, one, unit.response) for one in unit.references])
        assert row[1] == pytest.approx(recall, abs=1e-5)
        assert row[2] == pytest.approx(precision, abs=1e-5)
        assert row[3] == pytest.approx((recall + precision) / 2, abs=1e-5)
    assert np.nanstd(got[:, 0]) > 0.01


def test_equals_the_loss_that_transformers_reports(folder: Path, parts):
    """The authors' code takes the logits for `labels`; their mean loss is the score's opposite."""
    model, tokenizer = parts
    with torch.no_grad():
        loss = model(
            input_ids=tokenizer(SENTENCES[0], return_tensors="pt")["input_ids"],
            labels=tokenizer(SENTENCES[3], return_tensors="pt")["input_ids"],
        ).loss
    got = scorer(folder).score([Unit((SENTENCES[0],), SENTENCES[3])])
    assert got[0, 0] == pytest.approx(-float(loss), abs=1e-5)


def test_the_best_of_several_references_on_request(folder: Path, parts):
    unit = UNITS[1]
    got = scorer(folder, references="max").score([unit])[0]
    recalls = [by_hand(parts, unit.response, one) for one in unit.references]
    precisions = [by_hand(parts, one, unit.response) for one in unit.references]
    means = [(a + b) / 2 for a, b in zip(recalls, precisions, strict=True)]
    assert got[1:].tolist() == pytest.approx([max(recalls), max(precisions), max(means)], abs=1e-5)
    with pytest.raises(DialensError, match="mean or max"):
        scorer(folder, references="median")


def test_a_score_does_not_depend_on_the_batch(folder: Path):
    ours = scorer(folder)
    told: list[int] = []
    together = ours.score(UNITS, told.append)
    alone = np.concatenate([ours.score([unit]) for unit in UNITS])
    assert np.allclose(together, alone, atol=1e-5, rtol=0, equal_nan=True)
    assert sum(told) == len(UNITS)


def test_a_long_context_loses_its_beginning(folder: Path, parts):
    _, tokenizer = parts
    long = " ".join(SENTENCES * 3)
    ids = tokenizer(long, verbose=False)["input_ids"]
    assert len(ids) > POSITIONS
    ours = scorer(folder)
    kept = ours._source((long,))
    assert kept == (ids[0], *ids[-(POSITIONS - 1) :])
    assert np.isfinite(ours.score([Unit((long,), long, (long,))])).all()


def test_what_is_missing_is_said(folder: Path, tmp_path: Path):
    assert "--weights bart_score=FOLDER" in (FAMILY.ready(ScorerContext()) or "")
    assert FAMILY.ready(ScorerContext({"bart_score": str(folder)})) is None
    encoder = checkpoints.bert(tmp_path / "bert")
    with pytest.raises(NotReadyError, match="AutoModelForSeq2SeqLM"):
        scorer(encoder)
