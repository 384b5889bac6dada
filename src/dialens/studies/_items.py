"""What is judged: contexts with candidate responses, dialogues, or the turns of dialogues."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, combinations, repeat
from pathlib import Path

import polars as pl

from dialens.base import DialensError, did_you_mean, read_yaml, validated
from dialens.corpus import Intake, read
from dialens.studies._media import Media, load_media
from dialens.studies._types import JSON
from dialens.studies.design import GoldEntry, ItemEntry, Items, Origin, UtteranceEntry

REFERENCE = "reference"
PLAIN = "plain"
"""The level of the factor `variant` at which a response is shown as it is."""

Places = Sequence[str]
"""Where items are written, in their order: `items.yaml:12`; empty where nobody knows."""

_SIDES = ("A", "B")
_HERE = Path()


@dataclass(frozen=True)
class Utterance:
    """What somebody said."""

    speaker: str
    text: str


@dataclass(frozen=True)
class Candidate:
    """What a rating is about, in the words of a corpus.

    Attributes:
        key: Unique within the item: the agent that gave it.
        text: The response; empty where the whole dialogue is judged.
        system: As in a corpus.
        agent: As in a corpus.
        dialog: As in a corpus.
        turn: As in a corpus; none where the whole dialogue is judged.
        before: What had been said before, where each candidate has a context of its own.
        variants: Other forms of the response, by level of the factor `variant`.
        levels: Of the factors that vary between responses, once it is to be shown.
        tag: What stands above it then.
    """

    key: str
    text: str
    system: str
    agent: str
    dialog: str
    turn: int | None
    before: tuple[Utterance, ...] = ()
    variants: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)
    tag: str | None = None


@dataclass(frozen=True)
class Item:
    """A context and what is judged in it."""

    id: str
    context: tuple[Utterance, ...]
    candidates: tuple[Candidate, ...]
    standard: str | None = None
    expect: tuple[Mapping[str, JSON], ...] = ()
    media: tuple[Media, ...] = ()

    def as_json(self) -> dict[str, JSON]:
        """The item as JSON; `from_json` reads it."""
        data = asdict(self)
        if not self.media:
            del data["media"]
        for one in data["candidates"]:
            del one["levels"], one["tag"]
            if not one["variants"]:
                del one["variants"]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> "Item":
        """What `as_json` made, back again."""
        return cls(
            id=data["id"],
            context=tuple(Utterance(**said) for said in data["context"]),
            candidates=tuple(
                Candidate(**{**made, "before": tuple(Utterance(**said) for said in made["before"])})
                for made in data["candidates"]
            ),
            standard=data["standard"],
            expect=tuple(data["expect"]),
            media=tuple(Media(**one) for one in data.get("media", ())),
        )


def load_items(
    section: Items, folder: Path, system: str, places: Places
) -> tuple[tuple[Item, ...], dict[str, str]]:
    """The items that a study file names, from wherever they come, and where each is written.

    Args:
        section: The part `items` of the study file.
        folder: Where the study file lies; paths in it start there.
        system: What stands for the system where items are no corpus: the study's name.
        places: Where the items of the study file itself are written.
    """
    if section.corpus is not None:
        items, written, places = _from_corpus(section, folder / section.corpus), {}, ()
    else:
        entries = list(section.inline or ())
        if section.file is not None:
            entries, places = _read_entries(folder / section.file)
        written = {entry.id: where for entry, where in zip(entries, places, strict=False)}
        items = [_placed(entry, section.unit, system, folder, written) for entry in entries]
    if not items:
        raise DialensError("The study has no items: there is nothing to judge.")
    _unique(items, places)
    return tuple(items), written


def _read_entries(path: Path) -> tuple[list[ItemEntry], Places]:
    """Items from a YAML file (a list) or a JSONL file (one a line), and where each is written."""
    if not path.is_file():
        raise DialensError(f"items.file: {path} does not exist.")
    if path.suffix in (".jsonl", ".ndjson"):
        numbered = list(_lines(path))
        entries = [_entry(line, number, path) for number, line in numbered]
        return entries, [f"{path}:{number}" for number, _ in numbered]
    data, lines = read_yaml(path)
    if not isinstance(data, list):
        raise DialensError(f"{path}:1: a list of items is expected here, each beginning `- id: …`.")
    entries = validated(list[ItemEntry], data, lines, path)
    return entries, [f"{path}:{lines[place,]}" for place in range(len(entries))]


def _lines(path: Path) -> Iterable[tuple[int, str]]:
    text = path.read_text("utf-8-sig")
    return ((at, line) for at, line in enumerate(text.split("\n"), start=1) if line.strip())


def _entry(line: str, number: int, path: Path) -> ItemEntry:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise DialensError(f"{path}:{number}: this is not JSON: {error}.") from error
    return validated(ItemEntry, data, {}, path, first_line=number)


def _placed(
    entry: ItemEntry, unit: str, system: str, folder: Path, written: Mapping[str, str]
) -> Item:
    try:
        return inline_item(entry, unit, system, folder)
    except DialensError as error:
        if entry.id not in written:
            raise
        raise DialensError(f"{written[entry.id]}: {error}") from error


def inline_item(entry: ItemEntry, unit: str, system: str, folder: Path = _HERE) -> Item:
    """An item as the study file writes it, in full.

    Args:
        entry: As the study file writes it.
        unit: What is judged.
        system: What stands for the system.
        folder: Where the study file lies.

    Examples:
        >>> entry = ItemEntry(id="c1", context=["Tea?"], responses={"bot": "Yes!"})
        >>> item = inline_item(entry, "response", "tea-study")
        >>> item.context[0].speaker, item.candidates[0].agent, item.candidates[0].turn
        ('A', 'bot', 1)
    """
    expect = entry.expect if isinstance(entry, GoldEntry) else []
    rules = tuple(rule.model_dump(exclude_none=True) for rule in expect)
    media = load_media(entry, folder)
    if unit == "response":
        if not entry.responses:
            raise DialensError(
                f"The item {entry.id!r} has no responses: there is nothing to judge."
            )
        for what, named in (("variants", entry.variants), ("origins", entry.origins)):
            _known_responses(entry, what, named, entry.responses)
        candidates = tuple(_candidate(entry, key, system) for key in entry.responses)
        return Item(entry.id, _spoken(entry.context), candidates, entry.standard, rules, media)
    if entry.responses:
        raise DialensError(
            f"The item {entry.id!r} has responses, but items.unit is {unit}: whole conversations "
            "stand in `context`. Leave responses out, or set items.unit to response."
        )
    said = _spoken(entry.context)
    speakers = list(dict.fromkeys(utterance.speaker for utterance in said))
    agent = entry.agent or (speakers[1] if len(speakers) > 1 else "")
    if agent not in speakers:
        raise DialensError(
            f"In the item {entry.id!r} nobody is called {agent!r}. {did_you_mean(agent, speakers)}"
            f"Name the speaker that is judged with `agent`; speakers: {', '.join(speakers)}."
        )
    roles = ["agent" if utterance.speaker == agent else "partner" for utterance in said]
    _known_responses(entry, "origins", entry.origins, [agent])
    origin = entry.origins.get(agent) or Origin(dialog=entry.id)
    whole = _whole(
        entry.id,
        said,
        roles,
        unit,
        origin.system or system,
        origin.agent or agent,
        origin.dialog,
        rules,
    )
    return replace(whole, media=media)


def _known_responses(
    entry: ItemEntry, what: str, named: Iterable[str], known: Collection[str]
) -> None:
    for key in named:
        if key not in known:
            raise DialensError(
                f"The item {entry.id!r} has {what} of {key!r}, which is no response. "
                f"{did_you_mean(key, known)}Responses: {', '.join(known)}."
            )


def _candidate(entry: ItemEntry, key: str, system: str) -> Candidate:
    """A response of an item, by where it comes from or else by its place in the study."""
    origin = entry.origins.get(key) or Origin(dialog=entry.id)
    return Candidate(
        key,
        entry.responses[key],
        origin.system or system,
        origin.agent or key,
        origin.dialog,
        len(entry.context) if origin.turn is None else origin.turn,
        variants=entry.variants.get(key, {}),
    )


def _spoken(context: Sequence[UtteranceEntry]) -> tuple[Utterance, ...]:
    return tuple(
        Utterance(said.speaker or _SIDES[place % 2], said.text)
        for place, said in enumerate(context)
    )


def _whole(
    name: str,
    said: Sequence[Utterance],
    roles: Sequence[str],
    unit: str,
    system: str,
    agent: str,
    dialog: str,
    expect: tuple[Mapping[str, JSON], ...] = (),
) -> Item:
    """A conversation, to be judged as a whole or turn by turn."""
    if unit == "dialogue":
        only = Candidate(agent, "", system, agent, dialog, None)
        return Item(name, tuple(said), (only,), None, expect)
    turns = tuple(
        Candidate(f"turn-{at}", utterance.text, system, agent, dialog, at, tuple(said[:at]))
        for at, (utterance, role) in enumerate(zip(said, roles, strict=True))
        if role == "agent"
    )
    if not turns:
        raise DialensError(f"In the conversation {name!r} the agent {agent!r} says nothing.")
    return Item(name, (), turns, None, expect)


def _from_corpus(section: Items, path: Path) -> list[Item]:
    corpus = read(path, format=section.format, intake=Intake())
    turns = corpus.turns.collect()
    known = turns["agent"].unique(maintain_order=True).to_list()
    for agent in section.agents or ():
        _known_agent(agent, known, "items.agents")
    if section.agents is not None:
        keep = [*section.agents, section.standard]
        turns = turns.filter(pl.col("agent").is_in(keep))
    talks = turns.partition_by("dialog", maintain_order=True)
    if section.unit != "response":
        return [_conversation(talk, section.unit) for talk in talks]
    references = {
        (row["dialog"], row["turn"]): row["text"]
        for row in corpus.references.collect().reverse().iter_rows(named=True)
    }
    if section.standard not in (None, REFERENCE):
        _known_agent(str(section.standard), known, "items.standard")
    return _responses(talks, references, section.standard, section.variants)


def _known_agent(agent: str, known: Sequence[str], where: str) -> None:
    if agent not in known:
        raise DialensError(
            f"{where}: the corpus has no agent {agent!r}. {did_you_mean(agent, known)}"
            f"Agents: {', '.join(known[:12])}."
        )


def _conversation(talk: pl.DataFrame, unit: str) -> Item:
    said = [Utterance(row["speaker"], row["text"]) for row in talk.iter_rows(named=True)]
    first = talk.row(0, named=True)
    name = first["dialog"]
    return _whole(name, said, talk["role"].to_list(), unit, first["system"], first["agent"], name)


def _responses(
    talks: Sequence[pl.DataFrame],
    references: Mapping[tuple[str, int], str],
    standard: str | None,
    variants: str | None = None,
) -> list[Item]:
    """Dialogues with the same context are candidates of one item; the agent's last turn counts."""
    groups: dict[tuple[str, ...], Item] = {}
    for talk in talks:
        rows = talk.rows(named=True)
        spoken = [place for place, row in enumerate(rows) if row["role"] == "agent"]
        if not spoken:
            continue
        last = rows[spoken[-1]]
        before = tuple(Utterance(row["speaker"], row["text"]) for row in rows[: spoken[-1]])
        same = tuple(utterance.text for utterance in before)
        item = groups.get(same) or Item(last["dialog"], before, ())
        if standard is not None and last["agent"] == standard:
            groups[same] = replace(item, standard=last["text"])
            continue
        if standard == REFERENCE and item.standard is None:
            item = replace(item, standard=references.get((last["dialog"], last["turn"])))
        variant = _variant(last, variants)
        if variant is not None and any(one.key == last["agent"] for one in item.candidates):
            both = [_also(one, last, variant) for one in item.candidates]
            groups[same] = replace(item, candidates=tuple(both))
            continue
        key, taken = last["agent"], {candidate.key for candidate in item.candidates}
        while key in taken:
            key += "+"
        made = Candidate(
            key, last["text"], last["system"], last["agent"], last["dialog"], last["turn"]
        )
        if variant not in (None, PLAIN):
            made = replace(made, variants={str(variant): last["text"]})
        groups[same] = replace(item, candidates=(*item.candidates, made))
    return [item for item in groups.values() if item.candidates]


def _variant(row: Mapping[str, JSON], field_name: str | None) -> str | None:
    """Which variant of a response a row of a corpus is; none where nobody asked."""
    if field_name is None:
        return None
    beside = json.loads(row["meta"] or "{}")
    return str(beside.get(field_name) or PLAIN)


def _also(one: Candidate, row: Mapping[str, JSON], variant: str) -> Candidate:
    """A candidate with another of its variants."""
    if one.key != row["agent"]:
        return one
    if variant == PLAIN:
        return replace(one, text=row["text"], dialog=row["dialog"], turn=row["turn"])
    return replace(one, variants={**one.variants, variant: row["text"]})


def pairs(items: Iterable[Item]) -> tuple[Item, ...]:
    """Every two candidates of an item as an item of their own; one with a single candidate stays.

    Examples:
        >>> entry = ItemEntry(id="c1", context=["Tea?"], responses=dict.fromkeys("abc", "Yes."))
        >>> [item.id for item in pairs([inline_item(entry, "response", "s")])]
        ['c1:a-b', 'c1:a-c', 'c1:b-c']
    """
    made = []
    for item in items:
        if len(item.candidates) == 1:
            made.append(item)
        for two in combinations(item.candidates, 2):
            name = item.id if len(item.candidates) == 2 else f"{item.id}:{two[0].key}-{two[1].key}"
            made.append(replace(item, id=name, candidates=two))
    return tuple(made)


def _unique(items: Iterable[Item], places: Places) -> None:
    seen: dict[str, str] = {}
    for item, where in zip(items, chain(places, repeat("")), strict=False):
        if item.id in seen:
            first = f" (the other: {seen[item.id]})" if seen[item.id] else ""
            raise DialensError(
                f"{where + ': ' if where else ''}two items are called {item.id!r}{first}. Give "
                "each an id of its own."
            )
        seen[item.id] = where
