from ._dawid_skene import dawid_skene
from ._fit import LabelFit
from ._mace import mace
from ._majority import majority_vote

__all__ = [
    "LabelFit",
    "dawid_skene",
    "mace",
    "majority_vote",
]
