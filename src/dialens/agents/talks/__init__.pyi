from ._chat import Chat, add_to_corpus, refuse_foreign
from ._collect import collect
from ._collected import FAILURES, Collected
from ._contexts import read_contexts
from ._journal import work_folder
from ._openings import read_openings
from ._plan import CollectionPlan, Partners, open_plan, simulated_users, varied
from ._plan_file import read_plan

__all__ = [
    "FAILURES",
    "Chat",
    "Collected",
    "CollectionPlan",
    "Partners",
    "add_to_corpus",
    "collect",
    "open_plan",
    "read_contexts",
    "read_openings",
    "read_plan",
    "refuse_foreign",
    "simulated_users",
    "varied",
    "work_folder",
]
