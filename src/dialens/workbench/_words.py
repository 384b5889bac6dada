"""What a folder holds, said in one or two sentences."""

from collections.abc import Mapping, Sequence

from dialens.base import counted
from dialens.workbench._catalogue import DAMAGED, STALE, UNKNOWN, Catalogue, Item

KIND_WORDS: Mapping[str, tuple[str, str]] = {
    "corpus": ("Conversations", "corpora"),
    "scores": ("Scores", "score folders"),
    "comparison": ("Comparison", "comparisons"),
    "validation": ("Validation", "validations"),
    "agreement": ("Agreement", "measures of agreement"),
    "power": ("Power", "power plans"),
    "gate": ("Gate", "gates"),
    "traits": ("Trait models", "trait models"),
    "study": ("Study", "studies"),
    "judges": ("Judges", "sets of judges"),
    "export": ("Ratings", "exports of ratings"),
    "analysis": ("Analysis", "analyses"),
    "other": ("Other", "others"),
}
"""What an item of each kind is called, and several of them."""

_COUNTED = {
    "comparison": "comparison",
    "validation": "validation",
    "gate": "gate",
    "traits": "set of trait models",
    "judges": "set of judges",
    "analysis": "analysis",
    "agreement": "measure of agreement",
    "power": "power plan",
}


def sentence(catalogue: Catalogue) -> str:
    """What a folder holds and whether something in it is stale: the answer before all details.

    Examples:
        >>> from pathlib import Path
        >>> talks = Item("corpus", "a", Path("/x/a"), "", counts={"conversations": 2, "agents": 1})
        >>> scores = Item("scores", "b", Path("/x/b"), "", counts={"metrics": 3})
        >>> sentence(Catalogue(Path("/x"), (talks, scores)))
        '2 conversations of 1 agent, scored with 3 metrics. Nothing is stale.'
    """
    parts = [_conversations(catalogue), _studies(catalogue), *_others(catalogue)]
    holds = "; ".join(part for part in parts if part) or "Nothing that can be counted"
    return f"{holds}. {_state(catalogue.items)}"


def _conversations(catalogue: Catalogue) -> str:
    scored = catalogue.of("scores")
    talks = [item for item in catalogue.of("corpus") if not _made_within(item, catalogue)]
    known = [item for item in talks if item.counts.get("conversations")]
    if not known:  # the conversations are gone; whoever scored them counted them
        known = [item for item in scored if item.counts.get("conversations")]
    metrics = _metrics(scored)
    with_metrics = f", scored with {counted(metrics, 'metric')}" if metrics else ""
    if not known:
        uncounted = counted(len(talks), "file of conversations", "files of conversations")
        return uncounted + with_metrics if talks else with_metrics.removeprefix(", ")
    conversations = counted(sum(item.counts["conversations"] for item in known), "conversation")
    if len(known) == 1:
        whose = f" of {counted(known[0].counts.get('agents', 0), 'agent')}"
    else:
        whose = f" in {len(known)} corpora"
    return conversations + whose + with_metrics


def _made_within(item: Item, catalogue: Catalogue) -> bool:
    """Whether a corpus was converted from another one here, whose conversations it holds again."""
    return any(source.item is not None for source in item.sources)


def _metrics(scored: Sequence[Item]) -> int:
    names = {name for item in scored if item.record for name in item.record.signatures}
    return len(names) or max((item.counts.get("metrics", 0) for item in scored), default=0)


def _others(catalogue: Catalogue) -> list[str]:
    numbers = {kind: len(catalogue.of(kind)) for kind in _COUNTED}
    return [
        counted(number, _COUNTED[kind], KIND_WORDS[kind][1])
        for kind, number in numbers.items()
        if number
    ]


def _studies(catalogue: Catalogue) -> str:
    studies = catalogue.of("study")
    if not studies:
        return ""
    people = sum(item.counts.get("participants", 0) for item in studies)
    simulated = sum(item.counts.get("simulated", 0) for item in studies)
    kind = "simulated participant" if people and people == simulated else "participant"
    some = f" ({simulated:,} of them simulated)" if 0 < simulated < people else ""
    who = f"{counted(people, kind)}{some}" if people else "no participants yet"
    return f"{counted(len(studies), 'study', 'studies')} with {who}"


def _state(items: Sequence[Item]) -> str:
    words = {STALE: "stale", DAMAGED: "damaged", UNKNOWN: "without its source"}
    several = {**words, UNKNOWN: "without their source"}
    parts = []
    for state in words:
        names = [item.name for item in items if item.state == state]
        if len(names) == 1:
            parts.append(f"{names[0]} is {words[state]}")
        elif names:
            parts.append(f"{len(names)} items are {several[state]}")
    return f"{'; '.join(parts)}." if parts else "Nothing is stale."
