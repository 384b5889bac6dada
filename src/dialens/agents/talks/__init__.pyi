from ._chat import Chat, add_to_corpus, refuse_foreign
from ._collect import collect, so_far
from ._collected import FAILURES, Collected
from ._contexts import read_contexts
from ._costs import PlannedUse, planned_use, refuse_unpriced
from ._journal import work_folder
from ._openings import read_openings
from ._plan import (
    CollectionPlan,
    OpenPlan,
    Partners,
    named_apart,
    open_plan,
    simulated_users,
    varied,
)
from ._plan_file import read_plan

__all__ = [
    "FAILURES",
    "Chat",
    "Collected",
    "CollectionPlan",
    "OpenPlan",
    "Partners",
    "PlannedUse",
    "add_to_corpus",
    "collect",
    "named_apart",
    "open_plan",
    "planned_use",
    "read_contexts",
    "read_openings",
    "read_plan",
    "refuse_foreign",
    "refuse_unpriced",
    "simulated_users",
    "so_far",
    "varied",
    "work_folder",
]
