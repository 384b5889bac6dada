from ._root_path import root_path
from ._serving import password_from, serve
from ._site import Site, unserved_versions
from ._studies_app import Index, ServedStudy, check_names, studies_app
from ._study_app import study_app
from ._talking_agents import open_agents

__all__ = [
    "Index",
    "ServedStudy",
    "Site",
    "check_names",
    "open_agents",
    "password_from",
    "root_path",
    "serve",
    "studies_app",
    "study_app",
    "unserved_versions",
]
