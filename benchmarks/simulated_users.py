"""Three agents, each in twenty dialogues with simulated users of two packs.

    python benchmarks/simulated_users.py FOLDER --model SMOLLM2.gguf [--by ANOTHER.gguf]

Interrupted, and started again as often as needed. docs/users.md shows what came of it.
"""

import argparse
from pathlib import Path

from dialens.agents import AgentSpec, Parameters
from dialens.agents.talks import CollectionPlan, collect, simulated_users

PACKS = ("complaint", "emotional_support")


def plan(model: Path, by: Path, dialogues: int) -> CollectionPlan:
    """Who talks with whom: replies of at most 50 tokens, six turns."""
    short: Parameters = {"max_tokens": 50, "context": 2048, "threads": 1}
    persona = "You listen patiently, show that you understand, and ask back."
    warm: Parameters = {**short, "persona": persona}
    agents = (
        AgentSpec("llama", str(model), "smollm2", "plain", short),
        AgentSpec("llama", str(model), "smollm2", "listener", warm),
        AgentSpec("hred", ""),
    )
    player = AgentSpec("llama", str(by), parameters={**short, "max_tokens": 40, "at_once": 3})
    users = simulated_users(PACKS, player)
    return CollectionPlan(agents, users, turns=6, dialogues=dialogues, name="simulated users")


def main() -> None:
    """Hold the conversations and say how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--by", type=Path)
    parser.add_argument("--dialogs", type=int, default=20)
    asked = parser.parse_args()
    held = collect(
        plan(asked.model, asked.by or asked.model, asked.dialogs),
        asked.folder,
        workers=3,
        advance=lambda count: print(f"{count} more", flush=True),
    )
    print(held.dialogues, "dialogues", held.turns, "turns", len(held.failures), "failed")
    for label, endings in held.ended.items():
        print(label, endings)


if __name__ == "__main__":
    main()
