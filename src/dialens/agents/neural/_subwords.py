"""Text to subwords and back: a byte-level BPE that is trained on what the agent learns from.

Text is lower-cased, which halves what a small vocabulary has to hold; replies get their capitals
back by rule (:func:`recase`), as in the corpora that these models were first trained on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from dialens.agents.neural._shape import END, SPECIAL
from dialens.base import DialensError

_PLAIN: Final = (("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("…", "..."))
_SENTENCE: Final = re.compile(
    r"(^|(?<!\bi\.e)(?<!\be\.g)(?<!\bvs)[.!?]['\")]*\s+)([\"'(]?)([^\W\d_])"
)
_FIRST_PERSON: Final = re.compile(r"(?<![\w'])i(?=$|[\s,;:!?)\"]|\.(?!\w)|'(?:m|d|ll|ve|s|re)\b)")


class Subwords:
    """A vocabulary of subwords.

    Examples:
        >>> words = Subwords.train(["hello there", "hello you"], size=300)
        >>> words.text(words.ids(["Hello there!"])[0])
        'hello there!'
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @classmethod
    def train(cls, texts: Iterable[str], *, size: int) -> Subwords:
        """Learn `size` subwords at most; bytes are always among them, so nothing is unknown."""
        from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL[1]))
        tokenizer.normalizer = normalizers.Sequence(
            [
                normalizers.NFC(),
                *(normalizers.Replace(*pair) for pair in _PLAIN),
                normalizers.Lowercase(),
            ]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=2,
            special_tokens=list(SPECIAL),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    @classmethod
    def load(cls, file: Path) -> Subwords:
        """Read `tokenizer.json`.

        Raises:
            DialensError: It is not one of ours.
        """
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises bare Exception
            raise DialensError(f"{file} is not a tokenizer ({error}); fetch it again.") from error
        if [tokenizer.id_to_token(number) for number in range(len(SPECIAL))] != list(SPECIAL):
            raise DialensError(f"{file} is not an agent's: it does not begin with {SPECIAL}.")
        return cls(tokenizer)

    def save(self, file: Path) -> None:
        """Write `tokenizer.json`."""
        self._tokenizer.save(str(file), pretty=False)

    def __len__(self) -> int:
        """Subwords, special ones included."""
        return int(self._tokenizer.get_vocab_size())

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The subwords of texts, without special ones."""
        return [one.ids for one in self._tokenizer.encode_batch(list(texts))]

    def text(self, ids: Iterable[int]) -> str:
        """What subwords say, up to the end of a reply."""
        kept: list[int] = []
        for number in ids:
            if number == END:
                break
            if number >= len(SPECIAL):
                kept.append(int(number))
        return str(self._tokenizer.decode(kept)).strip()

    def single(self, word: str) -> int | None:
        """The subword that is this whole word, if there is one."""
        ids = self._tokenizer.encode(word).ids
        return ids[0] if len(ids) == 1 else None

    def sentence_ends(self) -> frozenset[int]:
        """Subwords that end a sentence."""
        vocabulary = self._tokenizer.get_vocab().items()
        return frozenset(number for word, number in vocabulary if word.endswith((".", "!", "?")))


def recase(text: str) -> str:
    """Give lower-cased text the capitals that rules can: sentences and the first person.

    Examples:
        >>> recase("i think so. i'm not sure if it is")
        "I think so. I'm not sure if it is"
    """
    text = _FIRST_PERSON.sub("I", text)
    return _SENTENCE.sub(lambda found: found[1] + found[2] + found[3].upper(), text)
