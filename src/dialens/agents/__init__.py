"""Things that talk: agents trained here, models from a folder, endpoints, commands, scripts.

An agent is asked with a conversation so far and answers it. Kinds of agents are known by name
(`make_agent("openai:gpt-4o-mini")`), and each is loaded only when it is used. `collect` lets them
talk and keeps what they say as a corpus.

May import `models` and what is below it; the command line and the web pages build on it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
