from ._advice import Advice, Change, advise, cheapest, price_of
from ._between import power_between
from ._binary import power_binary
from ._curve import SIMULATIONS, curve_of, power_curve
from ._design import Design, LogitParts, PlannedPower, VarianceParts
from ._dialogs import dialogs_for, found_with, power_of_dialogs
from ._fitting import FittedParts, fitted_parts
from ._icc import icc_items, icc_precision
from ._judge import JudgeMix, judge_mix
from ._pairwise import power_pairwise
from ._within import power_equivalence, power_within

__all__ = [
    "SIMULATIONS",
    "Advice",
    "Change",
    "Design",
    "FittedParts",
    "JudgeMix",
    "LogitParts",
    "PlannedPower",
    "VarianceParts",
    "advise",
    "cheapest",
    "curve_of",
    "dialogs_for",
    "fitted_parts",
    "found_with",
    "icc_items",
    "icc_precision",
    "judge_mix",
    "power_between",
    "power_binary",
    "power_curve",
    "power_equivalence",
    "power_of_dialogs",
    "power_pairwise",
    "power_within",
    "price_of",
]
