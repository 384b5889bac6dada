"""USL-H and DialogRPT with our own weights: arithmetic on a tiny ranker, then the shipped one."""

import numpy as np
import pytest

from dialens.base import DialensError
from dialens.metrics import NotReadyError, ScorerContext, Unit
from dialens.metrics.families import _shipped_ranker as shipped_ranker
from dialens.metrics.families._shipped_ranker import (
    DIALOG_RPT,
    USL_H,
    ShippedDialogRpt,
    ShippedUslH,
    composed,
)
from dialens.models import LanguageModel, Model, read_card
from dialens.models.training import _export as export
from recipes.ranker import cards
from recipes.ranker.pools import HEADS, OUTPUTS
from tests.models.tiny_encoder import tiny_encoder
from tests.recipes.test_ranker import SPREAD, quantised

UNITS = [
    Unit(("you love that dog ?", "is this good ?", "so very bad !"), "i love this game"),
    Unit(("is this good ?", "so very bad !"), "i love this game"),
    Unit(("lol",), "thanks !"),
    Unit((), "the food was good . very very good"),
]


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    place = tmp_path_factory.mktemp("ranker")
    quantised(tiny_encoder(place / "e", "bert", OUTPUTS, spread=SPREAD), OUTPUTS)
    notes = cards.notes({}, {"nll": {"low": 5.0, "high": 40.0}}, {})
    export.export(place / "e", place / "ships", HEADS, notes)
    return read_card(place / "ships")


def test_usl_h_from_its_parts(card):
    scorer = ShippedUslH(
        card, "h", each=True, running=ScorerContext(threads=1, device="cpu").running
    )
    found = scorer.score(UNITS)
    nll = -LanguageModel(card).score([unit.response for unit in UNITS], each=True).total
    for row, unit in enumerate(UNITS[:3]):
        valid = Model(card, "valid_utterance").predict([unit.response])[0, 0]
        pair = ("\n".join(unit.context[-2:]), unit.response)
        fits = Model(card, "next_utterance").predict([pair])[0, 0]
        likely = (min(max(nll[row], 5), 40) - 5) / 35
        whole = (valid + valid * fits + valid * fits * likely) / 3
        np.testing.assert_allclose(found[row], [whole, valid, fits, likely], atol=1e-4)
    np.testing.assert_allclose(found[0], found[1], atol=1e-4)  # two turns are read
    assert np.isnan(found[3]).tolist() == [True, False, True, False]
    for row, unit in enumerate(UNITS):
        np.testing.assert_allclose(scorer.score([unit])[0], found[row], atol=1e-4)


def test_dialog_rpt_columns(card):
    found = ShippedDialogRpt(card, ScorerContext(threads=1, device="cpu").running).score(UNITS[:3])
    for column, output in enumerate(DIALOG_RPT.outputs):
        task = output.name.removeprefix("dialog_rpt_dialens_")
        pairs = [("\n".join(unit.context[-2:]), unit.response) for unit in UNITS[:3]]
        expected = Model(card, task).predict(pairs)[:, 0]
        np.testing.assert_allclose(found[:, column], expected, atol=1e-6)


def test_compositions_agree_where_all_is_one_or_nothing():
    ones, zeros = np.ones(2), np.zeros(2)
    for how in shipped_ranker.COMPOSITIONS:
        assert composed(ones, ones, ones, how).tolist() == [1, 1]
        assert composed(zeros, zeros, zeros, how).tolist() == [0, 0]
    # What cannot be understood gains nothing, in the paper's order.
    assert composed(zeros, ones, ones, "h").tolist() == [0, 0]


def test_options_are_checked(monkeypatch, tmp_path):
    for name, value in (("composition", "x"), ("hidden", "none")):
        context = ScorerContext(options={"usl_h_dialens": {name: value}})
        with pytest.raises(DialensError, match=rf"usl_h_dialens\.{name}={value}: give"):
            USL_H.open(context)
    monkeypatch.setattr(shipped_ranker, "shipped_folder", lambda name: None)
    assert "pip install dialens-models" in USL_H.ready(ScorerContext())
    with pytest.raises(NotReadyError, match="pip install dialens-models"):
        DIALOG_RPT.open(ScorerContext())


class TestShipped:
    """What anybody would expect of the weights that ship."""

    CONTEXT = ("What did you do at the weekend?",)

    def test_a_fitting_reply_beats_one_from_elsewhere(self):
        units = [
            Unit(self.CONTEXT, "We went hiking in the mountains and swam in a lake."),
            Unit(self.CONTEXT, "The printer needs a new cartridge before it can print."),
        ]
        usl = USL_H.open(ScorerContext()).score(units)
        assert usl[0, 2] > usl[1, 2]
        assert usl[0, 0] > usl[1, 0]
        human = DIALOG_RPT.open(ScorerContext()).score(units)[:, -1]
        assert human[0] > human[1]

    def test_a_whole_text_beats_its_words_in_disorder(self):
        units = [
            Unit(self.CONTEXT, "We went hiking in the mountains and swam in a lake."),
            Unit(self.CONTEXT, "lake hiking a the in went swam mountains and We in."),
        ]
        found = USL_H.open(ScorerContext()).score(units)
        assert found[0, 1] > found[1, 1]

    def test_rare_words_are_less_likely_than_common_ones(self):
        units = [
            Unit(self.CONTEXT, "I do not know."),
            Unit(self.CONTEXT, "Quantum chromodynamics baffled the taxidermist's ferret."),
        ]
        found = USL_H.open(ScorerContext()).score(units)
        assert found[0, 3] < found[1, 3]
