"""Writers: nothing lost that the format can hold, nothing half written, nothing dropped unsaid."""

import json
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from dialens.base import DialensError
from dialens.corpus import Corpus, Dialogue, Intake, Rating, Reference, Tables, Turn, convert, read
from dialens.corpus._writing import WRITERS, writer_for
from dialens.corpus.readers import readers
from tests.corpus.text_samples import corpus_folder

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAME = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="#"), min_size=1, max_size=6
)
TIME = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
META: Any = st.dictionaries(
    NAME, st.integers(-9, 9) | TEXT | st.lists(TEXT, max_size=2), min_size=1
)
FLOAT = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def dialogues(draw: st.DrawFn, *, plain: bool = False) -> list[Dialogue]:
    """Dialogues; if `plain`, with nothing that OpenAI's format has no place for."""
    talks = []
    for name in draw(st.lists(NAME, min_size=1, max_size=4, unique=True)):
        role = st.sampled_from(["agent", "partner"])
        turn = st.builds(Turn, NAME, role, TEXT)
        if not plain:
            none = st.none()
            turn = st.builds(Turn, NAME, role, TEXT, none | TIME, none | NAME, none | META)
        talk = Dialogue(draw(NAME), draw(NAME), name, draw(st.lists(turn, min_size=1, max_size=4)))
        if not plain:
            place = st.integers(0, len(talk.turns) - 1)
            talk.references = draw(st.lists(st.builds(Reference, place, TEXT), max_size=2))
            rating = st.builds(
                Rating,
                quality=NAME,
                value=FLOAT,
                turn=st.none() | place,
                level=st.sampled_from(["turn", "dialog"]),
                rater=st.none() | NAME,
                study=st.none() | NAME,
                scale=st.none() | st.just([1, 5]),
                condition=st.none() | NAME,
                factors=st.none() | META,
                answered_at=st.none() | TIME,
            )
            talk.ratings = draw(st.lists(rating, max_size=3))
        talks.append(talk)
    assume(any(turn.text.strip() for talk in talks for turn in talk.turns))  # else it is refused
    return talks


def parts_of(corpus: Corpus) -> list[Tables]:
    frames = (corpus.turns, corpus.ratings, corpus.references)
    return [Tables(*(frame.collect() for frame in frames))]


def write(corpus: Corpus, target: Path, to: str, *, force: bool = False) -> Any:
    parts = parts_of(corpus)
    return writer_for(target, to).write(parts, target, source=dict, intake=Intake(), force=force)


def assert_same(one: Corpus, other: Corpus) -> None:
    for name in ("turns", "ratings", "references"):
        assert_frame_equal(getattr(one, name).collect(), getattr(other, name).collect())


@pytest.mark.parametrize("to", ["corpus", "csv", "convokit"])
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(talks=dialogues())
def test_whatever_is_written_is_read_again(talks: list[Dialogue], to: str, tmp_path: Path) -> None:
    corpus = Corpus.of(talks)
    target = tmp_path / ("out.csv" if to == "csv" else "out")
    write(corpus, target, to, force=True)
    assert_same(corpus, read(target, format=to))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(talks=dialogues(plain=True))
def test_openai_holds_who_said_what(talks: list[Dialogue], tmp_path: Path) -> None:
    corpus = Corpus.of(talks)
    written = write(corpus, tmp_path / "out.jsonl", "openai", force=True)
    assert not any(written.left_out.values())
    assert_same(corpus, read(tmp_path / "out.jsonl"))


RICH = Dialogue(
    "s",
    "bot",
    "d1",
    [
        Turn("Ann", "partner", "hi", datetime(2024, 5, 1, tzinfo=UTC), None, {"mood": "ok"}),
        Turn("Bot", "agent", "ho", None, "d1", None),
    ],
    [Rating("fun", 4.0, 1), Rating("fun", 2.0, 1)],
    [Reference(1, "hello")],
)


def test_what_openai_cannot_hold_is_said(tmp_path: Path) -> None:
    write(Corpus.of([RICH]), tmp_path / "rich", "corpus")
    summary = convert(tmp_path / "rich", tmp_path / "out.jsonl")
    assert sorted(summary.left_out) == [
        "1 created_at of turns",
        "1 meta of turns",
        "1 references",
        "1 reply_to of turns",
        "2 ratings",
    ]
    assert (summary.dialogs, summary.turns, summary.ratings, summary.references) == (1, 2, 0, 0)
    assert (summary.format, summary.to) == ("corpus", "openai")


def test_convokit_folder_is_what_convokit_loads(tmp_path: Path) -> None:
    write(Corpus.of([RICH]), tmp_path / "ck", "convokit")
    names = {path.name for path in (tmp_path / "ck").iterdir()}
    assert names >= {"utterances.jsonl", "speakers.json", "conversations.json", "corpus.json"}
    said = [
        json.loads(line) for line in (tmp_path / "ck/utterances.jsonl").read_text().splitlines()
    ]
    for utterance in said:
        keys = {"id", "speaker", "conversation_id", "reply_to", "timestamp", "text", "meta"}
        assert keys <= utterance.keys()
    assert [utterance["reply_to"] for utterance in said] == [None, "d1"]
    assert said[0]["id"] == said[0]["conversation_id"] == "d1"
    assert said[0]["timestamp"] == 1714521600
    assert set(json.loads((tmp_path / "ck/speakers.json").read_text())) == {"Ann", "Bot"}
    assert set(json.loads((tmp_path / "ck/conversations.json").read_text())) == {"d1"}
    index = json.loads((tmp_path / "ck/index.json").read_text())
    for kind in ("utterances", "speakers", "conversations", "overall"):
        assert f"{kind}-index" in index
    assert index["utterances-index"]["mood"] == ["<class 'str'>"]


def test_packed_targets(tmp_path: Path) -> None:
    corpus = Corpus.of([RICH])
    for name in ("out.jsonl.gz", "out.csv.gz"):
        writer = writer_for(tmp_path / name, None)
        write(corpus, tmp_path / name, writer.name)
        assert (tmp_path / name).read_bytes()[:2] == b"\x1f\x8b"
        assert read(tmp_path / name).turns.collect()["text"].to_list() == ["hi", "ho"]


def test_csv_siblings_come_and_go(tmp_path: Path) -> None:
    write(Corpus.of([RICH]), tmp_path / "t.csv", "csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "t.csv",
        "t.ratings.csv",
        "t.references.csv",
    ]
    plain = Dialogue("s", "b", "d", [Turn("B", "agent", "x")])
    write(Corpus.of([plain]), tmp_path / "t.csv", "csv", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)
@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError, DialensError])
def test_an_interrupted_run_leaves_nothing(
    writer: Any, failure: type[BaseException], tmp_path: Path
) -> None:
    def parts() -> Iterator[Tables]:
        yield from parts_of(Corpus.of([RICH]))
        raise failure("now")

    with pytest.raises(failure):
        writer.write(parts(), tmp_path / "out", source=dict, intake=Intake(), force=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)
def test_an_interrupted_run_leaves_what_was_there(writer: Any, tmp_path: Path) -> None:
    target = tmp_path / "out"
    arguments: dict[str, Any] = {"source": dict, "intake": Intake(), "force": True}
    writer.write(parts_of(Corpus.of([RICH])), target, **arguments)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def parts() -> Iterator[Tables]:
        yield from parts_of(Corpus.of([RICH]))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writer.write(parts(), target, **arguments)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_bad_record_leaves_nothing_half_converted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good = '{"messages": [{"role": "assistant", "content": "x"}]}\n'
    path.write_text(good * 3 + '{"messages": 5}\n')
    for target in ("out.csv", "out.jsonl", "out"):
        with pytest.raises(DialensError, match="line 4"):
            convert(path, tmp_path / target)
    assert list(tmp_path.iterdir()) == [path]
    summary = convert(path, tmp_path / "out", on_error="skip")
    assert (summary.dialogs, summary.rejected) == (3, 1)
    rejects = [
        json.loads(line) for line in (tmp_path / "out/rejects.jsonl").read_text().splitlines()
    ]
    assert [(reject["line"], reject["field"]) for reject in rejects] == [(4, "messages")]


def test_existing_targets_are_not_overwritten_unasked(tmp_path: Path) -> None:
    folder = corpus_folder(tmp_path)
    for name in ("t.csv", "t.jsonl"):
        (tmp_path / name).write_text("mine")
        with pytest.raises(DialensError, match=rf"{name} exists.*--force"):
            convert(folder, tmp_path / name)
        convert(folder, tmp_path / name, force=True)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "index.json").write_text("{}")
    for to in ("corpus", "convokit"):
        with pytest.raises(DialensError, match="exists and was not written by dialens"):
            convert(folder, mine, to=to)
    for to in ("corpus", "convokit"):
        for _ in range(2):  # a second time without force, since the first was ours
            convert(folder, tmp_path / f"new-{to}", to=to)
    with pytest.raises(DialensError, match="Name another place to write"):
        convert(folder, folder, force=True)
    with pytest.raises(DialensError, match="Name another place to write"):
        convert(folder, tmp_path, force=True)
    assert read(folder).turns.collect().height


def test_unknown_target_format(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match=r"cannot write 'convokti'. Did you mean convokit\?"):
        convert(corpus_folder(tmp_path), tmp_path / "x", to="convokti")


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[int] = []
    convert(corpus_folder(tmp_path), tmp_path / "x.csv", advance=told.append)
    assert sum(told) == 8


def test_closing_a_reader_early_leaves_no_scratch_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    from dialens.corpus import Source
    from dialens.corpus import _tabular as tabular
    from dialens.corpus._reading import choose

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setattr(tabular, "_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(tabular, "_BATCH", 2)
    path = tmp_path / "a.csv"
    path.write_text("dialog,role,text\n" + "".join(f"d{n},agent,x\n" for n in range(20)))
    parts = choose(Source(path), None, readers()).read(Source(path), Intake())
    assert isinstance(parts, Generator)
    next(parts)
    assert list(scratch.iterdir())
    with pytest.raises(KeyboardInterrupt):
        parts.throw(KeyboardInterrupt())
    assert list(scratch.iterdir()) == []
