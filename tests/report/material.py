"""Small corpora for the tests of the report."""

from __future__ import annotations

from datetime import UTC, datetime

from dialens import Corpus, Resources, Scores
from dialens.base import Recorder, RunRecord
from dialens.corpus import Dialogue, Turn
from dialens.report import run_facts

ASKING = ("What made you happy today?", "Why do you think so?", "Was it a lovely surprise?")
FLAT = ("The castle stands on a hill.", "It was built of stone.", "I am afraid the road is closed.")
HOSTILE = "</script><script>window.broken=1</script><img src=x onerror=window.broken=2>"


def talk(agent: str, number: int, lines: tuple[str, ...], system: str = "s") -> Dialogue:
    """A dialogue in which the partner says something before every line of the agent."""
    turns = []
    for place, line in enumerate(lines):
        turns.append(
            Turn("Ann", "partner", f"I was so glad about number {number + place} of them.")
        )
        turns.append(Turn(agent, "agent", line))
    return Dialogue(system, agent, f"{agent}-{number}", turns)


def two_agents(each: int = 12) -> Corpus:
    """One agent asks, the other does not; lengths of the dialogues vary."""
    return Corpus.of(
        [
            talk(agent, number, tuple(lines[(number + i) % 3] for i in range(1 + number % 3)))
            for agent, lines in (("asker", ASKING), ("teller", FLAT))
            for number in range(each)
        ]
    )


def record(corpus: Corpus, scores: Scores, resources: Resources, hour: int = 9) -> RunRecord:
    recorder = Recorder(
        "score", {"corpus": "talks.jsonl"}, now=lambda: datetime(2030, 1, 1, hour, tzinfo=UTC)
    )
    return recorder.observe(**run_facts(corpus=corpus, scores=scores, resources=resources)).record()


def silent(count: int) -> list[Dialogue]:
    """Dialogues in which the agent says nothing."""
    turns = [Turn("U", "partner", "hm?"), Turn("Q", "agent", "")]
    return [Dialogue("s", "silent", f"silent-{number}", turns) for number in range(count)]
