"""Wrong: each tensor of an upload is clipped, and the noise is that for one clip of them all.

With t tensors an upload has a norm of up to sqrt(t) clips. Seen where a loop over parameters clips and adds noise
to one after the other, which looks the same for a model of one layer.
"""

import numpy as np

from gaudit.audit.claims.upload_claims import CLIP, GaussianUpload

TENSORS = 64


class ClipPerTensor(GaussianUpload):
    """Gaussian noise on an upload of many tensors, of which each has its own clip."""

    name = "clip-per-tensor"

    def inputs(self):
        """Tensors of one number each, all far beyond the clip."""
        return np.full(TENSORS, -9.0 * CLIP), np.full(TENSORS, 9.0 * CLIP)

    def release(self, data, rng):
        clipped = np.clip(data, -CLIP, CLIP)
        return clipped + self.multiplier * CLIP * rng.standard_normal(TENSORS)

    def score(self, released):
        return float(np.mean(released))
