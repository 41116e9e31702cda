"""Wrong: noise for a change of one clip, where two clipped uploads are up to two apart.

That is right if neighbouring inputs differ in a client that is there or not, and half of what is due if its data
are replaced by others. Seen where a scale is copied from a paper with the other adjacency.
"""

from gaudit.audit.claims.upload_claims import CLIP, LaplaceUpload


class HalfTheNoise(LaplaceUpload):
    """Laplace noise of scale clip / epsilon."""

    name = "half-the-noise"

    def inputs(self):
        """Uploads at the clip, in opposite directions."""
        return -CLIP, CLIP

    def release(self, data, rng):
        return data + rng.laplace(scale=CLIP / self.settings.epsilon)

    def score(self, released):
        return float(min(max(released, -CLIP), CLIP))
