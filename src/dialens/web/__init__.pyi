from ._serving import password_from, serve
from ._site import Site, unserved_versions
from ._study_app import study_app
from ._talking_agents import open_agents

__all__ = [
    "Site",
    "open_agents",
    "password_from",
    "serve",
    "study_app",
    "unserved_versions",
]
