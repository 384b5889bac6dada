"""A trained agent from start to end: prepare, learn, measure, write; resumable (extra `train`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dialens.agents._agent import AgentError, Message, Role
from dialens.agents.neural._conversations import Threads, TopicColumn, read_threads
from dialens.agents.neural._examples import Examples
from dialens.agents.neural._folder import AgentFolder, read_agent, write_agent
from dialens.agents.neural._guard import blocked_words
from dialens.agents.neural._prepare import Prepared, prepare
from dialens.agents.neural._shape import Shape, TrainingPlan
from dialens.agents.neural._subwords import Subwords
from dialens.agents.neural._trained import TalkingSettings, TrainedAgent
from dialens.base import Advance, DialensError, atomic_file, sha256_file
from dialens.models import topics as topic_tables
from dialens.text import tokenise_texts

if TYPE_CHECKING:
    from dialens.agents.neural._fit import Perplexity
    from dialens.models.training import Progress

EXAMPLES: Final = "examples.npz"
SUBWORDS: Final = "subwords.json"
FACTS: Final = "facts.json"

_NEEDS: Final = ("torch", "tokenizers")
INTENDED_USE: Final = (
    "A small partner for demonstrations, tests of metrics and studies of how agents of this kind "
    "come across; a baseline of the literature, not an assistant."
)
LIMITS: Final = (
    "Learned from what people wrote: it may be wrong, rude or offensive, and knows nothing of "
    "facts. Blocked words cannot be written and guard=toxicity has a model read every reply, but "
    "what hurts is often said in harmless words: do not put it before people unattended. English "
    "as in its data only; remembers a few turns."
)


@dataclass(frozen=True)
class Source:
    """What to learn from and how to read it.

    Attributes:
        path: A corpus, an ingested Reddit folder or a tab-separated file.
        format: Of the corpus, or `tabbed`; sniffed if None.
        topic_column: Where a tab-separated file has topic words.
        held_out: Share of threads that is held out.
        topics: A topic model of one's own; the shipped one if None.
        licence: Of the data, for the card.
    """

    path: Path
    format: str | None = None
    topic_column: TopicColumn = "auto"
    held_out: float = 0.03
    topics: str | None = None
    licence: str = "not stated"

    def __post_init__(self) -> None:
        if not 0 < self.held_out < 1:
            raise DialensError(f"held_out is {self.held_out:g}; it must be between 0 and 1.")


@dataclass(frozen=True)
class Distinct:
    """Distinct-n: different n-grams among all n-grams of all replies (Li et al. 2016)."""

    n: int
    value: float | None
    of: int


@dataclass(frozen=True)
class Sample:
    """A context that was held out, what a person answered, and what the agent did."""

    context: tuple[str, ...]
    person: str
    agent: str


@dataclass(frozen=True)
class Trained:
    """What a training gave.

    Attributes:
        perplexity: On all held-out replies.
        distinct: Distinct-1 and distinct-2 of generated replies.
        samples: Held-out contexts with their replies.
        progress: The course of the training.
        facts: Counts of the data.
        held_back: Contexts that got no reply because of the guard.
    """

    perplexity: Perplexity
    distinct: tuple[Distinct, ...]
    samples: tuple[Sample, ...] = field(repr=False)
    progress: Progress = field(repr=False)
    facts: Mapping[str, Any] = field(repr=False)
    held_back: int = 0


def require_training() -> None:
    """Say what is missing.

    Raises:
        DialensError: If the extra `train` is not installed.
    """
    absent = [name for name in _NEEDS if find_spec(name) is None]
    if absent:
        raise DialensError(
            f"Training an agent needs {', '.join(absent)}: pip install 'dialens[train]'. "
            "Talking with a trained agent does not."
        )


def depends_on(
    source: Source, shape: Shape, plan: TrainingPlan, begin: AgentFolder | None = None
) -> dict[str, Any]:
    """What the result of a training depends on, short enough to compare."""
    how = {name: str(value) for name, value in vars(source).items() if name != "path"}
    return {
        "shape": shape.as_dict(),
        "plan": asdict(plan),
        "reading": how,
        "data": fingerprint(source.path),
        "beginning": begin.identity if begin else None,
    }


def read_beginning(folder: Path, shape: Shape) -> AgentFolder:
    """The agent whose weights and subwords a training begins with.

    Raises:
        DialensError: It is no agent's folder, or its network is of another kind or size.
    """
    agent = read_agent(folder, kind=shape.kind)
    for name, theirs in agent.shape.as_dict().items():
        ours = getattr(shape, name)
        if name != "vocabulary" and ours != theirs:  # the vocabulary comes with the agent
            raise DialensError(
                f"{name} is {ours}, but {theirs} in {folder}: a training that begins with an "
                f"agent has its sizes. Give --{name.replace('_', '-')} {theirs}."
            )
    return agent


def fingerprint(path: Path) -> str:
    """Hash of a file, or of all files of a folder with their names."""
    if path.is_file():
        return sha256_file(path)
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        # Records of when and how a folder was made differ between equal folders.
        if file.is_file() and file.suffix != ".json":
            digest.update(f"{file.relative_to(path).as_posix()} {sha256_file(file)}\n".encode())
    return digest.hexdigest()


def prepare_state(
    source: Source,
    shape: Shape,
    seed: int,
    state: Path,
    *,
    begin: AgentFolder | None = None,
    advance: Advance | None = None,
) -> tuple[Prepared, dict[str, Any]]:
    """Prepare data once for a training; a resumed training finds it in its state."""
    if (state / FACTS).exists():
        facts = json.loads((state / FACTS).read_text("utf-8"))
        stored = Prepared(
            Examples.load(state / EXAMPLES), Subwords.load(state / SUBWORDS), facts["left_out"]
        )
        return stored, facts
    threads = read_threads(source.path, format=source.format, topic_column=source.topic_column)
    table = topic_tables.load(source.topics)
    prepared = prepare(
        threads,
        shape,
        topics=table,
        held_out=source.held_out,
        seed=seed,
        subwords=begin.subwords if begin else None,
        advance=advance,
    )
    prepared.examples.save(state / EXAMPLES)
    prepared.subwords.save(state / SUBWORDS)
    facts = {
        "source": threads.source,
        "turns": len(threads),
        "threads": int(threads.threads.max()) + 1,
        "replies": int((~prepared.examples.held_out).sum()),
        "held_out_replies": int(prepared.examples.held_out.sum()),
        "left_out": prepared.left_out,
        # Words that the agent learned before are still among those it could write.
        "blocked": sorted({*_blocked(threads), *(begin.blocked if begin else ())}),
        "sha256": prepared.sha256,
    }
    with atomic_file(state / FACTS) as scratch:  # last: it says that the others are whole
        scratch.write_text(json.dumps(facts), "utf-8")
    return prepared, facts


def _blocked(threads: Threads) -> list[str]:
    return blocked_words(text for text in threads.texts if text)


def train_agent(
    source: Source,
    shape: Shape,
    plan: TrainingPlan,
    *,
    state: Path,
    folder: Path,
    name: str,
    command: str,
    begin: AgentFolder | None = None,
    samples: int = 200,
    preparing: Advance = lambda _: None,
    learning: Advance = lambda _: None,
) -> Trained:
    """Train an agent, measure it and write its folder.

    Args:
        source: What to learn from.
        shape: The network.
        plan: How long and how fast.
        state: Folder of checkpoints, opened by `dialens.base.open_state`.
        folder: Of the agent, for instance an atomic one.
        name: What the card calls it.
        command: That made it, for the card.
        begin: An agent of the same shape whose weights and subwords are the beginning.
        samples: Held-out contexts that are answered to measure distinct-n.
        preparing: Called with the number of turns just prepared.
        learning: Called with the number of replies just learned from.

    Raises:
        DialensError: The extra `train` is missing, or there is nothing to learn from.
    """
    require_training()
    from dialens.agents.neural._fit import fit, make_network, perplexity
    from dialens.models.training import best_device

    prepared, facts = prepare_state(source, shape, plan.seed, state, begin=begin, advance=preparing)
    shape = replace(shape, vocabulary=len(prepared.subwords))
    examples = prepared.examples
    model = make_network(shape, plan, begin.writer.weights if begin else None)
    model.to(best_device())
    progress = fit(model, shape, examples, plan, state=state, advance=learning)
    measured = perplexity(model, shape, examples, examples.part(held_out=True))
    table = topic_tables.load(source.topics)
    card = make_card(name, shape, plan, source, facts, command)
    if begin:
        card["began_with"] = {"name": begin.card.get("name"), "weights": begin.identity}
    card["learned"] = {
        "steps": progress.step,
        "replies_seen": progress.seen,
        "kept_step": progress.best.step if progress.best else -1,
    }
    weights = {key: value.detach().cpu().numpy() for key, value in model.state_dict().items()}
    parts: dict[str, Any] = {
        "shape": shape,
        "weights": weights,
        "subwords": prepared.subwords,
        "topic_table": examples.topic_table[: len(table.topics) + 1],
        "blocked": facts["blocked"],
        "own_topics": table if source.topics is not None else None,
    }
    write_agent(folder, card=card, **parts)
    agent = TrainedAgent(name, name, {}, TalkingSettings(), read_agent(folder))
    answered, held_back = answer(agent, examples, samples, seed=plan.seed)
    spread = tuple(distinct([one.agent for one in answered], n) for n in (1, 2))
    metrics = make_metrics(measured, spread, len(answered))
    write_agent(folder, card={**card, "metrics": metrics}, **parts)
    return Trained(measured, spread, tuple(answered), progress, facts, held_back)


def answer(
    agent: TrainedAgent, examples: Examples, n: int, *, seed: int = 0
) -> tuple[list[Sample], int]:
    """Let an agent answer held-out contexts, and count those its guard left without a reply.

    Each context has a seed of its own, so that luck in drawing is not the same in all of them.
    """
    apart = np.random.default_rng(seed).permutation(examples.part(held_out=True))[:n]
    shape, words = agent.folder.shape, agent.folder.subwords
    found, held_back = [], 0
    for place, one in enumerate(apart):
        row = int(examples.replies[one])
        above = examples.context(row, shape.context_turns)
        turns = [words.text(examples.turn(turn, shape.turn_tokens)) for turn in above]
        person = words.text(examples.turn(row, int(examples.lengths[one])))
        roles: tuple[Role, Role] = ("partner", "agent")
        history = [Message(roles[(len(turns) - at + 1) % 2], text) for at, text in enumerate(turns)]
        try:
            reply = agent.reply(history, seed=seed + place).text
        except AgentError:
            held_back += 1
            continue
        found.append(Sample(tuple(turns), person, reply))
    return found, held_back


def distinct(replies: Sequence[str], n: int) -> Distinct:
    """How many of the n-grams of some replies are different; None where there is none.

    Args:
        replies: Texts; punctuation counts.
        n: Tokens of an n-gram.

    Examples:
        >>> distinct(["i do not know", "i do"], 2)
        Distinct(n=2, value=0.75, of=4)
    """
    grams = [
        tuple(tokens[at : at + n])
        for tokens in tokenise_texts(replies)
        for at in range(len(tokens) - n + 1)
    ]
    return Distinct(n, len(set(grams)) / len(grams) if grams else None, len(grams))


def make_metrics(
    held: Perplexity, spread: Sequence[Distinct], replies: int
) -> dict[str, dict[str, float | int]]:
    """Figures of a card."""
    metrics: dict[str, dict[str, float | int]] = {
        "held_out_perplexity": {
            "value": held.value,
            "n": held.tokens,
            "replies": held.replies,
        }
    }
    for one in spread:
        if one.value is not None:
            metrics[f"distinct_{one.n}"] = {"value": one.value, "n": one.of, "replies": replies}
    return metrics


def make_card(
    name: str,
    shape: Shape,
    plan: TrainingPlan,
    source: Source,
    facts: Mapping[str, Any],
    command: str,
) -> dict[str, Any]:
    """What a folder says about itself, before it was measured."""
    return {
        "name": name,
        "task": "agent",
        "kind": shape.kind,
        "licence": f"follows the data's: {source.licence}",
        "data": [
            {
                "name": source.path.name,
                "read_as": facts["source"],
                "licence": source.licence,
                "n": facts["turns"],
                "threads": facts["threads"],
                "replies": facts["replies"],
                "held_out_replies": facts["held_out_replies"],
                "left_out": facts["left_out"],
            }
        ],
        "validation": f"{source.held_out:.0%} of the threads held out",
        "command": command,
        "seed": plan.seed,
        "training": {key: value for key, value in asdict(plan).items() if value is not None},
        "intended_use": INTENDED_USE,
        "limits": LIMITS,
        "research_grade": False,
    }
