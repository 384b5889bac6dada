from ._script import ScriptAgent, ScriptSettings

__all__ = [
    "ScriptAgent",
    "ScriptSettings",
]
