"""What `gaudit inspect` does, without the terminal."""

from collections.abc import Callable, Iterable
from typing import Any

from ..targets.recording import read_recording
from ..targets.transcript import Exposure, Transcript, observer_members


def run_inspection(options: dict[str, Any], report: Callable[[str, str, int, int], None]) -> list[Exposure]:
    """The exposure table of a run, or of a recorded one.

    Raises:
        InputError: something in the request does not exist or does not fit.
    """
    observers = options.pop("observers")
    for observer in observers:
        observer_members(observer)
    recorded = options.pop("transcript")
    if recorded is None:
        transcript = _run(options, report)
    else:
        transcript = read_recording(recorded, lambda message: False).transcript
    for observer in observers:
        transcript.seen_by(observer)  # refuses who took no part
    return transcript.exposure(observers or transcript.onlookers())


def readers_of(kinds: Iterable[str] | None) -> dict[str, list[str]]:
    """The registered attacks that read messages of some kinds, or of all that are declared, by kind.

    An attack reads what it declares to need or to use; that a message is read says nothing of what is found in it.
    """
    from ..registry import find, registered
    from ..targets.messages import KINDS

    reads = {name: set(find("attacks", name).kinds()) for name in registered("attacks")}
    wanted = dict.fromkeys(KINDS if kinds is None else kinds)
    return {kind: [name for name, own in reads.items() if kind in own] for kind in wanted}


def _run(options: dict[str, Any], report: Callable[[str, str, int, int], None]) -> Transcript:
    """What is sent in a run; what runs it takes seconds to import, which a recorded run need not wait for."""
    import numpy as np

    from ..audit.planning.request import AttackRequest, asked_defense, asked_graph, asked_target
    from ..audit.running.trial import use_one_thread
    from ..randomness import branch
    from ..registry import find
    from ..targets.defense import Defense

    request = AttackRequest(attacks=(), **options)
    data = asked_graph(request)
    target = asked_target(request, data)
    name, own = (request.defenses or ((target.published_defense, {}),))[0]
    kind: type[Defense] = find("defenses", name)
    defense = kind(**{**kind.preset(request.preset), **asked_defense(name, own, request)})
    use_one_thread()
    run = target(
        data,
        defense,
        branch(np.random.SeedSequence(request.seed), 0),
        lambda message: False,
        lambda stage, done, total: report(name, stage, done, total),
    )
    return run.transcript
