from ._best_worst import BestWorstSettings
from ._check_boxes import CheckBoxesSettings
from ._choices import OTHER, Choices, own_words, refuse_other
from ._declaration import CONTROLS, Choice, Form, Instrument, Latent, Output, Rows, Settings
from ._free_text import FreeTextSettings
from ._likert import LikertSettings
from ._magnitude import MagnitudeSettings
from ._matrix import MatrixSettings
from ._pairwise import PairwiseSettings
from ._questions import ChoiceSettings, NumberSettings, YesNoSettings
from ._ranking import RankingSettings
from ._registry import instrument, instruments, simulate, validate
from ._slider import SliderSettings

__all__ = [
    "CONTROLS",
    "OTHER",
    "BestWorstSettings",
    "CheckBoxesSettings",
    "Choice",
    "ChoiceSettings",
    "Choices",
    "Form",
    "FreeTextSettings",
    "Instrument",
    "Latent",
    "LikertSettings",
    "MagnitudeSettings",
    "MatrixSettings",
    "NumberSettings",
    "Output",
    "PairwiseSettings",
    "RankingSettings",
    "Rows",
    "Settings",
    "SliderSettings",
    "YesNoSettings",
    "instrument",
    "instruments",
    "own_words",
    "refuse_other",
    "simulate",
    "validate",
]
