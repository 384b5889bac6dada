"""Positives by one dimension: twelve posts by hand, counts and overlap from independent code."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli.engagement._ablate import ablate_dimensions, figure
from dialens.engagement import ablate
from dialens.engagement._ablation import chosen_dimensions
from dialens.engagement._labelled import is_held_out
from tests.engagement.red import make_posts, tiny_encoder, write_red

app = typer.Typer()
app.command("ablate")(ablate_dimensions)

HELD_OUT = {"t": False, "v": True}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


def twelve() -> pl.DataFrame:
    """Six posts of a training thread and six of a validation thread, alike but for their names.

    In each, replies stand out in a and b, emotion in b and f; by the score b is engaging and e and
    f are not. f is therefore a negative whatever emotion says.
    """
    rows = []
    for thread in ("t", "v"):
        for name, re, ee, z in (
            ("a", 0.9, 0.1, 0.5),
            ("b", 0.9, 0.9, 2.0),
            ("c", 0.1, 0.1, 0.0),
            ("d", 0.1, 0.1, 0.2),
            ("e", 0.1, 0.1, -1.2),
            ("f", 0.1, 0.9, -1.5),
        ):
            rows.append((f"{thread}{name}", thread, re, 0.5, ee, None, z / 10 + 0.5, z))
    columns = ["id", "thread", "re_norm", "ae_norm", "ee", "be_norm", "score", "z"]
    table = pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        pl.col("be_norm").cast(pl.Float64)
    )
    return table.with_columns(
        parent_id=pl.lit("p"),
        context=pl.lit("hello"),
        text=pl.col("id"),
        label=pl.lit(None, pl.Int8),
    )


def test_twelve_posts_by_hand():
    made = ablate(twelve(), held_out=HELD_OUT)
    # Two of six have .9, the others .1: mean .3667, population sd .3771, z of the two 1.41.
    re = made.picks["re"]
    assert (re.known, re.positives, re.also_negative, re.reason) == (12, 4, 0, None)
    assert re.mean == pytest.approx(2.2 / 6)
    assert re.sd == pytest.approx(0.8 * np.sqrt(2) / 3)
    assert re.above == pytest.approx(2.2 / 6 + 0.8 * np.sqrt(2) / 3)
    ee = made.picks["ee"]
    assert (ee.positives, ee.also_negative) == (2, 2)
    assert made.picks["ae"].reason == "all posts have the same value"
    assert made.picks["be"].reason == "no post has a value: the data has no votes"
    assert made.picks["score"].positives == 2
    assert made.negatives == 4
    # One engaging post a part is all that score and emotion have.
    assert made.sizes == {"train": 1, "validation": 1}
    assert set(made.sets) == {"re", "ee", "score"}
    assert made.sets["ee"]["train"].filter(pl.col("label") == 1)["id"].to_list() == ["tb"]
    assert made.sets["score"]["validation"].filter(pl.col("label") == 1)["id"].to_list() == ["vb"]
    for part in ("train", "validation"):
        negatives = [sets[part].filter(pl.col("label") == 0)["id"] for sets in made.sets.values()]
        assert all(one.equals(negatives[0]) for one in negatives)
        assert negatives[0][0][1] in "ef"


def test_overlap_by_hand():
    pairs = ablate(twelve(), held_out=HELD_OUT).pairs
    row = pairs.row(
        by_predicate=(pl.col("dimension") == "re") & (pl.col("other") == "ee"), named=True
    )
    assert (row["common"], row["either"]) == (2, 4)  # b; a and b
    assert row["jaccard"] == 0.5
    # Two of six in each, one in common: (1/6 − 1/9) / (2/9) = 1/4.
    assert row["pearson"] == pytest.approx(0.25)
    flat = pairs.filter((pl.col("dimension") == "re") & (pl.col("other") == "ae"))
    assert flat["pearson"].to_list() == [None]
    none = pairs.filter((pl.col("dimension") == "ee") & (pl.col("other") == "be"))
    assert none.select("n", "pearson", "jaccard").row(0) == (0, None, None)


def test_correlations_agree_with_scipy():
    posts = make_posts()
    pairs = ablate(posts, dimensions=["re", "ae"]).pairs
    columns = {"re": "re_norm", "ae": "ae_norm", "score": "score"}
    assert pairs.height == 3
    for row in pairs.iter_rows(named=True):
        left, right = (posts[columns[row[key]]].to_numpy() for key in ("dimension", "other"))
        assert row["pearson"] == pytest.approx(stats.pearsonr(left, right)[0])
        assert row["spearman"] == pytest.approx(stats.spearmanr(left, right)[0])


@settings(max_examples=10, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(random):
    posts = make_posts()
    places = list(range(posts.height))
    random.shuffle(places)
    one, other = ablate(posts), ablate(posts[places])
    assert one.to_dict() == other.to_dict()
    for name, sets in one.sets.items():
        for part, table in sets.items():
            assert table.equals(other.sets[name][part])


def test_sets_are_as_large_and_threads_apart():
    posts = make_posts()
    made = ablate(posts, seed=5)
    for sets in made.sets.values():
        for part, table in sets.items():
            assert (table["label"] == 1).sum() == (table["label"] == 0).sum() == made.sizes[part]
            expected = part == "validation"
            assert all(is_held_out(thread, 5, 0.2) == expected for thread in table["thread"])
    z = stats.zscore(posts["ee"].to_numpy())
    high = set(posts["id"].to_numpy()[z > 1])
    chosen = made.sets["ee"]["train"].filter(pl.col("label") == 1)["id"]
    assert set(chosen) <= high


def test_dimensions_by_name():
    assert chosen_dimensions(None) == ("re", "ae", "ee", "be", "score")
    with pytest.raises(DialensError, match=r"no dimension 'rae'.*Did you mean"):
        chosen_dimensions(["rae"])


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"kappa": 0.0}, "above 0"),
        ({"z": pl.lit(0.0)}, {}, "no negatives"),
        ({"z": pl.min_horizontal("z", 0.0)}, {}, "aggregate score of 12 posts"),
    ],
)
def test_what_cannot_be_compared(change, options, message):
    with pytest.raises(DialensError, match=message):
        ablate(twelve().with_columns(**change), held_out=HELD_OUT, **options)


def test_the_command_writes_sets_and_a_card(tmp_path: Path):
    red = write_red(tmp_path / "red")
    out = tmp_path / "ablation"
    shown = run(red, "-o", out, "--dimension", "re,ee")
    assert "emotional engagement" in shown.output
    assert sorted(one.name for one in out.iterdir() if one.is_dir()) == ["ee", "re", "score"]
    told = json.loads((out / "ablation.json").read_text())
    assert told["kappa"] == 1
    validation = pl.read_parquet(red / "validation.parquet")["thread"]
    for name in ("re", "ee", "score"):
        train = pl.read_parquet(out / name / "train.parquet")
        assert train.height == 2 * told["sizes"]["train"]
        assert not set(train["thread"]) & set(validation)
    card = (out / "card.md").read_text()
    assert "| emotional engagement |" in card
    assert "jaccard" in card
    before = (out / "re" / "train.parquet").read_bytes()
    run(red, "-o", out, "--dimension", "re,ee")
    assert (out / "re" / "train.parquet").read_bytes() == before


def test_posts_without_dimensions_are_refused(tmp_path: Path):
    red = write_red(tmp_path / "red")
    make_posts().drop("ee").write_parquet(red / "posts.parquet")
    with pytest.raises(DialensError, match="no column ee"):
        run(red, "-o", tmp_path / "out")


def test_the_figure_shows_mean_and_spread():
    rows = [(d, "b: engaging, pearson", 0.3, 0.05, 0.35, 3) for d in ("re", "score")]
    names = ["dimension", "measure", "mean", "sd", "best", "seeds"]
    spec = figure(pl.DataFrame(rows, schema=names, orient="row"))
    (values,) = spec["datasets"].values() if "datasets" in spec else (spec["data"]["values"],)
    assert [round(row["low"], 2) for row in values] == [0.25, 0.25]
    assert [row["what"] for row in values] == ["reply engagement", "aggregate score"]


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Threads that wait for each other cost more than a miniature does, on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_models_by_dimension_and_their_figure(tmp_path: Path):
    red = write_red(tmp_path / "red")
    encoder = tiny_encoder(tmp_path / "encoder")
    out = tmp_path / "ablation"
    shown = run(
        *(red, "-o", out, "--dimension", "ee", "--encoder", encoder),
        *("--seeds", "0-1", "--epochs", 1, "--rate", 1e-3, "--batch", 16),
    )
    assert "aggregate validation AUC" in shown.output
    results = pl.DataFrame(json.loads((out / "ablation.json").read_text())["results"])
    assert set(results["dimension"]) == {"ee", "score"}
    assert (results["seeds"] == 2).all()
    assert (out / "ablation.png").read_bytes().startswith(b"\x89PNG")
    assert "<html" in (out / "ablation.html").read_text().lower()
    assert not (tmp_path / "ablation.training").exists()
    own = results.filter(pl.col("dimension") == "score")
    by_name = dict(own.select("measure", "mean").iter_rows())
    assert by_name["validation AUC"] == by_name["aggregate validation AUC"]
