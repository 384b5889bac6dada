from ._app import WorkbenchApp, workbench_app
from ._serving import serve_workbench

__all__ = [
    "WorkbenchApp",
    "serve_workbench",
    "workbench_app",
]
