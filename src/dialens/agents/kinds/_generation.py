"""Answers of language models that run here: how a conversation is put to them, and decoding."""

import math
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dialens.agents._agent import AgentError, Message, Parameters, Reply, Wish
from dialens.agents._pieces import LONGEST, tidy, whole
from dialens.agents._settings import setting
from dialens.agents.kinds._draws import own_draws
from dialens.agents.kinds._messages import as_messages
from dialens.agents.kinds._weighing import without_longer
from dialens.models import DEVICES

_NAMES = {"agent": "B", "partner": "A"}
_USUAL_CONTEXT = 1024

# PyTorch draws from one generator for the whole process: whoever seeds it must draw alone.
_DRAWING = threading.Lock()


@dataclass(frozen=True)
class GenerationSettings:
    """How a model of one's own talks."""

    persona: str = setting("", "Who the agent is; stands before the conversation.")
    instruction: str = setting("", "How it is to talk; stands after the persona.")
    temperature: float = setting(0.7, "Of sampling; 0 takes the likeliest.", low=0.0, high=5.0)
    top_p: float = setting(0.9, "Nucleus of sampling.", low=0.01, high=1.0)
    repetition_penalty: float = setting(1.1, "Against repetition; 1 is none.", low=0.5, high=5.0)
    max_tokens: int = setting(128, "The most tokens of an answer.", low=1, high=100_000)
    layout: str = setting(
        "auto",
        "How a conversation is written: chat (the model's template), transcript (A: … B: …), "
        "or joined (turns with the model's own separator); auto takes what the model has.",
        choices=("auto", "chat", "transcript", "joined"),
    )
    begin: str = setting("Hello!", "Said to the model when it is to speak first.")
    device: str = setting(
        "auto",
        "Where it runs: auto (a graphics card where there is one), cpu, cuda or mps.",
        choices=DEVICES,
        connection=True,
    )
    longest_reply: int = setting(
        LONGEST, "Characters of the longest answer accepted.", low=1, connection=True
    )


@dataclass(frozen=True)
class LocalModel:
    """A language model that was loaded, and how it wants conversations.

    Attributes:
        model: Of transformers.
        tokenizer: Of transformers.
        encoder_decoder: Whether it reads with one part and writes with another.
        separator: Between turns, where they are joined.
        context: Tokens it can read and write at once.
        device: Where it computes.
    """

    model: Any
    tokenizer: Any
    encoder_decoder: bool
    separator: str
    context: int
    device: str = "cpu"


def context_of(config: Any, tokenizer: Any) -> int:
    """How many tokens a model can take, as far as its files say."""
    sizes = [
        getattr(config, name, None)
        for name in ("max_position_embeddings", "n_positions", "max_length")
    ]
    sizes.append(getattr(tokenizer, "model_max_length", None))
    sound = [size for size in sizes if isinstance(size, int) and 32 <= size < 10_000_000]
    return min(sound[:1] + sound[-1:], default=_USUAL_CONTEXT)


@dataclass(frozen=True)
class LocalAgent:
    """A language model that runs in this process."""

    system: str
    name: str
    parameters: Parameters
    settings: GenerationSettings
    local: LocalModel = field(repr=False)
    identity: str = ""

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Write the whole answer."""
        return whole(self.stream(history, seed=seed))

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Generator[str, None, Reply]:
        """Write the answer and pass it on word by word."""
        began = time.monotonic()
        inputs = self._inputs(history)
        counted: list[int] = []
        answer = self._generated(inputs, seed + len(history), counted)
        if self._layout() == "transcript":
            answer = _first_line(answer)
        pieces = tidy(answer, longest=self.settings.longest_reply, who=self.system)
        said: list[str] = []
        for piece in pieces:
            said.append(piece)
            yield piece
        read = int(inputs["input_ids"].shape[1])
        written = sum(counted) or None
        full = written is not None and written >= self.settings.max_tokens
        finish = "length" if full and self._layout() != "transcript" else "stop"
        return Reply("".join(said), time.monotonic() - began, 1, read, written, finish=finish)

    def answer(self, history: Sequence[Message], wish: Wish, *, seed: int = 0) -> Reply:
        """Write an answer with another temperature or length; schemas are not enforced."""
        settings = self.settings
        if wish.temperature is not None:
            settings = replace(settings, temperature=wish.temperature)
        if wish.max_tokens:
            settings = replace(settings, max_tokens=wish.max_tokens)
        return replace(self, settings=settings).reply(history, seed=seed)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self.local.tokenizer(text)["input_ids"])

    def likelihoods(self, history: Sequence[Message], answers: Sequence[str]) -> list[float]:
        """How likely each answer would come next, whole, and not go on as another of them."""
        import torch

        if self.local.encoder_decoder:
            raise AgentError(
                f"{self.system} reads and writes with two models, and its answers are not weighed.",
                lasting=True,
            )
        prompt = self._inputs(history)["input_ids"]
        space = " " if self._layout() == "transcript" else ""
        written = [
            self.local.tokenizer(space + answer, add_special_tokens=False)["input_ids"]
            for answer in answers
        ]
        with torch.inference_mode():
            first = self._next(prompt)
            logs = []
            for tokens in written:
                log = float(first[tokens[0]])
                for place in range(1, len(tokens)):
                    written_so_far = torch.tensor([tokens[:place]], device=prompt.device)
                    before = torch.cat([prompt, written_so_far], dim=1)
                    log += float(self._next(before)[tokens[place]])
                logs.append(log)
        return without_longer(written, [math.exp(log) for log in logs])

    def _next(self, tokens: Any) -> Any:
        """Log-probabilities of all tokens that may follow."""
        import torch

        logits = self.local.model(input_ids=tokens).logits[0, -1].float()
        return torch.log_softmax(logits, dim=-1)

    def _layout(self) -> str:
        if self.settings.layout != "auto":
            return self.settings.layout
        if getattr(self.local.tokenizer, "chat_template", None):
            return "chat"
        return "joined" if self.local.encoder_decoder else "transcript"

    def _inputs(self, history: Sequence[Message]) -> Any:
        """The conversation as tokens; the oldest turns are left out where it is too long."""
        room = self.local.context
        if not self.local.encoder_decoder:
            room -= min(self.settings.max_tokens, room // 2)
        turns = list(history) or [Message("partner", self.settings.begin)]
        while True:
            inputs = self._tokens(turns)
            if inputs["input_ids"].shape[1] <= room or len(turns) <= 2:
                device = self.local.device
                return {name: value[:, -room:].to(device) for name, value in inputs.items()}
            turns = turns[2:]  # in pairs: some templates insist on taking turns

    def _tokens(self, turns: Sequence[Message]) -> Any:
        tokenizer = self.local.tokenizer
        about = [part for part in (self.settings.persona, self.settings.instruction) if part]
        layout = self._layout()
        if layout == "chat":
            messages = as_messages(turns, self.settings.begin)
            if about:
                messages.insert(0, {"role": "system", "content": "\n\n".join(about)})
            try:
                return tokenizer.apply_chat_template(
                    messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
                )
            except Exception as error:  # templates are programs, and raise what they like
                raise AgentError(
                    f"The chat template of {self.system} does not take this conversation: {error}. "
                    "Set layout=transcript, or leave out persona and instruction.",
                    "failed",
                ) from error
        if layout == "transcript":
            lines = [*about, *(f"{_NAMES[said.role]}: {_line(said.text)}" for said in turns)]
            text = "\n".join([*lines, f"{_NAMES['agent']}:"])
        else:
            text = self.local.separator.join([*about, *(said.text for said in turns)])
            if not self.local.encoder_decoder:
                text += self.local.separator
        inputs = tokenizer(text, return_tensors="pt")
        return {name: inputs[name] for name in ("input_ids", "attention_mask") if name in inputs}

    def _generated(self, inputs: Any, seed: int, counted: list[int]) -> Iterator[str]:
        """What the model writes, from a thread of its own, so that it can be passed on at once."""
        import torch
        from transformers import StoppingCriteriaList, TextIteratorStreamer

        stop = threading.Event()
        # The prompt is put first where one model reads and writes, and a start token where two do.
        streamer: Any = TextIteratorStreamer(
            self.local.tokenizer,
            skip_prompt=True,
            skip_special_tokens=True,
            clean_up_tokenization_spaces=False,
        )

        def stopped(input_ids: Any, scores: Any, **_: Any) -> Any:
            return torch.full((input_ids.shape[0],), stop.is_set(), device=input_ids.device)

        failure: list[BaseException] = []

        def write() -> None:
            try:
                with own_draws(self.local.device, seed), torch.inference_mode():
                    self.local.model.generate(
                        **inputs,
                        **self._decoding(),
                        streamer=_Counting(streamer, counted),
                        stopping_criteria=StoppingCriteriaList([stopped]),
                    )
            except BaseException as error:  # handed to whoever asked
                failure.append(error)
                streamer.end()

        with _DRAWING:
            thread = threading.Thread(target=write, daemon=True)
            thread.start()
            try:
                yield from streamer
            finally:
                stop.set()
                thread.join()
        if failure:
            raise AgentError(f"{self.system} failed while it wrote: {failure[0]}.", "failed")

    def _decoding(self) -> dict[str, Any]:
        settings = self.settings
        made: dict[str, Any] = {
            "max_new_tokens": settings.max_tokens,
            "repetition_penalty": settings.repetition_penalty,
            "num_beams": 1,
            "pad_token_id": _first(
                self.local.tokenizer.pad_token_id, self.local.tokenizer.eos_token_id, 0
            ),
        }
        if settings.temperature > 0:
            made |= {
                "do_sample": True,
                "temperature": settings.temperature,
                "top_p": settings.top_p,
                "top_k": 0,
            }
        else:
            made |= {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        return made


class _Counting:
    """Passes tokens on and counts those that were written."""

    def __init__(self, streamer: Any, counted: list[int]) -> None:
        self._streamer = streamer
        self._counted = counted

    def put(self, value: Any) -> None:
        if not self._streamer.next_tokens_are_prompt:
            self._counted.append(int(value.numel()))
        self._streamer.put(value)

    def end(self) -> None:
        self._streamer.end()


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _line(text: str) -> str:
    return " ".join(text.split())


def _first_line(pieces: Iterator[str]) -> Iterator[str]:
    r"""What comes before the first line break that follows something.

    Examples:
        >>> "".join(_first_line(iter(["\n Yes", ", I am.\nA", ": And you?"])))
        '\n Yes, I am.'
    """
    said = False
    for piece in pieces:
        before, broken, _ = piece.partition("\n") if said or piece.strip() else (piece, "", "")
        if broken and not said and not before.strip():
            rest = piece.lstrip()
            yield piece[: len(piece) - len(rest)]
            before, broken, _ = rest.partition("\n")
        yield before
        said = said or bool(before.strip())
        if said and broken:
            return
