"""The ranker in miniature: pools by hand, inputs as at inference, training, export, likelihood."""

import gzip
import json
import sys

import numpy as np
import polars as pl
import pytest
import torch

from dialens.base import DialensError
from dialens.engagement.curation import ingest
from dialens.models import LanguageModel, Model, catalogue, read_card, verify
from dialens.models.training import _export as export
from dialens.models.training import load_encoder, save_encoder, tokenise
from recipes.ranker import cards, train
from recipes.ranker.masked import MaskedHead, load_head, log_likelihood, save_head
from recipes.ranker.pools import HEADS, OUTPUTS, SHIPPED_HEADS, asked, figures, make_pools
from recipes.ranker.threads import load_threads, make_threads, ranked_pairs
from recipes.ranker.token_store import TokenStore
from tests.engagement.dumps import comment, submission, thread_row, write_dump
from tests.models.tiny_encoder import FAMILIES, WORDS, tiny_encoder

TEXTS = (
    "i love this game",
    "you hate that dog so very very bad !",
    "lol",
    "",
    "the cat was good . " * 40,
    "is this food good ? i love food . " * 20,
)
SPREAD = 0.2
POSTS = {
    "key": pl.String,
    "parent": pl.String,
    "thread": pl.String,
    "text": pl.String,
    "votes": pl.Int64,
    "created": pl.Int64,
    "usable": pl.Boolean,
}


def post(key, parent, *, votes=None, created=None, usable=True):
    return (key, parent, "t", f"i love this game {key}", votes, created, usable)


def ingested(folder, records):
    """The folder that `dialens engagement ingest` makes of some records."""
    ingest([write_dump(folder / "RC_2006-01.zst", records)], folder / "ingested")
    return folder / "ingested"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_token_store_gives_what_inference_reads(tmp_path, family):
    folder = tiny_encoder(tmp_path / "e", family, spread=SPREAD)
    store = TokenStore(folder, TEXTS, torch.device("cpu"))
    contexts = [(-1, 0, 1), (0, 1, 2), (4, 5, 0), (0, 4, 5), (5, 4, 4), (-1, -1, 1), (1, 3, 3)]
    earlier, parent, reply = (np.array(column) for column in zip(*contexts, strict=True))
    joined = [("\n".join(TEXTS[i] for i in (a, b) if i >= 0), TEXTS[c]) for a, b, c in contexts]
    for found, texts in (
        (store.texts(np.arange(len(TEXTS))), list(TEXTS)),
        (store.pairs(earlier, parent, reply), joined),
    ):
        table = tokenise(folder, texts, longest=128)
        for mine, theirs in zip(found.parts(), table.batch(np.arange(len(texts))), strict=True):
            np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_pairs_are_siblings_of_one_hour():
    hour = 3600
    rows = [
        post("0", None, votes=9, created=0),
        post("1", "0", votes=5, created=0),
        post("2", "0", votes=1, created=hour),
        post("3", "0", votes=-3, created=hour),
        post("4", "0", votes=50, created=3 * hour),  # too late for all others
        post("5", "0", votes=80, created=0, usable=False),
        post("6", "2", votes=1, created=hour),
        post("7", "6", votes=1, created=hour),
        post("8", "elsewhere", votes=7, created=0),  # its parent is not in the data
        post("9", "elsewhere", votes=2, created=0),
    ]
    threads = make_threads(pl.DataFrame(rows, POSTS, orient="row"))
    part = bool(threads.held_out[0])

    def pairs(what, least=1.0):
        found = ranked_pairs(threads, what, held_out=part, seed=0, least=least)
        return set(
            zip(found.higher.tolist(), found.lower.tolist(), found.gap.tolist(), strict=True)
        )

    assert pairs("updown") == {(1, 2, 4.0), (1, 3, 8.0), (2, 3, 4.0), (8, 9, 5.0)}
    assert pairs("updown", 5) == {(1, 3, 8.0), (8, 9, 5.0)}
    assert pairs("width") == {(2, 1, 1.0), (2, 3, 1.0)}
    assert pairs("depth") == {(2, 1, 2.0), (2, 3, 2.0)}
    assert not len(ranked_pairs(threads, "width", held_out=not part, seed=0))


def test_threads_are_read_from_an_ingest(tmp_path):
    records = [
        submission(id="s", title="good", selftext="dog", score=7, created_utc="1141171500"),
        comment(id="s", parent_id="t3_s", link_id="t3_s", body="*hello*", created_utc="1141171505"),
        comment(id="b", parent_id="t1_s", link_id="t3_s", body="[deleted]"),
        comment(id="c", parent_id="t1_s", link_id="t3_s", body="> hello\n\nwhy?", score=3),
        comment(id="d", parent_id="t1_far", link_id="t3_far", body="this was very good"),
    ]
    threads = load_threads(ingested(tmp_path, records))
    place = {text: row for row, text in enumerate(threads.text)}
    assert sorted(threads.text) == ["", "> hello why?", "good dog", "hello", "this was very good"]
    root, reply = place["good dog"], place["hello"]  # a comment may have its submission's id
    assert threads.parent[reply] == root
    assert threads.parent[[place[""], place["> hello why?"]]].tolist() == [reply, reply]
    assert threads.parent[[root, place["this was very good"]]].tolist() == [-1, -1]
    assert threads.created[reply] == 1141171505
    assert threads.votes[root] == 7
    assert np.flatnonzero(~threads.usable).tolist() == sorted([place[""], place["> hello why?"]])
    assert len(np.unique(threads.thread)) == 2
    assert threads.family[place[""]] == threads.family[place["> hello why?"]] >= 0
    assert threads.family[root] == -1


def test_hidden_tokens_one_by_one(tmp_path):
    model = load_encoder(tiny_encoder(tmp_path / "e", "bert", spread=SPREAD), 1).eval()
    head = MaskedHead(64, model.shape.vocabulary)
    store = TokenStore(tmp_path / "e", TEXTS, torch.device("cpu"))
    texts = np.array([0, 1, 2])
    batch = store.texts(texts)
    together = log_likelihood(model, head, batch, store.mask_token, stride=1000)
    for row, text in enumerate(texts):
        alone = store.texts(np.array([text]))
        total = 0.0
        for place in range(1, alone.ids.shape[1] - 1):
            ids = alone.ids.clone()
            ids[0, place] = store.mask_token
            with torch.no_grad():
                state = model.states(ids, alone.mask, alone.types)[0, place]
                chances = head(state[None], model.word.weight).log_softmax(-1)[0]
            total += float(chances[alone.ids[0, place]])
        assert float(together[row]) == pytest.approx(total, rel=1e-5)
    short = log_likelihood(model, head, batch, store.mask_token)
    torch.testing.assert_close(short[[0, 2]], together[[0, 2]])  # up to six tokens: the same


@pytest.fixture
def data(tmp_path):
    generator = np.random.default_rng(0)

    def text():
        return " ".join(generator.choice(WORDS, generator.integers(4, 12)))

    records = []
    for thread in range(40):
        for own, above in enumerate((None, 0, 0, 0, 1, 1, 4)):
            parent = None if above is None else f"n{thread}-{above}"
            key = f"n{thread}" if above is None else f"n{thread}-{own}"
            parent = f"n{thread}" if above == 0 else parent
            records.append(thread_row(id=key, parent_id=parent, thread=f"n{thread}", body=text()))
        for own in range(3):
            place = {"parent_id": f"t3_v{thread}", "link_id": f"t3_v{thread}"}
            votes = {"score": own * 5, "created_utc": "1141171500"}
            records.append(comment(id=f"w{thread}-{own}", body=text(), **place, **votes))
    ingested(tmp_path, records)
    chats = tmp_path / "chats"
    chats.mkdir()
    for name in ("ji2022_continuous", "dbdc3_en"):
        with gzip.open(chats / f"{name}.jsonl.gz", "wt", encoding="utf-8") as out:
            for dialog in range(12):
                turns = [{"speaker": ("system", "user")[i % 2], "text": text()} for i in range(6)]
                unit = {"dialog_id": f"{name}{dialog}", "context": turns, "response": "x"}
                out.write(json.dumps(unit) + "\n")
    return tmp_path


def test_training_teaching_and_export(data, monkeypatch):
    tiny_encoder(data / "mini", "bert", spread=SPREAD)
    tiny_encoder(data / "big", "mpnet", spread=SPREAD)

    def run(what, out, *options):
        command = [
            *("train", what, "--threads", str(data / "ingested")),
            *("--chats", str(data / "chats"), "--steps", "4", "--scale", "0.1"),
            *("--measured", "40", "--out", str(data / out), *options),
        ]
        monkeypatch.setattr(sys, "argv", command)
        train.main()

    run("teach", "teacher", "--encoder", str(data / "big"))
    run("train", "first", "--encoder", str(data / "mini"))
    more = ("--ranking", "--wait", "--taught", str(data / "teacher"))
    run("train", "last", "--encoder", str(data / "first"), *more)
    told = json.loads((data / "last" / "report.json").read_text())
    assert told["training"]["steps"] == 4
    assert set(told["figures"]) >= {"valid_utterance", "next_utterance", "width", "updown"}
    taught = np.load(data / "teacher" / "taught.npz")
    assert not np.isnan(taught["ranked"].astype(float)).any()

    ships = data / "ships"
    command = [
        *("cards", "--model", str(data / "last"), "--out", str(ships), "--asked", "20"),
        *("--threads", str(data / "ingested"), "--chats", str(data / "chats")),
        *("--measured", "40"),
    ]
    monkeypatch.setattr(sys, "argv", command)
    cards.main()
    card = read_card(ships)
    assert set(card.tasks) == set(SHIPPED_HEADS)
    for task in card.tasks.values():
        assert task.metrics["correlation before and after quantisation"] > 0.9
    quartiles = card.facts["likelihood"]["normalisation"]["nll"]
    assert 0 < quartiles["low"] < quartiles["high"]
    assert {check.problem for check in verify(ships)} == {None}
    assert not [entry.missing for entry in catalogue(ships).entries if entry.missing]
    found = Model(card, "width").predict_many([("i love you", "thanks")], ["width", "depth"])
    assert {name: one.shape for name, one in found.items()} == {"width": (1, 1), "depth": (1, 1)}


def as_stored(weight, *, by_output):
    values, scales = (export.quantise_outputs if by_output else export.quantise)(weight.numpy())
    per_value = scales[:, None] if by_output else np.repeat(scales, 64, axis=1)
    return torch.from_numpy(values * per_value)


def quantised(folder, outputs):
    """The encoder and language model with weights that quantisation does not change."""
    model = load_encoder(folder, outputs).eval()
    torch.manual_seed(3)
    head = MaskedHead(64, model.shape.vocabulary)
    with torch.no_grad():
        head.bias.normal_()
        model.word.weight.copy_(as_stored(model.word.weight, by_output=False))
        for layer in model.layers:
            for part in (layer.qkv, layer.out, layer.up, layer.down):
                part.weight.copy_(as_stored(part.weight, by_output=True))
    save_encoder(model, folder)
    save_head(head, folder)
    head = load_head(folder, model).eval()  # half precision
    with torch.no_grad():
        head.dense.weight.copy_(as_stored(head.dense.weight, by_output=True))
    return model, head


@pytest.mark.parametrize("family", FAMILIES)
def test_the_graphs_give_what_the_networks_give(tmp_path, family):
    folder = tiny_encoder(tmp_path / "e", family, OUTPUTS, spread=SPREAD)
    model, head = quantised(folder, OUTPUTS)
    export.export(folder, tmp_path / "ships", HEADS, cards.notes({}, {}, {}))
    card = read_card(tmp_path / "ships")
    store = TokenStore(folder, TEXTS, torch.device("cpu"))
    batch = store.texts(np.arange(len(TEXTS)))
    expected = log_likelihood(model, head, batch, store.mask_token).numpy()
    language = LanguageModel(card, precision="fp32", threads=1)
    found = language.score(TEXTS)
    np.testing.assert_allclose(found.total, expected, rtol=1e-3, atol=1e-3)
    assert found.tokens.tolist() == [4, 9, 1, 0, 126, 126]
    with torch.no_grad():
        logits = model(*batch.parts()).numpy()
    heads = Model(card, "valid_utterance", precision="fp32").run_many(list(TEXTS), list(HEADS))
    for name, part in HEADS.items():
        np.testing.assert_allclose(heads[name], logits[:, part], rtol=1e-3, atol=1e-3)


def test_likelihood_does_not_depend_on_other_texts(tmp_path):
    folder = tiny_encoder(tmp_path / "e", "bert", OUTPUTS, spread=SPREAD)
    quantised(folder, OUTPUTS)
    export.export(folder, tmp_path / "ships", HEADS, cards.notes({}, {}, {}))
    language = LanguageModel(read_card(tmp_path / "ships"), threads=2)
    together = language.score(TEXTS).total
    for row, text in enumerate(TEXTS):
        assert language.score([text]).total[0] == pytest.approx(together[row], abs=1e-3)
    each = language.score(TEXTS[:3], each=True).total
    np.testing.assert_allclose(each[[0, 2]], together[[0, 2]], rtol=1e-4)
    assert each[1] != pytest.approx(together[1], rel=1e-6)  # nine tokens: hidden two at a time


def test_a_folder_without_a_language_model_says_so(tmp_path):
    folder = tiny_encoder(tmp_path / "e", "bert", OUTPUTS, spread=SPREAD)
    export.export(folder, tmp_path / "ships", HEADS, cards.notes({}, {}, {}))
    with pytest.raises(DialensError, match=r"has no likelihood\.int8\.onnx"):
        LanguageModel(read_card(tmp_path / "ships")).score(["lol"])


def test_figures_of_a_perfect_and_of_a_blind_model(data):
    threads = load_threads(data / "ingested")
    pools = make_pools(threads, data / "chats", held_out=True, seed=1)
    sizes = {name: len(replies) for name, (replies, _) in asked(pools).items()}
    good = ("whole", "given", "width higher", "depth higher", "updown higher")
    perfect = {n: np.full((size, OUTPUTS), float(n in good)) for n, size in sizes.items()}
    for name, one in figures(perfect, pools).items():
        for what, figure in one.items():
            if "longer" not in what:
                assert figure["value"] == 1, (name, what)
    blind = {n: np.zeros((size, OUTPUTS)) for n, size in sizes.items()}
    for one in figures(blind, pools).values():
        assert next(iter(one.values()))["value"] == 0.5
