from ._chat import Chat, keep, refuse_foreign
from ._collect import FAILURES, Collected, collect
from ._journal import work_folder
from ._openings import read_openings
from ._plan import Partners, Plan, opened, varied
from ._plan_file import read_plan

__all__ = [
    "FAILURES",
    "Chat",
    "Collected",
    "Partners",
    "Plan",
    "collect",
    "keep",
    "opened",
    "read_openings",
    "read_plan",
    "refuse_foreign",
    "varied",
    "work_folder",
]
