"""Wrong: the noise is added first, and the sum is clipped. What goes out is bounded, what came in is not.

An upload far beyond the clip drowns its noise, and the clip keeps its direction. Seen where clipping is an option
of an optimiser that runs after the noise, or where the two lines were swapped.
"""

import numpy as np
import torch

from gaudit.audit.claims.upload_claims import CLIP, LaplaceUpload


class NoiseBeforeClip(LaplaceUpload):
    """Laplace noise on an upload whose L1 norm is clipped afterwards."""

    name = "noise-before-clip"

    def inputs(self):
        """Uploads far beyond both the clip and the noise."""
        return torch.tensor([-90.0 * CLIP, 0.0]), torch.tensor([90.0 * CLIP, 0.0])

    def release(self, data, rng):
        noisy = data.numpy() + rng.laplace(scale=2 * CLIP / self.settings.epsilon, size=len(data))
        return torch.from_numpy(noisy * min(1.0, CLIP / np.abs(noisy).sum()))
