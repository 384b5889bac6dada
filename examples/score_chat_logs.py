"""Score conversations and print a table of their agents.

    python examples/score_chat_logs.py [FILE]

FILE may be in any format that `dialens formats` lists; without one, the bundled corpus is scored.
"""

import sys
from pathlib import Path

import polars as pl

import dialens
from dialens.corpus import demo_path

METRICS = ["emotional_entropy", "language_style_matching", "question", "length", "distinct_2"]


def main(path: Path) -> None:
    corpus = dialens.read(path)
    scores = dialens.score(corpus, metrics=METRICS)
    agents = scores.wide("agent").select("system", "agent", *METRICS)
    print(f"{path.name}: {corpus.turns.collect()['dialog'].n_unique()} conversations")
    with pl.Config(
        tbl_formatting="MARKDOWN",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_width_chars=120,
        tbl_rows=-1,
        float_precision=2,
    ):
        print(agents)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else demo_path())
