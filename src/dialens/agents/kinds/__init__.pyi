from ._script import ScriptAgent, ScriptSettings
from ._weighing import from_first_token

__all__ = [
    "ScriptAgent",
    "ScriptSettings",
    "from_first_token",
]
