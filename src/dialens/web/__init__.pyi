from ._preview_app import StudyPreview, study_preview
from ._preview_serving import serve_preview
from ._serving import password_from, serve
from ._site import Site, unserved_versions
from ._study_app import study_app
from ._talking_agents import open_agents

__all__ = [
    "Site",
    "StudyPreview",
    "open_agents",
    "password_from",
    "serve",
    "serve_preview",
    "study_app",
    "study_preview",
    "unserved_versions",
]
