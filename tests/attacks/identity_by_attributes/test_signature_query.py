"""Who may be whom by published attributes and degrees, by plain comparisons."""

from dataclasses import replace

import numpy as np
import pytest

from gaudit.attacks.identity_by_attributes.signature_query import SignatureQuery
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.defenses.attributes.k_attributes import KAttributes
from gaudit.errors import InputError
from gaudit.graphs.network import Network, Original
from gaudit.graphs.tables.column import Column
from gaudit.graphs.tables.node_table import NodeTable
from gaudit.targets.publishing.people import table_of_data
from support.sixty_nodes import sixty_nodes

NO_SEEDS = np.empty((2, 0), dtype=np.int64)
COLUMNS = tuple(Column(name, tuple("01234567"), np.arange(8.0)) for name in ("a", "b"))


def network(nodes=40, seed=0, **told):
    rng = np.random.default_rng(seed)
    one, other = np.nonzero(np.triu(rng.random((nodes, nodes)) < 0.15, 1))
    table = NodeTable.of_values(COLUMNS, rng.integers(8, size=(nodes, 2)))
    return replace(Network.from_edges(nodes, one, other, **told), people=table)


def found(attack, before, after, published=None):
    rng = np.random.default_rng(0)
    original = Original(published or before)
    return attack.candidates(after, attack.learn(original, rng), NO_SEEDS, rng)


def fits(values, runs):
    return all(any(low <= v <= high for low, high in told) for v, told in zip(values, runs, strict=True))


def test_candidates_may_have_the_attributes_and_have_the_nearest_degree():
    before = network()
    after = KAttributes(k=4).on_graph(before, np.random.SeedSequence(1))
    sets = found(SignatureQuery(), before, after)
    values, runs = before.people.values.tolist(), after.people.runs.tolist()
    for person in range(40):
        among = [node for node in range(40) if fits(values[person], runs[node])]
        assert person in among
        apart = {node: abs(int(after.degrees[node]) - int(before.degrees[person])) for node in among}
        assert sets.of(person).tolist() == [n for n in among if apart[n] == min(apart.values())]
    alone = found(SignatureQuery(degrees="none"), before, after)
    assert [len(alone.of(p)) for p in range(40)] == [
        sum(fits(values[p], runs[n]) for n in range(40)) for p in range(40)
    ]


def test_with_what_is_published_candidates_are_the_classes_of_the_guarantee():
    before = network()
    after = KAttributes(k=4).on_graph(before, np.random.SeedSequence(1))
    sets = found(SignatureQuery(of="published"), before, after, published=after)
    keys = [(str(after.people.runs[n].tolist()), int(after.degrees[n])) for n in range(40)]
    for person in range(40):
        assert sets.of(person).tolist() == [n for n in range(40) if keys[n] == keys[person]]
    assert sets.sizes.min() >= 4


def test_where_nobody_may_have_them_degrees_are_left_and_without_attributes_too():
    before = network()
    other = replace(before.people, runs=(before.people.runs + 1) % 8)
    sets = found(SignatureQuery(), before, replace(before, people=other))
    plain = found(SignatureQuery(), before, before.plain())
    unknown = found(SignatureQuery(attributes=False), before, before)
    values, shifted = before.people.values.tolist(), other.runs[:, :, 0, 0].tolist()
    for person in range(40):
        same = [n for n in range(40) if before.degrees[n] == before.degrees[person]]
        assert plain.of(person).tolist() == unknown.of(person).tolist() == same
        if values[person] not in shifted:
            assert sets.of(person).tolist() == same


def test_types_and_directions_are_counted_where_they_are_published():
    one, other = [0, 0, 1, 2], [3, 4, 3, 4]
    before = Network.from_edges(5, one, other, types=np.array([0, 1, 0, 0]), directions=np.array([1, 1, 1, 1]))
    assert found(SignatureQuery(), before, before).sizes.tolist() == [1, 2, 2, 1, 1]
    assert found(SignatureQuery(degrees="total"), before, before).sizes.tolist() == [3, 2, 2, 3, 3]


def trial(defense, **settings):
    attacks = (AttackPlan("signature-query"), AttackPlan("signature-query", {"attributes": False}))
    plan = TrialPlan("publish", {"utility": "structure", **settings}, *defense, attacks, 0, 0)
    return run_trial(plan, sixty_nodes())


def hits(result):
    judged = [one.judged for one in result.attacked]
    return [float(one.score[one.truth].mean()) for one in judged]


def test_publishing_columns_names_people_and_classes_of_k_do_not():
    raw = hits(trial(("none", {}), columns=("0", "1")))
    degree = hits(trial(("none", {})))
    anonymous = hits(trial(("k-attributes", {"k": 6}), columns=("0", "1")))
    assert raw[0] == pytest.approx(1.0)  # two columns of real numbers
    assert raw[1] == pytest.approx(degree[0])
    assert anonymous[0] <= 1 / 6 + 1e-9


def test_columns_are_refused_where_they_are_not_there():
    for settings, words in [
        ({"columns": ("9",)}, "expected label, or a column"),
        ({"columns": ("1", "1")}, "named twice"),
        ({"columns": ("label",), "sensitive_column": "label"}, "cannot be what is protected"),
        ({"columns": ("label",), "attribute": "label:1"}, "is published"),
        ({"columns": ("1",), "accounts": 8}, "do not go with linking or accounts"),
    ]:
        with pytest.raises(InputError, match=words):
            trial(("none", {}), **settings)


def test_several_sensitive_columns_are_told_as_they_are_and_kept_diverse():
    data = sixty_nodes()
    table = table_of_data(data, ("0",), ("label", "2"))
    told = [data.y.double().numpy(), data.x[:, 2].double().numpy()]
    assert [column.name for column in table.secrets] == ["label", "2"]
    for values, own in zip(told, table.sensitive.T, strict=True):
        assert np.unique(values)[own].tolist() == values.tolist()
    defense = ("k-attributes", {"k": 6, "l_diversity": 2, "several": "each"})
    assert trial(defense, columns=("0",), sensitive_column=("label", "2")).attacked
    with pytest.raises(InputError, match="named twice"):
        table_of_data(data, ("0",), ("label", "label"))
