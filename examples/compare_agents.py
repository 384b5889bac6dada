"""Compare agents in pairs and say in sentences what differs, and how surely.

    python examples/compare_agents.py [FILE]

Intervals come from drawing conversations again; p-values are corrected over all the comparisons.
"""

import sys
from pathlib import Path
from typing import Any

import dialens
from dialens.corpus import demo_path

METRICS = ["question", "length", "language_style_matching", "emotional_entropy"]


def sentence(row: dict[str, Any]) -> str:
    if row["p_adjusted"] is None:
        return f"{row['metric']}: {row['a']} and {row['b']} were not compared, {row['reason']}."
    certain = row["p_adjusted"] < 0.05
    above = "above" if row["difference"] > 0 else "below"
    verdict = f"is {above}" if certain else "cannot be told apart from"
    how = f"paired on {row['n_shared']} openings" if row["paired"] else "unpaired"
    return (
        f"{row['metric']}: {row['a']} {verdict} {row['b']}, "
        f"difference {row['difference']:+.2f}, 95% from {row['low']:+.2f} to {row['high']:+.2f}, "
        f"corrected p = {row['p_adjusted']:.2g} ({how})."
    )


def main(path: Path) -> None:
    scores = dialens.score(dialens.read(path), metrics=METRICS)
    for row in dialens.compare(scores, seed=1).sort("metric").iter_rows(named=True):
        print(sentence(row))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else demo_path())
