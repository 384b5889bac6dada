"""Exports a student with the heads of all tasks: the folder that ships.

python -m recipes.encoder.export --model FOLDER --notes notes.json --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path

from dialens.models.training import export
from recipes.encoder.transfer import HEADS


def main() -> None:
    """Export."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="config, weights, tokenizer")
    parser.add_argument("--notes", type=Path, required=True, help="what the card says (JSON)")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    card = json.loads(options.notes.read_text("utf-8"))
    export(options.model, options.out, {task: HEADS[task] for task in card["tasks"]}, card)


if __name__ == "__main__":
    main()
