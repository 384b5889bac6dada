"""The parts of scoring on a cluster, without Spark: batches, files, the plan, refusals."""

import os
import socket
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import dialens
from dialens.base import DialensError
from dialens.cli._app import app
from dialens.corpus import Corpus
from dialens.metrics import (
    MetricCard,
    Resources,
    ScorerContext,
    ScorerSet,
    given_metric,
    make_plan,
)
from dialens.metrics._engine import BatchScorer, open_scorers
from dialens.metrics._given import GIVEN
from dialens.metrics._scoring import BatchReading
from dialens.metrics.cluster._batches import Batches, pieces_of, tasks_of
from dialens.metrics.cluster._graphics_cards import take_assigned_card, workers_device
from dialens.metrics.cluster._source import ClusterCorpus, cluster_corpus, starts_of
from dialens.metrics.cluster._staging import Job, Staging, batch_of_dialogs, remove_staging
from dialens.metrics.cluster._worker import Worker, whole_batches
from tests.metrics.cluster.talks import write_talks

ROWS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_talks(tmp_path_factory.mktemp("talks") / "corpus", dialogs=60)


@pytest.fixture
def source(folder: Path) -> ClusterCorpus:
    return cluster_corpus(Corpus.open(folder), folder)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=12),
    st.integers(1, 8),
    st.data(),
)
def test_every_row_is_in_one_piece_of_its_batch(
    heights: list[int], rows: int, data: st.DataObject
) -> None:
    starts = [0]
    for height in heights:
        starts.append(starts[-1] + height)
    batches = Batches(tuple(starts), rows)
    wanted = [n for n in range(len(batches)) if data.draw(st.booleans())]
    tasks = tasks_of(batches, wanted, cores=1) if wanted else {}
    found: dict[int, int] = {}
    for piece in pieces_of(batches, tasks):
        assert piece.task == tasks[piece.batch]
        for place in range(piece.start, piece.end):
            assert piece.bucket == place // rows
            assert place not in found
            found[place] = piece.batch
    assert found == {row: n for n in wanted for row in range(starts[n], starts[n + 1])}


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 4), st.integers(1, 20))
def test_tasks_are_neighbours_and_none_is_empty(heights: list[int], cores: int, rows: int) -> None:
    starts = [0]
    for height in heights:
        starts.append(starts[-1] + height)
    tasks = tasks_of(Batches(tuple(starts), rows), range(len(heights)), cores)
    numbers = list(tasks.values())
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(numbers[-1] + 1))


def test_batches_are_those_of_one_process(source: ClusterCorpus) -> None:
    batches = Batches.of(source, ROWS)
    heights = [batch.height for batch in source.corpus.batches(turns=ROWS)]
    assert [batches.height(number) for number in range(len(batches))] == heights
    found = batch_of_dialogs(source.corpus.turns, batches.starts).collect()
    assert dict(found.iter_rows()) == {
        dialog: number
        for number, batch in enumerate(source.corpus.batches(turns=ROWS))
        for dialog in batch["dialog"]
    }


def test_starts_do_not_depend_on_the_pieces(
    source: ClusterCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = starts_of(source.corpus.turns)
    monkeypatch.setattr("dialens.metrics.cluster._source._LOOKED_AT", 7)
    assert starts_of(source.corpus.turns) == whole


def given_warmth(corpus: Corpus) -> pl.DataFrame:
    dialogs = corpus.turns.select(pl.col("dialog").unique().sort()).collect()["dialog"]
    rows = [(dialog, None, float(number % 5), None) for number, dialog in enumerate(dialogs)]
    return pl.DataFrame(rows, schema=GIVEN, orient="row")


def make_job(source: ClusterCorpus, resources: Resources) -> tuple[Job, pl.DataFrame | None]:
    card = given_metric(
        "judge_warmth",
        given_warmth(source.corpus),
        meaning="Warmth.",
        family="judge",
        family_label="Judges",
        label="Warmth",
        uses={"model": "small"},
    )
    named = ["emotion", "style", "distinct_2", "variation", "rouge_l", "random"]
    names: list[str | MetricCard] = [*named, card]
    plan = make_plan(names, resources)
    references = open_scorers(source.corpus, plan)
    reading = BatchReading.of(source.corpus, plan, references, threads=1, memory=10**9)
    job = Job(
        plan,
        tuple(metric.signature for metric in plan.metrics),
        plan.failures,
        Batches.of(source, ROWS),
        reading.columns,
        reading.most_words,
        False,
        references is not None,
    )
    return job, references


def staged(tmp_path: Path, source: ClusterCorpus) -> tuple[Staging, Job, pl.DataFrame | None]:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    job, references = make_job(source, Resources(scorers=ScorerSet(ScorerContext())))
    staging = Staging.beside(tmp_path / "out", source, job)
    with staging.open():
        dialogs = batch_of_dialogs(source.corpus.turns, job.batches.starts)
        assert references is not None
        staging.write_references(references, dialogs)
        staging.write_job(job, threads=1)
    return staging, job, references


def test_a_worker_leaves_what_one_process_computes(source: ClusterCorpus, tmp_path: Path) -> None:
    staging, job, references = staged(tmp_path, source)
    worker = Worker(Staging(staging.folder))
    scorer = BatchScorer(job.plan)
    wanted = staging.missing(job.batches)
    assert len(wanted) == len(job.batches) > 3
    for number, turns in reversed(list(enumerate(source.corpus.batches(turns=ROWS)))):
        worker.score(number, turns)
        found = staging.read(number)
        expected = scorer.score(scorer.see(turns.select(job.columns), references))
        for level in ("turns", "dialogs"):
            ours, theirs = getattr(found, level), getattr(expected, level)
            assert ours.units.equals(theirs.units)
            for name, column in theirs.columns.items():
                assert ours.columns[name].values.value.tobytes() == column.values.value.tobytes()
                assert ours.columns[name].reason().equals(column.reason())
        assert found.sums.agents == expected.sums.agents
        assert found.sums.failures == {}
    assert staging.missing(job.batches) == []
    staging.remove(unless_begun=True)
    assert staging.folder.exists()
    stale = staging.folder.with_name(f".out.{'0' * 16}.staging")
    foreign = staging.folder.with_name(f".out.2.{'0' * 16}.staging")
    stale.mkdir()
    foreign.mkdir()
    remove_staging(tmp_path / "out")
    assert list(tmp_path.iterdir()) == [foreign]


def test_a_batch_that_lacks_rows_is_no_batch(source: ClusterCorpus, tmp_path: Path) -> None:
    staging, job, _ = staged(tmp_path, source)
    turns = next(source.corpus.batches(turns=ROWS))
    with pytest.raises(DialensError, match="a file of the corpus was changed"):
        Worker(staging).score(0, turns[1:])
    assert len(staging.missing(job.batches)) == len(job.batches)


def test_workers_say_what_differs(
    source: ClusterCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staging, job, _ = staged(tmp_path, source)
    with monkeypatch.context() as patch:
        patch.setattr(dialens, "__version__", "0.0.1")
        with pytest.raises(DialensError, match=r"dialens 0\.0\.1 is installed here and"):
            Worker(staging)
    with pytest.raises(DialensError, match="on a disk that all machines share"):
        Worker(Staging(tmp_path / "elsewhere"))
    other = Job(**{**vars(job), "signatures": ("other|v0", *job.signatures[1:])})
    staging.write_job(other, threads=1)
    with pytest.raises(DialensError, match="Install the same packages and models"):
        Worker(staging)


def test_the_folder_depends_on_everything(source: ClusterCorpus, tmp_path: Path) -> None:
    job, _ = make_job(source, Resources())
    first = Staging.beside(tmp_path / "out", source, job).folder
    assert Staging.beside(tmp_path / "out", source, job).folder == first
    changed = {"whole_turns": True, "batches": Batches((0, 1), 1), "signatures": ("x",)}
    folders = {
        Staging.beside(tmp_path / "out", source, Job(**{**vars(job), name: value})).folder
        for name, value in changed.items()
    }
    assert len({first, *folders}) == 4


def test_one_run_at_a_time(source: ClusterCorpus, tmp_path: Path) -> None:
    job, _ = make_job(source, Resources())
    staging = Staging.beside(tmp_path / "out", source, job)
    with staging.open(), pytest.raises(DialensError, match="Another process is scoring the same"):
        staging.open()


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.integers(1, 7))
def test_rows_come_in_any_pieces(heights: list[int], size: int) -> None:
    numbers = [number for number, height in enumerate(heights) for _ in range(height)]
    frame = pl.DataFrame({"batch": numbers, "row": range(len(numbers))})
    frame = frame.with_columns(text=pl.col("row").cast(pl.String))
    found = list(whole_batches(frame.iter_slices(size)))
    assert [(number, rows.height) for number, rows in found] == list(enumerate(heights))
    assert pl.concat([rows["text"] for _, rows in found]).equals(frame["text"])


# What is refused


def refused(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["score", *map(str, arguments)])
    assert isinstance(result.exception, DialensError), result.output
    return str(result.exception)


SPARK = ("--engine", "spark", "--master", "local[1]")


def test_options_that_do_not_go_together(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "goes with --engine spark" in refused(folder, "-o", out, "--master", "local[2]")
    far = "s3a://somewhere/corpus"
    assert "one address at a time; seen: 2" in refused(folder, far, "-o", out, *SPARK)
    assert "does not exist" in refused(folder / "x", "-o", out, *SPARK)  # before Spark starts
    for master in ("banana", "local[zwei]", "local[0]", "spark://somewhere"):
        assert "spark://HOST:PORT" in refused(
            folder, "-o", out, "--engine", "spark", "--master", master
        )
    assert list(tmp_path.iterdir()) == []


def test_a_master_that_does_not_answer(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"spark://127.0.0.1:{nobody.getsockname()[1]}"
        said = refused(folder, "-o", tmp_path / "out", "--engine", "spark", "--master", url)
    assert f"The Spark master {url} does not answer" in said
    assert list(tmp_path.iterdir()) == []


def test_cards_of_a_cluster_are_those_that_spark_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every executor has one, or none is used: arithmetic does not depend on who scores."""
    master, defaults = "spark://host:7077", tmp_path / "spark-defaults.conf"
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert workers_device(master, "auto") == "cpu"
    defaults.write_text("# cards\n\nspark.eventLog.enabled   true\n")
    assert workers_device(master, "auto") == "cpu"
    for line in ("spark.executor.resource.gpu.amount  1", "spark.executor.resource.gpu.amount=2"):
        defaults.write_text(f"# cards\n{line}\n")
        assert workers_device(master, "auto") == "cuda"
        assert workers_device(master, "cpu") == "cpu"
        assert workers_device("local[4]", "auto") == "auto"


def test_a_worker_sees_the_card_of_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("pyspark.resource")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    take_assigned_card(None)
    take_assigned_card(SimpleNamespace(resources=dict))
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"
    given = {"gpu": resource.ResourceInformation("gpu", ["3"])}
    take_assigned_card(SimpleNamespace(resources=lambda: given))
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "3"
