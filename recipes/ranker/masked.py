"""The masked language model of USL-H's third part: a head on the states, tied to the word table.

Phy et al. (2020) mask each token in turn. Here every sixth token is masked at a time, so that six
passes see each token of a text masked once, whatever its length, and at inference as large a share
is hidden as in training. Texts of up to six tokens are treated exactly as in the paper.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from dialens.models.training import Encoder
from recipes.ranker.token_store import Batch

STRIDE = 6
FILE = "masked.safetensors"


class MaskedHead(nn.Module):
    """State to scores over the vocabulary; the last product is with the encoder's word table."""

    def __init__(self, width: int, vocabulary: int, *, norm_epsilon: float = 1e-12) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=norm_epsilon)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def forward(self, states: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """Return the logits of some states; ``words`` is the word table."""
        hidden = self.norm(functional.gelu(self.dense(states)))
        return functional.linear(hidden, words, self.bias)


def save_head(head: MaskedHead, folder: Path) -> None:
    """Write the head beside its encoder, in half precision."""
    from safetensors.torch import save_file

    weights = {n: v.detach().to("cpu", torch.float16) for n, v in head.state_dict().items()}
    save_file(weights, str(folder / FILE))


def load_head(folder: Path, model: Encoder) -> MaskedHead:
    """Return the head that lies beside an encoder, or a new one."""
    from safetensors.torch import load_file

    head = MaskedHead(model.shape.width, model.shape.vocabulary)
    if (folder / FILE).exists():
        head.load_state_dict({n: v.float() for n, v in load_file(str(folder / FILE)).items()})
    return head


def own_tokens(batch: Batch) -> torch.Tensor:
    """Tell which places of single texts hold tokens of their own, neither begin, end nor padding.

    Examples:
        >>> ids = torch.tensor([[2, 7, 8, 3, 0]])
        >>> mask = torch.tensor([[1, 1, 1, 1, 0]])
        >>> own_tokens(Batch(ids, mask, ids * 0)).tolist()
        [[False, True, True, False, False]]
    """
    inside = batch.mask.bool().clone()
    inside[:, 0] = False
    last = batch.mask.sum(1, keepdim=True) - 1
    inside.scatter_(1, last, False)
    return inside


def hidden_loss(
    model: Encoder, head: MaskedHead, batch: Batch, hidden: torch.Tensor, mask_token: int
) -> torch.Tensor:
    """Return the cross-entropy of each hidden token, in the order of the places."""
    ids = batch.ids.masked_fill(hidden, mask_token)
    states = model.states(ids, batch.mask, batch.types)[hidden]
    logits = head(states, model.word.weight)
    return functional.cross_entropy(logits.float(), batch.ids[hidden], reduction="none")


def random_places(
    batch: Batch, share: float, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Return places to hide for training: a share of each text's own tokens."""
    chance = torch.rand(batch.ids.shape, device=batch.ids.device, generator=generator)
    return own_tokens(batch) & (chance < share)


@torch.inference_mode()
def log_likelihood(
    model: Encoder, head: MaskedHead, batch: Batch, mask_token: int, *, stride: int = STRIDE
) -> torch.Tensor:
    """Return the summed log-probability of each text's tokens, each predicted while hidden."""
    inside = own_tokens(batch)
    total = torch.zeros(len(batch.ids), device=batch.ids.device)
    place = torch.arange(batch.ids.shape[1], device=batch.ids.device)[None, :]
    for turn in range(stride):
        hidden = inside & (place % stride == turn)
        if hidden.any():
            row = hidden.nonzero()[:, 0]
            total.index_add_(0, row, -hidden_loss(model, head, batch, hidden, mask_token).float())
    return total
