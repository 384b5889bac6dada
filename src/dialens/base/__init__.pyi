from ._errors import DialensError, did_you_mean
from ._http import RetryPolicy, not_sent, retry_after, send_with_retry
from ._one_thread import one_thread
from ._progress import Advance, progress
from ._storage import TableSink, atomic_file, atomic_folder, open_state, sha256_file
from ._yaml_models import read_yaml, validated

__all__ = [
    "Advance",
    "DialensError",
    "RetryPolicy",
    "TableSink",
    "atomic_file",
    "atomic_folder",
    "did_you_mean",
    "not_sent",
    "one_thread",
    "open_state",
    "progress",
    "read_yaml",
    "retry_after",
    "send_with_retry",
    "sha256_file",
    "validated",
]
