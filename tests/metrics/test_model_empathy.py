"""The metric `empathy`: the model's own score of each turn, or the reason why there is none."""

import pytest

from dialens.corpus import Corpus, Dialogue
from dialens.metrics import ModelChoice, Resources, ScorerContext, ScorerSet, metrics, score
from dialens.models import EmpathyScorer, load
from tests.metrics.model_talks import said, same, values
from tests.metrics.tiny_models import tiny_folder, tiny_resources

SMALL = Resources(scorers=ScorerSet(ScorerContext(models=ModelChoice("small"))))


def test_a_turn_has_what_the_model_says_of_it_in_its_context() -> None:
    talk = Dialogue(
        "s",
        "a",
        "d",
        said(
            "partner: hi there",
            "agent: Hello!",
            "partner: my dog died",
            "agent: Oh no. I am so sorry.",
        ),
    )
    made = score(Corpus.of([talk]), metrics=["empathy"], resources=SMALL)
    got = values(made, "turn", "empathy")
    scorer = EmpathyScorer.load("empathy-small")
    first, second = scorer.score(
        [
            (["hi there"], "Hello!"),
            (["Hello!", "my dog died"], "Oh no. I am so sorry."),
        ]
    )
    same(got["s", "a", "d", 1], first)
    same(got["s", "a", "d", 3], second)
    same(values(made, "agent", "empathy")["s", "a"], (first + second) / 2)


def test_without_a_formula_the_warmest_sentence_counts() -> None:
    talk = Dialogue("s", "a", "d", said("partner: i love it", "agent: the cat . i hate it . hope"))
    made = score(Corpus.of([talk]), metrics=["empathy"], resources=tiny_resources())
    model = load("empathy", folder=tiny_folder())
    chances = model.predict(["the cat .", "i hate it .", "hope"])[:, 0]
    same(values(made, "turn", "empathy")["s", "a", "d", 1], float(chances.max()))


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        (["agent: I am so sorry."], "nothing to answer"),
        (["partner:", "agent: I am so sorry."], "nothing to answer"),
        (["partner: my dog died", "agent:"], "no text"),
        (["partner: my dog died", "agent: 🦄"], "no word the model knows"),
    ],
)
def test_missing_values_have_a_reason(turns: list[str], reason: str) -> None:
    made = score(
        Corpus.of([Dialogue("s", "a", "d", said(*turns))]), metrics=["empathy"], resources=SMALL
    )
    rows = made.table.lazy().filter(level="turn").collect()
    assert rows["value"].null_count() == rows.height
    assert rows["reason"].to_list() == [reason]


def test_it_comes_first_and_the_traits_are_no_headlines() -> None:
    cards = metrics()
    first = min((card for card in cards.values() if card.headline), key=lambda card: card.headline)
    assert first.name == "empathy"
    assert cards["empathic_concern"].headline is None
    assert cards["state_empathy"].headline is None
