"""Recording what a Lightning training releases. Lightning itself is imported by its users alone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError
from ..messages import MODEL_KIND
from ..recorder import recording

ToNames = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def Record(  # noqa: N802  # a callback is written as a class
    folder: str | Path, *, names: ToNames | None = None, every: int | None = None, **known: Any
) -> Any:
    """A callback that records the model that a training releases: ``Trainer(callbacks=[Record("run/")])``.

    The model at the end is a message ``model`` to the public; with ``every`` also the models on the way, as of one
    who publishes checkpoints. Its round is the number of epochs that are done.

    Args:
        folder: where to, see `gaudit.recording`; it is made when the training begins.
        names: from the module's names of weights to gaudit's: `gaudit.names` of the model.
        every: epochs between released models; None for the last alone.
        known: what is known of the run: ``recipe``, ``members`` and so on, see `gaudit.recording`.

    Returns:
        A callback of Lightning.

    Raises:
        InputError: Lightning is not installed, or ``every`` is no number of epochs.
    """
    try:
        from lightning.pytorch import Callback
    except ImportError as error:
        raise InputError("Lightning is not installed: pip install 'graph-gaudit[lightning]'") from error
    if every is not None and every < 1:
        raise InputError(f"every is {every}: expected a number of epochs from 1")

    class Recording(Callback):  # type: ignore[misc]
        """Records at the ends of epochs, on one process."""

        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            if trainer.is_global_zero:
                self.recorder = recording(folder, **known)
            self.last = -1

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            done = trainer.current_epoch + 1
            if every is not None and not done % every:
                self._send(trainer, pl_module, done)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            self._send(trainer, pl_module, trainer.current_epoch)

        def _send(self, trainer: Any, module: Any, done: int) -> None:
            if done == self.last or not trainer.is_global_zero:
                return
            state = module.state_dict()
            self.recorder(MODEL_KIND, "server", "public", done, dict(state if names is None else names(state)))
            self.last = done

    return Recording()
