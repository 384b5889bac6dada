"""Every reader, in the order in which a source is shown to them."""

from dialens.corpus.formats.rated_units import RATED_UNITS
from dialens.corpus.reading import Reader

READERS: tuple[Reader, ...] = (RATED_UNITS,)
