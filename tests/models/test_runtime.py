"""The runtime on the models that ship: what a text scores depends on the text alone."""

import json
import shutil

import numpy as np
import pytest

from dialens.errors import DialensError
from dialens.models import list_models, load, read_card, verify
from dialens.models.runtime import Model, length_sorted
from dialens.models.store import SHIPPED

TEXTS = [
    "Thank you so much, this made my day!",
    "no",
    "I really don't know what to think about the new stadium they want to build downtown.",
    "What an idiot.",
    "",
    "ok " * 300,
]
PAIRS = [
    ("What did you do at the weekend?", "We drove up to the lake and learned to sail. Ever tried?"),
    ("What did you do at the weekend?", "ok"),
    ("", "Hello!"),
]

shipped = pytest.mark.skipif(not list_models(), reason="no weights are committed yet")


@shipped
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_neighbours_and_padding_do_not_change_a_score(precision):
    model = load("emotion", precision=precision)
    together = model.predict(TEXTS)
    alone = np.concatenate([model.predict([text]) for text in TEXTS])
    backwards = model.predict(TEXTS[::-1])[::-1]
    crowd = model.predict(TEXTS + ["word " * n for n in range(1, 60)])[: len(TEXTS)]
    for other in (alone, backwards, crowd):
        np.testing.assert_allclose(other, together, atol=1e-3)


@shipped
def test_pairs_do_not_depend_on_their_neighbours():
    model = load("engagement-small")
    together = model.predict(PAIRS)
    alone = np.concatenate([model.predict([pair]) for pair in PAIRS])
    np.testing.assert_allclose(alone, together, atol=1e-3)


@shipped
def test_int8_is_near_fp32():
    by = {p: load("emotion", precision=p).predict(TEXTS) for p in ("int8", "fp32")}
    assert np.abs(by["int8"] - by["fp32"]).max() < 0.03


@shipped
def test_emotion_tells_gratitude():
    model = load("emotion", threads=1)
    assert "gratitude" in model.decide([TEXTS[0]])[0]
    assert len(model.labels) == 28


@shipped
def test_engagement_prefers_a_reply_to_a_shrug():
    scores = load("engagement").predict(PAIRS[:2])[:, 0]
    assert scores[0] > scores[1] + 0.2


@shipped
def test_toxicity_tells_insult_from_thanks():
    scores = load("toxicity").predict([TEXTS[3], TEXTS[0]])[:, 0]
    assert scores[0] > 0.8 > 0.2 > scores[1]


@shipped
def test_nothing_is_read_before_use():
    model = load("emotion")
    assert isinstance(model, Model)
    assert model._session is None
    model.predict(["hi"])
    assert model._session is not None


@shipped
def test_no_text_gives_no_row():
    assert load("emotion").predict([]).shape == (0, 28)


@shipped
def test_a_pair_where_a_text_is_read_is_refused():
    with pytest.raises(DialensError, match="emotion reads single texts; input 0 is tuple"):
        load("emotion").predict([("a", "b")])
    with pytest.raises(DialensError, match="engagement reads"):
        load("engagement-small").predict(["a"])


@shipped
def test_all_files_are_what_the_cards_say():
    assert {problem for _, problem in verify()} == {None}


@shipped
def test_size_budget():
    sizes = [file.stat().st_size for file in SHIPPED.rglob("*") if file.is_file()]
    assert sum(sizes) <= 150e6
    assert max(sizes) <= 95e6


@shipped
def test_cards_are_complete():
    for one in list_models():
        facts = one.card.facts
        assert {"data", "training", "seed", "base_model", "licence"} <= set(facts)
        task = one.card.tasks[one.task]
        assert task.metrics
        assert task.intended_use
        assert task.limits


@shipped
def test_a_damaged_file_is_refused(tmp_path):
    folder = tmp_path / "small"
    shutil.copytree(SHIPPED / "small", folder)
    file = folder / "weights.bin"
    data = bytearray(file.read_bytes())
    data[1000] ^= 1
    file.write_bytes(data)
    with pytest.raises(DialensError, match=r"weights\.bin is damaged"):
        load(folder, "emotion").predict(["hi"])
    assert any(problem for _, problem in verify(tmp_path))


@shipped
def test_a_users_folder_with_several_tasks_needs_one_named():
    with pytest.raises(DialensError, match="several tasks"):
        load(SHIPPED / "small")
    assert load(SHIPPED / "small", "toxicity").labels == ("toxic",)


def test_unknown_names_get_a_hint(tmp_path):
    with pytest.raises(DialensError, match="no model 'emotoin'"):
        load("emotoin")
    with pytest.raises(DialensError, match="is no model"):
        load(tmp_path)


def test_an_unreadable_card_is_named(tmp_path):
    (tmp_path / "card.json").write_text(json.dumps({"name": "x"}))
    with pytest.raises(DialensError, match=r"card\.json cannot be read"):
        read_card(tmp_path)


def test_batches_hold_every_row_once():
    lengths = np.random.default_rng(0).integers(1, 128, 500).tolist()
    rows = np.concatenate(list(length_sorted(lengths)))
    assert sorted(rows.tolist()) == list(range(500))
