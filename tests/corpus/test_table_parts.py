"""Tables in many files, written by DuckDB, Arrow, Polars and Spark, as one table again."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.dataset
import pytest
from polars.testing import assert_frame_equal

from dialens.base import DialensError
from dialens.corpus import Corpus, Intake, OnError, Source, convert, read
from dialens.corpus import _tabular as tabular
from dialens.corpus._reading import FolderReader, choose
from dialens.corpus.readers import _turn_records as turn_records
from dialens.corpus.readers import readers
from tests.corpus.test_reading_apart import same_for_all
from tests.spark_cluster import need_spark

DIALOGS, TURNS = 40, 6
WRITTEN = pl.DataFrame(
    [
        (f"c{dialog:02}", turn, ("user", "assistant")[turn % 2], f"{dialog} says {turn}", model)
        for dialog in range(DIALOGS)
        for turn in range(TURNS)
        for model in (("one", "two")[dialog % 2],)
    ],
    schema=["conversation_id", "turn", "role", "content", "model"],
    orient="row",
)
"""As a program logs them: a row a message."""
SHUFFLED = WRITTEN.sample(fraction=1, shuffle=True, seed=1)


def said(corpus: Corpus) -> list[tuple[object, ...]]:
    columns = ("system", "agent", "dialog", "turn", "role", "text")
    return sorted(corpus.turns.select(columns).collect().rows())


def expected(system: str) -> list[tuple[object, ...]]:
    roles = {"user": "partner", "assistant": "agent"}
    rows = WRITTEN.select("model", "conversation_id", "turn", "role", "content").rows()
    return sorted(
        (system, model, d, turn, roles[role], text) for model, d, turn, role, text in rows
    )


def by_duckdb(rows: pl.DataFrame, folder: Path) -> None:
    """A folder a model, which no column names any more."""
    frame = rows.to_arrow()  # DuckDB finds it by this name
    assert frame.num_rows == rows.height
    duckdb.sql(f"COPY frame TO '{folder}' (FORMAT parquet, PARTITION_BY (model))")


def by_arrow(rows: pl.DataFrame, folder: Path) -> None:
    pyarrow.dataset.write_dataset(
        rows.to_arrow(),
        folder,
        format="parquet",
        max_rows_per_file=50,
        max_rows_per_group=50,
    )


def by_arrow_as_feather(rows: pl.DataFrame, folder: Path) -> None:
    pyarrow.dataset.write_dataset(
        rows.to_arrow(), folder, format="feather", max_rows_per_file=70, max_rows_per_group=70
    )


def by_polars(rows: pl.DataFrame, folder: Path) -> None:
    rows.lazy().sink_parquet(pl.PartitionBy(folder, key="model", max_rows_per_file=30), mkdir=True)


def as_csv(rows: pl.DataFrame, folder: Path) -> None:
    """As a warehouse unloads a table."""
    folder.mkdir()
    for number, some in enumerate(rows.iter_slices(70)):
        some.write_csv(folder / f"chats-{number:012}.csv")


def as_json(rows: pl.DataFrame, folder: Path) -> None:
    """As Spark writes JSON: what is nothing has no key."""
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    (folder / "part-00000-0f3c-c000.json").touch()  # a task without rows
    for number, some in enumerate(rows.iter_slices(70), start=1):
        records = [
            {key: value for key, value in row.items() if row["role"] != "user" or key != "model"}
            for row in some.iter_rows(named=True)
        ]
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"part-{number:05}-0f3c-c000.json").write_text(lines)


WRITERS = [by_duckdb, by_arrow, by_arrow_as_feather, by_polars, as_csv, as_json]


@pytest.mark.parametrize("rows", [WRITTEN, SHUFFLED], ids=["in order", "shuffled"])
@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_a_table_is_one_system_whoever_wrote_it(
    write: Callable[[pl.DataFrame, Path], None], rows: pl.DataFrame, tmp_path: Path
) -> None:
    folder = tmp_path / "chats"
    write(rows, folder)
    assert len([path for path in folder.rglob("*.*") if path.stat().st_size]) > 1
    assert choose(Source(folder), None, readers()).name == "parts"
    assert said(read(folder)) == expected("chats")
    same_for_all(folder, tmp_path)


SPARK = """
import sys
from pyspark.sql import SparkSession, functions
session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
session.sparkContext.setLogLevel("OFF")
rows = session.read.json(sys.argv[1])
talk = functions.struct("turn", "role", "content")
wholes = rows.groupBy("conversation_id", "model").agg(
    functions.array_sort(functions.collect_list(talk)).alias("messages")
)
to = sys.argv[2]
rows.repartition(5).write.parquet(f"{to}/anyhow")
rows.repartition(5, "conversation_id").write.partitionBy("model").parquet(f"{to}/by-model")
rows.repartition(5).write.json(f"{to}/lines", compression="gzip")
rows.repartition(5).write.csv(f"{to}/sheets", header=True)
wholes.repartition(3).write.parquet(f"{to}/conversations")
wholes.repartition(3).write.json(f"{to}/records")
"""


@pytest.mark.slow
def test_what_spark_writes(tmp_path: Path) -> None:
    need_spark()
    SHUFFLED.write_ndjson(tmp_path / "rows.json")
    command = [sys.executable, "-c", SPARK, str(tmp_path / "rows.json"), str(tmp_path / "out")]
    subprocess.run(command, check=True)
    folders = sorted((tmp_path / "out").iterdir())
    assert len(folders) == 6
    for folder in folders:
        assert choose(Source(folder), None, readers()).name == "parts", folder.name
        assert said(read(folder)) == expected(folder.name)
    several = read(tmp_path / "out")  # a folder of such folders: a system each
    counts = several.turns.group_by("system").len().collect()
    assert dict(counts.rows()) == {folder.name: WRITTEN.height for folder in folders}


def test_a_conversation_may_be_in_several_files(tmp_path: Path) -> None:
    """Side by side only where none is; the first file tells nothing of that."""
    apart, across = tmp_path / "apart", tmp_path / "across"
    for folder, cut in ((apart, 10 * TURNS), (across, 10 * TURNS + 1)):
        folder.mkdir()
        WRITTEN[:cut].write_parquet(folder / "part-0.parquet")
        WRITTEN[cut:].write_parquet(folder / "part-1.parquet")
    reader = choose(Source(apart), "parts", readers())
    assert isinstance(reader, FolderReader)
    assert len(reader.files(Source(apart))) == 2
    assert reader.files(Source(across)) == []
    assert said(read(across)) == expected("across")
    assert said(read(apart)) == expected("apart")


def test_what_is_wrong_is_told_with_file_and_row(tmp_path: Path) -> None:
    wrong = SHUFFLED.with_columns(
        pl.when(pl.col("content") == SHUFFLED["content"][100])
        .then(None)
        .otherwise("content")
        .alias("content")
    )
    by_arrow(wrong, tmp_path / "columns")
    as_csv(SHUFFLED, tmp_path / "sheets")
    sheet = tmp_path / "sheets" / f"chats-{1:012}.csv"
    lines = sheet.read_text().splitlines(keepends=True)
    sheet.write_text("".join([*lines[:31], "c07,1,user\n", *lines[32:]]))
    for folder, place in (
        ("columns", r"part-2\.parquet, row 1: field `text`"),
        ("sheets", r"chats-000000000001\.csv, line 32: "),
    ):
        with pytest.raises(DialensError, match=place):
            read(tmp_path / folder)
        intake = Intake(OnError.SKIP)
        kept = read(tmp_path / folder, intake=intake)
        assert kept.turns.select(pl.col("dialog").n_unique()).collect().item() == DIALOGS - 1
        [reject] = intake.rejects
        assert (reject.file.rpartition("/")[2], reject.line) in [
            ("part-2.parquet", 1),
            (sheet.name, 32),
        ]


def test_a_file_that_is_not_whole(tmp_path: Path) -> None:
    """It may be left out where conversations do not cross files, as far as the others show."""
    apart, across = tmp_path / "apart", tmp_path / "across"
    apart.mkdir()
    size = TURNS * 10
    for number, some in enumerate(WRITTEN.iter_slices(size)):
        some.write_parquet(apart / f"part-{number}.parquet")
    by_arrow(SHUFFLED, across)
    for folder in (apart, across):
        file = folder / "part-1.parquet"
        file.write_bytes(file.read_bytes()[:-20])
        with pytest.raises(DialensError, match=r"part-1\.parquet is not a whole Parquet file"):
            read(folder)
    intake = Intake(OnError.SKIP)
    kept = read(apart, intake=intake)
    assert kept.turns.select(pl.len()).collect().item() == WRITTEN.height - size
    [damage] = intake.damaged
    assert damage.startswith("Not read: ")
    with pytest.raises(DialensError, match=r"part-1\.parquet is not a .* It cannot be left out"):
        read(across, on_error="skip")


def test_columns_that_only_some_files_have(tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    old = WRITTEN.filter(pl.col("conversation_id") < "c20").drop("model")
    new = WRITTEN.filter(pl.col("conversation_id") >= "c20")
    old.write_parquet(folder / "part-00000.parquet")
    new.with_columns(pl.col("turn").cast(pl.Int32)).write_parquet(folder / "part-00001.parquet")
    agents = read(folder).turns.group_by("agent").len().collect()
    assert dict(agents.rows()) == {"chats": 120, "one": 60, "two": 60}


def test_many_rows_are_dealt_out_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_arrow(SHUFFLED, tmp_path / "chats")
    whole = read(tmp_path / "chats").turns.collect()
    monkeypatch.setattr(tabular, "_SHARE", 25)
    dealt = read(tmp_path / "chats").turns.collect()
    assert_frame_equal(dealt.sort("dialog", "turn"), whole.sort("dialog", "turn"))
    ids = dealt["dialog"].to_list()
    assert sum(one != other for one, other in pairwise(ids)) == DIALOGS - 1


def test_files_follow_each_other_by_their_numbers(tmp_path: Path) -> None:
    """As Dask writes them, without leading zeros; nothing but the files tells the order."""
    folder = tmp_path / "chats"
    folder.mkdir()
    rows = WRITTEN.filter(pl.col("turn") < 4).drop("turn").sort("conversation_id")
    for number, some in enumerate(rows.iter_slices(13)):
        some.write_parquet(folder / f"part.{number}.parquet")
    assert len(list(folder.iterdir())) == 13
    intake = Intake()
    corpus = read(folder, intake=intake)
    assert said(corpus) == [row for row in expected("chats") if int(str(row[3])) < 4]
    crossing = sum(13 * cut % 4 > 0 for cut in range(1, 13))
    assert intake.notes[-1] == (
        f"chats: {crossing} of 40 conversations have rows in several files; no column numbers or "
        "times their turns, so they stand in the order of the files. If files reuse ids for other "
        "conversations, read them with --format files."
    )
    files = read(folder, format="files")
    assert files.turns.select(pl.col("dialog").n_unique()).collect().item() == 40 + crossing


def test_conversations_in_several_files_are_counted(tmp_path: Path) -> None:
    by_arrow(SHUFFLED, tmp_path / "chats")
    intake = Intake()
    read(tmp_path / "chats", intake=intake)
    assert intake.notes[-1] == "chats: 40 of 40 conversations have rows in several files."


@pytest.mark.parametrize(
    "names",
    [
        ("monday.csv", "tuesday.csv"),
        ("part1.csv", "part2.csv"),
        ("part-1.csv", "part-2.csv"),
        ("export-202610010800.csv", "export-202610011200.csv"),
    ],
)
def test_names_of_people_are_a_system_each(names: tuple[str, str], tmp_path: Path) -> None:
    """Their files may use the same ids for different conversations, which stay apart."""
    folder = tmp_path / "chats"
    folder.mkdir()
    for name in names:
        WRITTEN.drop("turn").write_csv(folder / name)
    assert choose(Source(folder), None, readers()).name == "files"
    corpus = read(folder).turns.collect()
    assert corpus["dialog"].n_unique() == 2 * DIALOGS
    assert corpus["system"].unique().to_list() != ["chats"]


def test_other_folders_are_no_tables(tmp_path: Path) -> None:
    """Texts, and a folder in a table's that says nothing."""
    (tmp_path / "days").mkdir()
    WRITTEN.write_csv(tmp_path / "days" / "monday.csv")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "part-1.txt").write_text("A: hi\nB: hello\nA: so\n")
    by_polars(WRITTEN, tmp_path / "mixed")
    (tmp_path / "mixed" / "old").mkdir()
    WRITTEN.write_parquet(tmp_path / "mixed" / "old" / "part-0.parquet")
    for folder in ("days", "texts", "mixed"):
        assert choose(Source(tmp_path / folder), None, readers()).name == "files"
    for folder in ("texts", "mixed"):
        with pytest.raises(DialensError, match="is no folder of one table in parts"):
            read(tmp_path / folder, format="parts")
    assert said(read(tmp_path / "days", format="parts")) == expected("days")


UUID = "01b2c3d4-0000-a1b2-0000-000112345678"


@pytest.mark.parametrize(
    "name",
    [
        "{:04}_part_00",
        "chats_{:04}_part_00.gz",
        f"data_{UUID}_{{}}_0_0.csv",
        f"20261001_101010_{{:05}}_abcde_{UUID}",
        "train-{:05}-of-00004.csv",
        "day=2026-10-0{}/a.gz",
    ],
    ids=["redshift", "packed", "snowflake", "athena", "hub", "folders"],
)
def test_names_that_warehouses_give(name: str, tmp_path: Path) -> None:
    """Some say nothing of what a file is."""
    folder = tmp_path / "chats"
    for number, some in enumerate(SHUFFLED.iter_slices(70)):
        file = folder / name.format(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = some.write_csv().encode()
        file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
    assert said(read(folder)) == expected("chats")


def test_files_of_one_table_with_names_of_ones_own(tmp_path: Path) -> None:
    """Nobody can know that they are, but ids that come again are a reason to ask."""
    folder = tmp_path / "chats"
    folder.mkdir()
    for name, some in zip(("mon", "tue"), SHUFFLED.iter_slices(120), strict=True):
        some.write_csv(folder / f"{name}.csv")
    intake = Intake()
    read(folder, intake=intake)
    assert any("read it with --format parts" in note for note in intake.notes)
    intake = Intake()
    assert said(read(folder, format="parts", intake=intake)) == expected("chats")
    assert not any("--format parts" in note for note in intake.notes)


def timed(rows: pl.DataFrame) -> pl.DataFrame:
    """A minute a turn."""
    minute = pl.duration(minutes=pl.col("turn"))
    return rows.with_columns((pl.datetime(2026, 10, 1) + minute).alias("created_at"))


NO_NUMBERS = pl.lit(None, pl.Int64).alias("turn")


@pytest.mark.parametrize("lacks", ["some rows", "one file"])
def test_only_some_rows_have_numbers(lacks: str, tmp_path: Path) -> None:
    """Then times count, and where there are none either, it is said that the rows do."""
    rows = timed(SHUFFLED)
    halves = [rows[:120], rows[120:]]
    if lacks == "one file":
        halves[1] = halves[1].drop("turn")
    else:
        halves = [
            half.with_columns(pl.when(pl.int_range(pl.len()) % 9 > 0).then("turn").alias("turn"))
            for half in halves
        ]
    for name in ("timed", "bare"):
        (tmp_path / name).mkdir()
        for number, half in enumerate(halves):
            kept = half if name == "timed" else half.drop("created_at")
            kept.write_parquet(tmp_path / name / f"part-{number}.parquet")
    intake = Intake()
    assert said(read(tmp_path / "timed", intake=intake)) == expected("timed")
    together = pl.concat(halves, how="diagonal")
    partly = together.group_by("conversation_id").agg(
        (pl.col("turn").is_null().any() & pl.col("turn").is_not_null().any()).alias("partly")
    )
    count = partly["partly"].sum()
    assert count > 5
    assert intake.notes[1] == (
        f"timed: {count} conversations number only some of their turns, so that all follow their "
        "times."
    )
    intake = Intake()
    bare = read(tmp_path / "bare", intake=intake)
    assert bare.turns.select(pl.len()).collect().item() == WRITTEN.height
    assert f"{count} conversations number only some of their turns" in intake.notes[1]
    assert "follow the rows, for want of times" in intake.notes[1]
    assert "of them without a number or a time for each turn" in intake.notes[2]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_ids_that_one_file_has_as_decimals(ending: str, tmp_path: Path) -> None:
    """As pandas writes whole numbers of which one was missing."""
    number = pl.col("conversation_id").str.slice(1).cast(pl.Int64)
    rows = SHUFFLED.with_columns(number.alias("conversation_id"))
    for part, some in enumerate((rows[:120], rows[120:].cast({"conversation_id": pl.Float64}))):
        getattr(some, f"write_{ending}")(tmp_path / f"part-{part}.{ending}")
    ids = read(tmp_path).turns.collect()["dialog"].unique().to_list()
    assert sorted(ids, key=int) == [str(one) for one in range(DIALOGS)]


def test_large_ids_keep_their_digits(tmp_path: Path) -> None:
    large = SHUFFLED.with_columns(pl.col("conversation_id").str.slice(1).cast(pl.Int64) + 2**60 + 1)
    large[:120].write_parquet(tmp_path / "part-0.parquet")
    strings = large[120:].cast({"conversation_id": pl.String})
    strings.write_parquet(tmp_path / "part-1.parquet")
    ids = read(tmp_path).turns.collect()["dialog"].unique().to_list()
    assert sorted(map(int, ids)) == [2**60 + 1 + one for one in range(DIALOGS)]


def test_ids_with_decimals_of_their_own(tmp_path: Path) -> None:
    """A version, say, of which no other id is a number."""
    names = pl.col("conversation_id").replace({"c00": "1.0", "c01": "1", "c02": "2.5"})
    rows = SHUFFLED.with_columns(names)
    for part, some in enumerate(rows.iter_slices(120)):
        some.write_csv(tmp_path / f"part-{part}.csv")
    ids = read(tmp_path).turns.collect()["dialog"]
    assert ids.n_unique() == DIALOGS
    assert {"1.0", "1", "2.5"} <= {*ids}


@pytest.mark.parametrize("ending", ["csv.gz", "json.gz"])
def test_texts_without_shared_conversations_are_read_apart(ending: str, tmp_path: Path) -> None:
    """So that a file which is damaged can be left out, and a killed run goes on."""
    apart, across = tmp_path / "apart", tmp_path / "across"
    for folder, rows in ((apart, WRITTEN), (across, SHUFFLED)):
        folder.mkdir()
        for number, some in enumerate(rows.iter_slices(TURNS * 10)):
            text = some.write_csv() if "csv" in ending else some.write_ndjson()
            file = folder / f"part-{number:05}.{ending}"
            file.write_bytes(gzip.compress(text.encode()))
        if "csv" in ending:  # a task without rows
            header = WRITTEN.head(0).write_csv().encode()
            (folder / f"part-00004.{ending}").write_bytes(gzip.compress(header))
    reader = choose(Source(apart), None, readers())
    assert isinstance(reader, FolderReader)
    assert len(reader.files(Source(apart))) == len([*apart.iterdir()]) >= 4
    assert reader.files(Source(across)) == []
    assert said(read(apart)) == expected("apart")
    same_for_all(apart, tmp_path)
    file = apart / f"part-00001.{ending}"
    file.write_bytes(file.read_bytes()[:60])
    with pytest.raises(DialensError, match="part-00001"):
        read(apart)
    intake = Intake(OnError.SKIP)
    kept = read(apart, intake=intake)
    assert kept.turns.select(pl.len()).collect().item() >= WRITTEN.height - TURNS * 10
    assert len(intake.damaged) == 1


def test_a_key_of_any_name_tells_whether_conversations_cross_files(tmp_path: Path) -> None:
    rows = SHUFFLED.rename({"conversation_id": 'the "id"'})
    for number, some in enumerate(rows.iter_slices(70)):
        some.write_ndjson(tmp_path / f"part-{number:05}.json")
    corpus = read(tmp_path, columns={"dialog": 'the "id"'})
    assert said(corpus) == expected(tmp_path.name)


@pytest.mark.parametrize("write", [by_duckdb, as_csv, as_json], ids=lambda write: write.__name__)
def test_columns_that_a_user_names(
    write: Callable[[pl.DataFrame, Path], None], tmp_path: Path
) -> None:
    """In the files or in the names of folders, whichever they are; rows are read by one or many."""
    odd = {"conversation_id": "A", "role": "B", "content": "C", "model": "d", "turn": "E"}
    for rows, folder in ((SHUFFLED, tmp_path / "across"), (WRITTEN, tmp_path / "apart")):
        named = rows.rename(odd)
        if write is by_duckdb:
            frame = named.to_arrow()
            assert frame.num_rows == rows.height
            duckdb.sql(f"COPY frame TO '{folder}' (FORMAT parquet, PARTITION_BY (d))")
        elif write is as_csv:
            folder.mkdir()
            for number, some in enumerate(named.iter_slices(TURNS * 10)):
                some.write_csv(folder / f"chats-{number:012}.csv")
        else:
            folder.mkdir()
            for number, some in enumerate(named.iter_slices(TURNS * 10)):
                some.write_ndjson(folder / f"part-{number:05}.json")
        columns = {"dialog": "A", "role": "B", "text": "C", "agent": "d", "turn": "E"}
        assert said(read(folder, columns=columns, format="parts")) == expected(folder.name)
        assert said(read(folder, columns=columns)) == expected(folder.name)


def test_rows_that_were_written_twice_are_told(tmp_path: Path) -> None:
    WRITTEN.write_parquet(tmp_path / "part-0.parquet")
    WRITTEN[:30].write_parquet(tmp_path / "part-1.parquet")
    intake = Intake()
    read(tmp_path, intake=intake)
    assert intake.notes[1].partition(": ")[2].startswith("30 rows stand there again")


def test_names_of_ones_own(tmp_path: Path) -> None:
    by_duckdb(WRITTEN, tmp_path / "chats")
    corpus = read(tmp_path / "chats", system="mine", agent="bot")
    names = corpus.turns.select("system", "agent").unique().collect().rows()
    assert names == [("mine", "bot")]


def test_keys_that_only_later_records_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory and in scratch files, a chunk of records at a time."""
    records = [
        {"session_id": "s1", "role": "user", "content": "hi"},
        {"session_id": "s1", "role": "assistant", "content": "hello", "model": "v1"},
        {"session_id": "s2", "role": "user", "content": "hi", "mood": "fine"},
        {"session_id": "s2", "role": "assistant", "content": "so?", "model": "v2"},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    whole = read(log).turns.collect()
    assert whole["agent"].to_list() == ["v1", "v1", "v2", "v2"]
    assert whole["meta"].to_list()[2] == '{"mood":"fine"}'
    monkeypatch.setattr(turn_records, "_ROWS", 1)
    assert_frame_equal(read(log).turns.collect(), whole)
    monkeypatch.setattr(tabular, "_IN_MEMORY_BYTES", 0)
    assert_frame_equal(read(log).turns.collect(), whole)


def test_conversion_says_what_was_read(tmp_path: Path) -> None:
    by_duckdb(SHUFFLED, tmp_path / "chats")
    summary = convert(tmp_path / "chats", tmp_path / "corpus")
    assert (summary.dialogs, summary.turns) == (DIALOGS, WRITTEN.height)
    manifest = json.loads((tmp_path / "corpus" / "manifest.json").read_text())
    assert manifest["source"]["format"] == "parts"
    assert all("model=" in name for name in manifest["source"]["files"])


def test_a_conversation_without_numbers_beside_one_with_them(tmp_path: Path) -> None:
    """In our own columns, where half a numbering is a mistake and none is not."""
    log = tmp_path / "log.csv"
    none = (
        "dialog,turn,role,text\na,1,agent,second\na,0,partner,first\nb,,partner,hi\nb,,agent,ho\n"
    )
    log.write_text(none)
    turns = read(log).turns.sort("dialog", "turn").collect()
    assert turns["text"].to_list() == ["first", "second", "hi", "ho"]
    assert turns["turn"].to_list() == [0, 1, 0, 1]
    log.write_text(none.replace("b,,agent", "b,1,agent"))
    with pytest.raises(DialensError, match="is out of sequence"):
        read(log)
