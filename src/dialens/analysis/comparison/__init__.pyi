from ._compare import RESAMPLES, compare, intervals, values_only
from ._dialog_sums import DialogSums, Group
from ._group_statistics import GroupStatistics
from ._opening import is_score_folder, open_run, require_run
from ._pilot import Pilot, pilot
from ._runs import JoinedRuns, join_runs, run_names
from ._side_dialogs import SIDE_DIALOGS, side_dialogs
from ._sides import Sides
from ._tables import (
    ALIKE,
    COMPARISONS,
    TOO_FEW,
    by_size,
    cards_as_compared,
    families_tested,
    note_on_pairs,
    note_on_tests,
    rests_on,
)
from ._users import SAID_BY_USERS, UserComparison, compare_users, users_as_agents

__all__ = [
    "ALIKE",
    "COMPARISONS",
    "RESAMPLES",
    "SAID_BY_USERS",
    "SIDE_DIALOGS",
    "TOO_FEW",
    "DialogSums",
    "Group",
    "GroupStatistics",
    "JoinedRuns",
    "Pilot",
    "Sides",
    "UserComparison",
    "by_size",
    "cards_as_compared",
    "compare",
    "compare_users",
    "families_tested",
    "intervals",
    "is_score_folder",
    "join_runs",
    "note_on_pairs",
    "note_on_tests",
    "open_run",
    "pilot",
    "require_run",
    "rests_on",
    "run_names",
    "side_dialogs",
    "users_as_agents",
    "values_only",
]
