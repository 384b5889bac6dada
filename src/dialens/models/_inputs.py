"""What a model reads: single texts or (context, reply) pairs, cut to fit and turned into ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dialens.base import DialensError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TextInput: TypeAlias = str | tuple[str, str]
"""A text, or a pair of context and reply."""

_LONGEST_TEXT = 4000  # characters; far beyond the tokens any of our encoders takes
_CHUNK = 4096


@dataclass(frozen=True)
class EncodedInputs:
    """Token ids of each input, where its second segment begins, and whether it was cut.

    ``known`` tells whether the tokenizer has a token for anything in the input; in a pair, for
    anything in both of its texts.
    """

    ids: list[list[int]]
    second: list[int]
    cut: list[bool]
    known: list[bool]


def special_tokens(tokenizer: Tokenizer) -> tuple[int, int, bool]:
    """Return begin and end token, and whether a pair has two end tokens between (MPNet)."""
    begin, end = tokenizer.token_to_id("<s>"), tokenizer.token_to_id("</s>")
    if begin is not None and end is not None:
        return begin, end, True
    begin, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    if begin is None or end is None:
        raise ValueError("the tokenizer has neither <s> </s> nor [CLS] [SEP]")
    return begin, end, False


def wordless_tokens(tokenizer: Tokenizer) -> set[int]:
    """Return the tokens that say nothing: the one for what is unknown, and the marks."""
    added = tokenizer.get_added_tokens_decoder()
    marks = {number for number, token in added.items() if token.special}
    name = getattr(tokenizer.model, "unk_token", None)
    unknown = None if name is None else tokenizer.token_to_id(name)
    return marks if unknown is None else {*marks, unknown}


def make_plain(tokenizer: Tokenizer) -> None:
    """Turn off cutting and padding that a tokenizer's file may ask for; both are done here.

    Nothing is set that is right already: a tokenizer must not be changed while another thread
    encodes with it.
    """
    if tokenizer.truncation is not None:
        tokenizer.no_truncation()
    if tokenizer.padding is not None:
        tokenizer.no_padding()


def is_pair(one: object) -> bool:
    """Tell whether an input is a (context, reply) pair.

    Examples:
        >>> is_pair(("How are you?", "Fine.")), is_pair("Fine.")
        (True, False)
    """
    return (
        isinstance(one, tuple | list)
        and len(one) == 2
        and isinstance(one[0], str)
        and isinstance(one[1], str)
    )


def check_inputs(inputs: Sequence[TextInput], *, pair: bool | None, what: str) -> None:
    """Refuse inputs of the wrong kind before anything is computed.

    Args:
        inputs: What is to be read.
        pair: Whether pairs are read; ``None`` where both will do, but not mixed.
        what: Reads them, for the message.

    Raises:
        DialensError: Names the first input that does not fit.

    Examples:
        >>> check_inputs(["Hello.", ("Hello.", "Hi!")], pair=None, what="my model")
        Traceback (most recent call last):
        dialens.DialensError: my model reads single texts; input 1 is tuple
    """
    if isinstance(inputs, str):
        raise DialensError(f"{what} reads a list of inputs; a single text was given: put it in [ ]")
    for place, one in enumerate(inputs):
        if pair is None:
            pair = is_pair(one)
        if not (is_pair(one) if pair else isinstance(one, str)):
            wanted = "(context, reply) pairs" if pair else "single texts"
            raise DialensError(f"{what} reads {wanted}; input {place} is {type(one).__name__}")


def encode_inputs(
    tokenizer: Tokenizer, inputs: Sequence[TextInput], *, longest: int
) -> EncodedInputs:
    """Encode inputs to at most ``longest`` tokens.

    A single text loses its end. In a pair the reply may take up to three quarters of the room
    before it loses its end; the context gets what is left and loses its *beginning*, because what
    was said last matters most.
    """
    begin, end, double = special_tokens(tokenizer)
    make_plain(tokenizer)
    wordless = wordless_tokens(tokenizer)
    ids: list[list[int]] = []
    second: list[int] = []
    cut: list[bool] = []
    known: list[bool] = []
    for start in range(0, len(inputs), _CHUNK):
        chunk = inputs[start : start + _CHUNK]
        replies = [one if isinstance(one, str) else one[1] for one in chunk]
        contexts = ["" if isinstance(one, str) else one[0] for one in chunk]
        bodies = _ids(tokenizer, [text[:_LONGEST_TEXT] for text in replies])
        befores = _ids(tokenizer, [text[-_LONGEST_TEXT:] for text in contexts])
        for one, body, before in zip(chunk, bodies, befores, strict=True):
            if isinstance(one, str):
                kept = body[: longest - 2]
                ids.append([begin, *kept, end])
                second.append(len(kept) + 2)
                cut.append(len(kept) < len(body))
                known.append(not wordless.issuperset(kept))
                continue
            room = longest - (4 if double else 3)
            most = max(room - len(before), (3 * room) // 4)
            kept = body[:most]
            left = room - len(kept)
            tail = before[len(before) - left :] if len(before) > left else before
            middle = [end, end] if double else [end]
            ids.append([begin, *tail, *middle, *kept, end])
            second.append(1 + len(tail) + len(middle))
            cut.append(len(kept) < len(body) or len(tail) < len(before))
            known.append(not (wordless.issuperset(kept) or wordless.issuperset(tail)))
    return EncodedInputs(ids, second, cut, known)


def _ids(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    return [one.ids for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
