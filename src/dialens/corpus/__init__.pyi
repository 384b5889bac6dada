from ._background import background, backgrounds
from ._converting import Format, Summary, convert, formats
from ._corpus import Corpus, is_corpus_folder, write_corpus, write_rejects
from ._demo import demo_path
from ._dialogue import Dialogue, Rating, Reference, Turn, batches, tables
from ._fetching import errors_naming, local_file, remote_address
from ._intake import Intake, OnError, RecordError, UnreadableRecord, message
from ._marks import FINISH, CutOff, cut_off_turns, is_cut_off, silences
from ._names import agent_labels
from ._opening import read, recognised
from ._partial import PARTIAL, partial_dialogs
from ._read_options import ReadOptions
from ._reading import FolderReader, Reader, RecordReader
from ._reading_apart import usual_threads
from ._reasoning import split_reasoning
from ._roles import role_of
from ._source import Record, Source, json_records
from ._tables import (
    LEVELS,
    RATER_KINDS,
    RATINGS,
    REFERENCES,
    TURNS,
    Tables,
    batch_ends,
    dialog_starts,
    kind_of_rater,
)
from ._unpacking import DAMAGE, MAGIC_BYTES, packing_of, remedy_of, unpacked_pieces

__all__ = [
    "DAMAGE",
    "FINISH",
    "LEVELS",
    "MAGIC_BYTES",
    "PARTIAL",
    "RATER_KINDS",
    "RATINGS",
    "REFERENCES",
    "TURNS",
    "Corpus",
    "CutOff",
    "Dialogue",
    "FolderReader",
    "Format",
    "Intake",
    "OnError",
    "Rating",
    "ReadOptions",
    "Reader",
    "Record",
    "RecordError",
    "RecordReader",
    "Reference",
    "Source",
    "Summary",
    "Tables",
    "Turn",
    "UnreadableRecord",
    "agent_labels",
    "background",
    "backgrounds",
    "batch_ends",
    "batches",
    "convert",
    "cut_off_turns",
    "demo_path",
    "dialog_starts",
    "errors_naming",
    "formats",
    "is_corpus_folder",
    "is_cut_off",
    "json_records",
    "kind_of_rater",
    "local_file",
    "message",
    "packing_of",
    "partial_dialogs",
    "read",
    "recognised",
    "remedy_of",
    "remote_address",
    "role_of",
    "silences",
    "split_reasoning",
    "tables",
    "unpacked_pieces",
    "usual_threads",
    "write_corpus",
    "write_rejects",
]
