"""Runs are trials: neither time, nor number, nor what is remembered may tell the two inputs apart."""

import itertools
import signal
import sys
import threading

import numpy as np
import pytest

from gaudit.audit.claims.claim_check import asked_claim, check_claim
from gaudit.audit.claims.input_search import searched
from gaudit.audit.claims.learned_scores import Aim
from gaudit.audit.claims.patience import TookTooLong, at_most
from gaudit.audit.claims.repeated_runs import Repeated
from gaudit.errors import InputError
from gaudit.mechanisms.mechanism import Mechanism
from support import sound_surroundings
from support.broken.families.claimed import Claimed
from support.broken.families.counts import HalfNoise
from support.sound_surroundings import Count, KeptByTheModule, KeptUnderAName, Stamped

needs_a_clock = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no clock interrupts on this system")


@pytest.mark.parametrize("search", [False, True], ids=["given", "search"])
@pytest.mark.parametrize("kind", [Stamped, KeptUnderAName], ids=lambda kind: kind.name)
def test_when_a_run_was_made_accuses_nobody_and_hides_nothing(kind, search):
    """Were all runs on one input made first, the time would tell them, or be all that is looked at."""
    for seed in range(3):
        check = check_claim(kind(epsilon=1.0), 3000, seed, level=0.999, search=search)
        assert not check.refuted, check.sentence()
        assert kind is Stamped or check.measured.low > 0.5  # it does see the answers


def test_error_shows_beside_a_time():
    numbers = itertools.count()

    class HalfNoiseStamped(HalfNoise):
        name = "half-noise-stamped"
        score = Mechanism.score

        def release(self, data, rng):
            return [super().release(data, rng), next(numbers)]

    assert check_claim(HalfNoiseStamped(epsilon=1.0), 3000, 0, level=0.999, search=True).refuted


@pytest.mark.parametrize("search", [False, True], ids=["given", "search"])
def test_noise_that_outlives_its_run_is_no_trial(search):
    sound_surroundings.TOLD.clear()
    with pytest.raises(InputError, match="'kept-by-the-module' draws noise in its first run and none in all later"):
        check_claim(KeptByTheModule(epsilon=1.0), 500, 0, level=0.999, search=search)


def test_answer_without_noise_is_refuted_and_not_taken_for_remembered():
    class Bare(Count):
        name = "bare"

        def release(self, data, rng):
            return data

    assert check_claim(Bare(epsilon=1.0), 500, 0, level=0.999, search=True).refuted


class RedrawnIntoARange(Claimed):
    """Noise is drawn again until the sum is from 0 to 10: far from there it never is."""

    name = "redrawn-into-a-range"

    def inputs(self):
        return 4, 5

    def release(self, data, rng):
        while True:
            told = data + rng.laplace(scale=1 / self.epsilon)
            if 0 <= told <= 10:
                return told


@needs_a_clock
def test_search_comes_back_from_inputs_on_which_a_mechanism_does_not():
    mechanism = RedrawnIntoARange(epsilon=4.0)
    before = signal.getsignal(signal.SIGPROF)
    repeated = Repeated(mechanism, spare=0.2)
    best = searched(
        repeated, mechanism.inputs(), mechanism.guarantee, Aim(0.0, 0.99, 300), np.random.SeedSequence(0)
    )
    assert best.pair == mechanism.inputs()
    assert signal.getsignal(signal.SIGPROF) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


@needs_a_clock
def test_end_passes_through_what_catches_errors():
    def stubborn():
        while True:
            try:
                sum(range(1000))
            except Exception:
                continue

    with pytest.raises(TookTooLong), at_most(0.05):
        stubborn()


def test_no_end_outside_of_the_main_thread():
    done = []

    def work():
        with at_most(1e-6):
            done.append(sum(range(100_000)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [sum(range(100_000))]


# --- what a mechanism's author may get wrong


def _with(**parts):
    """A count with some parts that are others."""
    return type("Odd", (Count,), {"name": "odd", "score": Mechanism.score, **parts})


def _fails(*_):
    raise KeyError("x")


REFUSED = {
    "ends the program": ({"release": lambda self, data, rng: sys.exit(0)}, "failed: SystemExit"),
    "one input": ({"inputs": lambda self: 3}, r"inputs\(\) of 'odd' gives one of type int"),
    "three inputs": ({"inputs": lambda self: (3, 4, 5)}, r"inputs\(\) of 'odd' gives 3 inputs"),
    "the same input": ({"inputs": lambda self: ([1], [1])}, "are the same"),
    "inputs fail": ({"inputs": _fails}, r"inputs\(\) of 'odd' failed: KeyError"),
    "guarantee fails": ({"guarantee": property(_fails)}, "the guarantee of 'odd' failed: KeyError"),
    "no guarantee": ({"guarantee": None}, "the guarantee of 'odd' is of type NoneType"),
    "no copy": ({"inputs": lambda self: ([threading.Lock()], [])}, "copying an input failed: TypeError"),
    "nothing to read": (
        {"release": lambda self, data, rng: iter([data])},
        "nothing can be read of what is released",
    ),
}


@pytest.mark.parametrize("search", [False, True], ids=["given", "search"])
@pytest.mark.parametrize(("parts", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_mechanism_is_refused_in_one_line(parts, said, search):
    with pytest.raises(InputError, match=said) as refused:
        check_claim(_with(**parts)(epsilon=1.0), 100, 0, level=0.9, search=search)
    assert "\n" not in str(refused.value)


def test_mechanism_that_cannot_be_made_of_settings_is_refused(tmp_path, monkeypatch):
    code = "from support.sound_surroundings import Count\n\n\nclass Odd(Count):\n"
    (tmp_path / "odd_maker.py").write_text(
        f"{code}    name = 'odd'\n\n    def __init__(self, other):\n        pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="making the mechanism 'odd_maker:Odd' failed: TypeError"):
        asked_claim("odd_maker:Odd", {}, None, None)


def _table(data):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"count": [data]})


KINDS = {
    "complex": lambda data: complex(0, data),
    "huge": lambda data: 10**400 * data,
    "huge and some more": lambda data: 10**400 + data,
    "table": _table,
}


@pytest.mark.parametrize("told", KINDS.values(), ids=KINDS)
def test_numbers_of_any_kind_are_read(told):
    bare = _with(release=lambda self, data, rng: told(data))
    assert check_claim(bare(epsilon=1.0), 100, 0, level=0.9).refuted
