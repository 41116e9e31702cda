"""K-center as a target; how it chooses is tested with the other coresets (test_random.py)."""

from gaudit.targets.condensation.coresets import KCenter
from support.condensing import check_others_than_chance


def test_it_takes_others_than_chance_does():
    check_others_than_chance(KCenter)
