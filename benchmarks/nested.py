"""Memory and time of reading a Parquet file with a list of messages a row.

    python benchmarks/nested.py                          1,000,000 conversations
    python benchmarks/nested.py --row-group 1000000      all of them in one row group
    python benchmarks/nested.py --conversations 50000

The file has the columns of LMSYS-Chat-1M: an id, a model, a list of role and content, and some that
are not read. It is written by one process and read, through a folder as `dialens score` does it, by
another, whose largest resident size counts. Nothing here asserts anything.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from dialens.corpus import read

MODELS = 8
TURNS = 4
LETTERS = (100, 600)
"""In a turn of the user and of the assistant, about as in LMSYS-Chat-1M."""
POOL = 20_000


def generate(path: Path, conversations: int, row_group: int) -> None:
    """Pieces of one long random text, numbered so that no two are alike."""
    drawn = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyz      "
    pool = "".join(drawn.choices(letters, k=POOL + max(LETTERS)))
    turns = ", ".join(
        f"""{{'content': i || substr((SELECT text FROM pool), 1 + (hash(i, {n}) % {POOL})::INT,
            {LETTERS[n % 2]}), 'role': '{("user", "assistant")[n % 2]}'}}"""
        for n in range(TURNS)
    )
    connection = duckdb.connect()
    connection.execute("CREATE TABLE pool AS SELECT ? AS text", [pool])
    connection.execute(
        f"""COPY (
            SELECT md5(i::VARCHAR) AS conversation_id, 'model-' || i % {MODELS} AS model,
                [{turns}] AS conversation, {TURNS // 2} AS turn, 'English' AS language,
                [{{'flagged': false, 'score': 0.1}}] AS openai_moderation
            FROM range({conversations}) t(i)
        ) TO '{path}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {row_group})"""
    )


def measure(path: Path) -> dict[str, float]:
    """Read the file through a folder."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        start = time.perf_counter()
        corpus = read(path, spool=Path(folder) / "corpus")
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": seconds, "gibibytes": peak, **corpus.manifest["counts"]}


def child(task: str, *arguments: object) -> str:
    """A step in a process of its own."""
    command = [sys.executable, __file__, "--task", task, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Write, read, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conversations", type=int, default=1_000_000)
    parser.add_argument("--row-group", type=int, default=122_880)
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    sizes = ("--conversations", given.conversations, "--row-group", given.row_group)
    if given.task == "generate":
        generate(given.path, given.conversations, given.row_group)
        return
    if given.task == "measure":
        print(json.dumps(measure(given.path)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chats.parquet"
        child("generate", "--path", path, *sizes)
        size = path.stat().st_size / 2**30
        result = json.loads(child("measure", "--path", path))
    print(
        f"{result['dialogs']:,} conversations of {result['turns']:,} turns ({size:.2f} GiB of "
        f"Parquet) were read in {result['seconds']:.0f} seconds; the process took at most "
        f"{result['gibibytes']:.2f} GiB."
    )


if __name__ == "__main__":
    main()
