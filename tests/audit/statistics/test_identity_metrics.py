"""What is read off the probabilities of persons' own nodes."""

import numpy as np
import pytest

from gaudit.audit.statistics.identity_metrics import CROWDS, identity_findings
from gaudit.audit.statistics.scored_subjects import ScoredSubjects


def judged(own: list[float], others: int = 5) -> ScoredSubjects:
    score = np.array([*own, *[0.0] * others])
    return ScoredSubjects(np.arange(len(score)), score, np.arange(len(score)) < len(own))


def test_known_candidate_sets_give_their_shares():
    found = identity_findings([judged([1, 1, 0.5, 0.25, 0.1, 1 / 15, 1 / 30, 0, 0, 0])])
    assert found["re-identified"].estimate == pytest.approx((1 + 1 + 0.5 + 0.25 + 0.1 + 1 / 15 + 1 / 30) / 10)
    shares = [found[name].estimate for name in CROWDS]
    assert shares == pytest.approx([0.2, 0.2, 0.1, 0.1, 0.1])
    assert found["missed"].estimate == pytest.approx(0.3)
    assert sum(shares) + found["missed"].estimate == pytest.approx(1)


def test_entropy_is_of_those_who_were_not_missed():
    assert identity_findings([judged([1, 0.5, 0.125, 0])])["entropy"].estimate == pytest.approx((0 + 1 + 3) / 3)
    assert identity_findings([judged([0, 0])])["entropy"].estimate is None


def test_guessing_by_lot_reaches_its_chance():
    found = identity_findings([judged([1 / 50] * 50)])
    assert found["re-identified"].estimate == pytest.approx(1 / 50)
    assert found["over 20 candidates"].estimate == 1
    assert found["entropy"].estimate == pytest.approx(np.log2(50))


def test_the_interval_of_re_identification_covers():
    """Persons drawn from a population: the 95 % interval holds its mean in 93 % of 400 draws or more."""
    rng = np.random.default_rng(0)
    population = np.where(rng.random(20_000) < 0.3, 0, 1 / rng.integers(1, 30, 20_000))
    covered = 0
    for _ in range(400):
        found = identity_findings([judged(rng.choice(population, 200).tolist())])["re-identified"]
        covered += found.low <= population.mean() <= found.high
    assert covered >= 0.93 * 400
