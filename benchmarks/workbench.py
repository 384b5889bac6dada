"""The workbench over a million generated turns, against plain DuckDB and FTS5, in one run.

    python benchmarks/workbench.py                    1,000,000 turns with 20 metrics
    python benchmarks/workbench.py --turns 100000
    python benchmarks/workbench.py --folder /data/x   keep what is generated, or use it again

Opens the folder in a process of its own, as `dialens open` does, and asks it over HTTP and in
Python; the same questions go to DuckDB over the same Parquet file, and to SQLite over the same
index, in turns, so that whatever else the machine does hits both. A ratio is the median over the
turns. Nothing here asserts anything.
"""

import argparse
import sqlite3
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlencode

import duckdb
import numpy as np
import polars as pl

from dialens.base import Recorder, TableSink, list_files
from dialens.corpus import TURNS, Corpus, Tables, write_corpus
from dialens.metrics import SCORES, ScoredMetric, metrics
from dialens.metrics._scored_metric import write_cards
from dialens.workbench import Range, View, Workbench

TURNS_A_TALK, BATCH, AGENTS = 8, 20_000, 4
PARTS = (
    ["ba", "ke", "lo", "mi", "nu", "sa", "te", "vo", "ri", "da"],
    ["ran", "sel", "tor", "min", "pel", "dur", "kan", "lis", "mon", "ver"],
    ["", "a", "e", "o", "s", "t", "n", "ing", "ed", "ly"],
)
FREQUENT = ["the", "i", "you", "and", "to", "sorry", "help", "thank", "really", "never"]
WORDS = [*FREQUENT, *(a + b + c for a in PARTS[0] for b in PARTS[1] for c in PARTS[2])]


def talks(turns: int, rng: np.random.Generator) -> Iterator[Tables]:
    """Invented turns, whose words are as frequent as words are."""
    words = pl.Series(WORDS)
    chance = 1 / np.arange(1, len(WORDS) + 1) ** 0.9
    chance /= chance.sum()
    for first in range(0, turns // TURNS_A_TALK, BATCH):
        here = min(BATCH, turns // TURNS_A_TALK - first)
        lengths = rng.integers(8, 60, here * TURNS_A_TALK)
        drawn = words.gather(rng.choice(len(WORDS), lengths.sum(), p=chance))
        place = np.repeat(np.arange(len(lengths)), lengths)
        said = pl.DataFrame({"place": place, "word": drawn})
        texts = said.group_by("place", maintain_order=True).agg(pl.col("word").str.join(" "))
        number = np.repeat(np.arange(first, first + here), TURNS_A_TALK)
        turn = np.tile(np.arange(TURNS_A_TALK, dtype=np.int32), here)
        role = pl.when(pl.col("turn") % 2 == 0).then(pl.lit("partner")).otherwise(pl.lit("agent"))
        table = (
            pl.DataFrame({"number": number, "turn": turn, "text": texts["word"]})
            .with_columns(
                system=pl.lit("generated"),
                agent=pl.format("agent {}", pl.col("number") % AGENTS),
                dialog=pl.format("d{}", "number"),
                role=role,
                speaker=role,
            )
            .with_columns(
                pl.lit(None, kind).alias(name)
                for name, kind in TURNS.items()
                if name in ("created_at", "reply_to", "meta")
            )
        )
        yield Tables.of(table.select(TURNS.names()))


def generate(folder: Path, turns: int, measured: int, seed: int) -> None:
    """A corpus folder and a score folder, as `convert` and `score` write them."""
    rng = np.random.default_rng(seed)
    corpus = write_corpus(
        talks(turns, rng), folder / "corpus", source={"name": "generated", "format": "generated"}
    )
    names = [name for name, card in metrics().items() if "turn" in card.levels][:measured]
    scores = folder / "scores"
    scores.mkdir()
    write_turns(corpus, scores / "scores.parquet", names, rng)
    units = corpus.turns.select("system", "agent", "dialog").unique(maintain_order=True).collect()
    values = [pl.Series(name, rng.beta(2, 3, units.height)) for name in names]
    units.with_columns(values).write_parquet(scores / "dialogs.parquet")
    units.head(1).write_parquet(scores / "states.parquet")
    SCORES.to_frame().write_parquet(scores / "positions.parquet")
    write_cards(tuple(ScoredMetric(metrics()[n], f"{n}|v1", ()) for n in names), scores)
    Recorder("score", {"corpus": str(folder / "corpus")}, seed=seed).finish(scores / "run.json")
    list_files(scores)


def write_turns(corpus: Corpus, path: Path, names: list[str], rng: np.random.Generator) -> None:
    """Values of the agents' turns, batch by batch and metric by metric."""
    with TableSink(path, SCORES) as sink:
        for batch in corpus.batches():
            own = batch.filter(pl.col("role") == "agent").select(
                "system", "agent", "dialog", "turn", level=pl.lit("turn")
            )
            for name in names:
                sink.write(
                    own.with_columns(
                        metric=pl.lit(name),
                        value=pl.Series(rng.beta(2, 3, own.height)),
                        n=pl.lit(1, pl.Int64),
                        n_missing=pl.lit(0, pl.Int64),
                        reason=pl.lit(None, pl.String),
                        signature=pl.lit(f"{name}|v1"),
                    )
                )


def peak_kilobytes() -> int:
    """The most memory that this process had; other counters begin with that of the parent."""
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.partition("VmHWM:")[2].split()[0])


def serve(folder: Path, cache: Path, pipe: Connection) -> None:
    """The server, in its own process; says when it is ready, and at the end what memory it took."""
    import threading

    import uvicorn

    from dialens.web.workbench import workbench_app

    began = time.perf_counter()
    bench = Workbench.open(folder, cache=cache)
    opened = time.perf_counter() - began
    app = workbench_app(bench, "benchmark")
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    pipe.send((opened, port, peak_kilobytes()))
    pipe.recv()
    pipe.send(peak_kilobytes())


def timed(ask: Callable[[], object]) -> float:
    """Milliseconds of one question."""
    began = time.perf_counter()
    ask()
    return (time.perf_counter() - began) * 1_000


def page_seconds(port: int, view: View) -> float:
    """Milliseconds of a whole page over HTTP."""
    query = urlencode([*view.pairs(), ("token", "benchmark")])
    address = f"http://127.0.0.1:{port}/conversations?{query}"
    return timed(lambda: urllib.request.urlopen(address).read())


def questions(sql: dict[str, str], shown: str) -> list[tuple[str, View, str | None, str | None]]:
    """What is asked: in words, as a view, as plain SQL, or as plain FTS5."""
    one, other = sql["empathy"], sql["engagement"]
    where = (
        f"where {other} between 0.3 and 0.7 and words between 10 and 40 "
        "and agent in ('agent 1', 'agent 2')"
    )
    return [
        (
            "sort by a metric",
            View(sort="empathy", descending=True),
            "select count(*) from t; "
            f"select {shown} from t order by {one} desc nulls last, row limit 51",
            None,
        ),
        (
            "three filters and a sort",
            View(
                sort="empathy",
                ranges=(Range("engagement", 0.3, 0.7), Range("words", 10, 40)),
                choices={"agent": ("agent 1", "agent 2")},
            ),
            f"select count(*) from t {where}; "
            f"select {shown} from t {where} order by {one} nulls last, row limit 51",
            None,
        ),
        (
            "conversations by a metric",
            View(level="dialog", sort="engagement"),
            f"select count(*) from d; select * from d order by {other}, talk limit 51",
            None,
        ),
        ("a rare word", View(search="votore"), None, '"votore"'),
        ("a frequent word", View(search="sorry"), None, '"sorry"'),
        ("a phrase", View(search='"the sorry"'), None, '"the sorry"'),
        ("a prefix", View(search="mimon*"), None, '"mimon" *'),
        ("a regular expression", View(search="/vot[oa]re?n/"), None, None),
    ]


def compare(index_folder: Path, port: int, repeats: int) -> None:
    """Ask ourselves, and plain DuckDB or FTS5, in turns."""
    from dialens.workbench import Index

    plain = duckdb.connect(config={"threads": 2})
    for name, file in (("t", "turns"), ("d", "dialogs")):
        plain.execute(
            f"create view {name} as select * from read_parquet('{index_folder / file}.parquet')"
        )
    words = sqlite3.connect(index_folder / "texts.sqlite")
    index = Index(index_folder)
    columns = index.columns("turn")
    sql = {name: column.sql for name, column in columns.items()}
    shown = ", ".join(["row", "text", *(sql[name] for name in index.usual("turn"))])
    print(f"\n{'':28}{'ours ms':>9}{'plain ms':>10}{'ratio':>7}{'page over HTTP ms':>19}")
    for said, view, asked, match in questions(sql, shown):
        ours, bare, pages = [], [], []
        for _ in range(repeats):
            index._cache.clear()
            ours.append(timed(partial(index.page, view)))
            if asked is not None:
                bare.append(timed(partial(ask_tables, plain, asked)))
            elif match is not None:
                bare.append(timed(partial(ask_words, words, plain, shown, match)))
            pages.append(page_seconds(port, view))
        middle = statistics.median(ours)
        ratio = f"{middle / statistics.median(bare):7.1f}" if bare else f"{'':>7}"
        shown = f"{statistics.median(bare):10.0f}" if bare else f"{'–':>10}"
        print(f"{said:28}{middle:9.0f}{shown}{ratio}{pages[0]:10.0f} first{min(pages):5.0f} again")


def ask_tables(plain: duckdb.DuckDBPyConnection, asked: str) -> None:
    """Questions, one after the other."""
    for question in asked.split(";"):
        plain.execute(question).fetchall()


def ask_words(
    words: sqlite3.Connection, plain: duckdb.DuckDBPyConnection, shown: str, match: str
) -> None:
    """How many rows, the first of them with their texts, and their columns."""
    words.execute("select count(*) from words where words match ?", (match,)).fetchone()
    found = words.execute(
        "select row, text from texts where row in (select rowid from words where words match ? "
        "order by rowid limit 51)",
        (match,),
    ).fetchall()
    rows = ",".join(str(row) for row, _ in found)
    plain.execute(f"select {shown.replace('text, ', '')} from t where row in ({rows})").fetchall()


def main() -> None:
    """Generate, open, ask, and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--turns", type=int, default=1_000_000)
    options.add_argument("--metrics", type=int, default=20)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--folder", type=Path)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.folder or Path(scratch) / "data"
        if not (folder / "scores").exists():
            folder.mkdir(parents=True, exist_ok=True)
            generate(folder, chosen.turns, chosen.metrics, chosen.seed)
        cache = Path(scratch) / "cache"
        for said in ("with the index to be made", "again"):
            context = get_context("spawn")
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(folder, cache, theirs))
            process.start()
            opened, port, peak = ours.recv()
            first = page_seconds(port, View())
            print(f"opened {said}: {opened:.1f} s, first page {first:.0f} ms, {peak / 1024:.0f} MB")
            if said == "again":
                (index_folder,) = (path for path in cache.iterdir() if path.is_dir())
                size = sum(file.stat().st_size for file in index_folder.iterdir()) / 2**20
                compare(index_folder, port, chosen.repeats)
                print(f"\nindex on disk {size:.0f} MB")
            ours.send(None)
            print(f"memory of the server at most {ours.recv() / 1024:.0f} MB")
            process.terminate()
            process.join()


if __name__ == "__main__":
    main()
