"""Tokenizers without their files: transformers makes an empty one, which gives numbers too."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import transformers

from dialens.metrics import NotReadyError, ScorerContext
from dialens.metrics.families._weights import lacking_weights, load_model, load_tokenizer
from dialens.models import has_tokenizer
from tests.metrics.automatic import checkpoints
from tests.metrics.automatic.checkpoints import SENTENCES

WHAT = "a model"
MAKERS = {"bert": checkpoints.bert, "roberta": checkpoints.roberta, "gpt2": checkpoints.gpt2}
KINDS = {"bert": ["vocab.txt"], "roberta": ["vocab.json", "merges.txt"]}
KINDS["gpt2"] = KINDS["roberta"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("tokenizers")
    return {name: make(place / name) for name, make in MAKERS.items()}


def without_tokenizer(model: Path, place: Path) -> Path:
    copy = Path(shutil.copytree(model, place))
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (copy / file).unlink()
    return copy


def write_parts(model: Path, folder: Path, files: list[str]) -> None:
    """The files that older folders have, from the one that holds all."""
    made = json.loads((model / "tokenizer.json").read_text())
    vocabulary = {**made["model"]["vocab"], **{t["content"]: t["id"] for t in made["added_tokens"]}}
    merges = [" ".join(pair) for pair in made["model"].get("merges", [])]
    texts = {
        "vocab.txt": "\n".join(sorted(vocabulary, key=lambda piece: vocabulary[piece])) + "\n",
        "vocab.json": json.dumps(vocabulary),
        "merges.txt": "\n".join(["#version: 0.2", *merges]) + "\n",
    }
    for file in files:
        (folder / file).write_text(texts[file])


def shop(folder: Path) -> ScorerContext:
    return ScorerContext({"x": str(folder)}, device="cpu")


@pytest.mark.parametrize("name", MAKERS)
def test_a_folder_without_tokenizer_is_not_ready(models, name: str, tmp_path: Path) -> None:
    bare = without_tokenizer(models[name], tmp_path / "bare")
    assert len(transformers.AutoTokenizer.from_pretrained(bare)) < 10  # what transformers makes
    told = lacking_weights(shop(bare), "x", WHAT)
    assert told.startswith(f"{bare} has no tokenizer (tokenizer.json, vocab.txt, ")
    with pytest.raises(NotReadyError, match="has no tokenizer"):
        load_model(shop(bare), "x", WHAT)


@pytest.mark.parametrize("name", MAKERS)
def test_the_files_of_older_folders_will_do(models, name: str, tmp_path: Path) -> None:
    old = without_tokenizer(models[name], tmp_path / "old")
    write_parts(models[name], old, KINDS[name])
    assert lacking_weights(shop(old), "x", WHAT) is None
    ours = load_tokenizer(shop(old), old)
    whole = transformers.AutoTokenizer.from_pretrained(models[name])
    for text in SENTENCES:
        assert ours(text)["input_ids"] == whole(text)["input_ids"]


@pytest.mark.parametrize(
    ("name", "files", "wanted"),
    [
        ("bert", ["vocab.json", "merges.txt"], "tokenizer.json, or vocab.txt"),
        ("roberta", ["vocab.txt"], "tokenizer.json, or vocab.json and merges.txt"),
        ("gpt2", ["vocab.txt"], "tokenizer.json, or vocab.json and merges.txt"),
    ],
)
def test_the_files_of_another_kind_will_not_do(
    models, name: str, files: list[str], wanted: str, tmp_path: Path
) -> None:
    # Which kind it is shows when transformers is asked: readiness looks at files alone.
    write_parts(models["gpt2" if name == "bert" else "bert"], tmp_path, files)
    wrong = without_tokenizer(models[name], tmp_path / "wrong")
    for file in files:
        shutil.copy(tmp_path / file, wrong)
    with pytest.raises(NotReadyError, match=rf"no vocabulary for its \w+ \({wanted}\)"):
        load_model(shop(wrong), "x", WHAT)


@pytest.mark.parametrize("file", ["vocab.json", "merges.txt"])
def test_half_of_two_files_is_not_ready(models, file: str, tmp_path: Path) -> None:
    half = without_tokenizer(models["gpt2"], tmp_path / "half")
    write_parts(models["gpt2"], half, [file])
    assert "has no tokenizer" in lacking_weights(shop(half), "x", WHAT)


def test_pieces_want_their_package(models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)  # as if it were not installed
    pieces = without_tokenizer(models["bert"], tmp_path / "pieces")
    (pieces / "spiece.model").write_bytes(b"")
    wanted = (
        f"the tokenizer in {pieces} needs the Python package sentencepiece "
        "(pip install sentencepiece)"
    )
    assert lacking_weights(shop(pieces), "x", WHAT) == wanted
    (pieces / "vocab.txt").write_text("[UNK]\n")  # which is read instead
    assert lacking_weights(shop(pieces), "x", WHAT) is None


def test_tokenizers_that_know_bytes_need_no_files(tmp_path: Path) -> None:
    transformers.ByT5Tokenizer().save_pretrained(tmp_path)
    for file in tmp_path.iterdir():
        if file.name != "tokenizer_config.json":
            file.unlink()
    transformers.T5Config(vocab_size=384).save_pretrained(tmp_path)
    assert has_tokenizer(tmp_path)
    made = load_tokenizer(ScorerContext(), tmp_path)
    assert made("no")["input_ids"] == [ord("n") + 3, ord("o") + 3, 1]  # as its paper has it
    (tmp_path / "tokenizer_config.json").write_text("[]")
    assert not has_tokenizer(tmp_path)
