from ._limits import MOST_CONNECTIONS
from ._password import is_loopback
from ._preview_app import StudyPreview, study_preview
from ._preview_serving import serve_preview
from ._root_path import root_path
from ._serving import password_from, serve
from ._site import Site, unserved_versions
from ._studies_app import Index, ServedStudy, check_names, studies_app
from ._study_app import study_app
from ._talking_agents import open_agents, unreachable_agents

__all__ = [
    "MOST_CONNECTIONS",
    "Index",
    "ServedStudy",
    "Site",
    "StudyPreview",
    "check_names",
    "is_loopback",
    "open_agents",
    "password_from",
    "root_path",
    "serve",
    "serve_preview",
    "studies_app",
    "study_app",
    "study_preview",
    "unreachable_agents",
    "unserved_versions",
]
