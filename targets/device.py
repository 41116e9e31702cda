"""Where tensors live."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator


def usable_device(name: str) -> str:
    """The name of a device, if tensors can be made there.

    Raises:
        ValueError: it does not exist here.
    """
    import torch

    try:
        torch.zeros(1, device=name).cpu()
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise ValueError(f"the device '{name}' is not usable here: use --device cpu") from error
    return name


Device = Annotated[str, AfterValidator(usable_device)]
"""A setting that names a device which is there."""
