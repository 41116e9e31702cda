"""Networks and data: what everything else computes on."""
