"""Speed and memory of scoring, as ratios measured side by side in one run.

    python benchmarks/score.py                           1,000,000 turns, and ConvoKit on as many
    python benchmarks/score.py --large                   also 10,000,000 turns
    python benchmarks/score.py --convokit PYTHON         an interpreter with ConvoKit installed

Each contestant runs in a process of its own, one after another; the best of `--repeat` runs counts
for time, the largest for memory. Nothing here asserts anything.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from dialens.base import keep_freed_memory
from dialens.corpus import RATINGS, REFERENCES, TURNS, Tables, read, write_corpus
from dialens.metrics import Resources, make_plan, score, score_into, select
from dialens.text import emotion_lexicon, function_words, tokenise

TURNS_A_DIALOG = 10
AGENTS = 8
TOKENS_A_TURN = 15
LEXICON_METRICS = ("emotion", "style")


def generate(folder: Path, turns: int, *, seed: int = 0, block: int = 200_000) -> None:
    """Conversations of about fifteen tokens a turn: words by Zipf's law, a third of them known."""
    rng = np.random.default_rng(seed)
    known = sorted(function_words().terms | emotion_lexicon().terms)
    invented = [
        f"{a}{b}{c}{d}"
        for a in "bdfgklmnprst"
        for b in "aeiou"
        for c in "bdklmnst"
        for d in ("", "a", "er", "ing", "o", "y", "ed", "ie")
    ]
    rng.shuffle(known)
    words = np.array(known[:2_000] + invented[:4_000], dtype=object)
    rng.shuffle(words)
    odds = 1 / np.arange(1, len(words) + 1)
    odds /= odds.sum()

    def blocks():
        for start in range(0, turns, block):
            size = min(block, turns - start)
            lengths = rng.poisson(TOKENS_A_TURN - 1, size) + 1
            drawn = words[rng.choice(len(words), lengths.sum(), p=odds)].tolist()
            ends = np.cumsum(lengths).tolist()
            marks = rng.choice(["", "", " .", " ?", " !"], size).tolist()
            texts = [
                " ".join(drawn[end - length : end]) + mark
                for end, length, mark in zip(ends, lengths.tolist(), marks, strict=True)
            ]
            number = np.arange(start, start + size)
            dialog = number // TURNS_A_DIALOG
            frame = pl.DataFrame(
                {
                    "dialog": pl.Series(dialog).cast(pl.String),
                    "agent": pl.Series(dialog % AGENTS).cast(pl.String),
                    "turn": pl.Series(number % TURNS_A_DIALOG, dtype=pl.Int32),
                    "text": texts,
                }
            ).with_columns(
                system=pl.lit("generated"),
                speaker=pl.when(pl.col("turn") % 2 == 1)
                .then(pl.lit("bot"))
                .otherwise(pl.lit("user")),
                role=pl.when(pl.col("turn") % 2 == 1)
                .then(pl.lit("agent"))
                .otherwise(pl.lit("partner")),
                created_at=pl.lit(None, TURNS["created_at"]),
                reply_to=pl.lit(None, pl.String),
                meta=pl.lit(None, pl.String),
            )
            yield Tables(frame.select(TURNS.names()), RATINGS.to_frame(), REFERENCES.to_frame())

    write_corpus(blocks(), folder, source={"name": "generated", "seed": seed})


def _by_turn(odd: str, even: str) -> pl.Expr:
    return pl.when(pl.col("turn") % 2 == 1).then(pl.lit(odd)).otherwise(pl.lit(even))


def tokenise_only(folder: Path) -> None:
    """What Polars needs to tokenise the text and nothing else."""
    pl.read_parquet(folder / "turns.parquet", columns=["text"]).select(tokenise("text"))


def lexicon_metrics(folder: Path) -> None:
    """All lexicon metrics at all four levels, in memory."""
    score(read(folder), metrics=LEXICON_METRICS)


def all_metrics(folder: Path) -> None:
    """Every metric that needs no model, at all four levels, in memory."""
    score(read(folder), metrics=[card.name for card in select() if "model" not in card.needs])


def written_metrics(folder: Path) -> None:
    """All lexicon metrics at all four levels, written to disk."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as out:
        score_into(read(folder), Path(out), make_plan(LEXICON_METRICS, Resources()))


CONTESTANTS: dict[str, Callable[[Path], None]] = {
    "tokenise": tokenise_only,
    "lexicon": lexicon_metrics,
    "all": all_metrics,
    "written": written_metrics,
}

CONVOKIT = """
import json, resource, sys, time
from convokit import Corpus, Speaker, Utterance, Coordination
folder = sys.argv[1]
start = time.perf_counter()
corpus = Corpus(filename=folder)
coordination = Coordination()
coordination.fit(corpus)
coordination.transform(corpus)
speakers = lambda name: (lambda speaker: speaker.id.startswith(name))
coordination.summarize(corpus, speakers("bot"), speakers("user"))
spent = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": spent, "peak_kb": peak}))
"""


def run_contestant(name: str, folder: Path) -> None:
    start = time.perf_counter()
    CONTESTANTS[name](folder)
    spent = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": spent, "peak_kb": peak}))


def measure(command: list[str], repeat: int) -> tuple[float, float]:
    """Seconds (best) and peak GB (largest) of a command that prints them."""
    runs = []
    environment = dict(os.environ)
    keep_freed_memory(environment)  # as `dialens score` does
    for _ in range(repeat):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            sys.exit(f"{' '.join(command[:3])} failed:\n{done.stderr[-2000:]}")
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return min(r["seconds"] for r in runs), max(r["peak_kb"] for r in runs) / 1e6


def ours(name: str, folder: Path, repeat: int) -> tuple[float, float]:
    return measure([sys.executable, __file__, "--contestant", name, str(folder)], repeat)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--large", action="store_true", help="also ten times as many, for memory")
    parser.add_argument("--convokit", help="an interpreter with ConvoKit")
    parser.add_argument("--convokit-turns", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--contestant", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        run_contestant(options.contestant[0], Path(options.contestant[1]))
        return
    print(f"{os.cpu_count()} cores, polars {pl.__version__}, best of {options.repeat}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "corpus"
        generate(folder, options.turns)
        print(f"\n{options.turns:,} turns of about {TOKENS_A_TURN} tokens")
        base, peak = ours("tokenise", folder, options.repeat)
        print(f"  {'tokenise only (Polars)':44} {base:7.2f} s   1.00 ×   {peak:.2f} GB")
        labels = {
            "lexicon": "lexicon metrics, four levels",
            "all": "all metrics without models, four levels",
            "written": "lexicon metrics, four levels, written",
        }
        for name, label in labels.items():
            spent, peak = ours(name, folder, options.repeat)
            print(f"  {label:44} {spent:7.2f} s   {spent / base:.2f} ×   {peak:.2f} GB")
        if options.large:
            large = Path(scratch) / "large"
            generate(large, 10 * options.turns)
            spent, peak = ours("written", large, 1)
            print(f"\n{10 * options.turns:,} turns")
            print(f"  {labels['written']:44} {spent:7.2f} s            {peak:.2f} GB")
        if options.convokit:
            compare_with_convokit(Path(scratch), options)


def compare_with_convokit(scratch: Path, options: argparse.Namespace) -> None:
    """Loading a corpus and measuring coordination, against loading it and all lexicon metrics."""
    from dialens.corpus import convert

    folder, theirs = scratch / "some", scratch / "convokit"
    generate(folder, options.convokit_turns)
    convert(folder, theirs, to="convokit")
    script = scratch / "theirs.py"
    script.write_text(CONVOKIT)
    slow, slow_peak = measure([options.convokit, str(script), str(theirs)], 1)
    fast, fast_peak = ours("lexicon", folder, options.repeat)
    print(f"\n{options.convokit_turns:,} turns, from disk")
    rows = {"ConvoKit: load, Coordination": (slow, slow_peak)}
    rows["dialens: load, lexicon metrics, four levels"] = (fast, fast_peak)
    for label, (spent, peak) in rows.items():
        print(f"  {label:44} {spent:7.2f} s            {peak:.2f} GB")
    print(f"  {slow / fast:.0f} × faster")


if __name__ == "__main__":
    main()
