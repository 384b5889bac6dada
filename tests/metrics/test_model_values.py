"""What a model cannot read has no value and says why; everything else stays as it is."""

import numpy as np
import polars as pl
import pytest

from dialens.corpus import Corpus, Dialogue
from dialens.metrics import ModelChoice, Resources, ScorerContext, ScorerSet, Scores, score
from dialens.models import load
from tests.metrics.model_talks import said, same, values
from tests.metrics.tiny_models import tiny_folder, tiny_scorers

UNKNOWN = "no word the model knows"
OF_A_TEXT = (
    "toxicity",
    "emotion_joy",
    "emotional_entropy_classifier",
    "emotion_matching_classifier",
)
OF_A_REPLY = ("engagement", "engagement_reactions", "relevance")
SHIPPED = ScorerSet(ScorerContext(models=ModelChoice("small")))
FAMILIES = ["emotion_classifier", "toxicity", "engagement"]


def scored(*talks: list[str], scorers: ScorerSet | None = None) -> Scores:
    """Dialogues of one agent, named by their number."""
    chosen = Resources(scorers=scorers or tiny_scorers())
    corpus = Corpus.of(Dialogue("s", "a", str(n), said(*talk)) for n, talk in enumerate(talks))
    return score(corpus, metrics=FAMILIES, resources=chosen)


def reasons(scores: Scores, metric: str, level: str = "turn") -> list[str | None]:
    rows = scores.table.filter(pl.col("level") == level, pl.col("metric") == metric)
    return rows.sort("dialog", "turn").collect()["reason"].to_list()


@pytest.mark.parametrize("unread", ["qqzzqq", "qqzzqq 😭", "\u200b", "[UNK]"])
def test_a_turn_without_a_known_word_has_no_value(unread: str) -> None:
    made = scored(["partner: i love the cat", f"agent: {unread}", f"agent: {unread} cat"])
    for metric in (*OF_A_TEXT, *OF_A_REPLY):
        assert reasons(made, metric) == [UNKNOWN, None]
        assert reasons(made, metric, "agent") == [f"{UNKNOWN} ×1"]
        alone, read = values(made, "turn", metric).values()
        assert alone is None
        if metric in ("toxicity", "emotion_joy", *OF_A_REPLY):
            same(values(made, "agent", metric)["s", "a"], read)


def test_an_agent_that_says_nothing_known_has_no_value() -> None:
    made = scored(["partner: i love the cat", "agent: qqzzqq", "agent: "])
    for metric in (*OF_A_TEXT, *OF_A_REPLY):
        assert reasons(made, metric) == [UNKNOWN, "no text"]
        assert values(made, "agent", metric)["s", "a"] is None
        counted = reasons(made, metric, "agent")[0]
        assert counted is not None
        assert set(counted.split("; ")) == {f"{UNKNOWN} ×1", "no text ×1"}


def test_the_other_turns_keep_their_values_to_the_last_bit() -> None:
    """They are computed in the same company as if everything could be read."""
    texts = ["i love it", "qqzzqq", "the zebra is happy", "\u200b", "hope", "do not hate ?"]
    made = scored([f"agent: {text}" for text in texts])
    chances = load("toxicity", folder=tiny_folder()).predict(texts)[:, 0].astype(np.float64)
    exact = np.round(chances * 2**20) / 2**20
    got = list(values(made, "turn", "toxicity").values())
    assert got == [None if n in (1, 3) else value for n, value in enumerate(exact.tolist())]


def test_a_prompt_that_cannot_be_read_matches_nothing() -> None:
    made = scored(["partner: qqzzqq", "agent: hope"])
    (reason,) = reasons(made, "emotion_matching_classifier")
    assert reason == "no word the model knows in the prompt"
    assert reasons(made, "toxicity") == [None]
    for metric in OF_A_REPLY:
        assert reasons(made, metric) == [UNKNOWN]


def test_a_reply_to_nothing_said_has_no_engagement() -> None:
    made = scored(
        ["partner: ", "agent: hope"],
        ["agent: hope", "partner: ", "agent: i love it"],
        ["partner: the cat", "partner: ", "partner: ", "agent: hope"],
        ["partner: thanks", "agent: hope"],
        ["partner: ", "agent: i do", "agent: wow"],
    )
    prompt = "no text in the prompt"
    for metric in OF_A_REPLY:
        wanted = [prompt, "no turn before it", None, prompt, None, prompt, None]
        assert reasons(made, metric) == wanted
    assert reasons(made, "emotion_matching_classifier")[0] == prompt
    assert reasons(made, "toxicity") == [None] * 7


@pytest.mark.parametrize("unread", ["😭", "🎉❤️", "\u200b", "q" * 150, "你好"])
def test_the_models_that_ship_say_what_they_cannot_read(unread: str) -> None:
    talk = ["partner: What do you like?", f"agent: {unread}", "agent: I love sailing."]
    made = scored(talk, scorers=SHIPPED)
    for metric in (*OF_A_TEXT, *OF_A_REPLY):
        assert reasons(made, metric) == [UNKNOWN, None]
