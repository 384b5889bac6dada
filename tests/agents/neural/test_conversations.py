"""What is learned from: chains and trees, three sources, and the split by thread."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dialens.agents.neural._conversations import Threads, clean, looks_tabbed, read_threads
from dialens.agents.neural._prepare import Prepared, prepare
from dialens.agents.neural._subwords import Subwords, recase
from dialens.base import DialensError
from dialens.models.topics import TopicTable
from tests.agents.neural.conftest import TALKS, small_shape


def ingested(folder: Path, *, order: list[int]) -> Path:
    rows = [
        ("c1", "s1", True, "s1", "first answer", False, False, True),
        ("c2", "c1", False, "s1", "answer to the first", False, False, True),
        ("c3", "c1", False, "s1", "another answer to it", False, False, True),
        ("c4", "c3", False, "s1", "[deleted]", True, False, True),
        ("c5", "c4", False, "s1", "below what is gone", False, False, True),
        ("c6", "c9", False, "s2", "its parent is in no file", False, False, True),
        ("c7", "s2", True, "s2", "I am a bot", False, True, True),
    ]
    names = ("id", "parent_id", "parent_is_submission", "thread", "text", "deleted", "bot")
    table = pl.DataFrame([rows[i] for i in order], schema=[*names, "english"], orient="row")
    (folder / "comments").mkdir(parents=True)
    (folder / "submissions").mkdir()
    table.with_columns(quote=pl.lit(value=False)).write_parquet(folder / "comments" / "a.parquet")
    heads = pl.DataFrame({"id": ["s1", "s2"], "text": ["a head", "two"], "deleted": [False] * 2})
    heads.write_parquet(folder / "submissions" / "a.parquet")
    return folder


def replies(found: Threads) -> dict[str, list[str]]:
    return {
        text: [found.texts[above] or "" for above in found.context(row, 4)]
        for row, text in enumerate(found.texts)
        if text is not None
    }


def test_paths_through_reply_trees(tmp_path: Path) -> None:
    found = read_threads(ingested(tmp_path / "w", order=list(range(7))))
    assert replies(found) == {
        "a head": [],
        "first answer": ["a head"],
        "answer to the first": ["a head", "first answer"],
        "another answer to it": ["a head", "first answer"],
        "below what is gone": [],  # a turn that is gone ends the context
        "two": [],
        "its parent is in no file": [],
    }
    assert len(set(found.threads.tolist())) == 2
    other = read_threads(ingested(tmp_path / "x", order=[6, 2, 4, 0, 5, 1, 3]))
    assert other.texts == found.texts
    assert other.parents.tolist() == found.parents.tolist()


def test_any_corpus(tmp_path: Path) -> None:
    file = tmp_path / "talks.jsonl"
    lines = [
        {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hey"}]},
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_threads(file)
    assert replies(found) == {"hi": [], "hey": ["hi"], "a": [], "b": ["a"]}


def test_tab_separated_with_topic_words(tmp_path: Path) -> None:
    bar, last = tmp_path / "bar.txt", tmp_path / "last.txt"
    bar.write_text("do you like tea\ti do\twith milk  |  tea milk cup\nhello\thi\n")
    found = read_threads(bar)
    assert found.texts == ["do you like tea", "i do", "with milk", "hello", "hi"]
    assert found.parents.tolist() == [-1, 0, 1, -1, 3]
    assert found.topic_words == {0: ("tea", "milk", "cup")}
    last.write_text("do you like tea\ti do\ttea milk cup\n")
    assert read_threads(last, topic_column="last").topic_words == {0: ("tea", "milk", "cup")}
    assert len(read_threads(last, topic_column="last")) == 2
    assert looks_tabbed(bar)


def test_given_topic_words_take_the_place_of_the_topic_models(topics: TopicTable) -> None:
    texts: list[str | None] = ["the dog sleeps", "the dog eats", "the dog and the game"] * 2
    parents = np.array([-1, 0, 1, -1, 3, 4])
    threads = Threads(texts, parents, np.array([0, 0, 0, 1, 1, 1]), {0: ("game", "sleeps")})
    words = Subwords.train([text or "" for text in texts] * 9, size=300)
    shape = small_shape("thred")
    found = prepare(threads, shape, topics=topics, subwords=words, held_out=0.5).examples
    said = [
        {words.text([one]) for one in found.topic_table[row].ravel() if one}
        for row in found.topics[np.argsort(found.replies)]
    ]
    assert said[0] == said[1] == {"game", "sleeps"}
    assert said[2] == {"dog"}


def test_threads_are_never_in_both_parts(prepared: Prepared) -> None:
    examples = prepared.examples
    of = examples.threads[examples.replies]
    assert not set(of[examples.held_out]) & set(of[~examples.held_out])
    assert len(examples.replies) == 2 * 3 * len(TALKS)


def test_long_replies_end_with_a_sentence(topics: TopicTable) -> None:
    texts: list[str | None] = [
        "hello there",
        "one two. three four. five six seven",
        "no end at all",
    ]
    threads = Threads(texts * 2, np.array([-1, 0, 0] * 2), np.repeat([0, 1], 3))
    words = Subwords.train([text or "" for text in texts] * 9, size=400)
    shape = small_shape("hred", reply_tokens=len(words.ids(["one two. three four. f"])[0]))
    found = prepare(threads, shape, topics=topics, subwords=words, held_out=0.5).examples
    learned = {
        words.text(found.turn(int(row), int(length)))
        for row, length in zip(found.replies, found.lengths, strict=True)
    }
    assert learned == {"one two. three four.", "no end at all"}


def test_subwords_say_what_they_were_given() -> None:
    words = Subwords.train(["ein Text über Tee"] * 3, size=300)
    for text in ("tee über alles 🙂", "it's “quoted”…", "new\twords everywhere"):
        plain = text.replace("“", '"').replace("”", '"').replace("…", "...")
        assert words.text(words.ids([text])[0]) == plain


def test_capitals_come_back() -> None:
    assert recase('well. i\'d say "no". is it? i') == 'Well. I\'d say "no". Is it? I'
    assert recase("iron, i.e. a metal. is it i?") == "Iron, i.e. a metal. Is it I?"


def test_people_and_links_are_not_learned() -> None:
    found = clean(pl.Series(["ask /u/Some-One or @somebody at https://a.b/c?d **now**"]))
    assert found.to_list() == ["ask or at now"]


def test_what_cannot_be_learned_from_is_said(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="does not exist"):
        read_threads(tmp_path / "none")
    lonely = tmp_path / "lonely.txt"
    lonely.write_text("one\ntwo\n")
    with pytest.raises(DialensError, match="none that answers another"):
        read_threads(lonely, format="tabbed")
