from ._errors import DialensError, did_you_mean
from ._one_thread import one_thread
from ._progress import Advance, progress
from ._registry import Registry
from ._storage import TableSink, atomic_file, atomic_folder, open_state, sha256_file
from ._yaml_models import read_yaml, validated

__all__ = [
    "Advance",
    "DialensError",
    "Registry",
    "TableSink",
    "atomic_file",
    "atomic_folder",
    "did_you_mean",
    "one_thread",
    "open_state",
    "progress",
    "read_yaml",
    "sha256_file",
    "validated",
]
