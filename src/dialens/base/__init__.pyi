from ._allocator import ALLOCATOR, keep_freed_memory, release_freed_memory
from ._budget import Budget, Limits, OverBudget, RunningBudget, Spent, exceeded
from ._collections import rare_collections
from ._display import html_table, printable, text_table
from ._errors import DialensError, DialensWarning, did_you_mean, first_line, not_written
from ._estimate import Estimate
from ._http import RetryPolicy, not_sent, retry_after, send_with_retry
from ._interrupts import hear_interrupts
from ._memory import MEMORY, read_memory
from ._one_thread import one_thread
from ._progress import LOG_EVERY, Advance, progress
from ._redaction import REMOVED, CleanedPieces, know_secret, without_secrets
from ._registry import Registry
from ._run_record import RUN, Recorder, RunRecord, versions
from ._spark import (
    check_java,
    is_spark_error,
    spark_defaults,
    spark_reason,
    start_spark,
    without_pandas_warning,
)
from ._spreadsheet import for_spreadsheet
from ._sqlite import sqlite_to_read
from ._steps import StepChain, open_state, read_marker, step_key, write_marker
from ._storage import (
    FILES,
    NoRoom,
    atomic_file,
    atomic_folder,
    list_files,
    listed_files,
    make_folder,
    refuse_inputs_in,
    room_on_disk,
    set_aside,
    sha256_file,
    take_lock,
)
from ._table_sink import TableSink
from ._wording import (
    as_text,
    capitalised,
    counted,
    did,
    duration,
    in_brackets,
    interval,
    listed,
    number,
    p_value,
)
from ._worker_pool import is_stopped, progress_steps, report_step, worker_environment, worker_pool
from ._worker_process import begin_worker, end_workers
from ._workers import work_through
from ._yaml_models import FileProblem, InvalidFile, read_yaml, validated

__all__ = [
    "ALLOCATOR",
    "FILES",
    "LOG_EVERY",
    "MEMORY",
    "REMOVED",
    "RUN",
    "Advance",
    "Budget",
    "CleanedPieces",
    "DialensError",
    "DialensWarning",
    "Estimate",
    "FileProblem",
    "InvalidFile",
    "Limits",
    "NoRoom",
    "OverBudget",
    "Recorder",
    "Registry",
    "RetryPolicy",
    "RunRecord",
    "RunningBudget",
    "Spent",
    "StepChain",
    "TableSink",
    "as_text",
    "atomic_file",
    "atomic_folder",
    "begin_worker",
    "capitalised",
    "check_java",
    "counted",
    "did",
    "did_you_mean",
    "duration",
    "end_workers",
    "exceeded",
    "first_line",
    "for_spreadsheet",
    "hear_interrupts",
    "html_table",
    "in_brackets",
    "interval",
    "is_spark_error",
    "is_stopped",
    "keep_freed_memory",
    "know_secret",
    "list_files",
    "listed",
    "listed_files",
    "make_folder",
    "not_sent",
    "not_written",
    "number",
    "one_thread",
    "open_state",
    "p_value",
    "printable",
    "progress",
    "progress_steps",
    "rare_collections",
    "read_marker",
    "read_memory",
    "read_yaml",
    "refuse_inputs_in",
    "release_freed_memory",
    "report_step",
    "retry_after",
    "room_on_disk",
    "send_with_retry",
    "set_aside",
    "sha256_file",
    "spark_defaults",
    "spark_reason",
    "sqlite_to_read",
    "start_spark",
    "step_key",
    "take_lock",
    "text_table",
    "validated",
    "versions",
    "without_pandas_warning",
    "without_secrets",
    "work_through",
    "worker_environment",
    "worker_pool",
    "write_marker",
]
