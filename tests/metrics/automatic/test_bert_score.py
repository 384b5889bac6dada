"""BERTScore against the authors' package, on tiny encoders and on real ones where they are."""

import gzip
import json
import os
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import bert_score
import numpy as np
import polars as pl
import pytest
import torch
from bert_score.utils import model2layers

from dialens.base import DialensError
from dialens.corpus import Corpus, Dialogue, Reference, Turn
from dialens.metrics import NotReadyError, Resources, ScorerContext, ScorerSet, Unit, score
from dialens.metrics.families._bert_score import FAMILY, LAYERS, read_baseline
from tests.metrics.automatic import checkpoints
from tests.metrics.automatic.checkpoints import SENTENCES

PAIRS = list(product(SENTENCES[2:5], SENTENCES[4:]))
UNITS = [Unit((), reply, (reference,)) for reply, reference in PAIRS]
MAKERS = {
    "bert": checkpoints.bert,
    "minilm": lambda folder: checkpoints.bert(folder, seed=3, num_hidden_layers=6),
    "roberta": checkpoints.roberta,
    "mpnet": checkpoints.mpnet,
}


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("encoders")
    return {name: make(place / name) for name, make in MAKERS.items()}


def scorer(folder: Path, **options: str):
    shop = ScorerContext(
        {"bert_score": str(folder)}, {"bert_score": options}, threads=1, device="cpu"
    )
    return FAMILY.open(shop)


def package(folder: Path, layer: int, pairs: list[tuple[str, str]], **more: Any) -> np.ndarray:
    """The authors' numbers, a pair at a time: their padding can take part in a maximum."""
    theirs = bert_score.BERTScorer(
        model_type=str(folder), num_layers=layer, device="cpu", nthreads=0, **more
    )
    limit = theirs._tokenizer.model_max_length  # theirs stumbles over a tokenizer without one
    theirs._tokenizer.model_max_length = min(limit, 512)
    replies, references = zip(*pairs, strict=True)
    found = theirs.score(list(replies), list(references), batch_size=1)
    return np.stack([one.double().numpy() for one in found], axis=1)


def test_threads_change_nothing(encoders: dict[str, Path]):
    units = [Unit((), a, (b,)) for a, b in product(SENTENCES, SENTENCES)]
    shop = {n: ScorerContext({"bert_score": str(encoders["bert"])}, threads=n) for n in (1, 3)}
    before = torch.get_num_threads()
    one, many = (FAMILY.open(shop[n]).score(units) for n in (1, 3))
    assert np.abs(one - many).max() < 1e-6
    assert torch.get_num_threads() in (before, 3)  # the number asked for; never left at one


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("layer", [0, 2, 3])
def test_equals_the_package(encoders: dict[str, Path], name: str, layer: int):
    got = scorer(encoders[name], layer=str(layer), prefix_space="no").score(UNITS)
    wanted = package(encoders[name], layer, PAIRS)
    assert np.abs(got - wanted).max() < 1e-5
    assert np.ptp(got, axis=0).min() > 0.01  # the pairs do differ


def test_inverse_document_frequencies_equal_the_package(encoders: dict[str, Path]):
    references = list(SENTENCES[3:])
    ours = scorer(encoders["bert"], layer="2", idf="yes")
    plain = ours.signature
    ours.prepare(references)
    assert ours.signature.startswith(f"{plain},idf=")
    wanted = package(encoders["bert"], 2, PAIRS, idf=True, idf_sents=references)
    assert np.abs(ours.score(UNITS) - wanted).max() < 1e-5
    assert np.abs(wanted - package(encoders["bert"], 2, PAIRS)).max() > 1e-3


def test_references_that_repeat_count_as_often(encoders: dict[str, Path]):
    # As `bert_score.score` does it: frequencies over the references of all pairs, in any order.
    references = [reference for _, reference in PAIRS] + [SENTENCES[4]] * 7
    ours = scorer(encoders["bert"], layer="2", idf="yes")
    ours.prepare(sorted(references, reverse=True))
    wanted = package(encoders["bert"], 2, PAIRS, idf=True, idf_sents=references)
    assert np.abs(ours.score(UNITS) - wanted).max() < 1e-6
    once = scorer(encoders["bert"], layer="2", idf="yes")
    once.prepare(dict.fromkeys(references))
    assert np.abs(once.score(UNITS) - wanted).max() > 1e-3
    assert once.signature != ours.signature


def test_a_run_counts_references_that_repeat(encoders: dict[str, Path]):
    said = [*PAIRS, (SENTENCES[0], SENTENCES[4]), (SENTENCES[1], SENTENCES[4])]
    talks = [
        Dialogue("s", "b", f"d{n}", [Turn("B", "agent", reply)], references=[Reference(0, text)])
        for n, (reply, text) in enumerate(said)
    ]
    options = {"bert_score": {"layer": "2", "idf": "yes"}}
    shop = ScorerContext({"bert_score": str(encoders["bert"])}, options, threads=1, device="cpu")
    made = score(
        Corpus.of(talks), metrics=["bert_score"], resources=Resources(scorers=ScorerSet(shop))
    )
    turns = made.table.filter(pl.col("level") == "turn").collect()
    wanted = package(
        encoders["bert"], 2, said, idf=True, idf_sents=[reference for _, reference in said]
    )
    for column, name in enumerate(("precision", "recall", "f1")):
        got = turns.filter(pl.col("metric") == f"bert_score_{name}")
        ours = dict(zip(got["dialog"], got["value"], strict=True))
        assert np.abs([ours[f"d{n}"] for n in range(len(said))] - wanted[:, column]).max() < 1e-6


def test_frequencies_need_the_references_first(encoders: dict[str, Path]):
    with pytest.raises(DialensError, match="prepare"):
        scorer(encoders["bert"], idf="yes").score(UNITS)


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")  # the package's own
def test_rescaling_equals_the_package(encoders: dict[str, Path], tmp_path: Path):
    file = tmp_path / "baseline.tsv"
    file.write_text("LAYER,P,R,F\n0,0.1,0.2,0.3\n1,0.4,0.41,0.42\n2,0.5,0.55,0.6\n3,0.7,0.8,0.9\n")
    ours = scorer(encoders["bert"], layer="2", baseline=str(file))
    wanted = package(
        encoders["bert"],
        2,
        PAIRS,
        lang="en",
        rescale_with_baseline=True,
        baseline_path=str(file),
    )
    assert np.abs(ours.score(UNITS) - wanted).max() < 1e-5
    assert "baseline=" in ours.signature


def test_a_baseline_that_cannot_be_read_is_named(tmp_path: Path):
    file = tmp_path / "baseline.tsv"
    with pytest.raises(DialensError, match="not there"):
        read_baseline(file, 1)
    file.write_text("LAYER\tP\tR\tF\n1\t0.5\t0.25\t0.125\n2\tx\t1\t1\n")
    assert read_baseline(file, 1).tolist() == [0.5, 0.25, 0.125]
    with pytest.raises(DialensError, match="line 3"):
        read_baseline(file, 2)
    file.write_text("LAYER,P,R,F\n1,0.5\n")
    with pytest.raises(DialensError, match="line 2"):
        read_baseline(file, 1)
    file.write_text("LAYER,P,R,F\n1,0.5,0.5,0.5\n")
    with pytest.raises(DialensError, match="no row for layer 7"):
        read_baseline(file, 7)


def test_several_references_give_the_best_by_each_number(encoders: dict[str, Path]):
    ours = scorer(encoders["bert"])
    several = ours.score([Unit((), SENTENCES[0], SENTENCES[1:5])])
    single = ours.score([Unit((), SENTENCES[0], (one,)) for one in SENTENCES[1:5]])
    assert np.abs(several[0] - single.max(axis=0)).max() < 1e-6
    theirs = bert_score.BERTScorer(
        model_type=str(encoders["bert"]), num_layers=3, device="cpu", nthreads=0
    )
    found = theirs.score([SENTENCES[0]], [list(SENTENCES[1:5])], batch_size=1)
    assert np.abs(several[0] - [float(one[0]) for one in found]).max() < 1e-5


@pytest.mark.parametrize("name", MAKERS)
def test_a_score_does_not_depend_on_the_batch(encoders: dict[str, Path], name: str):
    ours = scorer(encoders[name])
    alone = np.concatenate([ours.score([unit]) for unit in UNITS])
    assert np.abs(ours.score(UNITS) - alone).max() < 1e-5
    assert np.abs(ours.score(UNITS[::-1])[::-1] - alone).max() < 1e-5


def test_padding_takes_no_part_in_a_maximum(encoders: dict[str, Path]):
    """A token unlike all others keeps its negative similarity beside longer sentences."""
    import torch

    from dialens.metrics.families._bert_score import _matched, _Sentence

    up, down = torch.tensor([[1.0, 0.0]]), torch.tensor([[-1.0, 0.0]])
    lone, opposite = _Sentence(up, torch.ones(1)), _Sentence(down, torch.ones(1))
    longer = _Sentence(up.repeat(3, 1), torch.ones(3) / 3)
    found = _matched([(lone, opposite), (longer, longer)])
    assert found[0, :2].tolist() == [-1.0, -1.0]
    assert np.isnan(found[0, 2])
    assert found[1].tolist() == pytest.approx([1.0, 1.0, 1.0])


def test_roberta_reads_a_space_before_the_text(encoders: dict[str, Path], tmp_path: Path):
    """The package asks for one, and transformers 5 no longer listens; the tokenizer's file can."""
    spaced = tmp_path / "spaced"
    shutil.copytree(encoders["roberta"], spaced)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        text = (spaced / name).read_text()
        (spaced / name).write_text(
            text.replace('"add_prefix_space": false', '"add_prefix_space": true')
        )
    wanted = package(spaced, 3, PAIRS)
    assert np.abs(wanted - package(encoders["roberta"], 3, PAIRS)).max() > 1e-3
    ours = scorer(encoders["roberta"])
    assert "prefix_space" in ours.signature
    assert np.abs(ours.score(UNITS) - wanted).max() < 1e-5


def test_long_texts_are_cut_as_the_package_cuts(encoders: dict[str, Path]):
    long = " ".join(SENTENCES * 3)
    pairs = [(long, SENTENCES[0]), (SENTENCES[3], long)]
    got = scorer(encoders["bert"]).score([Unit((), a, (b,)) for a, b in pairs])
    assert np.abs(got - package(encoders["bert"], 3, pairs)).max() < 1e-5


def test_each_sentence_is_encoded_once(encoders: dict[str, Path], monkeypatch: pytest.MonkeyPatch):
    from dialens.metrics.families import _bert_score as module

    ours = scorer(encoders["bert"])
    whole = ours.score(UNITS)
    seen: list[str] = []
    encode = ours._encoder.encode
    monkeypatch.setattr(module, "_PAIRS", 7)

    def noted(texts: list[str]) -> Any:
        seen.extend(texts)
        return encode(texts)

    monkeypatch.setattr(ours._encoder, "encode", noted)
    told: list[int] = []
    assert np.abs(ours.score(UNITS * 2, told.append)[: len(UNITS)] - whole).max() < 1e-5
    assert sorted(seen) == sorted({text for pair in PAIRS for text in pair})
    assert sum(told) == 2 * len(UNITS)


def test_the_authors_layer_is_known_by_the_name(tmp_path: Path):
    theirs = {name.rpartition("/")[2]: layer for name, layer in model2layers.items()}
    assert {name: theirs[name] for name in LAYERS} == LAYERS
    named = checkpoints.bert(tmp_path / "distilbert-base-uncased", num_hidden_layers=6)
    assert ",layer=5" in scorer(named).signature
    other = checkpoints.bert(tmp_path / "mine", num_hidden_layers=6)
    assert ",layer=6" in scorer(other).signature


def test_layers_above_are_cut_without_touching_the_shared_model(encoders: dict[str, Path]):
    from dialens.metrics.families._weights import load_model

    shop = ScorerContext(
        {"bert_score": str(encoders["bert"])}, {"bert_score": {"layer": "1"}}, threads=1
    )
    FAMILY.open(shop).score(UNITS[:2])
    model = load_model(shop, "bert_score", "an encoder").model
    assert len(model.encoder.layer) == 3
    assert model.config.num_hidden_layers == 3


def test_what_is_missing_is_said(encoders: dict[str, Path]):
    assert "--weights bert_score=FOLDER" in (FAMILY.ready(ScorerContext()) or "")
    assert FAMILY.ready(ScorerContext({"bert_score": str(encoders["bert"])})) is None
    with pytest.raises(NotReadyError):
        FAMILY.open(ScorerContext())
    with pytest.raises(DialensError, match="layers 0 to 3"):
        scorer(encoders["bert"], layer="4")
    with pytest.raises(DialensError, match=r"bert_score\.layer=x"):
        scorer(encoders["bert"], layer="x")
    with pytest.raises(DialensError, match="give yes or no"):
        scorer(encoders["bert"], idf="maybe")


def test_no_reference_no_value(encoders: dict[str, Path]):
    got = scorer(encoders["bert"]).score([Unit((), "hello"), UNITS[0]])
    assert np.isnan(got[0]).all()
    assert np.isfinite(got[1]).all()


def real_encoders() -> list[Path]:
    """Folders that the variable DIALENS_ENCODERS names, as PATH names its own."""
    return [Path(one) for one in os.environ.get("DIALENS_ENCODERS", "").split(os.pathsep) if one]


@pytest.mark.slow
def test_equals_the_package_on_real_encoders(shared_data: Path):
    folders = real_encoders()
    if not folders:
        pytest.skip("DIALENS_ENCODERS names no folder of a real encoder")
    with gzip.open(shared_data / "human_judgements" / "usr_personachat.jsonl.gz", "rt") as lines:
        records = [one for one in map(json.loads, lines) if one["references"]][:60]
    pairs = [(one["response"].strip(), one["references"][0].strip()) for one in records]
    units = [Unit((), reply, (reference,)) for reply, reference in pairs]
    for folder in folders:
        ours = scorer(folder, prefix_space="no")
        layer = int(ours.signature.partition("layer=")[2].partition(",")[0])
        assert np.abs(ours.score(units) - package(folder, layer, pairs)).max() < 1e-5
