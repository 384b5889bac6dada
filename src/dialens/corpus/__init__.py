"""What a conversation is: System > Agent > Dialog > Turn, with its ratings and references.

Readers turn every format of the field into the same three tables, writers turn them back.
This is the ground floor: everything may import it, and it imports no other room.
"""

from dialens.corpus.background import background, backgrounds
from dialens.corpus.converting import Format, Summary, convert, formats
from dialens.corpus.corpus import Corpus, is_corpus_folder, write_corpus, write_rejects
from dialens.corpus.demo import demo_path
from dialens.corpus.dialogue import Dialogue, Rating, Reference, Turn
from dialens.corpus.intake import Intake, OnError
from dialens.corpus.opening import read
from dialens.corpus.tables import LEVELS, RATINGS, REFERENCES, TURNS, Tables

__all__ = [
    "LEVELS",
    "RATINGS",
    "REFERENCES",
    "TURNS",
    "Corpus",
    "Dialogue",
    "Format",
    "Intake",
    "OnError",
    "Rating",
    "Reference",
    "Summary",
    "Tables",
    "Turn",
    "background",
    "backgrounds",
    "convert",
    "demo_path",
    "formats",
    "is_corpus_folder",
    "read",
    "write_corpus",
    "write_rejects",
]
