from ._analysis import analyse_study
from ._cells import FEWEST_RATERS, Resampling
from ._consistency import consistency, consistency_differences
from ._data import StudyData, study_data
from ._effects import effects
from ._leanings import EQUAL_LENGTH, LEANINGS, leanings
from ._paper import PaperTable, paper_tables, split_effects
from ._raters import (
    FLAGS,
    RaterStatistics,
    flag_raters,
    flags_of,
    rater_flags,
    rater_statistics,
    robustness,
)
from ._reading import read_study
from ._response_biases import response_biases
from ._scales import LATE, LEFT_OUT, LOST, OVER_PACE, TAKEN_AS_POINTS, UNFINISHED
from ._simulation import SimulatedStudy
from ._study_analysis import StudyAnalysis

__all__ = [
    "EQUAL_LENGTH",
    "FEWEST_RATERS",
    "FLAGS",
    "LATE",
    "LEANINGS",
    "LEFT_OUT",
    "LOST",
    "OVER_PACE",
    "TAKEN_AS_POINTS",
    "UNFINISHED",
    "PaperTable",
    "RaterStatistics",
    "Resampling",
    "SimulatedStudy",
    "StudyAnalysis",
    "StudyData",
    "analyse_study",
    "consistency",
    "consistency_differences",
    "effects",
    "flag_raters",
    "flags_of",
    "leanings",
    "paper_tables",
    "rater_flags",
    "rater_statistics",
    "read_study",
    "response_biases",
    "robustness",
    "split_effects",
    "study_data",
]
