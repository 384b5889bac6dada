"""The data card: numbers against arithmetic by hand, and what it tells a reader."""

import gzip
import json
import statistics
from fractions import Fraction as F

import polars as pl
import pytest

from dialens.base import sha256_file
from dialens.corpus import OnError
from dialens.engagement.curation import LabelOptions, Models, ingest, label
from tests.engagement.dumps import conversation, line_of, write_dump
from tests.engagement.hand_made import (
    COMMENTS,
    SUBMISSIONS,
    Written,
    comment,
    submission,
    write_work,
)

OPTIONS = LabelOptions(kappa=0.8, subreddits=("books",), english=True)
MODELS = Models(Written("p"), Written("t"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card")
    work = write_work(folder / "work", COMMENTS, SUBMISSIONS)
    red = label(work, folder / "red", models=MODELS, options=OPTIONS).folder
    return red, json.loads((red / "card.json").read_text())


def test_counts_by_hand(made):
    """38 rows, e twice; 6 rows of submissions, s1 twice; a is engaging, b and x are not."""
    counts = made[1]["counts"]
    assert counts == {
        "comments_read": 38,
        "comment_duplicates": 1,
        "comments": 37,
        "submissions_read": 6,
        "submission_duplicates": 1,
        "submissions": 5,
        "rejected": 33,
        "posts": 4,
        "engaging": 1,
        "not_engaging": 2,
        "between": 1,
        "train": counts["train"],
        "validation": counts["validation"],
    }
    assert counts["train"] + counts["validation"] == 2
    assert made[1]["reasons"]["no reply in the data"] == 16
    assert sum(made[1]["reasons"].values()) == 33


def test_medians_and_alphas_by_hand(made):
    card = made[1]
    assert card["medians"] == {"re": 1, "be": 1, "pv": 8}
    assert card["alphas"] == {"re": 3.5, "be": pytest.approx(17 / 9), "ae": 9}
    assert card["zero_medians_replaced"] == {}


def test_table_1_by_hand(made):
    """Of b and x: reply 34/97 and 4/11, attention 4/13 and 4/7, votes 1/2 and 0."""
    rows = {row["dimension"]: row for row in made[1]["table_1"]}
    assert list(rows) == ["ee", "ae", "be", "re", "score"]
    assert rows["re"]["engaging"] == {"posts": 1, "mean": pytest.approx(24 / 31), "deviation": 0}
    for name, values in (
        ("re", (F(34, 97), F(4, 11))),
        ("ae", (F(4, 13), F(4, 7))),
        ("be", (F(1, 2), F(0))),
        ("ee", (F(1, 5), F(0))),
    ):
        found = rows[name]["not_engaging"]
        assert found["posts"] == 2
        assert found["mean"] == pytest.approx(float(sum(values) / 2), abs=1e-11)
        assert found["deviation"] == pytest.approx(statistics.pstdev(map(float, values)), abs=1e-11)


def test_what_is_missing_by_hand(made):
    """Votes: n, m; edits: d, m, of which both answer posts; n has no votes."""
    assert made[1]["missing"] == {
        "comments_without_score": 2,
        "comments_edit_unknown": 2,
        "comments_deleted": 3,  # d, g, u2
        "comments_without_parent": 2,
        "posts_without_votes": 1,
        "replies_to_posts": 6,  # b c d of a, e of b, y of x, m of n
        "replies_edit_unknown": 2,
    }


def test_hashes_are_those_of_the_files(made):
    red, card = made
    for name, about in card["files"].items():
        assert about["sha256"] == sha256_file(red / name)
        assert about["rows"] == pl.read_parquet(red / name).height
    record = json.loads((red / "run.json").read_text())
    for name, sha256 in record["outputs"].items():
        assert sha256 == sha256_file(red / name)
    assert record["models"] == {"emotion": "written:p", "toxicity": "written:t"}


def test_the_page_tells_a_reader(made):
    page = (made[0] / "card.md").read_text()
    for said in (
        "4 posts from 37 comments and 5 submissions (2006-01-01)",
        "| no reply in the data | −16 | 43.2 % |",
        "| Reply | 0.774 ± 0.000 | 0.357 ± 0.007 | 0.718 ± 0.154 | 0.354 ± 0.980 |",
        "Votes are absent or hidden for 1 of 4 posts (25.0 %)",
        "not known for 2 of 6 replies",
        "answer something that is not in the data",
        "| books | 4 | 1 | 2 |",
        "Toxicity by written:t, above 0.5.",
    ):
        assert said in page


def test_zero_medians_are_replaced_and_told(tmp_path):
    """Votes 0 0 0 5 have the median 0: the smallest positive value, 5, takes its place."""
    submissions = [submission(f"s{n}", score=3) for n in range(4)]
    comments = [comment(f"k{n}", f"s{n}", score=5 if n == 3 else 0) for n in range(4)]
    comments += [comment(f"k{n}r", f"k{n}", thread=f"s{n}", content_words=n) for n in range(4)]
    work = write_work(tmp_path / "work", comments, submissions)
    done = label(work, tmp_path / "red", models=MODELS, options=LabelOptions(kappa=0.5))
    # Popularity is 2·1 + 3 = 5 for all, so 5 votes become 5 + (5/5)·(5/5)·5 = 10.
    assert done.card.content["zero_medians_replaced"] == {"median of be": 5, "alpha of be": 10}
    assert "A zero was replaced by the smallest positive value" in done.card.page
    norms = pl.read_parquet(tmp_path / "red" / "posts.parquet")["be_norm"].to_list()
    assert norms == [0, 0, 0, 0.5]


def test_what_ingest_left_out_is_told(tmp_path):
    """Two lines of one dump are broken; of another archive the last bytes are missing."""
    comments, submissions = conversation(seed=6, comments=400)
    broken = write_dump(tmp_path / "RC_1.gz", [*comments[:300], "{", "17"])
    packed = gzip.compress(b"".join(line_of(one) for one in comments[300:]) + b'{"id"', mtime=0)
    cut_off = tmp_path / "RC_2.gz"
    cut_off.write_bytes(packed[:-8])  # its checksum: without it nobody knows whether that was all
    whole = write_dump(tmp_path / "RS.gz", submissions)
    ingest([broken, cut_off, whole], tmp_path / "work", on_error=OnError.SKIP)
    options = LabelOptions(kappa=0.5)
    done = label(tmp_path / "work", tmp_path / "red", models=Models(None, None), options=options)
    card = json.loads((tmp_path / "red" / "card.json").read_text())
    found = {one["source"]: (one["rejects"], one["damaged"]) for one in card["sources"]}
    assert found["RC_1.gz"] == (2, None)
    assert found["RC_2.gz"][0] == 0
    assert found["RC_2.gz"][1]["after_line"] == 100
    assert found["RS.gz"] == (0, None)
    page = done.card.page
    assert "- 2 records of RC_1.gz were broken and left out" in page
    assert "- RC_2.gz is damaged and breaks off after line 100: nobody knows what came" in page
    rows = {line.split(" | ")[0]: line.split(" | ") for line in page.splitlines()}
    assert rows["| RC_1.gz"][2:4] == ["2", ""]
    assert rows["| RC_2.gz"][2:4] == ["0", "breaks off after line 100"]
    assert rows["| RS.gz"][2:4] == ["0", ""]


def test_a_source_without_votes(tmp_path):
    """BE drops out everywhere, and the weights of the rest make up the score."""
    submissions = [submission(f"s{n}", score=None) for n in range(5)]
    comments = [comment(f"k{n}", f"s{n}", score=None) for n in range(5)]
    comments += [
        comment(f"k{n}r", f"k{n}", thread=f"s{n}", score=None, content_words=2 * n + 1)
        for n in range(5)
    ]
    work = write_work(tmp_path / "work", comments, submissions)
    done = label(work, tmp_path / "red", models=MODELS, options=LabelOptions(kappa=0.5))
    table = pl.read_parquet(tmp_path / "red" / "posts.parquet")
    assert table["be"].null_count() == table["be_norm"].null_count() == 5
    assert table["pv"].to_list() == [2] * 5
    # One reply each: adjusted 1 + (2/1)·(1/2) = 2, normalised 1/2. Attention 1 3 5 7 9, median 5.
    expected = [(3 * 0.5 + 3 * t / (t + 5) + 2 * 0.5) / 8 for t in (1, 3, 5, 7, 9)]
    assert table["score"].to_list() == pytest.approx(expected)
    assert done.card.content["table_1"][2]["engaging"] is None
    assert "be" not in done.card.content["medians"]
    assert "Votes are absent or hidden for 5 of 5 posts (100.0 %)" in done.card.page
