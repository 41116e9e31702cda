"""What a run lets out past a defense, in sentences: whatever the defense promises is not about that."""

from .defense import Defense
from .messages import Carries, Carrying
from .splits import OF_CLIENT_AND_CLASS
from .transcript import Transcript

READ_OFF_GRAPHS = Carrying.any_of(Carries.POSTERIORS, Carries.LABELS, Carries.EXPLANATIONS)
"""What is computed on a graph and published."""


def untouched(defense: Defense, transcript: Transcript) -> str | None:
    """What clients send past a defense of their uploads: its noise is not in that, nor is its promise about it."""
    kinds = _sent_by_clients(transcript)
    past = [kind for kind in kinds if not defense.changes(kind)]
    if not past or len(past) == len(kinds):
        return None
    return (
        f"clients also send {', '.join(past)}, which '{defense.name}' leaves as they are: whatever it promises is "
        "about the other messages alone"
    )


def _sent_by_clients(transcript: Transcript) -> list[str]:
    """Kinds of messages that clients sent to others, in the order of the first of each."""
    told = (t for t in transcript.tallies.values() if t.sender.startswith("client:") and t.receiver != t.sender)
    return list(dict.fromkeys(t.kind for t in told))


def undefended_answers(defense: Defense, transcript: Transcript, graphs_changed: bool) -> str | None:
    """What is published of the graphs past a defense of data, or of uploads: answers that read them as they are."""
    public = (t.kind for t in transcript.tallies.values() if t.receiver == "public")
    told = dict.fromkeys(kind for kind in public if READ_OFF_GRAPHS.covers(kind))
    answers = [kind for kind in told if not defense.changes(kind)]
    uploads = any(defense.changes(kind) for kind in _sent_by_clients(transcript))
    if not answers or not (graphs_changed or uploads):
        return None
    return (
        f"published answers ({', '.join(answers)}) are computed on the clients' own graphs as they are, which "
        f"'{defense.name}' does not change: whatever it promises is not about them"
    )


def split_by_labels(defense: Defense, split: object) -> str | None:
    """Who is trained on, where that follows from the very labels that a defense hides."""
    promise = defense.promise()
    if promise is None or promise.unit != "node-label" or split not in OF_CLIENT_AND_CLASS:
        return None
    return (
        f"split = '{split}' divides each class by true labels: whose label is trained on follows from them, and "
        f"'{defense.name}' takes that as public (60/20/20 and dataset tell nothing of labels)"
    )
