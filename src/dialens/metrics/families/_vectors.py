"""Vectors of single words: from the user's file, or from the encoder that ships."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from dialens.base import sha256_file
from dialens.metrics._family import NotReadyError
from dialens.metrics._state import Floats
from dialens.models import Model, load, make_plain

_CLITIC = re.compile(r"(.+?)(n't|'[a-z]+)")
_SHIPPED = "emotion"  # any task of an encoder that reads single texts
_HASHED = 12
_LEAST_NUMBERS = 2
_BLOCK = 64
_NUMBERS = b"0123456789+-.eE "


class WordVectors(Protocol):
    """Looks words up."""

    signature: str

    def rows(self, words: Sequence[str]) -> list[Floats | None]:
        """A vector for each word, none for those that are not known."""


class FileVectors:
    """A text file of vectors: a word and its numbers a line, as GloVe, word2vec and fastText write.

    The file is looked through once for where each word stands, and whether its lines are whole;
    only lines that are asked for are read. A first line with two numbers (words, dimensions) is
    passed over, and so are entries of several words, which GloVe has. A contraction that the file
    does not have is looked up in its two parts (`do` and `n't`), whose mean it then is.

    Args:
        path: Of the file.

    Raises:
        NotReadyError: It is not there, not such a file, or a line of it is damaged.
    """

    def __init__(self, path: Path) -> None:
        check_file(path)
        self._path = path
        self._places: dict[str, int] = {}
        self.width = 0
        with path.open("rb") as file:
            self._look_through(file)
        self.signature = f"{path.name}@{sha256_file(path)[:_HASHED]}".replace(",", "-")

    def _look_through(self, file: BinaryIO) -> None:
        place = phrases = 0
        for number, line in enumerate(file, start=1):
            word, _, rest = line.rstrip().partition(b" ")
            count = rest.count(b" ") + 1
            if count != self.width:  # seldom, and slower
                count = len(rest.split())
            is_header = number == 1 and count < _LEAST_NUMBERS
            if word and not is_header:
                self.width = self.width or count
                own = rest if count == self.width else b" ".join(rest.split()[-self.width :])
                if count < self.width or own.translate(None, _NUMBERS):
                    raise self._damaged(word.decode("utf-8", "replace"), number)
                if count == self.width:
                    self._places.setdefault(word.decode("utf-8", "replace"), place)
                else:
                    phrases += 1
            place += len(line)
        if phrases > len(self._places):
            raise NotReadyError(f"{self._path}: most lines are longer than its first; is it whole?")

    def rows(self, words: Sequence[str]) -> list[Floats | None]:
        """A vector for each word."""
        with self._path.open("rb") as file:
            return [self._row(file, word) for word in words]

    def _row(self, file: BinaryIO, word: str) -> Floats | None:
        if word in self._places:
            file.seek(self._places[word])
            numbers = file.readline().split(b" ")[1:]
            try:
                return np.array([float(number) for number in numbers if number.strip()])
            except ValueError as error:
                raise self._damaged(word) from error
        parts = _CLITIC.fullmatch(word)
        if parts is None or not all(part in self._places for part in parts.groups()):
            return None
        both = [self._row(file, part) for part in parts.groups()]
        mean: Floats = np.mean([row for row in both if row is not None], axis=0)
        return mean

    def _damaged(self, word: str, number: int | None = None) -> NotReadyError:
        where = self._path if number is None else f"{self._path}, line {number}"
        return NotReadyError(
            f"{where}: the line of {word!r} does not hold {self.width} numbers; is the file whole?"
        )


def check_file(path: Path) -> None:
    """Refuse what is not a text file of vectors, looking at its beginning alone.

    Raises:
        NotReadyError: Says what was expected.
    """
    wanted = "a text file of word vectors (a word and its numbers a line, as GloVe's glove.*.txt)"
    if not path.is_file():
        raise NotReadyError(f"{path} is not there; --weights embedding takes {wanted}")
    with path.open("rb") as file:
        start = [file.readline(1_000_000) for _ in range(2)]
    rest = start[1].split(b" ")[1:] or start[0].split(b" ")[1:]
    try:
        numbers = [float(number) for number in rest if number.strip()]
    except ValueError:
        numbers = []
    if len(numbers) < _LEAST_NUMBERS:
        raise NotReadyError(f"{path} is not {wanted}; a binary file must be converted first")


class ShippedVectors:
    """Words by the encoder that ships: the mean of the rows of its word table over their pieces.

    The table stands first in the folder's weights: a row of int8 numbers a word piece, and after
    all rows a scale for each block of 64 numbers (`dialens.models.training._export`). What the
    encoder makes of a word in its last layer would be of less use here: that was trained to tell
    emotions apart, not meanings.
    """

    def __init__(self) -> None:
        import tokenizers

        model = load(_SHIPPED)
        assert isinstance(model, Model)
        folder = model.card.folder
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        make_plain(self._tokenizer)  # its file asks for padding, whose rows are no part of a word
        self._unknown = self._tokenizer.token_to_id("[UNK]")
        pieces = self._tokenizer.get_vocab_size()
        data = np.memmap(folder / "weights.bin", np.int8, "r")
        width = model.embed(["a"]).shape[1]
        blocks = width // _BLOCK
        after = pieces * width
        self._rows = data[:after].reshape(pieces, blocks, _BLOCK)
        scales = np.frombuffer(data[after : after + 4 * pieces * blocks].tobytes(), np.float32)
        self._scales = scales.reshape(pieces, blocks, 1)
        self.signature = f"{model.card.signature.replace('|', '/')}/words"

    def rows(self, words: Sequence[str]) -> list[Floats | None]:
        """A vector for each word; none for those in a script that it cannot spell."""
        means: list[Floats | None] = []
        for coded in self._tokenizer.encode_batch(list(words), add_special_tokens=False):
            ids = [piece for piece in coded.ids if piece != self._unknown]
            table = self._rows[ids].astype(np.float64) * self._scales[ids]
            means.append(table.reshape(len(ids), -1).mean(axis=0) if ids else None)
        return means
