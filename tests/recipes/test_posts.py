"""What training reads from the folders of `dialens engagement label`."""

import numpy as np
import polars as pl
import pytest

from dialens.base import DialensError
from recipes.encoder.engagement import makers
from recipes.encoder.pairs import PairMaker, validation_pairs
from recipes.encoder.posts import chain_depths, load_posts
from recipes.encoder.transfer import reached
from tests.engagement.dumps import comment, conversation, submission
from tests.recipes.labelled import make_red

pytestmark = pytest.mark.slow


def small_threads(count, prefix=""):
    """Threads s ← a ← b ← c ← d and a ← e: the posts are a, b and c."""
    comments, submissions = [], []
    for number in range(count):
        root = f"{prefix}s{number}"
        submissions.append(submission(id=root, title=f"Title {number}", score=10))
        for name, parent in (("a", None), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "a")):
            above = f"t3_{root}" if parent is None else f"t1_{prefix}{parent}{number}"
            comments.append(
                comment(
                    id=f"{prefix}{name}{number}",
                    parent_id=above,
                    link_id=f"t3_{root}",
                    body=f"Castle {name} {number} " + "river " * number,
                    score=number,
                )
            )
    return comments, submissions


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("labelled") / "one"
    return make_red(made, *small_threads(20), "--emotion", "none", "--kappa", "0.5")


@pytest.fixture(scope="module")
def posts(folder):
    return load_posts([folder])


def row_of(posts, name):
    return next(i for i, text in enumerate(posts.text) if text.startswith(f"Castle {name}"))


def test_what_came_before_is_the_context_of_the_parent(posts):
    a, b, c = (row_of(posts, f"{name} 7 ") for name in "abc")
    assert (posts.context[a], posts.earlier[a]) == ("Title 7", "")
    assert (posts.context[b], posts.earlier[b]) == (posts.text[a], "Title 7")
    assert (posts.context[c], posts.earlier[c]) == (posts.text[b], posts.text[a])


def test_reach_counts_replies_and_the_longest_chain(posts):
    rows = [row_of(posts, f"{name} 7 ") for name in "abc"]
    assert posts.reach[rows].tolist() == [[2, 3], [1, 2], [1, 1]]  # a: b and e; b, c, d below it


def test_reactions_and_labels_are_those_of_the_folder(posts, folder):
    table = pl.read_parquet(folder / "posts.parquet").sort("id")
    assert len(posts) == 60 == len(table)
    assert posts.text == table["text"].to_list()
    np.testing.assert_array_equal(posts.z, table["z"])
    np.testing.assert_array_equal(posts.label, table["label"].fill_null(-1))
    np.testing.assert_array_equal(posts.dimensions[:, 0], table["re_norm"])
    np.testing.assert_array_equal(posts.dimensions[:, 3], table["be_norm"])
    assert np.isnan(posts.dimensions[:, 2]).all()  # no emotion was asked for
    assert set(posts.label) == {-1, 0, 1}


def test_threads_of_the_validation_table_are_held_out_whole(posts, folder):
    table = pl.read_parquet(folder / "posts.parquet").sort("id")
    out = set(pl.read_parquet(folder / "validation.parquet")["thread"])
    assert out
    assert posts.held_out.tolist() == [thread in out for thread in table["thread"]]
    train, valid = makers(posts)
    assert len(train.rows) + len(valid.rows) == 60
    assert not set(posts.thread[train.rows]) & set(posts.thread[valid.rows])


def test_classes_are_the_labels_and_ablation_goes_by_one_dimension(posts, folder):
    maker = PairMaker(posts, np.arange(len(posts)))
    pairs = maker.draw("plain", most=1000, seed=0)
    size = min((posts.label == 1).sum(), (posts.label == 0).sum())
    assert pairs.target.tolist() == [1.0] * size + [0.0] * size
    for pair, target in zip(pairs.inputs, pairs.target, strict=True):
        assert posts.label[posts.text.index(pair[1])] == target
    led = maker.draw("plain", most=1000, seed=0, positive="RE")
    table = pl.read_parquet(folder / "posts.parquet")
    beyond = pl.col("re_norm") > pl.col("re_norm").mean() + pl.col("re_norm").std(ddof=0)
    found = {reply for (_, reply), one in zip(led.inputs, led.target, strict=True) if one}
    assert found
    assert found <= set(table.filter(beyond)["text"])
    with pytest.raises(DialensError, match="--positive EE: no post has this dimension"):
        maker.draw("plain", most=10, seed=0, positive="EE")


def test_soft_targets_follow_z(posts):
    pairs = PairMaker(posts, np.arange(len(posts))).draw("soft", most=100, seed=0)
    real = pairs.row >= 0
    z = posts.z[pairs.row[real]]
    np.testing.assert_allclose(pairs.target[real], 0.55 + 0.4 * np.tanh(0.8 * z))
    assert pairs.target[~real].max() < 0.1


def test_every_negative_has_a_check(posts):
    checks = validation_pairs(PairMaker(posts, np.arange(len(posts))), most=20)
    assert {"endex", "ns", "random", "thread"} <= set(checks)


def test_folders_are_pooled_as_they_were_scored(folder, posts, tmp_path):
    comments, submissions = conversation(seed=3, comments=400, prefix="x")
    other = make_red(tmp_path / "two", comments, submissions, "--emotion", "lexicon")
    both, second = load_posts([folder, other]), load_posts([other])
    assert len(both) == len(posts) + len(second)
    np.testing.assert_array_equal(both.z, np.concatenate([posts.z, second.z]))
    np.testing.assert_array_equal(both.held_out, np.concatenate([posts.held_out, second.held_out]))
    assert len(np.unique(both.thread)) == sum(len(np.unique(p.thread)) for p in (posts, second))
    assert len(load_posts([folder, other], limit=5)) == 10


def test_a_thread_on_both_sides_is_refused(folder, tmp_path):
    options = ("--emotion", "none", "--kappa", "0.5", "--seed", "1")
    other = make_red(tmp_path / "other", *small_threads(20), *options)
    with pytest.raises(DialensError, match="with the same --seed"):
        load_posts([folder, other])


def test_other_folders_are_refused(folder, tmp_path):
    with pytest.raises(DialensError, match=r"posts.parquet is missing: give a folder"):
        load_posts([tmp_path])
    pl.read_parquet(folder / "posts.parquet").drop("z").write_parquet(tmp_path / "posts.parquet")
    with pytest.raises(DialensError, match=r"posts.parquet has no column z; it has: id,"):
        load_posts([tmp_path])


def test_chains_and_shares():
    assert chain_depths(np.array([-1, 0, 1, -1])).tolist() == [2, 1, 0, 0]
    assert reached(np.array([1.0, 1.0, 3.0])).tolist() == [0.5, 0.5, 0.75]
