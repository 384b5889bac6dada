"""Models that are open on a graphics card: texts become tokens ahead of it, batches fill it."""

from __future__ import annotations

import functools
import importlib.util
import re
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dialens.base import DialensError, DialensWarning
from dialens.models._batches import token_batches
from dialens.models._card import OWN_GRAPHS, ModelCard
from dialens.models._devices import GET_GPU, chosen_device, free_memory, memory_is_full
from dialens.models._encoder_weights import EncoderWeights, read_encoder_weights
from dialens.models._inputs import EncodedInputs, TextInput, encode_inputs
from dialens.models._sessions import check_files, identity, open_tokenizer
from dialens.models._word_pieces import WordPieces, cuts_at_blanks

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from dialens.models._device_network import DeviceNetwork

ARITHMETIC = "fp16x2"
"""What a signature says of a network on a device: products of pairs of halves."""

_ANY_ARITHMETIC = re.compile(rf"(?<=[/,|])(int8|fp32|{ARITHMETIC})\b")
_WINDOW = 16_384  # texts whose tokens are sorted and batched together, at most
_LEAST_WINDOW = 2_048
_WINDOWS = 4  # at least, so that tokens are made while the device computes
_AHEAD = 3  # windows that are tokenised while the device computes
_MOST_TOKENS = 65_536  # in a batch
_LEAST_TOKENS = 512
_SHARE = 0.4  # of the memory that is free when a model is opened
_MULTIPLE = 8  # widths that the device's kernels like


def device_for(card: ModelCard, wanted: str) -> str:
    """Return where a model computes: ``cpu``, or ``cuda`` where it can and the user allows it.

    Args:
        card: Of the model.
        wanted: ``auto``, ``cpu`` or ``cuda``.

    Raises:
        DialensError: ``cuda`` was asked for, and it cannot be used.
    """
    if not _is_own(card):
        return "cpu"
    device = chosen_device(wanted)
    if device == "cpu":
        return device
    if importlib.util.find_spec("onnx") is None:
        if wanted == "auto":
            return "cpu"
        raise DialensError(
            f"--device {wanted} needs the Python package onnx, to read the models' weights "
            f"({GET_GPU}), or use --device cpu"
        )
    return device


def arithmetic_of(card: ModelCard, wanted: str, precision: str) -> str:
    """Return what a model computes in, as a signature says it.

    Where ``cuda`` was asked for, that is known without one at hand: a cluster's workers may have
    graphics cards that the machine which plans their work has not.
    """
    if wanted == "cuda" and _is_own(card):
        return ARITHMETIC
    return precision if device_for(card, wanted) == "cpu" else ARITHMETIC


def in_floats(signature: str) -> str:
    """Return a signature in which pairs of halves are floats: their scores agree to 0.0001.

    Examples:
        >>> in_floats("engagement|v3|model:base:e1e7/engagement/fp16x2")
        'engagement|v3|model:base:e1e7/engagement/fp32'
    """
    return re.sub(rf"(?<=[/,|]){ARITHMETIC}\b", "fp32", signature)


def without_arithmetic(signature: str) -> str:
    """Return what a signature says but for int8, floats or pairs of halves.

    Examples:
        >>> without_arithmetic("engagement|v3|model:base:e1e7/engagement/int8")
        'engagement|v3|model:base:e1e7/engagement/'
    """
    return _ANY_ARITHMETIC.sub("", signature)


def arithmetic_in(signature: str) -> str | None:
    """Return what a signature says was computed in; None for what no network computes.

    Examples:
        >>> arithmetic_in("engagement|v3|model:base:e1e7/engagement/int8"), arithmetic_in("x|v1")
        ('int8', None)
    """
    found = _ANY_ARITHMETIC.search(signature)
    return None if found is None else found[0]


def _is_own(card: ModelCard) -> bool:
    """Whether its graphs are of this package's form; ONNX Runtime runs others, on processors."""
    return dict(card.graphs) == OWN_GRAPHS


class DeviceModel:
    """A network on a device with its tokenizer; may be used from several threads.

    Args:
        network: Computes.
        tokenizer: Of the same folder.
    """

    def __init__(self, network: DeviceNetwork, tokenizer: Tokenizer) -> None:
        self.network = network
        self.tokenizer = tokenizer
        self._pieces = WordPieces(tokenizer) if cuts_at_blanks(tokenizer) else None
        self._lock = threading.Lock()
        self.tokens = _fitting_tokens(network)

    @property
    def widths(self) -> dict[str, int]:
        """The outputs and how many columns each has."""
        return self.network.widths

    def read(
        self,
        inputs: Sequence[TextInput],
        names: Sequence[str],
        *,
        longest: int,
        pad: int,
        advance: Callable[[int], None],
    ) -> tuple[dict[str, np.ndarray], NDArray[np.bool_]]:
        """Return outputs by name, a row an input, and which inputs have a known word.

        Args:
            inputs: Texts or pairs, not mixed.
            names: Of outputs.
            longest: Tokens that the model reads.
            pad: The token that fills up.
            advance: Called with the number of inputs just done.
        """
        widths = [self.network.widths[name] for name in names]
        values = np.empty((len(inputs), sum(widths)), dtype=np.float32)
        known = np.empty(len(inputs), dtype=np.bool_)
        waiting: deque[tuple[int, NDArray[np.int64], Any]] = deque()

        def fetch() -> None:
            start, rows, outputs = waiting.popleft()
            values[start + rows] = outputs.cpu().numpy()
            advance(len(rows))

        with self._lock:
            for start, encoded in self._windows(inputs, longest):
                known[start : start + len(encoded.known)] = encoded.known
                order, parts = [], []
                for rows in self._batches(encoded):
                    for some, outputs in self._outputs(encoded, rows, names, pad):
                        order.append(some)
                        parts.append(outputs)
                waiting.append((start, np.concatenate(order), _joined(parts)))
                if len(waiting) > 1:  # the device works on the next window meanwhile
                    fetch()
            while waiting:
                fetch()
        cuts = np.cumsum(widths)[:-1]
        return dict(zip(names, np.split(values, cuts, axis=1), strict=True)), known

    def _windows(
        self, inputs: Sequence[TextInput], longest: int
    ) -> Iterator[tuple[int, EncodedInputs]]:
        """Windows of inputs as tokens with their first places, some made ahead in a thread."""
        size = min(_WINDOW, max(_LEAST_WINDOW, -(-len(inputs) // _WINDOWS)))
        made: deque[tuple[int, Future[EncodedInputs]]] = deque()

        def encode(window: Sequence[TextInput]) -> EncodedInputs:
            return encode_inputs(self.tokenizer, window, longest=longest, pieces=self._pieces)

        with ThreadPoolExecutor(2) as pool:
            try:
                for start in range(0, len(inputs), size):
                    made.append((start, pool.submit(encode, inputs[start : start + size])))
                    if len(made) > _AHEAD:
                        first, future = made.popleft()
                        yield first, future.result()
                while made:
                    first, future = made.popleft()
                    yield first, future.result()
            finally:
                for _, future in made:
                    future.cancel()

    def _batches(self, encoded: EncodedInputs) -> Iterator[NDArray[np.int64]]:
        return token_batches(-(-encoded.lengths // _MULTIPLE) * _MULTIPLE, self.tokens)

    def _outputs(
        self, encoded: EncodedInputs, rows: NDArray[np.int64], names: Sequence[str], pad: int
    ) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """The outputs of a batch; in several parts where the device's memory is too small."""
        import torch

        try:
            ids = self._placed(encoded.padded(rows, pad, multiple=_MULTIPLE))
            lengths = self._placed(encoded.lengths[rows])
            second = self._placed(encoded.second[rows])
            with torch.inference_mode():
                outputs = self.network.run(ids, lengths, second, names)
        except RuntimeError as error:
            if not memory_is_full(error):
                raise
        else:
            yield rows, outputs
            return
        self.make_room(len(rows))
        half = max(1, len(rows) // 2)
        for some in (rows[:half], rows[half:]):
            if len(some):
                yield from self._outputs(encoded, some, names, pad)

    def log_probabilities(
        self, ids: np.ndarray, lengths: np.ndarray, places: np.ndarray, tokens: np.ndarray
    ) -> np.ndarray:
        """Return how likely tokens are at hidden places of the flattened batch.

        Args:
            ids: Tokens (inputs × places).
            lengths: Tokens of each input.
            places: Numbers of places, row after row.
            tokens: What stood there.
        """
        import torch

        with self._lock, torch.inference_mode():
            return self._log_probabilities(ids, lengths, places, tokens)

    def _log_probabilities(
        self, ids: np.ndarray, lengths: np.ndarray, places: np.ndarray, tokens: np.ndarray
    ) -> np.ndarray:
        try:
            placed_here = [self._placed(one) for one in (ids, lengths, places, tokens)]
            found: np.ndarray = self.network.log_probabilities(*placed_here).cpu().numpy()
        except RuntimeError as error:
            if not memory_is_full(error):
                raise
        else:
            return found
        self.make_room(len(ids))
        half = len(ids) // 2
        border = half * ids.shape[1]
        at = int(np.searchsorted(places, border))
        parts = [(ids[half:], lengths[half:], places[at:] - border, tokens[at:])]
        if half:
            parts.insert(0, (ids[:half], lengths[:half], places[:at], tokens[:at]))
        return np.concatenate([self._log_probabilities(*part) for part in parts])

    def make_room(self, rows: int) -> None:
        """After the device's memory was full: smaller batches, or the processor in the end."""
        free_memory()
        self.tokens = max(1, self.tokens // 2)
        if rows == 1:
            self.network = on_processor(self.network.weights)
            self.tokens = _fitting_tokens(self.network)
            free_memory()

    def _placed(self, values: np.ndarray) -> Any:
        return placed(values, self.network.device)


def placed(values: np.ndarray, device: Any) -> Any:
    """Return an array as a tensor on a device, copied while the device goes on computing."""
    import torch

    tensor = torch.from_numpy(values)
    if device.type == "cpu":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)


@functools.cache  # once a process, however many models there are
def say_that_it_is_slow() -> None:
    """Say that the processor computes what the graphics card has no room for."""
    warnings.warn(
        "The graphics card has too little free memory even for one text, so the processor goes on "
        "with the same numbers, slowly. Free the card's memory, or use "
        "--device cpu, which computes in int8.",
        DialensWarning,
        stacklevel=2,
    )


def on_processor(weights: EncoderWeights) -> DeviceNetwork:
    """Return a network on the processor after all, and say so."""
    from dialens.models._device_network import DeviceNetwork

    say_that_it_is_slow()
    return DeviceNetwork(weights, "cpu")


# As for sessions on processors: all tasks of a folder share one network while anybody uses it.
_OPEN: weakref.WeakValueDictionary[tuple[object, ...], DeviceModel] = weakref.WeakValueDictionary()
_OPENING = threading.Lock()


def open_device_model(card: ModelCard, graph: str, device: str) -> DeviceModel:
    """Return the open model of a folder's graph on a device; open it if none is.

    Raises:
        DialensError: A file is missing or damaged, or the graph is not one of this package.
    """
    key = (*identity(card, graph), device)
    with _OPENING:
        model = _OPEN.get(key)
        if model is None:
            model = _OPEN[key] = _opened(card, graph, device)
        return model


def _opened(card: ModelCard, graph: str, device: str) -> DeviceModel:
    from dialens.models._device_network import DeviceNetwork

    check_files(card, graph)
    weights = read_encoder_weights(card.folder / graph)
    try:
        network = DeviceNetwork(weights, device)
    except RuntimeError as error:
        if not memory_is_full(error):
            raise
        network = on_processor(weights)
    return DeviceModel(network, open_tokenizer(card))


def _fitting_tokens(network: DeviceNetwork) -> int:
    """Tokens of a batch that fit into the free memory of a network's device."""
    import torch

    if network.device.type != "cuda":
        return _LEAST_TOKENS * 4
    free, _ = torch.cuda.mem_get_info(network.device)
    fitting = int(_SHARE * free / network.token_bytes)
    return max(_LEAST_TOKENS, min(_MOST_TOKENS, fitting))


def _joined(parts: list[Any]) -> Any:
    """Outputs one under the other; some may have been computed elsewhere after memory was full."""
    import torch

    if len({part.device for part in parts}) == 1:
        try:
            return torch.cat(parts)
        except RuntimeError as error:
            if not memory_is_full(error):
                raise
    return torch.cat([part.cpu() for part in parts])
