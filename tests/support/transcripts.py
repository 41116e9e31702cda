"""Transcripts side by side."""


def same_headers(one, other):
    """Messages of two transcripts in pairs, of which each pair has the same kind, sender, receiver and round."""
    pairs = list(zip(one.messages, other.messages, strict=True))
    for a, b in pairs:
        assert (a.kind, a.sender, a.receiver, a.round) == (b.kind, b.sender, b.receiver, b.round)
    return pairs
