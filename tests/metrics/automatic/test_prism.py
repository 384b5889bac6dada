"""Prism against the formula, a token at a time, the tag of the language forced."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from dialens.base import DialensError
from dialens.metrics import ScorerContext, Unit
from dialens.metrics.families._prism import FAMILY, language_tag
from tests.metrics.automatic import checkpoints
from tests.metrics.automatic.checkpoints import SENTENCES

UNITS = [
    Unit((SENTENCES[0], SENTENCES[1]), SENTENCES[2], (SENTENCES[3],)),
    Unit((SENTENCES[5],), SENTENCES[6], (SENTENCES[4], SENTENCES[7])),
    Unit((), SENTENCES[4], (SENTENCES[0],)),
    Unit((SENTENCES[3],), SENTENCES[7]),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoints.prism(tmp_path_factory.mktemp("prism") / "m39")


@pytest.fixture(scope="module")
def parts(folder: Path):
    return _parts(folder)


def _parts(folder: Path):
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    return model, AutoTokenizer.from_pretrained(str(folder))


def scorer(folder: Path, **options: str):
    return FAMILY.open(
        ScorerContext({"prism": str(folder)}, {"prism": options}, threads=1, device="cpu")
    )


def one_way(parts, source: str, target: str, forced: list[int]) -> float:
    """H(target | source): the encoder reads tokens and an end; the tag's own probability is left.

    Thompson and Post 2020, section 3, and prism.py: positional scores from the second on.
    """
    model, tokenizer = parts
    read = tokenizer(source, return_tensors="pt")["input_ids"].long()
    end = model.config.eos_token_id
    said, found = [end, *forced], []
    with torch.no_grad():
        for token in [*tokenizer(target, add_special_tokens=False)["input_ids"], end]:
            logits = model(input_ids=read, decoder_input_ids=torch.tensor([said])).logits
            found.append(float(torch.log_softmax(logits[0, -1].double(), dim=0)[token]))
            said.append(token)
    return sum(found) / len(found)


def both_ways(parts, reply: str, other: str, forced: list[int]) -> float:
    return (one_way(parts, other, reply, forced) + one_way(parts, reply, other, forced)) / 2


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_number_equals_the_formula(folder: Path, parts, language: str):
    forced = [parts[1].convert_tokens_to_ids(f"<{language}>")]
    got = scorer(folder, language=language).score(UNITS)
    for row, unit in zip(got, UNITS, strict=True):
        if unit.references:
            held = [both_ways(parts, unit.response, one, forced) for one in unit.references]
            assert row[0] == pytest.approx(max(held), abs=1e-5)
        else:
            assert np.isnan(row[0])
        assert row[1] == pytest.approx(both_ways(parts, unit.response, "", forced), abs=1e-5)
        if unit.context:
            wanted = both_ways(parts, unit.response, unit.context[-1], forced)
            assert row[2] == pytest.approx(wanted, abs=1e-5)
        else:
            assert np.isnan(row[2])


def test_the_whole_context_on_request(folder: Path, parts):
    forced = [parts[1].convert_tokens_to_ids("<en>")]
    got = scorer(folder, context="all").score(UNITS[:1])
    wanted = both_ways(parts, UNITS[0].response, " ".join(UNITS[0].context), forced)
    assert got[0, 2] == pytest.approx(wanted, abs=1e-5)
    with pytest.raises(DialensError, match="last or all"):
        scorer(folder, context="some")


def test_the_language_matters_and_must_be_known(folder: Path):
    english, german = (scorer(folder, language=one).score(UNITS) for one in ("en", "de"))
    assert np.nanmax(np.abs(english - german)) > 1e-3
    with pytest.raises(DialensError, match=r"prism\.language=xx"):
        scorer(folder, language="xx")


@pytest.mark.parametrize(
    ("tags", "language"), [(("__en__",), "en"), (("en_XX",), "en"), (("eng_Latn",), "eng_Latn")]
)
def test_tags_of_other_translators_are_found(tmp_path: Path, tags: tuple[str, ...], language: str):
    made = checkpoints.prism(tmp_path / "other", tags=tags)
    tokenizer = AutoTokenizer.from_pretrained(str(made))
    tokenizer.add_special_tokens({"additional_special_tokens": list(tags)})
    assert language_tag(tokenizer, language) == tokenizer.convert_tokens_to_ids(tags[0])
    assert language_tag(tokenizer, "cat") is None  # a word is not a language


def test_a_model_without_tags_begins_as_its_sentences_do(tmp_path: Path):
    made = checkpoints.bart(tmp_path / "bart")
    parts = _parts(made)
    got = scorer(made).score(UNITS)
    wanted = [both_ways(parts, unit.response, unit.references[0], [0]) for unit in UNITS[:1]]
    assert got[:1, 0].tolist() == pytest.approx(wanted, abs=1e-5)


def test_a_score_does_not_depend_on_the_batch(folder: Path):
    ours = scorer(folder)
    told: list[int] = []
    together = ours.score(UNITS, told.append)
    alone = np.concatenate([ours.score([unit]) for unit in UNITS])
    assert np.allclose(together, alone, atol=1e-5, rtol=0, equal_nan=True)
    assert sum(told) == len(UNITS)
    assert ours.signature == scorer(folder).signature != scorer(folder, language="de").signature


def test_long_texts_fit(folder: Path):
    long = " ".join(SENTENCES * 3)
    assert np.isfinite(scorer(folder).score([Unit((long,), long, (long,))])).all()


def test_what_is_missing_is_said(folder: Path):
    assert "--weights prism=FOLDER" in (FAMILY.ready(ScorerContext()) or "")
    assert FAMILY.ready(ScorerContext({"prism": str(folder)})) is None
