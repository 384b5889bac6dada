"""USL-H and PRED_EN on tiny BERT models, against the authors' arithmetic written out."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from dialens.base import DialensError
from dialens.metrics import NotReadyError, ScorerContext, Unit
from dialens.metrics.families import _pred_en as pred_en
from dialens.metrics.families import _usl_h as usl_h
from tests.metrics.automatic import checkpoints

UNITS = [
    Unit(checkpoints.SENTENCES[:2], checkpoints.SENTENCES[3]),
    Unit((checkpoints.SENTENCES[5],), "yes, I do."),
    Unit((checkpoints.SENTENCES[7],) * 12, "the cat sat on the mat"),
    Unit((), "no"),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("usl")
    kinds = {
        "usl_h_vup": ("ForSequenceClassification", 1),
        "usl_h_nup": ("ForSequenceClassification", 2),
        "usl_h_mlm": ("ForMaskedLM", 3),
    }
    made = {
        name: checkpoints.bert(place / name, seed=seed, head=head)
        for name, (head, seed) in kinds.items()
    }
    (made["usl_h_mlm"] / usl_h.QUANTILES).write_text(json.dumps({"nll": {"min": 10, "max": 60}}))
    return made


@pytest.fixture(scope="module")
def originals(folders, tmp_path_factory):
    """The authors' networks: BERT under `bert.`, one linear layer, no transform, no pooler."""
    place = tmp_path_factory.mktemp("original")
    dice = torch.Generator().manual_seed(5)
    made = {}
    for name, head in (
        ("usl_h_vup", "linear"),
        ("usl_h_nup", "next_sent"),
        ("usl_h_mlm", "linear"),
    ):
        folder = checkpoints.bert(place / name, seed=7)
        weights = {f"bert.{n}": v for n, v in load_file(folder / "model.safetensors").items()}
        vocabulary = weights["bert.embeddings.word_embeddings.weight"].shape[0]
        outputs = vocabulary if name == "usl_h_mlm" else 2
        weights[f"{head}.weight"] = torch.randn(outputs, checkpoints.WIDTH, generator=dice)
        weights[f"{head}.bias"] = torch.randn(outputs, generator=dice)
        save_file(weights, folder / "model.safetensors")
        made[name] = folder
    (made["usl_h_mlm"] / usl_h.QUANTILES).write_text(json.dumps({"nll": {"min": 10, "max": 60}}))
    return made


def opened(folders, **options):
    context = ScorerContext(
        {n: str(f) for n, f in folders.items()}, {"usl_h": options}, device="cpu"
    )
    assert usl_h.FAMILY.ready(context) is None
    return usl_h.FAMILY.open(context)


def classified(folder, *texts):
    model = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.BertTokenizer.from_pretrained(folder)
    with torch.no_grad():
        return float(model(**tokenizer(*texts, return_tensors="pt")).logits.softmax(-1)[0, 1])


def surprise(logits_of, tokenizer, text):
    """The loop of the authors' MLMScorer: one token hidden, its probability, and on."""
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    total = 0.0
    for place in range(1, ids.shape[1] - 1):
        hidden = ids.clone()
        hidden[0, place] = tokenizer.mask_token_id
        with torch.no_grad():
            chances = torch.softmax(logits_of(hidden)[0, place], dim=-1)
        total -= float(torch.log(chances[ids[0, place]]))
    return total


def test_parts_and_composition(folders):
    found = opened(folders).score(UNITS)
    language = transformers.BertForMaskedLM.from_pretrained(folders["usl_h_mlm"]).eval()
    tokenizer = transformers.BertTokenizer.from_pretrained(folders["usl_h_mlm"])
    for row in (0, 1):
        unit = UNITS[row]
        valid = classified(folders["usl_h_vup"], unit.response)
        fits = classified(folders["usl_h_nup"], " ".join(unit.context), unit.response)
        nll = surprise(lambda ids: language(ids).logits, tokenizer, unit.response)
        likely = (min(max(nll, 10), 60) - 10) / 50
        whole = (valid + valid * fits + valid * fits * likely) / 3
        np.testing.assert_allclose(found[row], [whole, valid, fits, likely], rtol=1e-4, atol=1e-6)
    assert np.isnan(found[3, [0, 2]]).all()  # no context
    assert np.isfinite(found[3, [1, 3]]).all()
    assert np.isfinite(found[2]).all()  # a context longer than the model's positions


def test_batches_change_nothing(folders):
    scorer = opened(folders)
    together = scorer.score(UNITS)
    for row, unit in enumerate(UNITS):
        np.testing.assert_allclose(scorer.score([unit])[0], together[row], atol=1e-5)


def test_the_authors_networks(originals):
    found = opened(originals).score(UNITS[:2])
    for row, unit in enumerate(UNITS[:2]):
        expected = []
        for name, head in (("usl_h_vup", "linear"), ("usl_h_nup", "next_sent")):
            model = transformers.BertModel.from_pretrained(
                originals[name], add_pooling_layer=False
            ).eval()
            tokenizer = transformers.BertTokenizer.from_pretrained(originals[name])
            texts = [unit.response] if name == "usl_h_vup" else [" ".join(unit.context)]
            texts += [] if name == "usl_h_vup" else [unit.response]
            weights = load_file(originals[name] / "model.safetensors")
            with torch.no_grad():
                states = model(**tokenizer(*texts, return_tensors="pt")).last_hidden_state[0]
                logits = weights[f"{head}.weight"] @ states.max(0).values + weights[f"{head}.bias"]
            expected.append(float(logits.softmax(-1)[1]))
        model = transformers.BertModel.from_pretrained(originals["usl_h_mlm"]).eval()
        weights = load_file(originals["usl_h_mlm"] / "model.safetensors")
        tokenizer = transformers.BertTokenizer.from_pretrained(originals["usl_h_mlm"])

        def logits_of(ids, model=model, weights=weights):
            return (
                model(ids).last_hidden_state @ weights["linear.weight"].T + weights["linear.bias"]
            )

        nll = surprise(logits_of, tokenizer, unit.response)
        expected.append((min(max(nll, 10), 60) - 10) / 50)
        np.testing.assert_allclose(found[row, 1:], expected, rtol=1e-4, atol=1e-6)


def test_options(folders):
    plain = opened(folders).score(UNITS[:1])[0]
    likely = opened(folders, nll_low="0", nll_high="1000").score(UNITS[:1])[0, 3]
    assert 0 < likely < 1
    mean = opened(folders, composition="a").score(UNITS[:1])[0]
    assert mean[0] == pytest.approx(plain[1:].mean())
    code = opened(folders, composition="hs").score(UNITS[:1])[0]
    assert code[0] == pytest.approx((plain[1] + plain[2] + plain[2] * plain[3]) / 3)
    with pytest.raises(DialensError, match=r"usl_h\.composition=x: give h, hs or a"):
        opened(folders, composition="x")
    wrong = {**folders, "usl_h_vup": folders["usl_h_mlm"]}
    with pytest.raises(NotReadyError, match=r"neither classifier\.weight nor linear\.weight"):
        opened(wrong)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, f"{usl_h.QUANTILES} is not there"),
        ({"nll_low": "3"}, "two numbers, nll_low and nll_high"),
        ({"nll_low": "3", "nll_high": "3"}, "not below"),
    ],
)
def test_readiness_and_opening_agree_on_quantiles(folders, options, told, tmp_path):
    bare = checkpoints.bert(tmp_path / "m", head="ForMaskedLM")
    given = {**folders, "usl_h_mlm": bare}
    context = ScorerContext({n: str(f) for n, f in given.items()}, {"usl_h": options}, device="cpu")
    assert told in usl_h.FAMILY.ready(context)
    with pytest.raises(DialensError, match=told):
        usl_h.FAMILY.open(context)
    on_hub = {**context.weights, "usl_h_mlm": "hub:o/name@v1"}  # not looked at before it is used
    assert usl_h.FAMILY.ready(ScorerContext(on_hub, {"usl_h": options})) is None


@pytest.mark.parametrize("kind", ["pickled", "in pieces", "pickled in pieces"])
@pytest.mark.parametrize("which", ["folders", "originals"])
def test_weights_of_other_formats_give_the_same(kind, which, request, tmp_path):
    given = request.getfixturevalue(which)
    expected = opened(given).score(UNITS)
    copies = {name: Path(shutil.copytree(one, tmp_path / name)) for name, one in given.items()}
    for copy in copies.values():
        if kind == "pickled":
            checkpoints.pickled(copy)
        else:
            checkpoints.in_pieces(copy, pickles="pickled" in kind)
    places = {name: str(copy) for name, copy in copies.items()}
    if "pickled" in kind:
        assert "--allow-pickle" in usl_h.FAMILY.ready(ScorerContext(places))
    context = ScorerContext(places, device="cpu", allow_pickle=True)
    assert usl_h.FAMILY.ready(context) is None
    np.testing.assert_allclose(usl_h.FAMILY.open(context).score(UNITS), expected, rtol=1e-6)


@pytest.mark.parametrize("name", usl_h.WHAT)
def test_what_will_not_do_is_named(folders, name, tmp_path):
    copy = Path(shutil.copytree(folders[name], tmp_path / "copy"))
    places = {n: str(f) for n, f in folders.items()} | {name: str(copy)}
    told = json.loads((copy / "tokenizer_config.json").read_text())
    (copy / "tokenizer_config.json").write_text(json.dumps({**told, "sep_token": None}))
    with pytest.raises(NotReadyError, match=f"tokenizer in {copy} has no sep_token"):
        usl_h.FAMILY.open(ScorerContext(places, device="cpu"))
    (copy / "model.safetensors").write_bytes(b"garbage")
    with pytest.raises(NotReadyError, match=r"copy/model\.safetensors cannot be read"):
        usl_h.FAMILY.open(ScorerContext(places, device="cpu"))


def test_says_what_it_wants():
    assert "--weights usl_h_vup=FOLDER" in usl_h.FAMILY.ready(ScorerContext())
    with pytest.raises(NotReadyError, match="--weights usl_h_vup=FOLDER"):
        usl_h.FAMILY.open(ScorerContext())


@pytest.fixture(scope="module")
def engagement(tmp_path_factory):
    folder = checkpoints.bert(tmp_path_factory.mktemp("pred"), seed=9)
    dice = torch.Generator().manual_seed(1)
    sizes = (checkpoints.WIDTH, 8, 6, 4, 2)
    weights = {}
    for name, before, after in zip(pred_en.LAYERS, sizes, sizes[1:], strict=False):
        weights[f"{name}.weight"] = torch.randn(after, before, generator=dice)
        weights[f"{name}.bias"] = torch.randn(after, generator=dice)
    save_file(weights, folder / pred_en.CLASSIFIER)
    return folder, weights


@pytest.mark.parametrize("family", pred_en.FAMILIES, ids=lambda one: one.name)
def test_pred_en(engagement, family):
    folder, weights = engagement
    context = ScorerContext({family.name: str(folder)}, device="cpu")
    assert family.ready(context) is None
    scorer = family.open(context)
    units = UNITS[:3]
    found = scorer.score(units)
    model = transformers.BertModel.from_pretrained(folder).eval()
    tokenizer = transformers.BertTokenizer.from_pretrained(folder)
    for row, unit in enumerate(units):
        vectors = []
        for text in (unit.context[-1], unit.response):
            with torch.no_grad():
                told = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
            vectors.append(told.hidden_states[-2][0].mean(0))
        state = torch.stack(vectors).mean(0)
        for name in pred_en.LAYERS[:-1]:
            state = torch.tanh(weights[f"{name}.weight"] @ state + weights[f"{name}.bias"])
        logits = weights["mlp_out.weight"] @ state + weights["mlp_out.bias"]
        assert found[row, 0] == pytest.approx(float(logits.softmax(-1)[1]), rel=1e-4)
        np.testing.assert_allclose(scorer.score([unit])[0], found[row], rtol=1e-5)


def test_pred_en_wants_its_classifier(tmp_path):
    family = pred_en.FAMILIES[0]
    folder = checkpoints.bert(tmp_path / "bert")
    context = ScorerContext({"pred_en": str(folder)}, device="cpu")
    assert pred_en.CLASSIFIER in family.ready(context)
    save_file({"x": torch.zeros(1)}, folder / pred_en.CLASSIFIER)
    with pytest.raises(NotReadyError, match="mlp_hidden_0"):
        family.open(context)
