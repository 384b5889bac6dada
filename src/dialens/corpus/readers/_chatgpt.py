"""ChatGPT's data export: `conversations.json`, or several `conversations-000.json`, or the zip.

A conversation is a tree of nodes (`mapping`), because answers can be asked for again. What is read
is the branch that the user saw last: from `current_node` up to the root. Turns are the visible
texts of `user` and `assistant`. Everything else on the branch (instructions, hidden messages, tool
calls and their results, thoughts) stands in the `meta` of the turn it precedes. Marks of citations
are taken out of the text, and the text as it was is kept beside it.

The agent is the model that wrote most of the answers (`model_slug`), else the conversation's
`default_model_slug`, else `ChatGPT`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dialens.corpus._dialogue import Dialogue, Turn
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._source import Record, Source
from dialens.corpus.readers._bundles import BundledReader
from dialens.corpus.readers._fields import moment, object_in

_ROLES = {"user": "partner", "assistant": "agent", "system": None, "tool": None}
_SPOKEN = ("text", "multimodal_text")
_CITATION = re.compile("\ue200[^\ue201]*\ue201|【\\d+(?::\\d+)?†[^】]*】")
_DECODER = msgspec.json.Decoder(dict[str, Any])


def _recognises(source: Source) -> bool:
    mapping = (source.first or {}).get("mapping")
    return (
        isinstance(mapping, dict)
        and bool(mapping)
        and all(isinstance(node, dict) and "children" in node for node in mapping.values())
    )


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    content = _DECODER.decode(record.raw)
    mapping = content.get("mapping")
    if not isinstance(mapping, dict):
        raise RecordError("is missing or no object", field="mapping", seen=sorted(content))
    turns: list[Turn] = []
    aside: list[dict[str, object]] = []
    models: list[str] = []
    for name in _branch(mapping, content.get("current_node")):
        message = mapping[name].get("message")
        if message is None:
            continue
        turn = _turn(message, f"mapping.{name}.message", aside)
        if turn is None:
            continue
        if turn.role == "agent":
            _drop_blank_answer(turns, aside)
            models.extend(filter(None, [object_in(message, "metadata").get("model_slug")]))
        if aside:
            turn.meta = {"before": aside, **(turn.meta or {})}
            aside = []
        turns.append(turn)
    if not turns:
        return  # opened and never used
    if aside:
        turns[-1].meta = {**(turns[-1].meta or {}), "after": aside}
    about = {
        key: content[key]
        for key in ("title", "gizmo_id", "default_model_slug", "conversation_template_id")
        if content.get(key)
    }
    if about:
        turns[0].meta = {**(turns[0].meta or {}), "record": about}
    agent = Counter(models).most_common(1)[0][0] if models else content.get("default_model_slug")
    yield Dialogue(
        system=source.stem,
        agent=str(agent or "ChatGPT"),
        dialog=str(
            content.get("conversation_id") or content.get("id") or f"{source.stem}-{record.number}"
        ),
        turns=turns,
    )


def _branch(mapping: Mapping[str, Any], current: object) -> list[str]:
    """The nodes from the root to the current one, or to the last leaf where none is named."""
    for name, node in mapping.items():
        if not isinstance(node, dict):
            raise RecordError("is wrong: expected an object", field=f"mapping.{name}", seen=node)
    if not isinstance(current, str) or current not in mapping:
        leaves = [name for name, node in mapping.items() if not node.get("children")]
        current = leaves[-1] if leaves else None
    branch: dict[str, None] = {}
    while isinstance(current, str) and current in mapping and current not in branch:
        branch[current] = None
        current = mapping[current].get("parent")
    return list(branch)[::-1]


def _turn(message: Any, place: str, aside: list[dict[str, object]]) -> Turn | None:
    """The turn of a message, or None when it is no turn and was put `aside`."""
    author = message.get("author") if isinstance(message, dict) else None
    word = author.get("role") if isinstance(author, dict) else None
    if not isinstance(word, str) or word not in _ROLES:
        raise RecordError(
            "is not a known role",
            field=f"{place}.author.role",
            seen=word,
            remedy=f"Known roles: {', '.join(_ROLES)}. Leave such records out with "
            "--on-error skip.",
        )
    role = _ROLES[word]
    content = message.get("content")
    if not isinstance(content, dict):
        raise RecordError("is missing", field=f"{place}.content", seen=content)
    kind = content.get("content_type", "text")
    hidden = object_in(message, "metadata").get("is_visually_hidden_from_conversation")
    inward = message.get("recipient") not in (None, "all") or message.get("channel") == "analysis"
    if role is None or hidden or inward or kind not in _SPOKEN:
        if role is not None or any(map(bool, content.get("parts") or [content])):
            aside.append({"role": word, "content": content})
        return None
    text, other = _text(content, f"{place}.content")
    if not text and other:
        aside.append({"role": word, "content": content})
        return None
    plain = _CITATION.sub("", text)
    meta: dict[str, object] = {"content": content} if other or plain != text else {}
    slug = object_in(message, "metadata").get("model_slug")
    if role == "agent" and slug:
        meta["message"] = {"model_slug": slug}
    return Turn(
        speaker=str(slug or "ChatGPT") if role == "agent" else "user",
        role=role,
        text=plain,
        created_at=moment(message.get("create_time")),
        meta=meta or None,
    )


def _text(content: Mapping[str, Any], place: str) -> tuple[str, bool]:
    """What can be read in the parts, and whether there is more (pictures, sound)."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        raise RecordError("is missing or no list", field=f"{place}.parts", seen=parts)
    texts, other = [], False
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):  # a picture, or sound with its transcription
            other = True
            texts.extend(filter(None, [part.get("text")]))
    return "\n".join(texts), other


def _drop_blank_answer(turns: list[Turn], aside: list[dict[str, object]]) -> None:
    """Take back an answer without a word that goes on in this one, as before a tool is called."""
    if turns and turns[-1].role == "agent" and not turns[-1].text:
        before = (turns.pop().meta or {}).get("before")
        if isinstance(before, list):
            aside[:0] = before


CHATGPT = BundledReader(
    RecordReader(
        name="chatgpt",
        summary="ChatGPT's data export: conversations.json, its folder or the zip",
        example=(
            '[{"title": "Rain", "conversation_id": "c1", "current_node": "n2", "mapping": {'
            '"n0": {"id": "n0", "message": null, "parent": null, "children": ["n1"]}, '
            '"n1": {"id": "n1", "parent": "n0", "children": ["n2"], "message": {'
            '"author": {"role": "user"}, "create_time": 1714559400.0, '
            '"content": {"content_type": "text", "parts": ["Is it raining?"]}}}, '
            '"n2": {"id": "n2", "parent": "n1", "children": [], "message": {'
            '"author": {"role": "assistant"}, "create_time": 1714559402.0, '
            '"content": {"content_type": "text", "parts": ["A little, I hear."]}, '
            '"metadata": {"model_slug": "gpt-4o"}}}}}]\n'
        ),
        recognises=_recognises,
        parse=_parse,
    ),
    pattern=r"conversations(-\d+)?\.json",
)
