"""Biases of a rating study: what the design, the session and the raters themselves did.

`read_study` reads an export, `analyse_study` computes everything; the modules can be used alone.
"""

from dialens.stats.bias.analysis import StudyAnalysis, analyse_study, variance_shares
from dialens.stats.bias.answers import preferred, ranking
from dialens.stats.bias.categories import category_agreement, majority_labels
from dialens.stats.bias.cells import CellMeans, Resampling
from dialens.stats.bias.consistency import consistency, consistency_differences
from dialens.stats.bias.data import Note, StudyData, read_study, splits, study_data
from dialens.stats.bias.effects import effects
from dialens.stats.bias.paper import PaperTable, cell_means, paper_tables, split_effects
from dialens.stats.bias.raters import FLAGS, RaterFlags, flag_raters, robustness
from dialens.stats.bias.response_biases import response_biases
from dialens.stats.bias.simulation import SimulatedStudy

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
