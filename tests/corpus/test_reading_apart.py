"""Files of a folder that are read side by side give what they give one after the other."""

import fcntl
import gzip
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, ReadOptions, convert, read
from dialens.corpus._intake import RecordError
from dialens.corpus._taken_ids import TakenIds
from tests.corpus.samples import TALKS
from tests.corpus.test_readers import SAMPLES


@dataclass
class Outcome:
    """Everything that a conversion leaves: the bytes of its files, what it says, or its error."""

    error: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    said: list[Any] = field(default_factory=list)


def outcome(source: Path, target: Path, threads: int | None, **options: Any) -> Outcome:
    intake = Intake(OnError(options.pop("on_error", "stop")))
    try:
        summary = convert(source, target, threads=threads, intake=intake, **options)
    except DialensError as error:
        return Outcome(error=str(error))
    assert not state_of(target).exists()
    files = {path.name: path.read_bytes() for path in target.iterdir()}
    counts = (summary.dialogs, summary.turns, summary.ratings, summary.references)
    return Outcome("", files, [counts, intake.notes, intake.rejects, intake.left_out])


def state_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.converting")


def markers(target: Path) -> list[Path]:
    """Of the files that were read; not the state folder's own, nor what is being written."""
    found = state_of(target).glob("[0-9a-f]*.json")
    return [path for path in found if path.name != "state.json"]


def same_for_all(source: Path, root: Path, *, processes: int = 2, **options: Any) -> Outcome:
    """The outcome of reading one after the other, which the other ways must have too."""
    expected = outcome(source, root / "plain", None, **options)
    for threads in {1, processes}:
        assert outcome(source, root / f"apart-{threads}", threads, **options) == expected
    return expected


def chat(name: object, *texts: str, **more: object) -> str:
    roles = ("user", "assistant")
    messages = [{"role": roles[k % 2], "content": text} for k, text in enumerate(texts)]
    return json.dumps({"id": name, "model": "bot", "messages": messages, **more}) + "\n"


def write(path: Path, *chats: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(chats), encoding="utf-8")


def test_every_format_in_one_folder(tmp_path: Path) -> None:
    """The samples all hold the same ids, so that every file but the first has ids renamed."""
    logs = tmp_path / "logs"
    for sample in SAMPLES:
        if sample.name != "files":
            sample.build(logs / sample.name)
    packed = logs / "openai-again.jsonl.gz"
    packed.write_bytes(gzip.compress(b"".join(chat(t.id, *t.texts).encode() for t in TALKS)))
    found = same_for_all(logs, tmp_path, on_error="skip")
    assert found.said[0][0] > 2 * len(SAMPLES)
    assert json.loads(found.files["manifest.json"])["counts"]["dialogs"] == found.said[0][0]


@pytest.mark.parametrize("to", ["openai", "convokit", "csv"])
def test_every_target(tmp_path: Path, to: str) -> None:
    logs = tmp_path / "logs"
    write(logs / "a.jsonl", chat("x", "hi", "hello"), chat("y", "hi", "hello"))
    (logs / "b.csv").write_text("dialog,role,text\nx,user,hi\nx,bot,ho\n")
    (logs / "b.ratings.csv").write_text("dialog,quality,value\nx,fluency,3\n")
    targets = [tmp_path / f"out-{threads}" for threads in (0, 1)]
    for threads, target in zip((None, 1), targets, strict=True):
        convert(logs, target, to=to, threads=threads)
    contents = [
        {path.name: path.read_bytes() for path in sorted(target.parent.glob(f"{target.name}*"))}
        if target.is_file()
        else {path.name: path.read_bytes() for path in target.iterdir()}
        for target in targets
    ]
    assert list(contents[0].values()) == list(contents[1].values())


def test_ids_that_several_files_use(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    write(logs / "a.jsonl", chat("x", "hi", "a"), chat("b/x", "hi", "taken by a"))
    write(logs / "b.jsonl", chat("y", "hi", "b"), chat("x", "hi", "b"))
    write(logs / "c.jsonl", chat("x", "hi", "c"), chat("c/x", "hi", "named as if renamed"))
    write(logs / "d.jsonl", chat("x", "hi", "d"))
    skipped = same_for_all(logs, tmp_path / "skip", on_error="skip", processes=1)
    turns = pl.read_parquet(skipped.files["turns.parquet"])
    # As the second of a file: an id that was made for an earlier dialogue of it is taken.
    assert turns["dialog"].unique(maintain_order=True).to_list() == [
        "x", "b/x", "y", "b/x'", "c/x", "d/x",
    ]  # fmt: skip
    assert [reject.line for reject in skipped.said[2]] == [2]
    stopped = same_for_all(logs, tmp_path / "stop", processes=1)
    assert "c.jsonl, line 2" in stopped.error
    assert "is a duplicate" in stopped.error


def test_ratings_of_dialogues_in_an_earlier_file(tmp_path: Path) -> None:
    """What a reader asks of other files is answered by those before it, in their order."""
    logs = tmp_path / "logs"
    for name in "abc":
        write(logs / f"{name}.csv", f"dialog,role,text\n{name}1,user,hi\n{name}1,bot,ho\n")
    write(logs / "b.ratings.csv", "dialog,quality,value\n", "a1,fluency,3\n", "b1,fluency,4\n")
    found = same_for_all(logs, tmp_path, processes=1)
    ratings = pl.read_parquet(found.files["ratings.parquet"])
    assert ratings["dialog"].to_list() == ["a1", "b1"]
    write(logs / "b.ratings.csv", "dialog,quality,value\n", "c1,fluency,3\n")
    stopped = same_for_all(logs, tmp_path, processes=1)
    assert "field `dialog` is not in the turns" in stopped.error


@pytest.mark.slow
def test_the_first_error_in_the_order_of_files_is_reported(tmp_path: Path) -> None:
    """The second file is so large that the third fails long before."""
    logs = tmp_path / "logs"
    write(logs / "a.jsonl", chat("a", "hi", "ho"), chat("a2", "hi", "ho"))
    many = [chat(f"b{number}", "hi", "ho") for number in range(20_000)]
    write(logs / "b.jsonl", *many, '{"id": "bad", "messages": 7}\n')
    write(logs / "c.jsonl", chat("c", "hi", "ho"), "{broken\n")
    write(logs / "d.jsonl", chat("d", "hi", "ho"))
    assert "b.jsonl, line 20001: field `messages`" in same_for_all(logs, tmp_path).error
    skipped = same_for_all(logs, tmp_path, on_error="skip")
    assert [(Path(one.file).name, one.line) for one in skipped.said[2]] == [
        ("b.jsonl", 20_001),
        ("c.jsonl", 2),
    ]


@pytest.mark.slow
def test_damaged_files_are_left_out_as_before(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    write(logs / "a.jsonl", chat("a", "hi", "ho"), chat("a2", "hi", "ho"))
    pl.DataFrame({"dialog": ["p"], "role": ["agent"], "text": ["hi"]}).write_parquet(
        logs / "p.parquet"
    )
    (logs / "p.parquet").write_bytes((logs / "p.parquet").read_bytes()[:-20])
    rows = "".join(chat(f"z{number}", "hi", f"ho {number**5}") for number in range(9_000))
    (logs / "z.jsonl.gz").write_bytes(gzip.compress(rows.encode())[:-9_000])
    (logs / "zz.bin").write_bytes(bytes(range(256)))
    found = same_for_all(logs, tmp_path, on_error="skip")
    assert len(found.said[2]) == 3
    assert "p.parquet" in same_for_all(logs, tmp_path).error


def test_one_conversation_a_file_is_one_system(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for number in range(3):
        (logs / str(number)).mkdir(parents=True)
        (logs / str(number) / "talk.txt").write_text(f"User: hi {number}\nBot: ho\n")
    found = same_for_all(logs, tmp_path, processes=1)
    assert pl.read_parquet(found.files["turns.parquet"])["system"].unique().to_list() == ["logs"]
    assert "one conversation a file" in found.said[1][0]


def shards(folder: Path, column: str | None, ids: list[list[str]], split: str = "train") -> None:
    """A split of a data set, as the hub has it."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, some in enumerate(ids):
        talks = [
            [{"role": "user", "content": f"hi {name}"}, {"role": "assistant", "content": split}]
            for name in some
        ]
        table = pl.DataFrame({column or "other": some, "messages": talks})
        table.write_parquet(folder / f"{split}-{number:05}-of-{len(ids):05}.parquet")


@pytest.mark.parametrize("column", ["id", None, "conversation_hash"])
@pytest.mark.parametrize("splits", [["train"], ["train", "test"]])
def test_shards_of_a_data_set(tmp_path: Path, column: str | None, splits: list[str]) -> None:
    """Rows without an id are numbered through all shards; a hash may stand in several."""
    for split in splits:
        shards(tmp_path / "wild" / "data", column, [["a", "b"], ["c", "a"], ["d", "e"]], split)
    found = same_for_all(tmp_path / "wild", tmp_path, processes=1)
    turns = pl.read_parquet(found.files["turns.parquet"])
    if len(splits) == 1:
        expected = {
            "id": ["a", "b", "c", "wild/a", "d", "e"],
            None: [f"wild-{number}" for number in range(1, 7)],
            "conversation_hash": ["a", "b", "c", "a-2", "d", "e"],
        }
        assert turns["dialog"].unique(maintain_order=True).to_list() == expected[column]
    assert turns.height == 12 * len(splits)


def test_shards_are_kept_where_their_names_do_not_depend_on_others(tmp_path: Path) -> None:
    shards(tmp_path / "wild", "id", [["a", "b"], ["c"], ["d"]])
    broken = tmp_path / "wild" / "train-00002-of-00003.parquet"
    whole = broken.read_bytes()
    pl.DataFrame({"id": ["d"], "messages": [[{"role": "narrator", "content": "x"}]]}).write_parquet(
        broken
    )
    with pytest.raises(DialensError, match="narrator"):
        convert(tmp_path / "wild", tmp_path / "out", threads=1)
    broken.write_bytes(whole)
    assert again(tmp_path / "wild", tmp_path / "out") == ["2 of 3 files were read before."]


_IDS = st.sampled_from(["x", "y", "a/x", "b/x", "b/x'", "c/b/x", "z"])
_FILES = st.lists(
    st.lists(st.tuples(_IDS, st.sampled_from(["hi", "", "<think>m</think>ho", None])), max_size=5),
    min_size=2,
    max_size=4,
)


@given(_FILES, st.sampled_from(["stop", "skip"]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_ids_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[tuple[str, str | None]]], on: str
) -> None:
    root = tmp_path_factory.mktemp("any")
    for name, talks in zip("abcd", files, strict=False):
        rows = [
            "{no json\n" if text is None else chat(dialog, "hello", text) for dialog, text in talks
        ]
        write(root / "logs" / f"{name}.jsonl", *rows)
    same_for_all(root / "logs", root, processes=1, on_error=on)


def interrupted(tmp_path: Path, **options: Any) -> tuple[Path, Path]:
    """A folder of which two files were read, and the third had to be mended."""
    logs, target = tmp_path / "logs", tmp_path / "out"
    for name in "ab":
        write(logs / f"{name}.jsonl", chat(name, "hi", "ho"), chat(f"{name}2", "hi", "ho"))
    write(logs / "c.jsonl", "{broken\n", chat("c", "hi", "ho"))
    with pytest.raises(DialensError):
        convert(logs, target, threads=1, format="files", **options)
    assert not target.exists()
    assert len(markers(target)) == 2
    write(logs / "c.jsonl", chat("c", "hi", "ho"), chat("c2", "hi", "ho"))
    return logs, target


def again(logs: Path, target: Path, **options: Any) -> list[str]:
    """Convert anew; what was said of the run before. The corpus is that of an undisturbed run."""
    said: list[str] = []
    convert(logs, target, threads=1, say=said.append, **options)
    expected = outcome(logs, target.with_name("undisturbed"), None, **options)
    assert {path.name: path.read_bytes() for path in target.iterdir()} == expected.files
    assert not state_of(target).exists()
    return said


def test_a_second_run_reads_the_rest(tmp_path: Path) -> None:
    logs, target = interrupted(tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in state_of(target).rglob("*") if path.is_file()}
    write(logs / "d.jsonl", "{broken\n")  # so that the second run ends early, too
    said: list[str] = []
    with pytest.raises(DialensError, match=r"d\.jsonl"):
        convert(logs, target, threads=1, say=said.append)
    assert said[0] == "2 of 4 files were read before."
    assert said[1].startswith(f"3 files that were read are kept in {state_of(target)}")
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    (logs / "d.jsonl").unlink()
    assert again(logs, target) == ["3 of 3 files were read before."]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    logs, target = interrupted(tmp_path)
    write(logs / "a.jsonl", chat("a", "hi", "something else"))
    assert again(logs, target) == ["1 of 3 files was read before."]


def test_a_changed_file_whose_time_was_set_back_is_read_again(tmp_path: Path) -> None:
    """As programs that copy files with their times do."""
    logs, target = interrupted(tmp_path)
    file = logs / "a.jsonl"
    before = file.stat()
    file.write_text(file.read_text().replace("ho", "HO"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    assert again(logs, target) == ["1 of 3 files was read before."]


def test_what_is_kept_is_used_also_where_the_folder_became_small(tmp_path: Path) -> None:
    """Without `threads`, as for folders that are not worth several processes."""
    logs, target = interrupted(tmp_path)
    said: list[str] = []
    convert(logs, target, say=said.append)
    assert said == ["2 of 3 files were read before."]
    assert not state_of(target).exists()
    assert outcome(logs, tmp_path / "undisturbed", None).files == {
        path.name: path.read_bytes() for path in target.iterdir()
    }


def test_a_new_file_beside_a_table_is_read(tmp_path: Path) -> None:
    logs, target = tmp_path / "logs", tmp_path / "out"
    write(logs / "a.csv", "dialog,role,text\na,user,hi\na,bot,ho\n")
    write(logs / "b.jsonl", "{broken\n")
    with pytest.raises(DialensError):
        convert(logs, target, format="files", threads=1)
    write(logs / "a.ratings.csv", "dialog,quality,value\na,fluency,3\n")
    write(logs / "b.jsonl", chat("b", "hi", "ho"))
    assert again(logs, target) == []
    assert pl.read_parquet(target / "ratings.parquet").height == 1


@pytest.mark.parametrize(
    "options", [{"options": ReadOptions(roles={"Bot": "agent"})}, {"on_error": "skip"}]
)
def test_other_options_read_everything_again(tmp_path: Path, options: dict[str, Any]) -> None:
    logs, target = interrupted(tmp_path)
    assert again(logs, target, **options) == []


def test_names_of_agents_are_part_of_the_options(tmp_path: Path) -> None:
    logs, target = interrupted(tmp_path)
    assert again(logs, target, options=ReadOptions(agent="Ada")) == []
    assert pl.read_parquet(target / "turns.parquet")["agent"].unique().to_list() == ["Ada"]


def test_nothing_remains_where_nothing_was_read(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.jsonl", chat("a", "hi", "ho"), "{broken\n")
    with pytest.raises(DialensError):
        convert(tmp_path / "logs", tmp_path / "out", threads=1)
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    logs, target = interrupted(tmp_path)
    with (state_of(target) / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(DialensError, match="Another run is reading into"):
            convert(logs, target, threads=1)
    assert again(logs, target) == ["2 of 3 files were read before."]


def test_a_folder_of_others_is_not_taken_for_ours(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.jsonl", chat("a", "hi", "ho"))
    mine = state_of(tmp_path / "out")
    mine.mkdir()
    (mine / "thesis.txt").write_text("mine")
    with pytest.raises(DialensError, match="holds other files"):
        convert(tmp_path / "logs", tmp_path / "out", threads=1)
    assert (mine / "thesis.txt").read_text() == "mine"


def test_an_output_within_the_folder_is_no_input(tmp_path: Path) -> None:
    logs, _ = interrupted(tmp_path)
    inner = logs / "out"
    write(logs / "d.jsonl", "{broken\n")
    with pytest.raises(DialensError):
        convert(logs, inner, threads=1)
    (logs / "d.jsonl").unlink()
    convert(logs, inner, threads=1)
    manifest = json.loads((inner / "manifest.json").read_bytes())
    assert list(manifest["source"]["files"]) == ["a.jsonl", "b.jsonl", "c.jsonl"]


def test_reading_through_a_folder(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for name in "abc":
        write(logs / f"{name}.jsonl", chat("x", "hi", f"ho {name}"), chat(f"{name}2", "hi", "ho"))
    counts: list[int] = []
    corpora = [
        read(logs, spool=tmp_path / str(threads), threads=threads, advance=counts.append)
        for threads in (1, 2)
    ]
    assert corpora[0].turns.collect().equals(corpora[1].turns.collect())
    assert corpora[0].manifest == corpora[1].manifest
    assert sum(counts) == 2 * 12
    assert {path.name for path in (tmp_path / "1").iterdir()} == {
        path.name for path in (tmp_path / "2").iterdir()
    }


def test_progress_counts_bytes_up_to_their_total(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for name in "ab":
        write(logs / f"{name}.jsonl", *(chat(f"{name}{k}", "hi", "ho") for k in range(50)))
    shown: list[tuple[str, int | None, str, list[int]]] = []

    @contextmanager
    def show(label: str, *, total: int | None = None, unit: str = "turns"):
        steps: list[int] = []
        shown.append((label, total, unit, steps))
        yield steps.append

    convert(logs, tmp_path / "out", threads=1, show=show)
    size = sum(path.stat().st_size for path in logs.iterdir())
    assert [(total, unit, sum(steps)) for _, total, unit, steps in shown] == [
        (None, "files", 0),  # which some readers look into to find how to read them
        (size, "bytes", size),
        (None, "turns", 200),
    ]


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_full_disk_keeps_what_was_read(tmp_path: Path, threads: int) -> None:
    logs, target = tmp_path / "logs", tmp_path / "out"
    write(logs / "a.jsonl", chat("a", "hi", "ho"), chat("a2", "hi", "ho"))
    draw = random.Random(0)
    for name in "bc":
        talks = [chat(f"{name}{k}", "hi", draw.randbytes(500).hex()) for k in range(400)]
        write(logs / f"{name}.jsonl", *talks)
    size, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(DialensError, match=r"cannot be written: file too large"):
            convert(logs, target, threads=threads)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    assert not target.exists()
    known = len(markers(target))  # with two processes, the second may be the first to fail
    assert known == 1 or (threads, known) == (2, 0)
    assert again(logs, target) == ["1 of 3 files was read before."] * known


KILLED = """
import sys
from pathlib import Path
from dialens.corpus import convert
if __name__ == "__main__":
    convert(sys.argv[1], sys.argv[2], threads=int(sys.argv[3]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, threads: int, how: int) -> None:
    logs, target = tmp_path / "logs", tmp_path / "out"
    for number in range(8):
        talks = (chat(f"{number}-{k}", "hi " * 20, "ho " * 20) for k in range(10_000))
        write(logs / f"{number}.jsonl", *talks)
    script = tmp_path / "child.py"
    script.write_text(KILLED)
    child = subprocess.Popen(
        [sys.executable, str(script), str(logs), str(target), str(threads)],
        stderr=subprocess.DEVNULL,
        env=dict(os.environ),
    )
    deadline = time.monotonic() + 120
    while len(markers(target)) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(how)
    child.wait(60)
    assert not target.exists()
    [said] = again(logs, target)
    assert said.endswith("of 8 files were read before.")
    assert int(said.split()[0]) >= 2


@given(st.lists(st.tuples(st.text(max_size=3), st.sampled_from("abc"), st.integers(0, 99))))
def test_ids_are_found_where_they_were_last_claimed(claims: list[tuple[str, str, int]]) -> None:
    """A dictionary is the oracle; a claim in the file that has the id already changes nothing."""
    ids, oracle = TakenIds(), dict[str, tuple[Path, int]]()
    for name, file, line in claims:
        before = oracle.get(name)
        assert ids.place(name) == before
        assert ids.take(name, Path(file), line) == before
        if before is None or before[0] != Path(file):
            oracle[name] = (Path(file), line)
    assert len(ids) == len(oracle)
    assert all(ids.place(name) == place for name, place in oracle.items())


@given(st.lists(st.sets(st.integers(0, 4_000), max_size=900), max_size=5))
@settings(max_examples=30, deadline=None)
def test_ids_claimed_at_once_by_their_hashes(files: list[set[int]]) -> None:
    """As claimed one by one: a dictionary is the oracle; the table grows on the way."""
    ids, oracle = TakenIds(), dict[str, tuple[Path, int]]()
    for number, names in enumerate(files):
        own, file = TakenIds(), Path(f"{number}.jsonl")
        for line, name in enumerate(names):
            own.take(f"d{name}", file, line)
        hashes = own.hashes(0)
        places = {f"d{name}": (file, line) for line, name in enumerate(names)}
        taken = not oracle.keys().isdisjoint(places)
        assert ids.any_taken(*hashes) == taken
        if taken:
            for dialog, (_, line) in places.items():
                assert ids.take(dialog, file, line) == oracle.get(dialog)
        else:
            ids.take_new(*hashes, file, range(len(names)))
        oracle |= places
        assert len(ids) == len(oracle)
    assert all(ids.place(f"d{name}") == oracle.get(f"d{name}") for name in range(4_001))


def test_many_ids_are_all_found() -> None:
    ids = TakenIds()
    for number in range(5_000):
        assert ids.take(f"d{number}", Path("a"), number) is None
    assert all(ids.place(f"d{number}") == (Path("a"), number) for number in range(5_000))
    assert not any(f"e{number}" in ids for number in range(5_000))


def test_a_duplicate_names_the_line_of_the_first() -> None:
    intake = Intake()
    intake.claim("d", Path("a.jsonl"), 3)
    with pytest.raises(RecordError, match=r"stands in a\.jsonl, line 3"):
        intake.claim("d", Path("a.jsonl"), 9)
