"""Made negatives: what each rule does, how many there are, and that only content decides."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from dialens.base import DialensError
from dialens.cli.engagement._negatives import negatives
from dialens.engagement import Recipe, count_made, mix_negatives
from dialens.engagement._negatives import RULES
from dialens.models.training import GENERIC, PAPER_RULES
from tests.engagement.red import make_posts, write_red

app = typer.Typer()
app.command("negatives")(negatives)

POSTS = make_posts().filter(pl.col("label").is_not_null())


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


def source_of(made: pl.DataFrame) -> pl.DataFrame:
    """Made rows beside the posts they come from."""
    made = made.with_columns(source=pl.col("id").str.split("-").list.first())
    return made.join(POSTS, left_on="source", right_on="id", suffix="_source")


def is_subsequence(short: str, long: str) -> bool:
    words = iter(long.split())
    return all(word in words for word in short.split())


def made_by(rule: str, table: pl.DataFrame = POSTS) -> pl.DataFrame:
    mixed = mix_negatives(table, Recipe((rule,), share=0.5, seed=3))
    return mixed.filter(pl.col("made_by") == rule)


@pytest.mark.parametrize("rule", RULES)
def test_a_made_row_keeps_its_context_and_has_no_reactions(rule):
    made = made_by(rule)
    assert made.height
    assert made["id"].is_unique().all()
    assert (made["label"] == 0).all()
    for column in ("re", "re_norm", "ae_norm", "ee", "be_norm", "score", "z"):
        assert made[column].null_count() == made.height
    rows = source_of(made)
    assert rows.height == made.height
    assert (rows["label_source"] == 1).all()
    for column in ("context", "thread", "parent_id", "subreddit"):
        assert rows[column].equals(rows[f"{column}_source"], check_names=False)
    assert (rows["text"] != rows["text_source"]).all()


def test_each_rule_does_what_its_name_says():
    for text, source in source_of(made_by("delete")).select("text", "text_source").iter_rows():
        assert is_subsequence(text, source)
        assert len(text.split()) < len(source.split())
    known = {word for text in POSTS["text"] for word in text.split()}
    for text, source in source_of(made_by("insert")).select("text", "text_source").iter_rows():
        assert is_subsequence(source, text)
        assert len(text.split()) > len(source.split())
        assert set(text.split()) <= known
    for text, context in made_by("copy").select("text", "context").iter_rows():
        assert context.endswith(text)
    assert set(made_by("generic")["text"]) <= set(GENERIC)
    rows = source_of(made_by("shuffle"))
    for text, source in rows.select("text", "text_source").iter_rows():
        assert sorted(text.split()) == sorted(source.split())
    threads = dict(POSTS.select("text", "thread").iter_rows())
    for text, thread in made_by("random").select("text", "thread").iter_rows():
        assert threads[text] != thread


@pytest.mark.parametrize(
    ("engaging", "real", "share", "keep_all", "expected"),
    [
        (50, 50, 0.4, False, (50, 30, 20)),
        (50, 60, 0.4, False, (50, 30, 20)),  # more real ones than are needed
        (50, 12, 0.4, False, (20, 12, 8)),  # 12 is 60 % of 20
        (50, 0, 1.0, False, (50, 0, 50)),
        (50, 30, 0.4, True, (50, 30, 20)),
        (50, 50, 0.5, True, (50, 50, 50)),
        (7, 7, 0.1, False, (7, 6, 1)),
    ],
)
def test_counts_by_hand(engaging, real, share, keep_all, expected):
    recipe = Recipe(share=share, keep_all=keep_all)
    assert recipe.counts(engaging, real) == expected
    rows = [
        {
            "id": f"{label}{number:02}",
            "parent_id": "p",
            "thread": f"t{number}",
            "context": f"so what about number {number} ?",
            "text": f"well that is a story number {number} {label}",
            "label": label,
        }
        for label, count in ((1, engaging), (0, real))
        for number in range(count)
    ]
    mixed = mix_negatives(pl.DataFrame(rows), recipe)
    counts = count_made(mixed)
    made = [counts.get(rule, 0) for rule in PAPER_RULES]
    assert (counts["engaging"], counts["not engaging"], sum(made)) == expected
    assert max(made) - min(made) <= 1


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 3))
def test_the_order_of_rows_changes_nothing(random, seed):
    places = list(range(POSTS.height))
    random.shuffle(places)
    recipe = Recipe(RULES, share=0.5, seed=seed)
    assert mix_negatives(POSTS[places], recipe).equals(mix_negatives(POSTS, recipe))


def test_the_seed_decides():
    first, again, other = (mix_negatives(POSTS, Recipe(seed=seed)) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_a_real_pair_is_never_called_bad():
    table = pl.DataFrame(
        {
            "id": ["a", "b", "c"],
            "parent_id": ["x", "x", "x"],
            "thread": ["t", "t", "u"],
            "context": ["same", "same", ""],
            "text": ["same", "ok", "one"],
            "label": [1, 1, 1],
        }
    )
    real = set(table.select("context", "text").iter_rows())
    for seed in range(20):
        recipe = Recipe(("delete", "copy", "generic"), share=1.0, seed=seed)
        mixed = mix_negatives(table, recipe).filter(pl.col("label") == 0)
        assert not real & set(mixed.select("context", "text").iter_rows())
        assert mixed.height == 3


def test_rules_that_can_make_nothing_say_so():
    bare = POSTS.with_columns(context=pl.lit(""))
    with pytest.raises(DialensError, match="made only 0 of"):
        mix_negatives(bare, Recipe(("copy",)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": ("copi",)}, "Did you mean copy"),
        ({"rules": ()}, "No rule"),
        ({"share": 0.0}, "above 0"),
        ({"share": 1.2}, "at most 1"),
        ({"share": 1.0, "keep_all": True}, "at most 0.95"),
    ],
)
def test_wrong_recipes(options, message):
    with pytest.raises(DialensError, match=message):
        Recipe(**options)


def test_the_command_mixes_both_parts_apart(tmp_path: Path):
    red = write_red(tmp_path / "red")
    shown = run(red, "-o", tmp_path / "ns", "--random", "--share", 0.5, "--seed", 4)
    assert "train:" in shown.output
    told = json.loads((tmp_path / "ns" / "negatives.json").read_text())
    assert told["rules"] == [*PAPER_RULES, "random"]
    for part in ("train", "validation"):
        real = pl.read_parquet(red / f"{part}.parquet")
        mixed = pl.read_parquet(tmp_path / "ns" / f"{part}.parquet")
        assert mixed.columns == [*real.columns, "made_by"]
        assert mixed.schema["label"] == real.schema["label"]
        assert told["rows"][part] == count_made(mixed)
        assert (mixed["label"] == 1).sum() == (mixed["label"] == 0).sum()
        borrowed = mixed.filter(pl.col("made_by") == "random")
        assert set(borrowed["text"]) <= set(real["text"])
        assert set(mixed["thread"]) <= set(real["thread"])
    run(red, "-o", tmp_path / "again", "--random", "--share", 0.5, "--seed", 4)
    for part in ("train", "validation"):
        files = [tmp_path / name / f"{part}.parquet" for name in ("ns", "again")]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_a_single_file_holds_the_training_part(tmp_path: Path):
    red = write_red(tmp_path / "red")
    out = tmp_path / "train.parquet"
    run(red, "-o", out, "--rules", "copy,generic")
    kinds = set(pl.read_parquet(out)["made_by"].drop_nulls())
    assert kinds == {"copy", "generic"}
    with pytest.raises(DialensError, match="--force"):
        run(red, "-o", out)
    run(red, "-o", out, "--force")


def test_folders_that_are_no_labelled_dataset(tmp_path: Path):
    with pytest.raises(DialensError, match="engagement label"):
        run(tmp_path, "-o", tmp_path / "out")
    red = write_red(tmp_path / "red")
    train = pl.read_parquet(red / "train.parquet")
    train.drop("context").write_parquet(red / "train.parquet")
    with pytest.raises(DialensError, match="no column context"):
        run(red, "-o", tmp_path / "out")
    (red / "train.parquet").write_text("not a table")
    with pytest.raises(DialensError, match="cannot be read as Parquet"):
        run(red, "-o", tmp_path / "out")
    train.filter(pl.col("label") == 1).write_parquet(red / "train.parquet")
    with pytest.raises(DialensError, match="no post with label 0"):
        run(red, "-o", tmp_path / "out")
    pl.read_parquet(red / "validation.parquet").write_parquet(red / "train.parquet")
    with pytest.raises(DialensError, match="threads are in both"):
        run(red, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_negatives_are_not_made_twice(tmp_path: Path):
    red = write_red(tmp_path / "red")
    run(red, "-o", tmp_path / "ns")
    with pytest.raises(DialensError, match="made negatives already"):
        run(tmp_path / "ns", "-o", tmp_path / "twice")


def test_many_rounds_where_few_posts_engage():
    few = pl.concat(
        [POSTS.filter(pl.col("label") == 1).head(3), POSTS.filter(pl.col("label") == 0)]
    )
    mixed = mix_negatives(few, Recipe(share=0.5, keep_all=True))
    made = mixed.filter(pl.col("made_by").is_not_null())
    assert made.height == (few["label"] == 0).sum()
    assert mixed["id"].is_unique().all()
    assert np.unique(made["id"].str.split("-").list.first()).size == 3
