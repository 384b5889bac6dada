"""The kinds of agents: endpoints, folders, GGUF files, commands, scripts, replays, people.

Each is loaded by name (`dialens.agents.make_agent`) and only when it is used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
