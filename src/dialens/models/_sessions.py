"""Open ONNX Runtime sessions: one for all tasks of a folder, closed when nobody uses it."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dialens.base import DialensError
from dialens.models._card import ModelCard, check_file
from dialens.models._inputs import make_plain, special_tokens

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


ALSO = {"ids": "input_ids", "mask": "attention_mask", "types": "token_type_ids"}
"""Our names of a graph's inputs, and those that other exporters give them."""

READABLE = {*ALSO, *ALSO.values()}


@dataclass(frozen=True, eq=False)
class OpenModel:
    """A graph that is loaded, with its tokenizer; may be used from several threads."""

    session: InferenceSession
    tokenizer: Tokenizer
    inputs: tuple[str, ...]
    widths: dict[str, int]
    """The outputs of the graph and how many columns each has; 0 where the graph does not say."""


# What is open, as long as somebody holds it: two tasks of one folder share weights and memory.
_OPEN: weakref.WeakValueDictionary[tuple[object, ...], OpenModel] = weakref.WeakValueDictionary()
_OPENING = threading.Lock()


def open_model(card: ModelCard, precision: str) -> OpenModel:
    """Return the open model of a folder and precision; open it if none is.

    Files are checked against the card when they are opened. A folder whose files have changed
    since is another model.

    Raises:
        DialensError: A file is missing or damaged, or there is no graph of that precision.
    """
    graph = card.graphs.get(precision)
    if graph is None or graph not in card.files:
        have = [kind for kind, name in card.graphs.items() if name in card.files]
        raise DialensError(
            f"{card.folder} has no graph for {precision}; it has: {', '.join(have) or 'none'}"
        )
    key = (*identity(card, graph), precision)
    with _OPENING:
        session = _OPEN.get(key)
        if session is None:
            session = _OPEN[key] = _opened(card, graph)
        return session


def needed_files(card: ModelCard, graph: str) -> list[str]:
    """Return the files that a graph of a folder needs.

    Raises:
        DialensError: The card lists no tokenizer.
    """
    if "tokenizer.json" not in card.files:
        raise DialensError(f"{card.folder / 'card.json'} lists no tokenizer.json")
    weights = (name for name in card.files if name.endswith((".bin", ".data")))
    return sorted({graph, "tokenizer.json", *weights})


def identity(card: ModelCard, graph: str) -> tuple[object, ...]:
    """Return what tells this graph and its files from others, also from themselves before a change.

    Raises:
        DialensError: A file is missing.
    """
    names = needed_files(card, graph)
    for name in names:
        if not (card.folder / name).is_file():
            raise DialensError(
                f"{card.folder / name} is missing: install the package or fetch the model again"
            )
    seen = [(card.folder / name).stat() for name in names]
    stamps = tuple((one.st_mtime_ns, one.st_size) for one in seen)
    return card.folder.resolve(), graph, tuple(card.files.values()), stamps


def check_files(card: ModelCard, graph: str) -> None:
    """Refuse a graph whose files are not those of the card.

    Raises:
        DialensError: Names the file.
    """
    for name in needed_files(card, graph):
        check_file(card.folder / name, card.files[name])


def open_tokenizer(card: ModelCard) -> Tokenizer:
    """Open the tokenizer of a folder.

    Raises:
        DialensError: It is damaged, or marks no beginning and end.
    """
    from tokenizers import Tokenizer

    file = card.folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises nothing better
        raise DialensError(f"{file} cannot be opened: {error}") from error
    make_plain(tokenizer)
    try:
        special_tokens(tokenizer)
    except ValueError as error:
        raise DialensError(
            f"{file} cannot be used: {error}. Give an encoder such as BERT, RoBERTa or MPNet"
        ) from error
    return tokenizer


def _opened(card: ModelCard, graph: str) -> OpenModel:
    import onnxruntime

    check_files(card, graph)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # several batches run at once
    options.log_severity_level = 4  # what goes wrong is raised
    file = card.folder / graph
    try:
        session = onnxruntime.InferenceSession(
            str(file),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=["SkipLayerNormFusion"],  # the fused node is the slower one on CPUs
        )
    except Exception as error:  # ONNX Runtime's kinds have no common base
        raise DialensError(f"{file} cannot be opened: {error}") from error
    tokenizer = open_tokenizer(card)
    inputs = tuple(one.name for one in session.get_inputs())
    if not set(inputs) <= READABLE:
        raise DialensError(
            f"{file} reads {', '.join(inputs)}; a text model reads input_ids, attention_mask and "
            "perhaps token_type_ids"
        )
    widths = {one.name: _width(one.shape) for one in session.get_outputs()}
    return OpenModel(session, tokenizer, inputs, widths)


def _width(shape: list[object]) -> int:
    last = shape[-1] if len(shape) == 2 else None
    return last if isinstance(last, int) else 0
