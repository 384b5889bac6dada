"""What a model reads: single texts or (context, reply) pairs, cut to fit and turned into ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialens.base import DialensError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from dialens.models._word_pieces import WordPieces

TextInput: TypeAlias = str | tuple[str, str]
"""A text, or a pair of context and reply."""

_LONGEST_TEXT = 4000  # characters; far beyond the tokens any of our encoders takes
_CHUNK = 4096


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class EncodedInputs:
    """Token ids of some inputs, one after another.

    Attributes:
        tokens: The ids of all inputs; input i has those from ``starts[i]`` to ``starts[i + 1]``.
        starts: Where inputs begin, and where the last one ends.
        second: At which of its tokens an input's second segment begins; its length if it has one
            segment.
        cut: Which inputs were too long.
        known: Whether the tokenizer has a token for anything in the input; in a pair, for anything
            in both of its texts.
    """

    tokens: NDArray[np.int32]
    starts: Ints
    second: Ints
    cut: NDArray[np.bool_]
    known: NDArray[np.bool_]

    @cached_property
    def lengths(self) -> Ints:
        """Tokens of each input."""
        return np.diff(self.starts)

    @cached_property
    def ids(self) -> list[list[int]]:
        """Token ids as lists, one an input."""
        return [
            self.tokens[start:end].tolist()
            for start, end in zip(self.starts[:-1], self.starts[1:], strict=True)
        ]

    def padded(self, rows: Ints, pad: int, *, multiple: int = 1) -> NDArray[np.int32]:
        """Return the ids of some inputs as a table, filled up on the right.

        Args:
            rows: Which inputs.
            pad: The id to fill up with.
            multiple: Its width is rounded up to a multiple of this.
        """
        lengths = self.lengths[rows]
        width = -(-int(lengths.max()) // multiple) * multiple
        table = np.full((len(rows), width), pad, dtype=np.int32)
        table[np.arange(width) < lengths[:, None]] = self.tokens[_runs(self.starts[rows], lengths)]
        return table


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
    kinds = set(map(type, inputs))
    if not kinds or (kinds == {str} and pair is not True):
        return
    for place, one in enumerate(inputs):
        if pair is None:
            pair = is_pair(one)
        if not (is_pair(one) if pair else isinstance(one, str)):
            wanted = "(context, reply) pairs" if pair else "single texts"
            raise DialensError(f"{what} reads {wanted}; input {place} is {type(one).__name__}")


def encode_inputs(
    tokenizer: Tokenizer,
    inputs: Sequence[TextInput],
    *,
    longest: int,
    pieces: WordPieces | None = None,
) -> EncodedInputs:
    """Encode texts, or pairs, to at most ``longest`` tokens.

    A single text loses its end. In a pair the reply may take up to three quarters of the room
    before it loses its end; the context gets what is left and loses its *beginning*, because what
    was said last matters most.

    Args:
        tokenizer: Of the model.
        inputs: Texts or pairs.
        longest: Tokens that the model reads.
        pieces: Remembers the tokens of words, where the tokenizer is of that kind.
    """
    make_plain(tokenizer)
    wordless = np.zeros(tokenizer.get_vocab_size(with_added_tokens=True) + 1, dtype=np.bool_)
    wordless[list(wordless_tokens(tokenizer))] = True
    chunks = [
        _encoded(tokenizer, pieces, inputs[start : start + _CHUNK], wordless, longest)
        for start in range(0, max(1, len(inputs)), _CHUNK)
    ]
    lengths = np.concatenate([chunk.lengths for chunk in chunks])
    return EncodedInputs(
        np.concatenate([chunk.tokens for chunk in chunks]),
        _starts(lengths),
        np.concatenate([chunk.second for chunk in chunks]),
        np.concatenate([chunk.cut for chunk in chunks]),
        np.concatenate([chunk.known for chunk in chunks]),
    )


def _encoded(
    tokenizer: Tokenizer,
    pieces: WordPieces | None,
    inputs: Sequence[TextInput],
    wordless: NDArray[np.bool_],
    longest: int,
) -> EncodedInputs:
    begin, end, double = special_tokens(tokenizer)
    pairs = {not isinstance(one, str) for one in inputs}
    if len(pairs) > 1:
        kinds = [[isinstance(one, str) is kind for one in inputs] for kind in (True, False)]
        apart = [
            _encoded(tokenizer, pieces, list(compress(inputs, kind)), wordless, longest)
            for kind in kinds
        ]
        return _woven(apart, [np.flatnonzero(kind) for kind in kinds])
    replies = [one if isinstance(one, str) else one[1] for one in inputs]
    body = _Texts(tokenizer, pieces, [text[:_LONGEST_TEXT] for text in replies])
    if True not in pairs:
        kept = np.minimum(body.lengths, longest - 2)
        lengths = kept + 2
        starts = _starts(lengths)
        tokens = np.empty(starts[-1], dtype=np.int32)
        tokens[starts[:-1]], tokens[starts[1:] - 1] = begin, end
        body.put(tokens, starts[:-1] + 1, body.starts, kept)
        known = body.has_word(wordless, body.starts, kept)
        return EncodedInputs(tokens, starts, lengths, kept < body.lengths, known)
    contexts = ["" if isinstance(one, str) else one[0] for one in inputs]
    before = _Texts(tokenizer, pieces, [text[-_LONGEST_TEXT:] for text in contexts])
    middle = 2 if double else 1
    room = longest - 2 - middle
    kept = np.minimum(body.lengths, np.maximum(room - before.lengths, (3 * room) // 4))
    tail = np.minimum(before.lengths, room - kept)
    tail_from = before.starts + before.lengths - tail
    lengths = kept + tail + 2 + middle
    starts = _starts(lengths)
    tokens = np.full(starts[-1], end, dtype=np.int32)
    tokens[starts[:-1]] = begin
    before.put(tokens, starts[:-1] + 1, tail_from, tail)
    second = 1 + tail + middle
    body.put(tokens, starts[:-1] + second, body.starts, kept)
    known = body.has_word(wordless, body.starts, kept)
    known &= before.has_word(wordless, tail_from, tail)
    cut = (kept < body.lengths) | (tail < before.lengths)
    return EncodedInputs(tokens, starts, second, cut, known)


def _woven(parts: list[EncodedInputs], rows: list[Ints]) -> EncodedInputs:
    """Put inputs that were encoded apart in their order again; `rows` says where each belongs."""
    order = np.argsort(np.concatenate(rows), kind="stable")
    lengths = np.concatenate([part.lengths for part in parts])
    begins = _starts(lengths)[:-1]
    tokens = np.concatenate([part.tokens for part in parts])
    return EncodedInputs(
        tokens[_runs(begins[order], lengths[order])],
        _starts(lengths[order]),
        np.concatenate([part.second for part in parts])[order],
        np.concatenate([part.cut for part in parts])[order],
        np.concatenate([part.known for part in parts])[order],
    )


class _Texts:
    """The tokens of texts, one after another."""

    def __init__(self, tokenizer: Tokenizer, pieces: WordPieces | None, texts: list[str]) -> None:
        if pieces is not None:
            self.tokens, self.lengths = pieces.encode(texts)
        else:
            found = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
            self.lengths = np.fromiter(map(len, found), np.int64, len(found))
            ids = chain.from_iterable(one.ids for one in found)
            self.tokens = np.fromiter(ids, np.int32, int(self.lengths.sum()))
        self.starts = np.cumsum(self.lengths) - self.lengths

    def put(self, into: NDArray[np.int32], at: Ints, starts: Ints, lengths: Ints) -> None:
        """Copy a run of tokens of each text to where it belongs."""
        into[_runs(at, lengths)] = self.tokens[_runs(starts, lengths)]

    def has_word(
        self, wordless: NDArray[np.bool_], starts: Ints, lengths: Ints
    ) -> NDArray[np.bool_]:
        """Tell of a run of tokens of each text whether any of them says something."""
        words = np.concatenate([[0], np.cumsum(~wordless[self.tokens])])
        found: NDArray[np.bool_] = words[starts + lengths] > words[starts]
        return found


def _starts(lengths: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def _runs(starts: Ints, lengths: Ints) -> Ints:
    """Return the numbers from each start on, as many as each length says.

    Examples:
        >>> _runs(np.array([5, 9]), np.array([2, 1])).tolist()
        [5, 6, 9]
    """
    before = np.cumsum(lengths) - lengths
    numbers: Ints = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return numbers
