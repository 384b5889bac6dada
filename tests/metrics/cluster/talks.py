"""Conversations for a cluster: three agents, references, replies that were cut off."""

from pathlib import Path

import numpy as np

from dialens.corpus import Dialogue, Reference, Turn, batches, write_corpus
from tests.metrics.strategies import WORDS


def write_talks(folder: Path, *, dialogs: int, seed: int = 7) -> Path:
    """A corpus folder of dialogues of different lengths."""
    draw = np.random.default_rng(seed)
    words = [word for word in WORDS if word.strip()]

    def said() -> str:
        return " ".join(draw.choice(words, draw.integers(1, 15)))

    def talks() -> list[Dialogue]:
        made = []
        for number in range(dialogs):
            turns = []
            for place in range(int(draw.integers(1, 12))):
                agent = place % 2 == 1
                meta: dict[str, object] | None = (
                    {"finish": "length"} if agent and draw.random() < 0.1 else None
                )
                role = "agent" if agent else "partner"
                turns.append(Turn(role.upper(), role, said(), meta=meta))
            turns.append(Turn("AGENT", "agent", said()))
            references = [Reference(len(turns) - 1, said())] if number % 3 else []
            name = f"bot-{number % 3}"
            made.append(Dialogue(f"s{number % 2}", name, f"d{number}", turns, [], references))
        return made

    write_corpus(batches(talks()), folder, source={"name": "talks", "format": "made"})
    return folder
