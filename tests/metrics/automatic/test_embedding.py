"""Embedding metrics: arithmetic by hand, against SciPy, and files as people have them."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, cosine

from dialens.metrics import NotReadyError, ScorerContext, Unit
from dialens.metrics.families import _embedding as embedding
from dialens.metrics.families._vectors import ShippedVectors

LINES = {"cat": (1.0, 0.0, 2.0), "dog": (0.0, 1.0, -3.0), "sat": (2.0, 2.0, 0.5), "n't": (1, 1, 1)}
LINES |= {"do": (3.0, 1.0, 0.0)}


def write(path: Path, *, header: bool = False) -> Path:
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in LINES.items()]
    path.write_text(f"{len(lines)} 3\n" * header + "".join(lines))
    return path


def scorer(path: Path) -> embedding.EmbeddingScorer:
    context = ScorerContext(weights={"embedding": str(path)})
    assert embedding.FAMILY.ready(context) is None
    opened = embedding.FAMILY.open(context)
    assert isinstance(opened, embedding.EmbeddingScorer)
    return opened


@pytest.mark.parametrize("header", [False, True])
def test_by_hand(tmp_path: Path, header: bool) -> None:
    made = scorer(write(tmp_path / "v.txt", header=header))
    (row,) = made.score([Unit((), "Cat, dog!", ("the cat sat",))])
    cat, dog, sat = (np.array(LINES[word]) for word in ("cat", "dog", "sat"))
    assert row[0] == pytest.approx(1 - cosine((cat + dog) / 2, (cat + sat) / 2))
    assert row[1] == pytest.approx(1 - cosine([1.0, 1.0, -3.0], [2.0, 2.0, 2.0]))
    alike = 1 - cdist([cat, dog], [cat, sat], "cosine")
    assert row[2] == pytest.approx((alike.max(1).mean() + alike.max(0).mean()) / 2)


def test_no_known_word_is_no_value_and_several_references_give_the_best(tmp_path: Path) -> None:
    made = scorer(write(tmp_path / "v.txt"))
    rows = made.score(
        [
            Unit((), "zebra", ("cat",)),
            Unit((), "cat", ("zebra", "dog", "cat")),
            Unit((), "don't", ("do n't",)),
        ]
    )
    assert np.isnan(rows[0]).all()
    np.testing.assert_allclose(rows[1], 1.0)
    assert rows[2, 0] == pytest.approx(1.0)  # a contraction is the mean of its parts


texts = st.lists(st.sampled_from([*LINES, "zebra"]), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_a_score_does_not_depend_on_the_other_units(pairs, tmp_path_factory) -> None:
    made = scorer(write(tmp_path_factory.mktemp("v") / "v.txt"))
    units = [Unit((), a, (b,)) for a, b in pairs]
    together = made.score(units)
    alone = np.concatenate([made.score([unit]) for unit in units])
    np.testing.assert_array_equal(together, alone)
    there = together[~np.isnan(together).any(axis=1)]
    assert (np.abs(there) <= 1).all()


def test_without_a_file_the_shipped_encoder_reads_words() -> None:
    made = embedding.FAMILY.open(ScorerContext())
    units = [
        Unit((), "I am happy", ("I am happy",)),
        Unit((), "a happy dog", ("the glad puppy", "x")),
        Unit((), "?!", ("hm",)),
    ]
    rows = made.score(units)
    np.testing.assert_allclose(rows[0], 1.0)
    assert np.isnan(rows[2]).all()
    again = embedding.FAMILY.open(ScorerContext()).score(units[1:2])
    np.testing.assert_allclose(again[0], rows[1], atol=1e-5)
    assert "small" in made.signature


def test_shipped_vectors_are_those_of_the_graph() -> None:
    """Against the graph itself, as the onnx package reads it: gathered rows times their scales."""
    import onnx
    import onnx.numpy_helper

    from dialens.models import load

    folder = load("emotion").card.folder
    graph = onnx.load(folder / "fp32.onnx").graph
    stored = {one.name: one for one in graph.initializer}
    gathers = [node for node in graph.node if node.op_type == "Gather" and node.input[1] == "ids"]
    table, scales = (onnx.numpy_helper.to_array(stored[node.input[0]]) for node in gathers[:2])
    words = (table.reshape(*scales.shape[:2], -1) * scales).reshape(len(table), -1)
    pieces = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    spelled = {
        "happy": ["happy"],
        "unbelievable": ["unbelievable"],
        "zxqj": ["z", "##x", "##q", "##j"],
    }
    for word, parts in spelled.items():
        expected = words[[pieces[part] for part in parts]].mean(axis=0)
        (row,) = ShippedVectors().rows([word])
        np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-7)


def test_shipped_vectors_know_what_is_near() -> None:
    # Where padding is averaged in, all words are near each other.
    cat, dog, tax = ShippedVectors().rows(["cat", "dog", "tax"])
    assert 1 - cosine(cat, dog) > 0.3
    assert 1 - cosine(cat, tax) < 0.3
    made = embedding.FAMILY.open(ScorerContext())
    near, far = made.score(
        [Unit((), "my cat sleeps", ("the dog sleeps",)), Unit((), "my cat sleeps", ("pay taxes",))]
    )
    assert (near - far > 0.2).all()
    assert embedding.FAMILY.version > 2  # numbers of the first two are nobody's


def test_words_that_cannot_be_spelled_have_no_vector() -> None:
    """Two unrelated Thai sentences were one unknown word each, and so exactly alike."""
    opened = embedding.FAMILY.open(ScorerContext())
    (row,) = opened.score([Unit((), "ฉันชอบฝนมาก", ("แมวของเธอหายไป",))])
    assert np.isnan(row).all()
    (mixed,) = opened.score([Unit((), "hello แมว", ("hello",))])
    assert mixed == pytest.approx([1.0, 1.0, 1.0])


def test_files_that_will_not_do_are_named(tmp_path: Path) -> None:
    binary = tmp_path / "vectors.bin"
    binary.write_bytes(b"3 2\ncat \x00\x01\x02\xff\n")
    for path in (tmp_path / "none.txt", binary):
        reason = embedding.FAMILY.ready(ScorerContext(weights={"embedding": str(path)}))
        assert str(path) in reason


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cat 1 2 3\ndog 1 2 3\nsat 1 2\n", "line 3: the line of 'sat' does not hold 3 numbers"),
        (
            "cat 1 2 3\nat 1 2 3\ndog 1 2 3sat 1 2\n",
            "line 3: the line of 'dog' does not hold 3 numbers",
        ),
        ("4 3\ncat 1 2 3\ndog 1 x 3\n", "line 3: the line of 'dog' does not hold 3 numbers"),
        ("cat 1 2 3\ndog", "line 2: the line of 'dog' does not hold 3 numbers"),
        ("cat 1 2\ndog 1 2 3\nsat 1 2 3\n", "most lines are longer than its first"),
    ],
)
def test_a_damaged_line_shows_at_opening(tmp_path: Path, text: str, told: str) -> None:
    broken = tmp_path / "broken.txt"
    broken.write_text(text)
    with pytest.raises(NotReadyError, match=told):
        scorer(broken)


def test_files_as_people_have_them(tmp_path: Path) -> None:
    # word2vec and fastText end lines with a space; GloVe's largest has entries of several words.
    file = tmp_path / "v.txt"
    file.write_text("4 2\ncat 1 2 \nat a@b.org -1e-3 2.5\n. . 1 2\ndog -3  1\nat 7 7\n\n")
    units = [Unit((), "at cat", ("dog",))]
    (row,) = scorer(file).score(units)
    assert row[0] == pytest.approx(1 - cosine([4.0, 4.5], [-3.0, 1.0]))


def test_the_signature_follows_the_file(tmp_path: Path) -> None:
    one = scorer(write(tmp_path / "v.txt")).signature
    two = scorer(write(tmp_path / "v.txt", header=True)).signature
    assert one != two
