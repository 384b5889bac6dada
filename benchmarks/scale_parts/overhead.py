"""What `dialens score` does beside the network of a graphics card: a network that answers at once.

    python benchmarks/scale.py overhead
    python benchmarks/scale.py overhead --turns 50k --paced      and as slow as an H200's
    python benchmarks/scale.py overhead --turns 50k --paced 3    three times as slow

No card is needed: a stand-in takes the network's place, gives every text numbers of its own at
once, and everything else is as with `--device cuda`: all default metrics and models, no report.
Processor seconds of all threads by step of the command, those of the stand-in taken off. With
`--paced` the stand-in also waits for as long as an H200 computes, so that the clock shows how far
the command works on while the card does. Nothing here asserts anything.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from scale_parts.talks import count, generate

_TOKENS_A_SECOND = {384: 4.6e6, 768: 1.69e6}
"""Of an H200, by the width of the encoder: small and base, as measured in docs/scale.md."""

_BATCH = 65_536  # tokens, as on a card with room


class StandIn:
    """In place of a network on a card: numbers that depend on the text alone, without computing.

    Args:
        weights: Of the network; only the sizes are looked at.
        device: Ignored.
    """

    paced = 0.0
    spent = 0.0
    waited = 0.0
    _card = threading.Lock()

    def __init__(self, weights: Any, device: str) -> None:
        self.weights = weights
        self.device = torch.device("cpu")
        self.width = weights.positions.shape[1]
        self.widths = {"embedding": self.width}
        self.widths |= {name: len(bias) for name, (_, bias) in weights.outputs.items()}

    def run(self, ids: Any, lengths: Any, second: Any, names: Sequence[str]) -> Any:
        """Outputs of a batch, from the sum of each text's tokens."""
        began = time.thread_time()
        inside = torch.arange(ids.shape[1])[None, :] < lengths[:, None]
        text = (ids * inside).sum(1, dtype=torch.int64) + 7 * second
        columns = torch.arange(1, sum(self.widths[name] for name in names) + 1)
        outputs = ((text[:, None] * (2 * columns + 1)) % 997).float() / 166 - 3
        with StandIn._card:
            if StandIn.paced:
                wait = StandIn.paced * ids.numel() / _TOKENS_A_SECOND[self.width]
                time.sleep(wait)
                StandIn.waited += wait
            StandIn.spent += time.thread_time() - began
        return outputs


def stand_in() -> None:
    """Make dialens believe that there is a card, and put the stand-in on it."""
    from dialens.models import _device_model, _device_network, _devices

    torch.set_num_threads(1)
    _devices.why_not = lambda device: None
    _device_network.DeviceNetwork = StandIn  # type: ignore[misc, assignment]
    _device_model._fitting_tokens = lambda network: _BATCH


def score(arguments: Sequence[str]) -> None:
    """Run the command in this process, and print what its steps took as JSON."""
    from dialens.base import Recorder
    from dialens.cli import main as command

    clock: dict[str, float] = defaultdict(float)
    processor: dict[str, float] = defaultdict(float)

    @contextmanager
    def step(_: Recorder, name: str) -> Iterator[None]:
        began, used = time.perf_counter(), time.process_time() - StandIn.spent
        yield
        clock[name] += time.perf_counter() - began
        processor[name] += time.process_time() - StandIn.spent - used

    Recorder.step = step  # type: ignore[method-assign, assignment]
    stand_in()
    sys.argv = ["dialens", *arguments]
    began = time.perf_counter()
    try:
        command()
    except SystemExit as end:
        if end.code:
            raise
    clock["whole command"] = time.perf_counter() - began
    processor["whole command"] = time.process_time() - StandIn.spent
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {"clock": clock, "processor": processor, "peak": peak}
    print(json.dumps({**figures, "network": StandIn.waited, "stand-in": StandIn.spent}))


def measured(corpus: Path, output: Path, options: Sequence[str], *, paced: float) -> dict[str, Any]:
    """Run the command in a process of its own."""
    asked = ["score", str(corpus), "-o", str(output), "--device", "cuda", "--no-report", "--force"]
    code = f"from scale_parts import overhead as o; o.StandIn.paced = {paced}; o.score(o.ASKED)"
    code = code.replace("o.ASKED", repr([*asked, "-q", *options]))
    place = os.pathsep.join([*sys.path, str(Path(__file__).parents[1])])
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": place},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return figures


def main(arguments: list[str]) -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="scale.py overhead", description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=count, default=50_000)
    parser.add_argument("--corpus", type=Path, help="Score this one instead of generated turns.")
    parser.add_argument("--output", type=Path, help="Leave the scores there.")
    parser.add_argument(
        "--paced",
        type=float,
        nargs="?",
        const=1.0,
        default=0.0,
        help="Wait as long as an H200 computes, or so many times as long.",
    )
    parser.add_argument("--json", type=Path, help="Write the figures there.")
    asked, options = parser.parse_known_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        corpus = asked.corpus or Path(folder, "corpus")
        if not asked.corpus:
            generate(corpus, asked.turns)
        output = asked.output or Path(folder, "scores")
        figures = measured(corpus, output, options, paced=asked.paced)
    print(f"{'step':16} {'processor s':>12} {'clock s':>9}")
    for step, seconds in figures["processor"].items():
        print(f"{step:16} {seconds:12.1f} {figures['clock'][step]:9.1f}")
    print(f"\npeak {figures['peak']:,.0f} MiB; stand-in {figures['stand-in']:.1f} s, taken off")
    if asked.paced:
        print(f"network {figures['network']:.1f} s by the clock")
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
