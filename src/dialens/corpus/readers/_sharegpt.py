"""ShareGPT: `{"conversations": [{"from": "human", "value": …}, {"from": "gpt", "value": …}]}`.

`human` and `user` are the partner; `gpt`, `assistant`, `chatgpt`, `bing`, `bard`, `model` and
`bot` the agent. `system`, `tool`, `observation`, `function_call` and `function_response` are kept
beside the turns, and so are a record's own `system` (a prompt) and `tools`.
"""

from collections.abc import Iterable

import msgspec

from dialens.corpus._dialogue import Dialogue
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._roles import UNKNOWN
from dialens.corpus._source import Record, Source
from dialens.corpus.readers._messages import keep_record, name_in, turns_of
from dialens.corpus.readers._reply_column import with_reply

_IDS = ("id",)
_MODELS = ("model",)
_DECODER = msgspec.json.Decoder(dict[str, object])


def _recognises(source: Source) -> bool:
    listed = (source.first or {}).get("conversations")
    return isinstance(listed, list) and any(
        isinstance(item, dict) and ("from" in item or "role" in item) for item in listed
    )


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    content = _DECODER.decode(record.raw)
    if "conversations" not in content:
        raise RecordError("is missing", field="conversations", seen=sorted(content))
    turns = turns_of(
        content["conversations"],
        field="conversations",
        role_keys=("from", "role"),
        text_keys=("value", "content", "text"),
    )
    turns, column, remark = with_reply(turns, content)
    if not turns:
        raise RecordError("holds no message of a human or a model", field="conversations")
    keep_record(turns, content, ("conversations", *_IDS, *_MODELS, *filter(None, [column])))
    yield Dialogue(
        system=source.stem,
        agent=name_in(content, _MODELS) or UNKNOWN,
        dialog=name_in(content, _IDS) or f"{source.stem}-{record.number}",
        turns=turns,
        remarks=(remark,) if remark else (),
    )


SHAREGPT = RecordReader(
    name="sharegpt",
    summary='ShareGPT: JSON or JSONL with {"conversations": [{"from": …, "value": …}]}',
    example=(
        '[{"id": "d1", "conversations": [{"from": "human", "value": "Hello!"}, '
        '{"from": "gpt", "value": "Hello, how are you?"}]}]\n'
    ),
    recognises=_recognises,
    parse=_parse,
)
