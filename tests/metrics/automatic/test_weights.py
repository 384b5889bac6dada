"""Weights: where they are looked for, what is refused, and what is loaded once."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import torch
import transformers

from dialens.metrics import NotReadyError, ScorerContext
from dialens.metrics.families._weights import (
    device_of,
    lacking_weights,
    load_folder,
    load_model,
    weights_signature,
)

WHAT = "an encoder"


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]
    inner = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({w: n for n, w in enumerate(words)}, unk_token="[UNK]")
    )
    inner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
    )
    torch.manual_seed(0)
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    return folder


def given(place: object, **more: Any) -> ScorerContext:
    return ScorerContext(weights={"x": str(place)}, **more)


def test_a_folder_is_found_and_a_model_loaded_once(bert: Path) -> None:
    context = ScorerContext(weights={"x": str(bert), "y": str(bert)})
    assert lacking_weights(context, "x", WHAT) is None
    assert load_folder(context, "x", WHAT) == bert
    one, two = load_model(context, "x", WHAT), load_model(context, "y", WHAT)
    assert one.model is two.model
    assert not one.model.training
    assert next(one.model.parameters()).dtype == torch.float32
    assert one.tokenizer("a b")["input_ids"] == [5, 6]
    assert one.signature.startswith("tiny-bert@")


def test_nothing_given_says_what_to_give() -> None:
    reason = lacking_weights(ScorerContext(), "bert_score", WHAT)
    assert "--weights bert_score=FOLDER" in reason
    assert "model.safetensors" in reason
    with pytest.raises(NotReadyError, match="--weights x=FOLDER"):
        load_folder(ScorerContext(), "x", WHAT)


@pytest.mark.parametrize("gone", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(bert: Path, tmp_path: Path, gone: str) -> None:
    copy = Path(shutil.copytree(bert, tmp_path / "copy"))
    (copy / gone).unlink()
    assert str(copy / gone) in lacking_weights(given(copy), "x", WHAT)
    assert str(tmp_path / "nowhere") in lacking_weights(given(tmp_path / "nowhere"), "x", WHAT)


def test_a_missing_tokenizer_is_told(bert: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(bert, tmp_path / "copy"))
    (copy / "tokenizer.json").unlink()
    assert lacking_weights(given(copy), "x", WHAT).startswith(f"{copy} has no tokenizer (")
    alone = ("model.safetensors",)  # weights that are no model of transformers have none
    assert lacking_weights(given(copy), "x", WHAT, files=alone) is None


def test_a_pickle_needs_the_users_word(bert: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(bert, tmp_path / "copy"))
    model = transformers.BertForMaskedLM.from_pretrained(copy)
    torch.save(model.state_dict(), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    with pytest.raises(NotReadyError, match="--allow-pickle"):
        load_model(given(copy), "x", WHAT)
    trusted = load_model(given(copy, allow_pickle=True), "x", WHAT)
    safe = load_model(given(bert), "x", WHAT)
    ids = torch.tensor([[5, 6, 7]])
    torch.testing.assert_close(
        trusted.model(ids).last_hidden_state, safe.model(ids).last_hidden_state
    )


def test_parameters_that_would_be_random_are_refused(bert: Path) -> None:
    with pytest.raises(NotReadyError, match=r"not a whole AutoModelForSequenceClassification"):
        load_model(given(bert), "x", WHAT, "AutoModelForSequenceClassification")


def test_damaged_weights_are_named(bert: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(bert, tmp_path / "copy"))
    (copy / "model.safetensors").write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00nonsense")
    with pytest.raises(NotReadyError, match="copy cannot be loaded"):
        load_model(given(copy), "x", WHAT)


def test_signatures_follow_the_content(bert: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(bert, tmp_path / "tiny-bert"))
    same = weights_signature(ScorerContext(), bert)
    assert weights_signature(ScorerContext(), copy) == same
    (copy / "config.json").write_text((copy / "config.json").read_text() + " ")
    assert weights_signature(ScorerContext(), copy) != same


@pytest.mark.parametrize(
    "place", ["hub:o/name", "hub:o/name@", "hub:o/name@main", "hub:o/name@refs/pr/1"]
)
def test_the_hub_wants_a_pinned_revision(place: str) -> None:
    assert "commit of 40" in lacking_weights(given(place), "x", WHAT)
    assert "hub:ORGANISATION/NAME" in lacking_weights(given("hub:a b@v1"), "x", WHAT)


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_of(ScorerContext()) == "cpu"
    with pytest.raises(NotReadyError, match="--device cuda"):
        device_of(ScorerContext(device="cuda"))
