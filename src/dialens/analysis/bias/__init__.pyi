from ._analysis import StudyAnalysis, analyse_study, variance_shares
from ._answers import preferred, ranking
from ._categories import category_agreement, majority_labels
from ._cells import CellMeans, Resampling
from ._consistency import consistency, consistency_differences
from ._data import Note, StudyData, read_study, splits, study_data
from ._effects import effects
from ._paper import PaperTable, cell_means, paper_tables, split_effects
from ._raters import FLAGS, RaterFlags, flag_raters, robustness
from ._response_biases import response_biases
from ._simulation import SimulatedStudy

__all__ = [
    "FLAGS",
    "CellMeans",
    "Note",
    "PaperTable",
    "RaterFlags",
    "Resampling",
    "SimulatedStudy",
    "StudyAnalysis",
    "StudyData",
    "analyse_study",
    "category_agreement",
    "cell_means",
    "consistency",
    "consistency_differences",
    "effects",
    "flag_raters",
    "majority_labels",
    "paper_tables",
    "preferred",
    "ranking",
    "read_study",
    "response_biases",
    "robustness",
    "split_effects",
    "splits",
    "study_data",
    "variance_shares",
]
