"""What is said before a long run: which models, and for how long."""

from itertools import count

import pytest

from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import Resources, ScorerContext, forecast, make_plan
from dialens.models import Model
from tests.metrics.model_talks import said
from tests.metrics.tiny_models import tiny_resources


def test_a_forecast_says_what_and_how_long() -> None:
    ticks = count()
    plan = make_plan(["toxicity", "emotion_joy", "engagement"], tiny_resources())
    talks = [
        Dialogue("s", "a", f"d{i}", said(f"partner: cat {i}", f"agent: dog {i}"))
        for i in range(5000)
    ]
    told = forecast(Corpus.of(talks), plan, timer=lambda: float(next(ticks)))
    assert told is not None
    # 64 texts are tried, 8 of them to warm up: one tick for 56 of 5,000 of the agent's turns.
    assert [use.seconds for use in told.encoders] == [pytest.approx(5000 / 56)] * 2
    (line,) = told.lines()
    assert line == (
        "Models: emotion and toxicity (small, int8), engagement and relevance (base, int8); "
        "about 3 min for 10,000 turns. Without: --models none."
    )
    assert forecast(Corpus.of(talks), make_plan(["length"], Resources())) is None


def test_a_forecast_offers_the_faster_size() -> None:
    """A clock on which the small encoders are twenty times faster than the base one."""
    times = iter([0.0, 20.0, 20.0, 21.0])
    plan = make_plan(["engagement_reactions"], tiny_resources())
    talks = [
        Dialogue("s", "a", f"d{i}", said(f"partner: cat {i}", f"agent: dog {i}"))
        for i in range(1000)
    ]
    told = forecast(Corpus.of(talks), plan, timer=lambda: next(times))
    assert told is not None
    assert told.faster == pytest.approx(1000 / 56)
    assert "about 6 min for 2,000 turns. Faster: --models small (about 20 s)" in told.lines()[0]


def test_a_card_is_measured_until_it_is_no_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock of a card that compiles first and reads 1,000 pairs a second when it is full."""
    monkeypatch.setattr(ScorerContext, "on_card", True)
    sizes: list[int] = []
    seconds = 0.0
    read = Model.read

    def as_a_card(self: Model, inputs, *arguments, **options):
        nonlocal seconds
        seconds += {8: 9.0, 56: 3.0, 128: 1.0, 256: 0.3}.get(len(inputs), len(inputs) / 1000)
        sizes.append(len(inputs))
        return read(self, inputs, *arguments, **options)

    monkeypatch.setattr(Model, "read", as_a_card)
    plan = make_plan(["engagement_reactions"], tiny_resources())
    talks = [
        Dialogue("s", "a", f"d{i}", said(f"partner: cat {i}", f"agent: dog {i}"))
        for i in range(5000)
    ]
    told = forecast(Corpus.of(talks), plan, timer=lambda: seconds)
    assert told is not None
    # A thousand replies are among the turns that are looked at; 512 pairs take .512 s, and the 40
    # that are left are too few for another sample.
    assert sizes == [8, 56, 128, 256, 512]
    assert [use.seconds for use in told.encoders] == [pytest.approx(5.0)]


def test_where_others_score_models_are_named_and_nothing_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(Model, "read")
    plan = make_plan(["toxicity", "engagement", "agreeableness"], tiny_resources())
    talk = Dialogue("s", "a", "d", said("partner: cat", "agent: dog"))
    told = forecast(Corpus.of([talk]), plan, measured=False)
    assert told is not None
    assert told.lines() == [
        "Models: engagement and relevance (base, int8), toxicity (small, int8), agreeableness "
        "(linear)."
    ]


def test_a_forecast_counts_the_readings_of_backgrounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that goes on by one second for every pair that is read."""
    seconds = 0.0
    read = Model.read

    def slowly(self: Model, inputs, *arguments, **options):
        nonlocal seconds
        seconds += len(inputs)
        return read(self, inputs, *arguments, **options)

    monkeypatch.setattr(Model, "read", slowly)
    plan = make_plan(["engagement"], tiny_resources())
    talks = [
        Dialogue(
            "s",
            "a",
            f"d{i}",
            [
                Turn("U", "partner", f"cat {i}"),
                Turn("B", "agent", f"dog {i}", meta={"fact": "i love it"} if i % 2 else None),
            ],
        )
        for i in range(1000)
    ]
    told = forecast(Corpus.of(talks), plan, timer=lambda: seconds)
    assert told is not None
    assert [use.seconds for use in told.encoders] == [pytest.approx(1.5 * 1000, rel=0.05)]
