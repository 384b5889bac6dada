"""Which columns of a table hold a conversation, and the dialogues of its rows.

One row is a conversation (`messages`, `conversations`, `dialog` …), a prompt with one or more
responses, a prompt with a chosen and a rejected response, or a battle of two models. Which, is
decided once, by a few rows of the table; columns beside it name the conversation (`id`, or what
it answers) and the agent (`model`), the others stay with the first turn.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dialens.corpus._dialogue import Dialogue, Rating, Turn
from dialens.corpus._intake import RecordError
from dialens.corpus._read_options import ReadOptions
from dialens.corpus._source import Source
from dialens.corpus.readers._arena import battle_in
from dialens.corpus.readers._conversation import (
    LISTS,
    PROMPTS,
    RESPONSES,
    holds_conversation,
    holds_records,
    is_list_of_messages,
    marked_turns,
    turns_in,
    unwrapped,
)
from dialens.corpus.readers._exchange_columns import (
    ORDER,
    THREADS,
    by_side,
    named_columns,
    thread_columns,
)
from dialens.corpus.readers._exchanges import mark_given, shared_beginning
from dialens.corpus.readers._messages import SPEAKERS, keep_record
from dialens.corpus.readers._reply_column import with_reply
from dialens.corpus.readers._several_agents import by_agent

Row = Mapping[str, object]
_BATTLE = ("model_a", "model_b", "conversation_a", "conversation_b")
_MAYBE_LISTS = ("data", "text")
_SEVERAL_RESPONSES = ("responses", "answers", "outputs", "completions", "generations")
_EARLIER = ("history", "context")
_ROW_IDS = ("id", "uuid", "dialog", "sample_id", "example_id")
_CONTENT_IDS = ("prompt_id", "question_id", "conversation_hash")
_TURN_COLUMNS = frozenset({"text", "speaker", "role"})
_MODELS = ("model", "model_name", "model_id", "agent", "generator", "llm")
SIDES = ("chosen", "rejected")
_PAIRS = (SIDES, ("preferred_output", "non_preferred_output"))

WANTED = (
    f"a conversation ({', '.join(LISTS[:3])}, dialog, turns, chat …), a prompt with a response "
    f"({', '.join(PROMPTS)} with {', '.join(RESPONSES[:4])}), chosen and rejected responses, or "
    "one turn a row with the columns dialog, text, and role or speaker"
)
"""What a table of conversations needs, for messages."""


@dataclass(frozen=True)
class Shape:
    """What the columns of a table are.

    Attributes:
        kind: `conversation`, `reply`, `preference` or `battle`.
        columns: The column of each part, such as `prompt`; `id` and `model` are among them. Of
            exchanges, `thread` tells conversations apart, `turn` and `time` put them in order.
    """

    kind: str
    columns: Mapping[str, str]

    @property
    def used(self) -> tuple[str, ...]:
        """All columns that are read."""
        return tuple(self.columns.values())


def shape_of(
    columns: Iterable[str], sample: Sequence[Row], options: ReadOptions | None = None
) -> Shape | None:
    """What a table's columns are, by their names and what stands in a few rows; None if nothing.

    Args:
        columns: Their names.
        sample: A few rows.
        options: Says which columns the user has named.

    Examples:
        >>> shape_of(["id", "dialog"], [{"id": 1, "dialog": ["Hi", "Hello"]}]).kind
        'conversation'
        >>> shape_of(["instruction", "input", "output"], []).columns
        {'prompt': 'instruction', 'input': 'input', 'response': 'output'}
        >>> shape_of(["dialog", "speaker", "text"], [{"dialog": "d1", "speaker": "A"}])
    """
    columns = list(columns)
    options = options or ReadOptions()
    by_name = {name.strip().lower(): name for name in reversed(columns)}
    named = named_columns(columns, options)
    if named is None or _holds_turns(by_name) or not _TURN_COLUMNS.isdisjoint(options.columns):
        return None

    def column(names: Iterable[str], *parts: str) -> str | None:
        """The column that the user names for a part, else the first that is called so."""
        told = [named[part] for part in parts if part in named]
        called = (by_name[name] for name in names if name in by_name)
        return told[0] if told else next(called, None)

    def conversation_in(names: Iterable[str]) -> str | None:
        held = (by_name[name] for name in names if name in by_name)
        return next(
            (n for n in held if any(holds_conversation(row.get(n)) for row in sample)), None
        )

    if all(name in by_name for name in _BATTLE):
        return Shape("battle", {name: by_name[name] for name in _BATTLE})
    conversation = None if "prompt" in named else conversation_in((*LISTS, *_MAYBE_LISTS))
    ids = [
        name for name in (*THREADS, *_ROW_IDS, *_CONTENT_IDS) if by_name.get(name) != conversation
    ]
    labels = {
        "id": column(ids, "dialog"),
        "model": column(_MODELS, "agent"),
        "system": named.get("system"),
    }
    prompt = column(PROMPTS, "prompt")
    pair = next((names for names in _PAIRS if all(name in by_name for name in names)), None)
    if pair is not None:
        models = {
            f"{side} model": column((f"{side}_model", f"model_{side}", f"{side}-model"))
            for side in SIDES
        }
        sides = {side: by_name[name] for side, name in zip(SIDES, pair, strict=True)}
        asked = {"prompt": prompt or by_name.get("input"), **sides}
        asked["input"] = by_name.get("input") if prompt else None
        return _shape("preference", {**asked, **models, "id": labels["id"]})
    if conversation is not None:
        filled = [n for n in RESPONSES if any(row.get(by_name.get(n, "")) for row in sample)]
        parts = {"conversation": conversation, "reply": column(filled, "response"), **labels}
        return _shape("conversation", parts)
    response = column((*RESPONSES, *_SEVERAL_RESPONSES), "response")
    more = by_name.get("input")
    if response is None or (prompt is None and more is None):
        prompt, response = by_side(by_name, prompt, named.get("response"))
    if response is None or (prompt is None and more is None):
        listed = (by_name[name] for name in LISTS if name in by_name)
        odd = next((n for n in listed if any(isinstance(row.get(n), list) for row in sample)), None)
        # Its rows will say what is wrong with them.
        return None if odd is None else _shape("conversation", {"conversation": odd, **labels})
    parts = {"prompt": prompt or more, "input": more if prompt else None, "response": response}
    parts = {**parts, "earlier": conversation_in(_EARLIER), **labels}
    return _shape("reply", {**parts, **thread_columns(columns, parts, options)})


def names_rows_apart(shape: Shape) -> bool:
    """Whether a row's conversation is called alike whatever other rows there are.

    What names a question, or is a hash of a content, may stand in several rows (see `RowParser`).

    Examples:
        >>> names_rows_apart(Shape("conversation", {"conversation": "messages", "id": "id"}))
        True
        >>> names_rows_apart(Shape("reply", {"id": "question_id"}))
        False
    """
    if "id" not in shape.columns:
        return True
    return shape.kind == "conversation" and not _is_content_id(shape)


def _is_content_id(shape: Shape) -> bool:
    return shape.columns["id"].strip().lower() in _CONTENT_IDS


def may_hold_conversations(columns: Iterable[str], options: ReadOptions | None = None) -> bool:
    """Whether the names of columns are worth a look at what stands in them."""
    names = {name.strip().lower() for name in columns}
    held = not names.isdisjoint((*LISTS, *_MAYBE_LISTS))
    return held or shape_of(names, [], options) is not None


def _holds_turns(columns: Collection[str]) -> bool:
    """Whether it is a table with one turn a row."""
    return {"dialog", "text"} <= set(columns) and ("role" in columns or "speaker" in columns)


def _shape(kind: str, columns: Mapping[str, str | None]) -> Shape:
    return Shape(kind, {part: name for part, name in columns.items() if name is not None})


@dataclass
class RowParser:
    """Makes dialogues of the rows of one source, and keeps their names apart.

    Attributes:
        shape: Of the table.
        source: For names where the table has none.
        agent: The agent's name where no column tells it.
        prefix: Before the id of every dialogue, such as the name of a split.
    """

    shape: Shape
    source: Source
    agent: str
    prefix: str = ""
    _named: dict[str, int] = field(default_factory=dict)

    @property
    def shares_names(self) -> bool:
        """Whether it gave names that depend on the rows before."""
        return bool(self._named)

    def dialogues(self, row: Row, number: int | str) -> list[Dialogue]:
        """The dialogues of a row, the `number`-th of its source."""
        kinds = {
            "conversation": self._conversations,
            "reply": self._replies,
            "preference": self._preference,
            "battle": self._battle,
        }
        talks = kinds[self.shape.kind](row, number)
        if self.shape.kind != "conversation":
            return list(talks)
        return [
            one
            for talk in talks
            for one in (by_agent(talk, only_models=True) if talk.agent == self.agent else [talk])
        ]

    def _conversations(self, row: Row, number: int | str) -> Iterator[Dialogue]:
        column = self.shape.columns["conversation"]
        value = unwrapped(self._needed(row, "conversation"), column)
        agent = self._label(row, "model") or self.agent
        name = self._name(row, number, agent)
        several = value if isinstance(value, list) else []
        if holds_records(several[:1]) and several:
            for place, item in enumerate(several, start=1):
                yield from self._record(item, f"{number}-{place}", f"{column}[{place - 1}]")
            return
        if is_list_of_messages(several[0] if several else None):
            for place, item in enumerate(several, start=1):
                turns = turns_in(item, f"{column}[{place - 1}]")
                yield self._dialogue(turns, row, agent, f"{name}-{place}")
            return
        turns, reply, remark = turns_in(value, column), None, None
        if "reply" in self.shape.columns:
            turns, reply, remark = with_reply(turns, row, self.shape.columns["reply"])
        talk = self._dialogue(turns, row, agent, name, unused=() if reply else ("reply",))
        talk.remarks = (remark,) if remark else ()
        yield talk

    def _record(self, record: Row, number: str, column: str) -> Iterator[Dialogue]:
        """The dialogues of a record that stands with others in one cell."""
        shape = shape_of(record, [record]) if isinstance(record, dict) else None
        if shape is None:
            raise RecordError("holds no conversation", field=column, seen=record)
        inner = RowParser(shape, self.source, self.agent, self.prefix, self._named)
        yield from inner.dialogues(record, number)

    def _replies(self, row: Row, number: int | str) -> Iterator[Dialogue]:
        columns = self.shape.columns
        asked = self._asked(row)
        value = unwrapped(self._needed(row, "response"), columns["response"])
        agent = self._label(row, "model") or self.agent
        replies = value if isinstance(value, list) and not is_list_of_messages(value) else [value]
        for place, reply in enumerate(replies, start=1):
            at = columns["response"] + (f"[{place - 1}]" if isinstance(value, list) else "")
            said, by, rest = _reply(reply, at)
            name = self._name(row, number, by or agent)
            if len(replies) > 1:
                name = f"{name}-{place}"
            talk = self._dialogue([*_copied(asked), *said], row, by or agent, name)
            if rest:
                talk.turns[-1].meta = {**(talk.turns[-1].meta or {}), "message": rest}
            yield talk

    def _preference(self, row: Row, number: int | str) -> Iterator[Dialogue]:
        columns = self.shape.columns
        asked = self._asked(row) if "prompt" in columns else []
        name = self._name(row, number, "")
        agents = {side: self._label(row, f"{side} model") or side for side in SIDES}
        said = {side: _side(self._needed(row, side), columns[side], asked) for side in SIDES}
        shared = shared_beginning(*said.values())
        for value, side in zip((1.0, 0.0), SIDES, strict=True):
            other = SIDES[side == SIDES[0]]
            mark_given(said[side][: min(shared, len(said[side]) - 1)])
            talk = self._dialogue(said[side], row, agents[side], f"{name}-{side}")
            talk.ratings = [
                Rating(
                    quality="preference",
                    value=value,
                    level="dialog",
                    scale=[0, 1],
                    condition=name,
                    factors={"side": side, "against": agents[other], "verdict": "chosen"},
                )
            ]
            yield talk

    def _battle(self, row: Row, number: int | str) -> Iterator[Dialogue]:
        sides = {name: unwrapped(row.get(name), name) for name in _BATTLE[2:]}
        for talk in battle_in({**row, **sides}, number, self.source):
            talk.dialog = f"{self.prefix}{talk.dialog}"
            for rating in talk.ratings:
                rating.condition = f"{self.prefix}{rating.condition}"
            yield talk

    def _asked(self, row: Row) -> list[Turn]:
        """The turns that a response answers."""
        columns = self.shape.columns
        value = unwrapped(self._needed(row, "prompt"), columns["prompt"])
        earlier = row.get(columns["earlier"]) if "earlier" in columns else None
        turns = turns_in(earlier, columns["earlier"]) if earlier else []
        if isinstance(value, str):
            more = row.get(columns["input"]) if "input" in columns else None
            text = f"{value}\n\n{more}" if isinstance(more, str) and more.strip() else value
            return [*turns, *(marked_turns(value) or [Turn(SPEAKERS["partner"], "partner", text)])]
        return [*turns, *turns_in(value, columns["prompt"])]

    def _needed(self, row: Row, part: str) -> object:
        column = self.shape.columns[part]
        value = row.get(column)
        if value is None:
            if column in row:
                raise RecordError("is empty", field=column)
            raise RecordError("is missing", field=column, seen=", ".join(sorted(row)))
        return value

    def _label(self, row: Row, part: str) -> str | None:
        return _label(row, [self.shape.columns[part]]) if part in self.shape.columns else None

    def _name(self, row: Row, number: int | str, agent: str) -> str:
        """A name for the conversation.

        What names a question, or is a hash of a content, may stand in several rows: the later
        ones are told apart by the agent that answers, or by a number.
        """
        given = self._label(row, "id")
        if given is None:
            return f"{self.prefix}{self.source.stem}-{number}"
        label = f"{self.prefix}{given}"
        if names_rows_apart(self.shape):
            return label
        answered = self.shape.kind == "reply" and agent
        for name in (label, f"{label}-{agent}" if answered else label):
            if name not in self._named:
                self._named[name] = 1
                return name
        self._named[label] += 1
        return f"{label}-{self._named[label]}"

    def _dialogue(
        self,
        turns: list[Turn],
        row: Row,
        agent: str,
        name: str,
        unused: Sequence[str] = (),
    ) -> Dialogue:
        if not turns:
            raise RecordError("holds no turn", field=self.shape.used[0])
        kept = {key: value for key, value in row.items() if value not in (None, "")}
        parts = self.shape.columns.items()
        keep_record(turns, kept, [name for part, name in parts if part not in (*unused, *ORDER)])
        system = self._label(row, "system") or self.source.stem
        return Dialogue(system=system, agent=agent, dialog=name, turns=turns)


def _side(value: object, column: str, asked: list[Turn]) -> list[Turn]:
    """The turns of one of two responses, with the prompt before them where they lack it."""
    value = unwrapped(value, column)
    if isinstance(value, str):
        marked = marked_turns(value)
        said = marked or [Turn(SPEAKERS["agent"], "agent", value)]
    else:
        said = turns_in([value] if isinstance(value, dict) else value, column)
    return said if said[0].role == "partner" else [*_copied(asked), *said]


def _reply(value: object, at: str) -> tuple[list[Turn], str | None, dict[str, object]]:
    """What a response says, the model that it names, and what else it holds."""
    if isinstance(value, str):
        return [Turn(SPEAKERS["agent"], "agent", value)], None, {}
    if isinstance(value, list):
        return turns_in(value, at), None, {}
    if isinstance(value, dict):
        keys = ("content", "text", *RESPONSES)
        key = next((key for key in keys if isinstance(value.get(key), str)), None)
        if key is not None:
            rest = {
                name: item
                for name, item in value.items()
                if name not in (key, "role", *_MODELS) and item is not None
            }
            said = Turn(SPEAKERS["agent"], "agent", str(value[key]))
            return [said], _label(value, _MODELS), rest
    raise RecordError("is wrong: expected a text or messages", field=at, seen=value)


def _copied(turns: Sequence[Turn]) -> list[Turn]:
    """The same turns for another dialogue: what is kept with one is not kept with the other."""
    return [Turn(turn.speaker, turn.role, turn.text, meta=turn.meta) for turn in turns]


def _label(row: Row, columns: Sequence[str]) -> str | None:
    """The first of some columns that is not empty, as a name."""
    for column in columns:
        value = row.get(column)
        if value is None or value == "" or isinstance(value, bool | list | dict):
            continue
        if isinstance(value, float):
            if value != value:
                continue
            return str(int(value)) if value.is_integer() else str(value)
        return str(value)
    return None
