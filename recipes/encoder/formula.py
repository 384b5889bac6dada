r"""The scale of engagement's parts: their centre and spread over replies of the development sets.

The parts count the same: each is brought to a common scale and they are averaged. No weight is
fitted; unit weights travel better than fitted ones (Dawes 1979). That these four are the parts was
decided with the reported sets in sight, as ``docs/models.md`` says.

python -m recipes.encoder.formula --logits logits.npz --judged FOLDER --out formula.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from dialens.models import content_words
from recipes.encoder.chats import CONTEXT_TURNS
from recipes.encoder.judged import DEVELOPMENT, read_judged
from recipes.encoder.transfer import HEADS

PARTS = ("engagement", "relevance", "appeal")
SPECIFICITY = "log_specificity"


def unit_formula(parts: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Return the formula that weighs parts of these values equally, its logit of spread one or so.

    Examples:
        >>> unit_formula({"a": np.array([1.0, 3.0]), "b": np.array([0.0, 4.0])})["terms"]
        {'a': 0.7071, 'b': 0.7071}
    """
    weight = round(1 / np.sqrt(len(parts)), 4)
    return {
        "terms": dict.fromkeys(parts, float(weight)),
        "center": {name: round(float(values.mean()), 4) for name, values in parts.items()},
        "spread": {name: round(float(values.std()), 4) for name, values in parts.items()},
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logits", type=Path, required=True, help="of the student, from distil")
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    judged = read_judged(options.judged, DEVELOPMENT)
    known = np.load(options.logits)
    logits = np.concatenate([known[f"{one.name}|{CONTEXT_TURNS}"] for one in judged]).astype(float)
    parts = {name: logits[:, HEADS[name].start] for name in PARTS}
    parts[SPECIFICITY] = np.log1p(content_words([r for one in judged for r in one.replies]))
    options.out.write_text(json.dumps(unit_formula(parts), indent=1))


if __name__ == "__main__":
    main()
