"""Secrets are known whole, in part, in base64 and in addresses; words are left alone."""

from __future__ import annotations

import base64
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens.base._redaction import REMOVED, CleanedPieces, SecretRegistry

KEY = "kx-4fQ81/zLm0+TtY77bCwq9=="


@pytest.fixture
def secrets() -> SecretRegistry:
    return _knowing(KEY)


def _knowing(*known: str) -> SecretRegistry:
    made = SecretRegistry()
    for one in known:
        made.add(one)
    return made


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "quoted",
    [
        KEY,
        KEY[:12],
        KEY[-12:],
        KEY[5:16],
        quote(KEY, safe=""),
        _coded(KEY),
        _coded(f"x{KEY}"),
        _coded(f"user:{KEY}"),
        _coded(f"Bearer {KEY} and more"),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        KEY.replace("/", "\\/"),
    ],
)
def test_every_form_is_taken_out(secrets: SecretRegistry, quoted: str) -> None:
    said = f"It was '{quoted}', said the server."
    clean = secrets.cleaned(said)
    assert REMOVED in clean
    assert clean.endswith("said the server.")
    left = clean.replace(REMOVED, "")
    assert not [n for n in range(len(KEY) - 9) if KEY[n : n + 10] in left]
    assert len(said) - len(left) >= min(len(quoted), len(KEY))  # letters in base64 are more


@pytest.mark.parametrize(
    "word",
    ["ollama", "EMPTY", "not-needed", "sk-no-key-required", "none", "test", "lm-studio", ""],
)
def test_a_word_in_the_place_of_a_key_is_no_secret(word: str) -> None:
    said = f"I am {word}, and a password is required, as you know."
    assert _knowing(word).cleaned(said) == said


def test_words_in_a_key_are_not_taken_out_of_replies() -> None:
    secrets = _knowing("my-conversation-key-42-XYZ")
    said = "Our conversation was good, and the keyword is key."
    assert secrets.cleaned(said) == said


@given(
    st.text(alphabet="abc xyz.", max_size=60),
    st.text(alphabet="abc xyz.", max_size=60),
    st.lists(st.integers(0, 200), max_size=20),
)
def test_pieces_are_cleaned_as_the_whole(before: str, after: str, cuts: list[int]) -> None:
    secrets = _knowing(KEY)
    text = before + KEY + after
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    cleaner = CleanedPieces(secrets)
    out = [cleaner.add(text[a:b]) for a, b in pairwise(places)]
    joined = "".join([*out, cleaner.end()])
    assert cleaner.removed
    assert joined.startswith(before)
    assert joined.endswith(after[20:])
    assert not [n for n in range(len(KEY) - 3) if KEY[n : n + 4] in joined[len(before) :][:30]]


def test_text_without_a_secret_is_passed_on_at_once() -> None:
    cleaner = CleanedPieces(_knowing(KEY))
    assert [cleaner.add(word) for word in ("How ", "are ", "you?")] == ["How ", "are ", "you?"]
    assert not cleaner.removed
