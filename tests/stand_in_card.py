"""A stand-in for a graphics card, so that what runs on one is rehearsed where there is none.

Its tensors lie in ordinary memory and say that they are on `cuda:0`. As on a card they cannot
become NumPy arrays and do not meet tensors of the processor in one operation, and there may be too
little room for them. It has none of a card's kernels: the numbers are the processor's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._device import _device_constructors
from torch.utils._pytree import tree_leaves

PLACE = torch.device("cuda:0")
PROPERTIES = {"device": PLACE, "is_cuda": True, "is_cpu": False}
FACTORIES = (
    *("arange", "as_tensor", "empty", "eye", "full", "linspace", "ones", "rand", "randn"),
    *("scalar_tensor", "tensor", "zeros"),
)
PACKING = ("_pack_padded_sequence", "_pad_packed_sequence")  # whose sizes stay on the processor
ACROSS = (
    *("copy_", "__set__", "_has_compatible_shallow_copy_type", "gru", *PACKING),
    "_fused_adamw_",  # gradients come from PyTorch's inside, without the class
)
"""What may see tensors of both devices."""

_to = torch.Tensor.to


class CardTensor(torch.Tensor):
    """A tensor that says it is on a card, and behaves so."""

    room: int | None = None
    """Bytes that a tensor may have; any number if not given."""
    refused = 0
    """How often there was no room."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = func.__name__
        if name == "__get__" and func.__self__.__name__ in PROPERTIES:
            return PROPERTIES[func.__self__.__name__]
        if name in ("numpy", "__array__"):
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        if name == "cpu":
            return plain(args[0]).clone()
        if name == "to":
            return moved(*args, **kwargs)
        check_places(name, args, kwargs)
        if name == "mm" and kwargs.pop("out_dtype", None) is torch.float32:
            args = tuple(one.float() for one in args)
        leaves = "device" in kwargs and not on_card(kwargs["device"])
        if "device" in kwargs:
            kwargs["device"] = "cpu"
        result = super().__torch_function__(func, types, args, kwargs)
        for one in tree_leaves(result) if cls.room is not None else []:
            if isinstance(one, torch.Tensor) and one.numel() * one.element_size() > cls.room:
                CardTensor.refused += 1
                raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB")
        if name in PACKING:
            return result[0], plain(result[1])
        return plain(result) if leaves else result


def check_places(name: str, args: Any, kwargs: Any) -> None:
    """Refuse an operation on tensors of both devices, as PyTorch does; single numbers may meet."""
    if name in ACROSS:
        return
    if name in ("__getitem__", "__setitem__") and isinstance(args[0], CardTensor):
        args = (args[0], *args[2:])  # the index may be anywhere
    for one in tree_leaves((args, kwargs)):
        if isinstance(one, torch.Tensor) and not isinstance(one, CardTensor) and one.dim():
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, "
                f"cuda:0 and cpu! ({name})"
            )


def on_card(device: Any) -> bool:
    """Whether a device that somebody names is the card."""
    return device is not None and torch.device(device).type == "cuda"


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without its pretence."""
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.as_subclass(torch.Tensor)


def moved(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """What `Tensor.to` does where there is a card."""
    if args and isinstance(args[0], torch.Tensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    said = [*args, *kwargs.values()]
    device = next((one for one in said if isinstance(one, (str, torch.device))), None)
    kind = next((one for one in said if isinstance(one, torch.dtype)), tensor.dtype)
    stays = isinstance(tensor, CardTensor)
    goes = stays if device is None else on_card(device)
    if not stays and not goes:
        return _to(tensor, *args, **kwargs)
    if goes == stays and kind == tensor.dtype:
        return tensor
    with torch._C.DisableTorchFunctionSubclass():
        copy = _to(plain(tensor), kind, copy=True)
        return copy.as_subclass(CardTensor) if goes else copy


def made_there(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A function that makes tensors, also on the card."""

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> torch.Tensor:
        if not on_card(kwargs.get("device")):
            return make(*args, **kwargs)
        return moved(make(*args, **{**kwargs, "device": "cpu"}), "cuda")

    return made


def install(patch: pytest.MonkeyPatch) -> None:
    """Let PyTorch see the stand-in."""
    from dialens.models import _device_network, _devices
    from dialens.models._device_kernels import PlainKernels

    patch.setattr(_devices, "has_graphics_card", lambda: True)
    patch.setattr(_device_network, "kernels_for", lambda _: PlainKernels())
    _device_constructors()  # PyTorch remembers them, and should remember its own
    patch.setattr(torch.Tensor, "to", moved)
    patch.setattr(torch.Tensor, "pin_memory", lambda tensor, *_: tensor)
    for name in FACTORIES:
        patch.setattr(torch, name, made_there(getattr(torch, name)))
    patch.setattr(torch.cuda, "is_available", lambda: True)
    patch.setattr(torch.cuda, "current_device", lambda: 0)
    patch.setattr(torch.cuda, "get_rng_state", lambda *_: torch.get_rng_state())
    patch.setattr(torch.cuda, "set_rng_state", lambda *_: None)
    patch.setattr(torch.cuda, "mem_get_info", lambda *_: (2**34, 2**34))
    patch.setattr(torch.backends.cudnn, "is_acceptable", lambda _: False)
    mixed = torch.autocast
    patch.setattr(
        torch, "autocast", lambda kind, **rest: mixed("cpu" if kind == "cuda" else kind, **rest)
    )
    # A module gets new parameters: those of the processor cannot change their class.
    patch.setattr(torch.__future__, "_overwrite_module_params_on_conversion", True)
    patch.setattr(CardTensor, "room", None)
    patch.setattr(CardTensor, "refused", 0)
