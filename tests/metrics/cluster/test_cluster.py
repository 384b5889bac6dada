"""Scoring on a real cluster, an executor killed half-way, and again after the driver was killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from typer.testing import CliRunner

from dialens.base import DialensError
from dialens.cli._app import app
from dialens.corpus import convert
from dialens.metrics import _scoring
from dialens.metrics.cluster._fetching import of_arrow
from tests.conftest import ROOT
from tests.hdfs import running_hdfs
from tests.metrics.cluster.talks import write_talks
from tests.metrics.tiny_models import tiny_folder
from tests.other_servers import PATIENCE_S
from tests.spark_cluster import RunningCluster, need_spark, running_cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of py4j's own sockets
]

S3 = {
    "AWS_ACCESS_KEY_ID": "somebody",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_REGION": "us-east-1",
}
ROWS = 250
METRICS = "toxicity,emotion,style,surface,variation,agreeableness,rouge"
AS_ASKED = ["--any-language", "--whole-turns", "--quiet", "--no-cache", "--memory", "2GB"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_talks(tmp_path_factory.mktemp("talks") / "corpus", dialogs=600)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    need_spark()
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def arguments(corpus: Path | str, output: Path, *more: str) -> list[str]:
    own = f"toxicity={tiny_folder() / 'small'}"
    chosen = ["--metrics", METRICS, "--model", own]
    return ["score", str(corpus), "-o", str(output), *chosen, *AS_ASKED, *more]


def scored(corpus: Path, output: Path, *more: str) -> Path:
    result = CliRunner().invoke(app, arguments(corpus, output, *more), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return output


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process makes of it, in the same batches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_scoring, "_TURNS_FOR_ENCODERS", ROWS)
        return scored(corpus, tmp_path_factory.mktemp("local") / "out")


def assert_same(found: Path, expected: Path) -> None:
    """Equal to the last bit, not about equal; only the run record says where and when."""
    for name in ("scores", "states", "dialogs", "positions", "reference"):
        ours, theirs = (pl.read_parquet(out / f"{name}.parquet") for out in (found, expected))
        assert ours.schema == theirs.schema
        assert ours.equals(theirs), name
    for name in ("agents.csv", "metrics.json", "reference.csv"):
        assert (found / name).read_bytes() == (expected / name).read_bytes()
    assert shown(found) == shown(expected)


def shown(folder: Path) -> list[str]:
    """The lines of the report, but for when it was made and with which packages."""
    lines = (folder / "report.html").read_text().splitlines()
    return [line for line in lines if "<dt>When</dt>" not in line and "Python 3." not in line]


def markers(output: Path) -> dict[str, int]:
    """The batches that are finished, with the time at which each was."""
    found = {}
    with suppress(FileNotFoundError):  # they go when the output is whole
        for file in output.parent.glob(f".{output.name}.*.staging/batch-*.zst"):
            found[file.name] = file.stat().st_mtime_ns
    return found


@contextmanager
def losing_an_executor(cluster: RunningCluster, output: Path) -> Iterator[list[int]]:
    """Kill an executor as soon as two batches are finished; says how many were, then."""
    done_at_kill: list[int] = []
    over = threading.Event()

    def kill_one() -> None:
        while not over.is_set():
            if len(markers(output)) >= 2:
                done_at_kill.append(len(markers(output)))
                os.kill(cluster.executors()[0], signal.SIGKILL)
                return
            time.sleep(0.005)

    killer = threading.Thread(target=kill_one)
    killer.start()
    try:
        yield done_at_kill
    finally:
        over.set()
        killer.join()


def test_a_cluster_of_two_workers_that_loses_one(
    cluster: RunningCluster,
    corpus: Path,
    expected: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setattr(_scoring, "_TURNS_FOR_ENCODERS", ROWS)
    output = tmp_path / "out"
    with losing_an_executor(cluster, output) as done_at_kill:
        scored(corpus, output, "--engine", "spark", "--master", cluster.url)
    turns = pl.scan_parquet(corpus / "turns.parquet").select(pl.len()).collect().item()
    assert done_at_kill[0] < turns // ROWS
    assert_same(output, expected)
    assert not markers(output)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert json.loads((output / "run.json").read_text())["arguments"]["engine"] == "spark"


DRIVER = f"""
import sys
from dialens.cli import main
from dialens.metrics import _scoring
_scoring._TURNS_FOR_ENCODERS = _scoring._TURNS_FOR_A_CARD = {ROWS}
sys.argv[0] = "dialens"
main()
"""


def test_a_driver_that_was_killed_goes_on(corpus: Path, expected: Path, tmp_path: Path) -> None:
    need_spark()
    output = tmp_path / "out"
    given = arguments(corpus, output, "--engine", "spark", "--master", "local[1]")
    command = [sys.executable, "-c", DRIVER, *given]
    deadline = time.monotonic() + PATIENCE_S
    with subprocess.Popen(command) as first:
        while len(markers(output)) < 2 and first.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        first.kill()
    kept = still(output)
    assert kept
    assert not output.exists()
    seen: dict[str, int] = {}
    command.remove("--quiet")
    said = tmp_path / "said"
    with said.open("w") as file, subprocess.Popen(command, stderr=file) as second:
        while second.poll() is None:
            seen |= markers(output)
            time.sleep(0.01)
    assert second.returncode == 0
    assert f"{len(kept)} of " in said.read_text()
    assert {name: seen[name] for name in kept} == kept
    assert len(seen) > len(kept)
    assert_same(output, expected)


def test_an_interrupted_start_leaves_no_java(corpus: Path, tmp_path: Path) -> None:
    need_spark()
    output = tmp_path / "out"
    given = arguments(corpus, output, "--engine", "spark", "--master", "local[1]")

    def javas() -> list[str]:
        """Processes that were told of a folder of this run."""
        commands = (place / "cmdline" for place in Path("/proc").iterdir() if place.name.isdigit())
        found = [read_or_nothing(command) for command in commands]
        return [said for said in found if "pyspark-shell" in said and str(tmp_path) in said]

    deadline = time.monotonic() + PATIENCE_S
    with subprocess.Popen([sys.executable, "-m", "dialens", *given]) as command:
        while not javas() and command.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        command.send_signal(signal.SIGINT)
    assert command.returncode == 130
    assert javas() == []
    assert list(tmp_path.iterdir()) == []


JAVA_ENDS_FIRST = """
import sys
from pathlib import Path
from dialens.metrics.cluster import open_cluster
try:
    with open_cluster("local[1]", memory=2**30, scratch=Path(sys.argv[1])) as running:
        java = running.session.sparkContext._gateway.proc
        java.kill()
        java.wait()
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted")
"""


def test_java_may_end_before_python_does(tmp_path: Path) -> None:
    """As where a scheduler ends both: what ended the run is told, not that Java is gone."""
    need_spark()
    command = [sys.executable, "-c", JAVA_ENDS_FIRST, str(tmp_path / "scratch")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "interrupted\n", done.stderr
    assert list(tmp_path.iterdir()) == []


def read_or_nothing(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""  # it has just ended


def still(output: Path) -> dict[str, int]:
    """The markers when no more come: Java ends a moment after Python."""
    before, since = markers(output), time.monotonic()
    while time.monotonic() - since < 4:
        time.sleep(0.2)
        now = markers(output)
        if now != before:
            before, since = now, time.monotonic()
    return before


def test_a_corpus_at_another_address(corpus: Path, expected: Path, tmp_path: Path) -> None:
    """Spark reads it through a file system of its own, and the driver a copy."""
    need_spark()
    settings, mounted = tmp_path / "conf", tmp_path / "mounted"
    settings.mkdir()
    shutil.copytree(corpus, mounted / "corpus")
    (settings / "spark-defaults.conf").write_text(
        f"spark.hadoop.fs.viewfs.mounttable.far.link./data file://{mounted}\n"
    )
    output = tmp_path / "out"
    given = arguments(
        "viewfs://far/data/corpus", output, "--engine", "spark", "--master", "local[2]"
    )
    variables = {**os.environ, "SPARK_CONF_DIR": str(settings)}  # Java reads it when it starts
    subprocess.run([sys.executable, "-c", DRIVER, *given], env=variables, check=True)
    assert_same(output, expected)


def test_a_corpus_in_hdfs(
    cluster: RunningCluster,
    corpus: Path,
    expected: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark's workers read it where it lies; a folder of logs is read by the driver."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    chats, output = tmp_path / "chats.jsonl", tmp_path / "far" / "out"
    convert(corpus, chats)
    servers = tmp_path / "servers"
    servers.mkdir()
    spark = ("--engine", "spark", "--master", cluster.url)
    with running_hdfs(servers) as hdfs:
        hdfs.put(corpus, "/2026/corpus")
        hdfs.put(chats, "/2026/logs/october/chats.jsonl")
        given = arguments(f"{hdfs.url}/2026/corpus", output, *spark)
        subprocess.run([sys.executable, "-c", DRIVER, *given], check=True)
        assert_same(output, expected)
        here = ("--engine", "spark", "--master", "local[1]")
        bare = ("--metrics", "surface", "--no-report", *AS_ASKED, *here)
        logs = ["score", f"{hdfs.url}/2026/logs", "-o", str(tmp_path / "logs"), *bare]
        subprocess.run([sys.executable, "-c", DRIVER, *logs], check=True)
        missing = ["score", f"{hdfs.url}/2026/none", "-o", str(tmp_path / "none"), *bare]
        said = failed([sys.executable, "-c", DRIVER, *missing])
        assert f"{hdfs.url}/2026/none cannot be read: nothing is there." in said
    said = failed([sys.executable, "-c", DRIVER, *missing])
    assert f"{hdfs.url}/2026/none cannot be read: nobody answers there." in said
    assert not (tmp_path / "none").exists()
    ours, theirs = (
        pl.read_parquet(out / "dialogs.parquet") for out in (tmp_path / "logs", expected)
    )
    assert ours.height == theirs.height


def test_a_table_in_parts_in_a_bucket(bucket: str, corpus: Path, tmp_path: Path) -> None:
    """With folders that say whose the rows are, and conversations that cross files."""
    need_spark()
    import boto3

    table = tmp_path / "talks"
    rows = pl.scan_parquet(corpus / "turns.parquet").select("dialog", "turn", "role", "text")
    agents = (pl.lit("bot-") + (pl.col("dialog").hash(0) % 2).cast(pl.String)).alias("model")
    parts = pl.PartitionBy(table, key="model", max_rows_per_file=500)
    shuffled = rows.with_columns(agents).collect().sample(fraction=1, shuffle=True, seed=1)
    shuffled.lazy().sink_parquet(parts, mkdir=True)
    (table / "_SUCCESS").touch()
    client = boto3.client("s3")
    files = [path.relative_to(table).as_posix() for path in table.rglob("*") if path.is_file()]
    for name in files:
        client.upload_file(str(table / name), "logs", f"2026/talks/{name}")
    assert {*of_arrow("s3://logs/2026/talks")} == {*files} - {"_SUCCESS"}
    asked = ("--metrics", "surface,variation", "--no-report", "--csv", *AS_ASKED)
    spark = ("--engine", "spark", "--master", "local[2]")
    for name, source, more in (("here", table, ()), ("there", "s3a://logs/2026/talks", spark)):
        given = ["score", str(source), *asked, "-o", str(tmp_path / name), *more]
        subprocess.run([sys.executable, "-c", DRIVER, *given], check=True)
    tables = [pl.read_parquet(tmp_path / name / "dialogs.parquet") for name in ("here", "there")]
    assert tables[0].equals(tables[1])
    assert tables[0]["dialog"].n_unique() == tables[0].height == rows.collect()["dialog"].n_unique()
    names = tables[1].select("system", "agent").unique().sort("agent").rows()
    assert names == [("talks", "bot-0"), ("talks", "bot-1")]


def failed(command: list[str], variables: Mapping[str, str] | None = None) -> str:
    """What a command says, on one line, that fails by an error of its user's."""
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    return " ".join(done.stderr.split())


@pytest.fixture
def bucket(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The corpus in a bucket of a server that speaks S3's protocol, which the environment names."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {**S3, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", region_name=S3["AWS_REGION"])
    client.create_bucket(Bucket="logs")
    for file in corpus.iterdir():
        client.upload_file(str(file), "logs", f"2026/corpus/{file.name}")
    yield "logs/2026/corpus"
    server.stop()


def test_a_bucket_that_spark_has_no_library_for(
    bucket: str, expected: Path, tmp_path: Path
) -> None:
    need_spark()
    output = tmp_path / "out"
    spark = ("--engine", "spark", "--master", "local[2]")
    given = arguments(f"s3a://{bucket}", output, *spark)
    subprocess.run([sys.executable, "-c", DRIVER, *given], check=True)
    assert_same(output, expected)
    assert json.loads((output / "run.json").read_text())["arguments"]["corpus"] == given[1]
    assert list(of_arrow(f"s3://{bucket}/turns.parquet")) == ["turns.parquet"]
    with pytest.raises(DialensError, match=r"^s3://logs/none cannot be read: nothing is there"):
        of_arrow("s3://logs/none")
    with pytest.raises(DialensError, match=r"bucket does not exist\. Is the address right"):
        of_arrow("s3://no-such-bucket/none")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a graphics card here")
def test_workers_take_the_cards_that_spark_gives_them(
    cluster: RunningCluster, corpus: Path, tmp_path: Path
) -> None:
    """There is none here, so that a worker that tries one says so."""
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.executor.resource.gpu.amount 1\nspark.task.resource.gpu.amount = 1\n"
        "spark.task.maxFailures 1\n"
    )
    output = tmp_path / "far" / "out"
    given = arguments(corpus, output, "--engine", "spark", "--master", cluster.url)
    variables = {**os.environ, "SPARK_CONF_DIR": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    said = failed([sys.executable, "-c", DRIVER, *given], variables)
    assert "broke down on a worker" in said
    assert "--device cuda: PyTorch" in said
    assert list(output.parent.iterdir()) == []


STAND_IN = """
import pytest
from tests import stand_in_card
stand_in_card.install(pytest.MonkeyPatch())
"""


def test_workers_compute_on_their_cards_and_one_is_lost(
    card: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers share the one card that is needed here; nobody says `--device`."""
    need_spark()
    if card == "stand-in":  # every Python that starts has it
        (tmp_path / "site").mkdir()
        (tmp_path / "site" / "sitecustomize.py").write_text(STAND_IN)
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'site'}:{ROOT}")
    monkeypatch.setattr(_scoring, "_TURNS_FOR_A_CARD", ROWS)
    expected = scored(corpus, tmp_path / "alone", "--device", "cuda")
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.executor.resource.gpu.amount 1\nspark.task.resource.gpu.amount 1\n"
    )
    variables = {**os.environ, "SPARK_CONF_DIR": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    logs, output = tmp_path / "logs", tmp_path / "far" / "out"
    logs.mkdir()
    with running_cluster(logs, card="0") as cluster:
        given = arguments(corpus, output, "--engine", "spark", "--master", cluster.url)
        with losing_an_executor(cluster, output) as done_at_kill:
            subprocess.run([sys.executable, "-c", DRIVER, *given], env=variables, check=True)
    turns = pl.scan_parquet(corpus / "turns.parquet").select(pl.len()).collect().item()
    assert done_at_kill[0] < turns // ROWS
    ours, theirs = (pl.read_parquet(out / "scores.parquet") for out in (output, expected))
    assert ours.drop("value").equals(theirs.drop("value"))
    np.testing.assert_allclose(ours["value"], theirs["value"], atol=1e-5, rtol=0)
    assert "fp16x2" in (output / "metrics.json").read_text()  # in signatures
    assert [path.name for path in output.parent.iterdir()] == ["out"]


def test_anything_that_can_be_read(corpus: Path, tmp_path: Path) -> None:
    """Not a corpus, and with a record that is left out: read here, scored there."""
    need_spark()
    chats = tmp_path / "chats.jsonl"
    convert(corpus, chats)
    with chats.open("a") as file:
        file.write('{"messages": 3}\n')
    asked = ("score", chats, "--metrics", "surface,variation", "--on-error", "skip", *AS_ASKED)
    places = {"local": (), "spark": ("--engine", "spark", "--master", "local[2]")}
    for name, more in places.items():
        given = [*map(str, asked), "-o", str(tmp_path / name), "--no-report", *more]
        subprocess.run([sys.executable, "-c", DRIVER, *given], check=True)
    for name in ("scores", "states", "dialogs", "positions"):
        tables = [pl.read_parquet(tmp_path / place / f"{name}.parquet") for place in places]
        assert tables[0].equals(tables[1]), name
    rejects = [(tmp_path / place / "rejects.jsonl").read_bytes() for place in places]
    assert rejects[0] == rejects[1]


def test_a_worker_without_the_package(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_spark()
    bare = tmp_path / "bare" / "dialens"
    bare.mkdir(parents=True)
    (bare / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'dialens'\", name='dialens')\n"
    )
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH={bare.parent}:$PYTHONPATH exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python))
    output = tmp_path / "far" / "out"
    with pytest.raises(DialensError, match=f"have no package dialens: they run {python}"):
        scored(corpus, output, "--metrics", "length", "--engine", "spark", "--master", "local[1]")
    assert list(output.parent.iterdir()) == []
