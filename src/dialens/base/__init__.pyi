from ._errors import DialensError, did_you_mean
from ._estimate import Estimate
from ._one_thread import one_thread
from ._progress import Advance, progress
from ._storage import TableSink, atomic_file, atomic_folder, open_state, sha256_file
from ._wording import capitalised, counted, in_brackets, interval, listed, number, p_value
from ._yaml_models import read_yaml, validated

__all__ = [
    "Advance",
    "DialensError",
    "Estimate",
    "TableSink",
    "atomic_file",
    "atomic_folder",
    "capitalised",
    "counted",
    "did_you_mean",
    "in_brackets",
    "interval",
    "listed",
    "number",
    "one_thread",
    "open_state",
    "p_value",
    "progress",
    "read_yaml",
    "sha256_file",
    "validated",
]
