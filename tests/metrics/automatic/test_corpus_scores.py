"""Values of an agent that are no means of its replies': corpus BLEU and chrF, pooled perplexity."""

import math

import numpy as np
import polars as pl
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dialens.analysis.comparison import compare, intervals
from dialens.corpus import Corpus, Dialogue, Reference, Turn
from dialens.metrics import Resources, ScorerContext, ScorerSet, Scores, score
from tests.metrics.automatic import checkpoints

WORDS = ("the", "cat", "Cat", "sat", "on", "mat.", "it's", "(hi)", "&amp;", "running", "ß", "!")
sentences = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
replies = st.lists(
    st.tuples(
        sentences,
        st.lists(sentences.filter(bool), min_size=1, max_size=3, unique=True),
    ),
    min_size=1,
    max_size=6,
)


def corpus_of(agents: dict[str, list[tuple[str, list[str]]]]) -> Corpus:
    """One reply a dialogue, with what others said instead."""
    return Corpus.of(
        Dialogue(
            "s",
            agent,
            f"{agent}{number}",
            [Turn("U", "partner", f"Question {number}?"), Turn("B", "agent", text)],
            references=[Reference(1, reference) for reference in references],
        )
        for agent, pairs in agents.items()
        for number, (text, references) in enumerate(pairs)
    )


def of_agents(scores: Scores, metric: str) -> dict[str, float]:
    rows = scores.table.filter(pl.col("metric") == metric, pl.col("level") == "agent").collect()
    return dict(zip(rows["agent"], rows["value"], strict=True))


def streams(pairs: list[tuple[str, list[str]]]) -> list[list[str | None]]:
    """References as sacrebleu wants them: a list for each, with none where there are fewer."""
    most = max(len(references) for _, references in pairs)
    return [
        [references[place] if place < len(references) else None for _, references in pairs]
        for place in range(most)
    ]


@settings(max_examples=60, deadline=None)
@given(replies)
def test_all_replies_together_score_as_in_sacrebleu(pairs: list[tuple[str, list[str]]]) -> None:
    """Replies that say nothing are among them, as they are in a file for sacrebleu."""
    scores = score(corpus_of({"a": pairs}), metrics=["bleu", "chrf"])
    texts = [text for text, _ in pairs]
    for order in (1, 2, 3, 4):
        theirs = BLEU(max_ngram_order=order).corpus_score(texts, streams(pairs)).score
        assert of_agents(scores, f"corpus_bleu_{order}")["a"] == pytest.approx(theirs, abs=1e-9)
    for name, words in (("corpus_chrf", 0), ("corpus_chrf_plus", 2)):
        theirs = CHRF(word_order=words).corpus_score(texts, streams(pairs)).score
        assert of_agents(scores, name)["a"] == pytest.approx(theirs, abs=1e-9)
    sentence = CHRF(word_order=2)
    means = [sentence.sentence_score(text, references).score for text, references in pairs]
    assert of_agents(scores, "chrf_plus")["a"] == pytest.approx(np.mean(means), abs=1e-9)


def some_replies(seed: int, share: float, count: int = 30) -> list[tuple[str, list[str]]]:
    """Replies of ten words, of which a share are those of the reference."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        reference = [f"w{n}" for n in rng.integers(0, 40, 10)]
        reply = [word if rng.random() < share else "other" for word in reference]
        pairs.append((" ".join(reply), [" ".join(reference)]))
    return pairs


def test_scores_of_all_replies_have_intervals_and_are_compared() -> None:
    """The jackknife's interval beside one of plain resampling with sacrebleu itself."""
    agents = {"good": some_replies(1, 0.8), "poor": some_replies(2, 0.5)}
    scores = score(corpus_of(agents), metrics=["corpus_bleu_4", "bleu_4"])
    found = intervals(scores).filter(
        pl.col("metric") == "corpus_bleu_4", pl.col("level") == "agent"
    )
    by_name = {row["agent"]: row for row in found.iter_rows(named=True)}
    rng = np.random.default_rng(0)
    theirs = BLEU()
    for name, pairs in agents.items():
        row = by_name[name]
        exact = theirs.corpus_score([t for t, _ in pairs], streams(pairs)).score
        assert row["value"] == pytest.approx(exact, abs=1e-9)
        drawn = []
        for _ in range(200):
            some = [pairs[n] for n in rng.integers(0, len(pairs), len(pairs))]
            drawn.append(theirs.corpus_score([t for t, _ in some], streams(some)).score)
        width = 2 * 1.96 * np.std(drawn)
        assert row["high"] - row["low"] == pytest.approx(width, rel=0.3)
    table = compare(scores).filter(pl.col("metric") == "corpus_bleu_4", pl.col("level") == "agent")
    (row,) = table.iter_rows(named=True)
    difference = by_name["good"]["value"] - by_name["poor"]["value"]
    assert abs(row["difference"]) == pytest.approx(difference, abs=1e-9)
    assert row["low"] * row["high"] > 0


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    return checkpoints.gpt2(tmp_path_factory.mktemp("gpt2"))


def test_perplexity_is_pooled_over_tokens_above_turns(language_model) -> None:
    texts = ["no", checkpoints.SENTENCES[3], "the cat sat on the mat"]
    talks = [
        Dialogue("s", "a", "d1", [Turn("B", "agent", texts[0]), Turn("B", "agent", texts[1])]),
        Dialogue("s", "a", "d2", [Turn("B", "agent", texts[2])]),
    ]
    context = ScorerContext({"perplexity": str(language_model)}, device="cpu")
    scores = score(
        Corpus.of(talks),
        metrics="perplexity",
        resources=Resources(scorers=ScorerSet(context)),
    )
    model = transformers.GPT2LMHeadModel.from_pretrained(language_model).eval()
    tokenizer = transformers.GPT2Tokenizer.from_pretrained(language_model)
    end = tokenizer.eos_token_id

    def surprise(given: list[int], text: str) -> tuple[float, int]:
        asked = tokenizer.encode(text)
        ids = torch.tensor([[*given, *asked]])
        with torch.no_grad():
            steps = torch.log_softmax(model(input_ids=ids).logits[0, len(given) - 1 : -1], dim=-1)
        return -sum(float(step[token]) for step, token in zip(steps, asked, strict=True)), len(
            asked
        )

    first = surprise([end], texts[0])
    second = surprise([*tokenizer.encode(texts[0]), end], texts[1])
    third = surprise([end], texts[2])

    def pooled(*parts: tuple[float, int]) -> float:
        return math.exp(sum(nll for nll, _ in parts) / sum(tokens for _, tokens in parts))

    found = {
        (row["level"], row["dialog"], row["turn"]): row["value"]
        for row in scores.table.collect().iter_rows(named=True)
    }
    wanted = {
        ("turn", "d1", 0): pooled(first),
        ("turn", "d1", 1): pooled(second),
        ("turn", "d2", 0): pooled(third),
        ("dialog", "d1", None): pooled(first, second),
        ("dialog", "d2", None): pooled(third),
        ("agent", None, None): pooled(first, second, third),
        ("system", None, None): pooled(first, second, third),
    }
    assert found == {key: pytest.approx(value, rel=1e-4) for key, value in wanted.items()}
    assert scores.metrics[0].signature.startswith("perplexity|v2")
