"""What a hundred million turns take: one part a question, each with an aim in docs/scale.md.

    python benchmarks/scale.py gpu        models on a graphics card, beside the processor
    python benchmarks/scale.py overhead   what the command does beside the network of a card
    python benchmarks/scale.py spark      scoring on Spark, beside one process
    python benchmarks/scale.py memory     memory of score, compare and validate as corpora grow
    python benchmarks/scale.py convert    reading folders of files, several at once
    python benchmarks/scale.py talks FOLDER --turns N a corpus of generated turns

Each takes options of its own (`--help`). Nothing here asserts anything.
"""

import importlib
import sys

PARTS = ("gpu", "overhead", "spark", "memory", "convert", "talks")


def main() -> None:
    """Run the part that is named."""
    if len(sys.argv) < 2 or sys.argv[1] not in PARTS:
        print(__doc__)
        raise SystemExit(2)
    importlib.import_module(f"scale_parts.{sys.argv[1]}").main(sys.argv[2:])


if __name__ == "__main__":
    main()
