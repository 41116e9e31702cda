"""Where tensors live."""

import torch


def usable_device(name: str) -> str:
    """The name of a device, if tensors can be made there.

    Raises:
        ValueError: it does not exist here.
    """
    try:
        torch.zeros(1, device=name).cpu()
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise ValueError(f"the device '{name}' is not usable here: use --device cpu") from error
    return name
