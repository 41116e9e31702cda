"""All rules for claims of privacy. A further rule is a function that yields remarks, and a line here."""

from collections.abc import Callable, Iterable

from .claim_budget_rules import budget, deltas, selection
from .claim_design_rules import (
    data_dependent_bound,
    float_noise,
    inference,
    large_delta,
    missing_facts,
    seeds,
    unit_of_example,
    unit_told,
)
from .claim_noise_rules import (
    broken_sparse_vector,
    failing_tests,
    local_sensitivity,
    noise_scale,
    norm_of_sensitivity,
    off_the_grid,
    sampling_relation,
)
from .claim_remark import Lint, Remark
from .claim_statement import Statement
from .claim_training_rules import (
    clipped_terms,
    clipping,
    message_passing,
    mixed_samples,
    replaced_in_a_sample,
    sampling,
    tensors_clipped_apart,
    training_epsilon,
)

Rule = Callable[[Statement], Iterable[Remark]]

RULES: tuple[Rule, ...] = (
    message_passing,
    clipped_terms,
    clipping,
    tensors_clipped_apart,
    mixed_samples,
    sampling,
    replaced_in_a_sample,
    training_epsilon,
    noise_scale,
    norm_of_sensitivity,
    off_the_grid,
    sampling_relation,
    local_sensitivity,
    failing_tests,
    broken_sparse_vector,
    budget,
    deltas,
    selection,
    unit_told,
    unit_of_example,
    data_dependent_bound,
    large_delta,
    seeds,
    float_noise,
    inference,
    missing_facts,
)

WORST_FIRST = ("wrong", "doubt", "note")


def lint(statement: Statement, rules: Iterable[Rule] = RULES) -> Lint:
    """What the rules say of a statement, the worst first and otherwise in their order.

    Args:
        statement: the claim with its facts.
        rules: each of which yields remarks, or none.
    """
    found = [remark for rule in rules for remark in rule(statement)]
    return Lint(statement, tuple(sorted(found, key=lambda remark: WORST_FIRST.index(remark.severity))))
