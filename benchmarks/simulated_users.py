"""Three agents, each with twenty simulated users of two packs: collected, scored and compared.

`python benchmarks/simulated_users.py FOLDER --small SMOLLM2.gguf --larger QWEN.gguf`, interrupted
and started again as often as needed. docs/users.md shows what came of it.
"""

import argparse
from pathlib import Path

from dialens.agents import AgentSpec
from dialens.agents.talks import CollectionPlan, collect

PACKS = ("complaint", "emotional_support")


def plan(small: Path, larger: Path, dialogues: int) -> CollectionPlan:
    """Who talks with whom: replies of at most 50 tokens, six turns."""
    short = {"max_tokens": 50, "context": 2048, "threads": 1}
    agents = (
        AgentSpec("llama", str(small), "smollm2", "smollm2", short),
        AgentSpec("llama", str(larger), "qwen", "qwen", short),
        AgentSpec("hred", ""),
    )
    player = {"by": f"llama:{larger}", "max_tokens": 40, "context": 2048, "threads": 1}
    users = tuple(AgentSpec("user", pack, parameters=player) for pack in PACKS)
    return CollectionPlan(agents, users, turns=6, dialogues=dialogues, name="simulated users")


def main() -> None:
    """Hold the conversations and say how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", type=Path, required=True)
    parser.add_argument("--larger", type=Path, required=True)
    parser.add_argument("--dialogs", type=int, default=20)
    asked = parser.parse_args()
    held = collect(
        plan(asked.small, asked.larger, asked.dialogs),
        asked.folder,
        workers=1,
        advance=lambda count: print(f"{count} more", flush=True),
    )
    print(held.dialogues, "dialogues", held.turns, "turns", len(held.failures), "failed")
    for label, endings in held.ended.items():
        print(label, endings)


if __name__ == "__main__":
    main()
