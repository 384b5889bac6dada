"""Random small conversations made of words that the lexicons know."""

from hypothesis import strategies as st

from dialens.corpus import Dialogue, Turn

GRAMMAR = (
    "i",
    "you",
    "it",
    "the",
    "a",
    "and",
    "but",
    "of",
    "to",
    "is",
    "do",
    "not",
    "never",
    "all",
)
FEELING = ("happy", "sad", "angry", "scared", "love", "hate", "thanks", "wow", "disgusting", "hope")
OTHER = ("cat", "zebra", "?", "!", ".", ",", "don't", "we're", "42", "😀")
WORDS = GRAMMAR + FEELING + OTHER

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
turns = st.builds(
    lambda role, text: Turn(role, role, text), st.sampled_from(["agent", "partner"]), texts
)


@st.composite
def corpora(draw: st.DrawFn) -> list[Dialogue]:
    count = draw(st.integers(1, 5))
    return [
        Dialogue(
            draw(st.sampled_from(["s1", "s2"])),
            draw(st.sampled_from(["a", "b"])),
            f"d{number}",
            draw(st.lists(turns, min_size=1, max_size=5)),
        )
        for number in range(count)
    ]
