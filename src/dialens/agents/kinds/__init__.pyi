from ._python_function import agent_of
from ._script import ScriptAgent, ScriptSettings
from ._weighing import from_first_token

__all__ = [
    "ScriptAgent",
    "ScriptSettings",
    "agent_of",
    "from_first_token",
]
