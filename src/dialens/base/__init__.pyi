from ._errors import DialensError, did_you_mean
from ._one_thread import one_thread
from ._progress import Advance, progress
from ._run_record import RUN, Recorder, RunRecord, versions
from ._steps import StepChain, open_state, read_marker, step_key, write_marker
from ._storage import TableSink, atomic_file, atomic_folder, sha256_file
from ._yaml_models import read_yaml, validated

__all__ = [
    "RUN",
    "Advance",
    "DialensError",
    "Recorder",
    "RunRecord",
    "StepChain",
    "TableSink",
    "atomic_file",
    "atomic_folder",
    "did_you_mean",
    "one_thread",
    "open_state",
    "progress",
    "read_marker",
    "read_yaml",
    "sha256_file",
    "step_key",
    "validated",
    "versions",
    "write_marker",
]
