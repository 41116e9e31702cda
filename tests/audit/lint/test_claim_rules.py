"""Claims that hold have nothing wrong; each mistake, put into one of them, is found by its rule, and named."""

import math
from functools import cache
from typing import Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaudit.audit.lint.claim_example import EXAMPLE
from gaudit.audit.lint.claim_rules import RULES, lint
from gaudit.audit.lint.claim_statement import Claim, Inference, Noise, Selection, Statement, Training
from gaudit.errors import InputError
from gaudit.mechanisms.gaussian import discrete_epsilon_of, distance_of, epsilon_of
from support.claim_statements import FRESH, RIGHT, changed, gaussian, laplace


def remarks(stated):
    return lint(Statement.checked("a statement", stated)).remarks


def found(stated, severity):
    return {remark.rule for remark in remarks(stated) if remark.severity == severity}


@pytest.mark.parametrize("name", RIGHT)
def test_claim_that_holds_has_no_remark(name):
    assert remarks(RIGHT[name]()) == ()


def test_example_has_no_remark():
    assert lint(EXAMPLE).remarks == ()


# what is changed in which right claim; the rule that must find it; words that it must say
WRONG = {
    "GCN under the accountant for records": (
        "mlp",
        {"training__layers": 2},
        "message-passing",
        ["2 message-passing layers", "within 2 hops"],
    ),
    "fan-out, which bounds what a node reads": (
        "dp_gnn",
        {"training__bound_on": "read"},
        "message-passing",
        ["fan-out"],
    ),
    "readers bounded, noise for one term": (
        "dp_gnn",
        {"training__sensitivity": 2},
        "message-passing",
        ["up to 6 terms", "12 clips"],
    ),
    "two layers, noise for one": (
        "dp_gnn",
        {"training__layers": 2},
        "message-passing",
        ["up to 31 terms", "62 clips", "is for 12"],
    ),
    "edges under message passing": (
        "mlp",
        {"training__layers": 2, "claim__unit": "edge", "claim__told": "edge"},
        "message-passing",
        ["neighbours"],
    ),
    "clients that exchange what nodes hold": (
        "fedavg",
        {"training__exchanges": True},
        "message-passing",
        ["clients"],
    ),
    "amplified as if nodes were apart": (
        "dp_gnn",
        {"training__accountant": "rdp", "training__sample_rate": 0.05},
        "sampling",
        ["0.05", "far more batches"],
    ),
    "shuffled batches": ("mlp", {"training__sampling": "shuffled"}, "sampling", ["Poisson", "shuffled"]),
    "batches of fixed size": ("mlp", {"training__sampling": "fixed-size"}, "sampling", ["Poisson", "fixed size"]),
    "amplified full batch": ("mlp", {"training__sampling": "full batch"}, "sampling", ["all of the data"]),
    "shuffled under the hypergeometric": (
        "dp_gnn",
        {"training__sampling": "shuffled"},
        "sampling",
        ["drawn anew", "shuffled"],
    ),
    "rate of smaller batches": (
        "mlp",
        {"training__batch_size": 256, "training__examples": 10_000},
        "sampling",
        ["0.0256", "0.01"],
    ),
    "batch normalisation": ("mlp", {"training__normalisation": "batch"}, "mixed-samples", ["batch normalisation"]),
    "pair normalisation": ("dp_gnn", {"training__normalisation": "pair"}, "mixed-samples", ["pair"]),
    "batch normalisation over graphs": ("graphs", {"training__normalisation": "batch"}, "mixed-samples", ["batch"]),
    "largest degree as the bound": (
        "gap",
        {"bound": [{"what": "degree", "source": "data"}]},
        "bound-from-the-data",
        ["largest degree"],
    ),
    "non-zero cells alone": (
        "degrees",
        {"bound": [{"what": "support", "source": "data"}]},
        "bound-from-the-data",
        ["not there"],
    ),
    "clip from quantiles": (
        "mlp",
        {"bound": [{"what": "clip", "source": "data"}]},
        "bound-from-the-data",
        ["clipping norm"],
    ),
    "n for nodes": (
        "gap",
        {"bound": [{"what": "nodes", "source": "data"}, {"what": "degree", "source": "public"}]},
        "bound-from-the-data",
        ["number of nodes"],
    ),
    "half the Laplace noise": (
        "laplace",
        {"noise__scale": 1.5},
        "noise-scale",
        ["scale of 3", "it is 1.5", "epsilon 2"],
    ),
    "discrete noise for one degree": ("degrees", {"noise__scale": 2.0}, "noise-scale", ["scale of 4", "it is 2"]),
    "answers too true": (
        "edge_response",
        {"noise__truthful": 0.95},
        "noise-scale",
        ["0.8808", "0.95", "epsilon 2.944"],
    ),
    "Laplace noise for an L2 norm": ("laplace", {"noise__norm": "L2"}, "norm", ["L1", "L2"]),
    "epsilon below the accountant's": (
        "mlp",
        {"claim__epsilon": 1.0},
        "training-epsilon",
        ["rdp accountant: epsilon 1.712", "prv: 1.525", "claimed is 1"],
    ),
    "epsilon below the hypergeometric one": (
        "dp_gnn",
        {"claim__epsilon": 1.6},
        "training-epsilon",
        ["hypergeometric accountant: epsilon 4.341", "claimed is 1.6"],
    ),
    "one budget in two rounds": ("degrees", {"noise__times": 2}, "budget", ["basic 1", "claimed is 0.5"]),
    "one budget for each hop": (
        "gap",
        {"noise__times": 8},
        "budget",
        ["hops", "head", "rdp", "claimed is 5.1"],
    ),
    "trainings that are all used": ("mlp", {"training__times": 3}, "budget", ["mlp", "claimed is 1.72"]),
    "settings chosen by private data": (
        "mlp",
        {"selection": {"tried": 20, "judged_on": "private"}},
        "selection",
        ["20 settings"],
    ),
    "trials that are not listed": (
        "mlp",
        {"selection": {"tried": 20, "judged_on": "within the budget"}},
        "selection",
        ["20 settings", "1 trainings"],
    ),
    "edges sold as people": ("degrees", {"claim__told": "node"}, "unit", ["one edge", "one node", "d times"]),
    "edges sold as clients": ("edge_response", {"claim__told": "client"}, "unit", ["one edge", "one client"]),
    "a release for edges in a claim for nodes": ("gap", {"noise__unit": "edge"}, "unit", ["one edge", "one node"]),
    "records of a client": ("fedavg", {"training__example": "node"}, "unit", ["has many"]),
    "edges of a node": ("mlp", {"training__example": "edge"}, "unit", ["has many"]),
    "noise for one of ten examples": (
        "mlp",
        {"training__example": "edge", "training__examples_per_unit": 10},
        "too-few-clips",
        ["up to 10 examples", "is for 1"],
    ),
    "half the noise for a replaced record": ("mlp", {"claim__adjacency": "replace"}, "too-few-clips", ["2 clips"]),
    "noise before the clip": ("mlp", {"training__clipping": "after noise"}, "clipping", ["drown"]),
    "no clip": ("mlp", {"training__clipping": "none"}, "clipping", ["any size"]),
    "a clip for each tensor": (
        "mlp",
        {"training__clipping": "per-tensor", "training__tensors": 64},
        "clip-per-tensor",
        ["64 tensors", "up to 8", "is for 1"],
    ),
    "an upload clipped by tensors": (
        "laplace",
        {"noise__clipping": "per-tensor", "noise__tensors": 4, "noise__clip": 3},
        "clip-per-tensor",
        ["up to 12", "is for 3"],
    ),
    "a published seed": ("degrees", {"noise__seed": "published"}, "seed", ["same noise"]),
    "a seed used twice": ("mlp", {"training__seed": "reused"}, "seed", ["difference"]),
    "Gaussian noise without delta": ("mlp", {"claim__delta": 0.0}, "delta", ["nothing with delta 0"]),
    "deltas over the claimed one": ("mlp", {"training__delta": 1e-3}, "delta", ["0.001", "1e-05"]),
    "a formula of continuous noise": (
        "whole_counts",
        {"claim__epsilon": 4.378},
        "noise-scale",
        ["4.43", "continuous"],
    ),
    "discrete noise off its grid": (
        "whole_counts",
        {"noise__sensitivity": 0.5, "noise__grid": 1},
        "grid",
        ["steps of 1", "0.5"],
    ),
    "the formula for two answers": (
        "k_ary",
        {"noise__truthful": 0.75, "claim__epsilon": 1.0986},
        "noise-scale",
        ["0.42857", "epsilon 2.485", "the formula for two answers"],
    ),
    "rate times epsilon": ("sampled_counts", {"claim__epsilon": 0.1}, "noise-scale", ["0.1586", "rate x epsilon"]),
    "amplified without a sample": (
        "sampled_counts",
        {"noise__sampling": "none"},
        "noise-scale",
        ["keeps epsilon 1", "all units are used"],
    ),
    "a fixed sample for units that go": (
        "sampled_counts",
        {"noise__sampling": "without-replacement", "noise__sensitivity_for": "add/remove"},
        "sampling",
        ["in place of one that is gone", "twice"],
    ),
    "Poisson sampling for units that are replaced": (
        "sampled_counts",
        {"claim__adjacency": "replace", "noise__sensitivity_for": "replace"},
        "sampling",
        ["whether it was drawn"],
    ),
    "sampled noise at a delta that is not divided": (
        "sampled_sums",
        {"claim__delta": 1e-6},
        "noise-scale",
        ["0.1587", "keeps epsilon 0.2"],
    ),
    "a test without noise": ("tested_first", {"noise__test_scale": 0}, "propose-test-release", ["no noise"]),
    "a test that fails too often": (
        "tested_first",
        {"noise__threshold": 10},
        "propose-test-release",
        ["0.00337", "1e-05"],
    ),
    "a test that costs nothing": (
        "tested_first",
        {"claim__epsilon": 0.5},
        "noise-scale",
        ["epsilon 1", "its test"],
    ),
    "a test without a delta": ("tested_first", {"claim__delta": 0.0}, "delta", ["test that may fail"]),
    "Laplace noise on a smooth bound without a delta": (
        "smooth_laplace",
        {"claim__delta": 0.0},
        "delta",
        ["Laplace noise in proportion", "nothing with delta 0"],
    ),
    "a bound that is not smooth enough": ("smooth_laplace", {"noise__beta": 0.2}, "noise-scale", ["epsilon 1 and"]),
    "too little Cauchy noise": ("smooth_cauchy", {"noise__scale": 0.5}, "noise-scale", ["keeps epsilon 1.763"]),
    "noise for local sensitivity": (
        "smooth_cauchy",
        {"noise__calibrated_to": "local"},
        "local-sensitivity",
        ["of these data"],
    ),
    "Laplace noise for local sensitivity": (
        "laplace",
        {"noise__calibrated_to": "local"},
        "local-sensitivity",
        ["of these data"],
    ),
    "Laplace noise for a smooth bound by the formula for all data": (
        "laplace",
        {"noise__calibrated_to": "smooth"},
        "local-sensitivity",
        ["another scale"],
    ),
    "queries without noise": (
        "above_threshold",
        {"noise__query_scale": 0},
        "sparse-vector",
        ["queries have no noise"],
    ),
    "a threshold without noise": ("above_threshold", {"noise__threshold_scale": 0}, "sparse-vector", ["threshold"]),
    "any number of answers above": (
        "above_threshold",
        {"noise__positives": "unlimited"},
        "sparse-vector",
        ["never stops"],
    ),
    "the value that was tested": (
        "above_threshold",
        {"noise__answers": "tested value"},
        "sparse-vector",
        ["gives away"],
    ),
    "queries that count once": (
        "above_threshold",
        {"noise__query_scale": 10 / 3},
        "noise-scale",
        ["epsilon 2.2", "however many"],
    ),
    "a choice without the two": (
        "best_community",
        {"noise__scale": 1},
        "noise-scale",
        ["epsilon 2", "factor of two"],
    ),
    "an exponential mechanism without the two": (
        "best_community",
        {"noise__scale": 1, "noise__mechanism": "exponential"},
        "noise-scale",
        ["epsilon 2", "factor of two"],
    ),
}


@cache
def about(mistake):
    base, facts, _, _ = WRONG[mistake]
    return [remark for remark in remarks(changed(RIGHT[base](), **facts)) if remark.severity == "wrong"]


@pytest.mark.parametrize("mistake", WRONG)
def test_planted_mistake_is_found_by_its_rule(mistake):
    _, _, rule, words = WRONG[mistake]
    hits = [remark for remark in about(mistake) if remark.rule == rule]
    assert len(hits) == 1
    assert all(word in hits[0].says for word in words), hits[0].says
    assert all((hits[0].where, hits[0].do, hits[0].source))


CONSEQUENCES = {
    "GCN under the accountant for records": {"sampling"},
    "edges under message passing": {"sampling"},
    "clients that exchange what nodes hold": {"sampling"},
    "fan-out, which bounds what a node reads": set(),
    "readers bounded, noise for one term": {"training-epsilon"},
    "two layers, noise for one": {"training-epsilon"},
    "records of a client": {"mixed-samples"},
    "batches of fixed size": {"too-few-clips"},
    "a fixed sample for units that go": {"noise-scale"},
    "Poisson sampling for units that are replaced": {"noise-scale"},
    "deltas over the claimed one": set(),
}
"""What else is wrong then: a node in others' terms is in more batches; clients' batch norms were theirs alone; of a
batch of fixed size another record takes a place that is free."""


@pytest.mark.parametrize("mistake", WRONG)
def test_mistake_is_wrong_by_no_unrelated_rule(mistake):
    _, _, rule, _ = WRONG[mistake]
    assert {remark.rule for remark in about(mistake)} - {rule} == CONSEQUENCES.get(mistake, set())


# what cannot be proved wrong, and must not pass in silence
DOUBTS = {
    "delta of 1/n": ("mlp", {"claim__units": 50_000, "claim__delta": 2e-5}, "large-delta", ["1/50000", "outright"]),
    "predictions read the training graph": (
        "dp_gnn",
        {"inference": {"reads": "training graph"}},
        "inference",
        ["predictions leak edges"],
    ),
    "predictions read a new graph": (
        "gap",
        {"inference": {"reads": "new graph"}},
        "inference",
        ["private too"],
    ),
    "rdp where prv is meant": ("mlp", {"claim__epsilon": 1.53}, "training-epsilon", ["prv: 1.525"]),
    "basic where rdp is meant": ("gap", {"claim__composition": "basic"}, "budget", ["basic 8.3"]),
    "replaced records in a sample": (
        "mlp",
        {"claim__adjacency": "replace", "training__sensitivity": 2},
        "replaced-in-a-sample",
        ["come or go"],
    ),
    "a bound released under no name": (
        "gap",
        {"bound": [{"what": "degree", "source": "released"}]},
        "bound-from-the-data",
        ["no release is named"],
    ),
    "shuffled, and claimed without amplification": (
        "mlp",
        {"training__sampling": "shuffled", "claim__epsilon": 17.0},
        "sampling",
        ["without amplification"],
    ),
    "between the two epsilons of coupled terms": (
        "dp_gnn",
        {"claim__epsilon": 3.0},
        "training-epsilon",
        ["4.341", "claimed is 3"],
    ),
    "discrete noise on two numbers": (
        "whole_counts",
        {"noise__sensitivity": math.sqrt(2), "noise__norm": "L2", "claim__epsilon": 6.9},
        "noise-scale",
        ["neither prove nor refute", "7.077"],
    ),
    "a fixed sample, and no word of replaced units": (
        "sampled_counts",
        {"noise__sampling": "without-replacement"},
        "noise-scale",
        ["0.494 is proven"],
    ),
    "a Poisson sample, and no word of units that go": (
        "sampled_counts",
        {"claim__adjacency": "replace"},
        "noise-scale",
        ["epsilon 1 is proven"],
    ),
    "batches of fixed size by their own analysis": (
        "mlp",
        {"training__sampling": "fixed-size", "training__sensitivity": 2, "claim__epsilon": 23.0},
        "sampling",
        ["for batches of fixed size 22.69"],
    ),
    "nodes that come or go, told as edges": ("mlp", {"claim__told": "edge"}, "unit", ["goes and another"]),
}


@pytest.mark.parametrize("case", DOUBTS)
def test_doubt_is_said_and_nothing_called_wrong(case):
    base, facts, rule, words = DOUBTS[case]
    said = remarks(changed(RIGHT[base](), **facts))
    (hit,) = [remark for remark in said if remark.rule == rule]
    assert hit.severity == "doubt"
    assert all(word in hit.says for word in words), hit.says
    assert [remark for remark in said if remark.severity == "wrong"] == []


def test_float_noise_is_a_note():
    (note,) = remarks(changed(RIGHT["degrees"](), noise__sampler="float"))
    assert (note.rule, note.severity) == ("float-noise", "note")


NEEDED = {
    "edge_response": ["claim__told", "noise__sensitivity", "noise__truthful", "noise__seed"],
    "degrees": ["claim__told", "noise__sensitivity", "noise__norm", "noise__scale", "noise__sampler"],
    "mlp": [
        *("claim__units", "training__example", "training__layers", "training__clipping", "training__normalisation"),
        *("training__noise_multiplier", "training__sensitivity", "training__sampling", "training__sample_rate"),
        *("training__steps", "training__accountant", "training__seed", "selection"),
    ],
    "dp_gnn": [
        *("training__neighbour_bound", "training__bound_on", "training__batch_size", "training__examples"),
        *("bound", "inference"),
    ],
    "fedavg": ["training__exchanges"],
    "k_ary": ["noise__choices", "noise__truthful"],
    "sampled_counts": ["noise__sampling", "noise__sample_rate", "noise__scale"],
    "tested_first": ["noise__test_scale", "noise__threshold", "noise__scale", "noise__sensitivity"],
    "smooth_laplace": ["noise__beta", "noise__law", "noise__scale", "noise__norm"],
    "above_threshold": ["noise__threshold_scale", "noise__query_scale", "noise__positives", "noise__answers"],
    "best_community": ["noise__scale", "noise__sensitivity"],
}


@pytest.mark.parametrize(("name", "fact"), [(name, fact) for name, facts in NEEDED.items() for fact in facts])
def test_missing_fact_is_asked_for_by_name(name, fact):
    said = [r for r in remarks(changed(RIGHT[name](), **{fact: None})) if r.rule == "missing-facts"]
    (remark,) = said
    assert remark.severity == "doubt"
    assert "cannot be judged" in remark.says
    assert remark.do.startswith(f"say {fact.rpartition('__')[2]} (")


def test_bare_claim_is_in_doubt_and_not_wrong():
    stated = {"claim": {"unit": "node", "adjacency": "add/remove", "epsilon": 1, "delta": 1e-5}}
    said = lint(Statement.checked("a statement", stated | {"training": [{"name": "a model"}]}))
    assert not said.wrong
    assert {remark.where for remark in said.remarks} >= {"[claim]", "[[training]] a model"}


def test_every_rule_has_a_planted_mistake():
    """A rule that nothing here provokes would be one that nobody has seen work."""
    provoked = set()
    for base, facts, _, _ in (*WRONG.values(), *DOUBTS.values()):
        statement = Statement.checked("a statement", changed(RIGHT[base](), **facts))
        provoked |= {rule for rule in RULES if rule not in provoked and list(rule(statement))}
    floats = Statement.checked("a statement", changed(RIGHT["degrees"](), noise__sampler="float", claim__told=None))
    provoked |= {rule for rule in RULES if list(rule(floats))}
    assert provoked == set(RULES)


def test_number_of_the_prv_accountant_is_accepted_as_its_own():
    sharp = changed(RIGHT["mlp"](), claim__epsilon=1.53, training__accountant="prv")
    assert remarks(sharp) == ()
    assert remarks(changed(sharp, claim__epsilon=1.505)) == ()  # within the error of Opacus' upper bound
    assert found(changed(sharp, claim__epsilon=1.45), "wrong") == {"training-epsilon"}


def test_prv_that_cannot_be_computed_leaves_a_doubt_near_the_rdp_number():
    large = changed(RIGHT["mlp"](), training__noise_multiplier=0.3, training__steps=3000)  # 143.0 by rdp
    large = changed(large, training__accountant="prv")
    assert remarks(changed(large, claim__epsilon=143.0)) == ()
    assert found(changed(large, claim__epsilon=130.0), "doubt") == {"training-epsilon"}
    assert found(changed(large, claim__epsilon=100.0), "wrong") == {"training-epsilon"}


SECTIONS = {"claim": Claim, "noise": Noise, "training": Training, "inference": Inference, "selection": Selection}
EXTREMES = [1e-12, 1e-3, 0.01, 0.5, 0.99, 1, 2, 7, 1000, 10**6, 10**9, 1e12]


def values(field):
    """What a fact may be: one of its names, a truth value, or a number."""
    kinds = [field.annotation, *get_args(field.annotation)]
    names = [name for kind in kinds if get_origin(kind) is Literal for name in get_args(kind)]
    return st.sampled_from(names) if names else st.booleans() if bool in kinds else st.sampled_from(EXTREMES)


@settings(max_examples=100)
@given(data=st.data(), name=st.sampled_from(list(RIGHT)))
def test_no_statement_that_can_be_read_fails_to_be_judged(data, name):
    stated = RIGHT[name]()
    for _ in range(data.draw(st.integers(1, 4))):
        section = data.draw(st.sampled_from([part for part in stated if part in SECTIONS]))
        fact = data.draw(st.sampled_from([f for f in SECTIONS[section].model_fields if f not in {"name", "title"}]))
        value = data.draw(st.none() | values(SECTIONS[section].model_fields[fact]))
        try:
            other = changed(stated, **{f"{section}__{fact}": value})
            statement = Statement.checked("a statement", other)
        except (InputError, KeyError):  # out of range, or taken away already
            continue
        stated = other
        for remark in lint(statement).remarks:
            assert remark.says
            assert "None" not in remark.says
            assert "nan" not in remark.says.split()


def test_bounds_are_fine_where_they_are_public_or_paid_for():
    paid = changed(RIGHT["degrees"](), bound=[{"what": "range", "source": "released", "release": "degrees"}])
    assert remarks(paid) == ()
    known = changed(RIGHT["degrees"](), bound=[{"what": "nodes", "source": "data"}])  # public under edges
    assert remarks(known) == ()
    public = [{"what": "nodes", "source": "public"}, {"what": "degree", "source": "public"}]
    assert found(changed(RIGHT["gap"](), bound=public), "doubt") == {"bound-from-the-data"}  # one node less shows
    assert remarks(changed(RIGHT["gap"](), bound=public, claim__adjacency="zero-out")) == ()
    assert remarks(changed(RIGHT["labels"](), bound=[{"what": "degree", "source": "data"}])) == ()  # so are edges


def test_edge_guarantee_becomes_one_for_nodes_at_as_many_times_epsilon():
    stated = changed(RIGHT["degrees"](), claim__unit="node", claim__told="node", noise__unit="edge")
    stated = changed(stated, claim__edges_per_unit=10, bound=[{"what": "degree", "source": "public"}])
    assert "noise-scale" in found(stated, "wrong")
    assert remarks(changed(stated, claim__epsilon=5.0)) == ()


def test_an_epsilon_for_each_snapshot_is_none_for_a_pair_over_time():
    """Readers are told of people's history; each of ten snapshots is released at epsilon 1."""
    each = changed(laplace(1.0, 2.0), claim__unit="edge", claim__told="edge-history")
    (wrong,) = (remark for remark in remarks(each) if remark.severity == "wrong")
    assert wrong.rule == "unit"
    assert "T of them protect it at T times epsilon" in wrong.says
    history = {"claim__unit": "edge-history", "claim__told": "edge-history", "noise__unit": "edge"}
    all_ten = changed(laplace(1.0, 2.0), **history, noise__times=10)
    assert found(all_ten, "wrong") == {"budget"}
    assert found(changed(all_ten, claim__epsilon=9.9), "wrong") == {"budget"}
    assert remarks(changed(all_ten, claim__epsilon=10.0)) == ()


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_windows_side_by_side_cost_a_message_once_and_a_pair_as_many_times(kind):
    """One private graph for each of four windows: at epsilon 1 for a message, and at 4 for all of a pair's."""
    noise = {"noise__unit": "edge", "noise__windows": 4, "noise__epsilon": 1.0}
    each = changed(laplace(1.0, 2.0), **noise)
    if kind == "gaussian":
        each = changed(each, noise__mechanism="gaussian", noise__norm="L2", noise__scale=7.5, noise__delta=1e-5)
        each = changed(each, claim__delta=4e-5, claim__units=1000)
    message = changed(each, claim__unit="event", claim__told="event")
    pair = changed(each, claim__unit="edge-history", claim__told="edge-history")
    assert remarks(message) == ()
    assert found(changed(message, claim__told="edge-history"), "wrong") == {"unit"}
    assert found(pair, "wrong") == {"budget"}
    assert remarks(changed(pair, claim__epsilon=4.0)) == ()
    assert found(changed(message, noise__scale=1.5), "wrong") == {"noise-scale"}
    assert found(changed(message, noise__times=2), "wrong") == {"budget"}
    moved = changed(message, claim__adjacency="replace")  # from one window to another: two releases change
    assert "budget" in found(moved, "doubt") | found(moved, "wrong")
    delta = found(changed(pair, claim__epsilon=4.0, claim__delta=1e-5), "wrong")
    assert delta == ({"delta"} if kind == "gaussian" else set())


@pytest.mark.parametrize("whole", ["edge-history", "node", "client"])
def test_a_promise_for_messages_is_one_for_their_sender_at_as_many_times_epsilon(whole):
    event = changed(laplace(1.0, 1.0), claim__unit="event", claim__told=whole)
    assert found(event, "wrong") == {"unit"}
    stated = changed(laplace(1.0, 1.0), claim__unit=whole, claim__told=whole, noise__unit="event")
    assert "unit" in found(stated, "wrong")  # nothing bounds how many there are
    stated = changed(stated, claim__events_per_unit=8, bound=[{"what": "other", "source": "public"}])
    (wrong,) = (remark for remark in remarks(stated) if remark.severity == "wrong")
    assert wrong.rule == "noise-scale"
    assert "8 events that change together" in wrong.says
    assert remarks(changed(stated, claim__epsilon=8.0)) == ()
    assert found(changed(stated, claim__epsilon=8.0, claim__adjacency="replace"), "wrong") == {"noise-scale"}
    assert "missing-facts" in found(changed(stated, claim__epsilon=8.0, bound=[]), "doubt")


def test_a_promise_for_all_messages_of_a_pair_is_one_for_each_of_them():
    """A message that goes may leave another history: twice the epsilon, which is a doubt and no mistake."""
    for part in ("event", "edge"):
        stated = changed(laplace(1.0, 1.0), claim__unit="edge-history", claim__told=part)
        assert found(stated, "wrong") == set()
        assert found(stated, "doubt") == {"unit"}
    assert found(changed(laplace(1.0, 1.0), claim__unit="edge-history", claim__told="node"), "wrong") == {"unit"}


def test_a_node_that_is_another_one_changes_twice_its_edges():
    node = {"claim__unit": "node", "claim__told": "node", "claim__adjacency": "replace", "noise__unit": "edge"}
    stated = changed(RIGHT["degrees"](), **node, claim__edges_per_unit=10)
    stated = changed(stated, bound=[{"what": "degree", "source": "public"}])
    (remark,) = (r for r in remarks(changed(stated, claim__epsilon=5.0)) if r.severity == "wrong")
    assert remark.rule == "noise-scale"
    assert "20 edges that change together" in remark.says
    assert remarks(changed(stated, claim__epsilon=10.0)) == ()
    twice = changed(stated, noise__times=2)
    assert found(changed(twice, claim__epsilon=19.0), "wrong") == {"budget"}
    assert remarks(changed(twice, claim__epsilon=20.0)) == ()
    told = {"noise__epsilon": 0.5}  # of one edge, stated: the noise keeps it, the claim needs twenty of them
    assert found(changed(stated, **told, claim__epsilon=5.0), "wrong") == {"budget"}
    assert remarks(changed(stated, **told, claim__epsilon=10.0)) == ()


def test_answers_about_edges_of_a_node_that_is_another_one():
    node = {"claim__unit": "node", "claim__told": "node", "claim__adjacency": "replace", "noise__unit": "edge"}
    stated = changed(RIGHT["edge_response"](0.2), **node, claim__edges_per_unit=3)
    stated = changed(stated, bound=[{"what": "degree", "source": "public"}])
    assert found(changed(stated, claim__epsilon=0.6), "wrong") == {"noise-scale"}
    assert remarks(changed(stated, claim__epsilon=1.2)) == ()


@pytest.mark.parametrize(("adjacency", "many"), [("add/remove", 10), ("replace", 20)])
def test_gaussian_noise_for_the_edges_of_a_node_is_for_all_of_them_at_once(adjacency, many):
    """At the claim's delta; a tenth of epsilon for one edge at that delta is not enough for ten."""
    node = {"claim__unit": "node", "claim__told": "node", "noise__unit": "edge", "claim__adjacency": adjacency}
    right = gaussian(4.0, 1e-5, 1.0, many / distance_of(4.0, 1e-5))
    right = changed(right, **node, claim__edges_per_unit=10, bound=[{"what": "degree", "source": "public"}])
    assert remarks(right) == ()
    assert found(changed(right, noise__scale=1 / distance_of(4.0 / many, 1e-5)), "wrong") == {"noise-scale"}


def test_repeated_edge_guarantees_add_up_for_all_edges_of_a_node():
    stated = changed(RIGHT["degrees"](), claim__unit="node", claim__told="node", noise__unit="edge", noise__times=2)
    stated = changed(stated, claim__edges_per_unit=10, bound=[{"what": "degree", "source": "public"}])
    assert remarks(changed(stated, claim__epsilon=10.0)) == ()
    assert found(changed(stated, claim__epsilon=9.5), "wrong") == {"budget"}
    noisy = gaussian(1.0, 1e-5, 1.0, 10 * math.sqrt(2) / distance_of(1.0, 1e-5))
    noisy = changed(noisy, claim__unit="node", claim__told="node", noise__unit="edge", noise__times=2)
    noisy = changed(noisy, claim__edges_per_unit=10, claim__composition="gaussian", bound=stated["bound"])
    assert remarks(noisy) == ()
    assert found(changed(noisy, claim__epsilon=0.97), "wrong") == {"budget"}


def test_sensitivity_in_l1_is_a_note_under_gaussian_noise():
    right = gaussian(1.0, 1e-5, 2.0, 2.0 / distance_of(1.0, 1e-5))
    (remark,) = remarks(changed(right, noise__norm="L1"))
    assert (remark.rule, remark.severity) == ("norm", "note")


def test_delta_that_is_used_up_is_a_doubt():
    """Two hops at half of the delta each leave none for the training."""
    assert "delta" in found(changed(RIGHT["gap"](), noise__delta=5e-7), "doubt")


def test_numerical_composition_is_a_doubt_down_to_what_all_releases_surely_tell():
    """By Renyi divergences 5.05; by the sum of privacy losses 4.714, which is taken from below."""
    stated = changed(RIGHT["gap"](), claim__composition="prv")
    assert remarks(stated) == ()
    assert found(changed(stated, claim__epsilon=4.75), "doubt") == {"budget"}
    assert found(changed(stated, claim__epsilon=4.65), "wrong") == {"budget"}


@pytest.mark.parametrize(("claimed", "severity"), [(0.981, set()), (0.97, {"noise-scale"})])
def test_a_delta_takes_a_little_off_laplace_noise(claimed, severity):
    """epsilon 1 and delta 0.01: 1 + 2 ln(1 - 0.01) = 0.9799 for one number."""
    stated = changed(laplace(1.0, 1.0), claim__delta=0.01, claim__units=10, noise__norm="any")
    assert found(changed(stated, claim__epsilon=claimed), "wrong") == severity
    assert found(changed(stated, claim__epsilon=claimed), "doubt") == set()


def test_many_laplace_releases_are_wrong_only_below_what_they_surely_tell():
    """100 of epsilon 0.1 at delta 1e-6: 4.69 numerically, and more by Renyi divergences."""
    many = changed(laplace(0.1, 1.0), noise__times=100, claim__delta=1e-6, claim__units=10)
    assert found(changed(many, claim__epsilon=4.6, claim__composition="rdp"), "wrong") == {"budget"}
    between = changed(many, claim__epsilon=4.8, claim__composition="rdp")
    assert (found(between, "wrong"), found(between, "doubt")) == (set(), {"budget"})


def test_releases_of_which_nothing_but_an_epsilon_is_known_are_added_to_the_others():
    """Nine Gaussian releases exactly, and epsilon 1 of another: no composition of all of them is needed."""
    other = {"name": "audited elsewhere", "mechanism": "other", "epsilon": 1.0, "delta": 1e-6}
    stated = gaussian(1.0, 2e-6, 1.0, 10.0)
    stated = changed(
        stated, noise__times=9, claim__composition="gaussian", claim__epsilon=1.0 + epsilon_of(0.3, 1e-6)
    )
    stated["noise"].append(other | FRESH)
    assert found(stated, "wrong") == found(stated, "doubt") == set()
    assert found(changed(stated, claim__epsilon=1.2), "wrong") == {"budget"}


@pytest.mark.parametrize("name", ["whole_counts", "sampled_counts", "sampled_sums", "best_community", "k_ary"])
def test_repeated_releases_of_new_kinds_add_up(name):
    one = RIGHT[name]()
    epsilon, delta = one["claim"]["epsilon"], one["claim"]["delta"]
    own = {"noise__delta": delta} if delta else {}
    stated = changed(one, noise__times=3, claim__epsilon=3 * epsilon, claim__delta=3 * delta, **own)
    if "units" in stated["claim"]:
        stated["claim"]["units"] = 2
    assert found(stated, "wrong") == found(stated, "doubt") == set()
    assert found(changed(stated, claim__epsilon=epsilon), "wrong") == {"budget"}


def test_a_test_takes_of_delta_what_it_needs_and_no_equal_part():
    """Its mistake has a probability of 3.1e-6; the Gaussian releases beside it share the rest of 1e-5."""
    stated = changed(RIGHT["tested_first"](), claim__epsilon=40.0)
    for index in range(4):
        facts = {"mechanism": "gaussian", "sensitivity": 1, "norm": "L2", "scale": 1}
        stated["noise"].append({"name": f"sum {index}", **facts, **FRESH})
    assert found(stated, "wrong") == set()
    assert found(changed(stated, claim__delta=3e-6), "wrong") == {"delta"}


def test_a_delta_that_no_noise_needs_is_not_counted():
    stated = changed(laplace(), noise__delta=1e-3)
    assert found(stated, "wrong") == set()


@given(scale=st.floats(0.3, 5), delta=st.floats(1e-9, 1e-2), less=st.floats(0.011, 0.5))
def test_discrete_gaussian_is_accepted_at_its_epsilon_and_refused_below(scale, delta, less):
    epsilon = discrete_epsilon_of(1, scale, delta)
    right = changed(RIGHT["whole_counts"](), noise__scale=scale, claim__delta=delta, claim__units=2)
    right = changed(right, claim__epsilon=epsilon)
    assert remarks(right) == ()
    assert found(changed(right, claim__epsilon=epsilon * (1 - less)), "wrong") == {"noise-scale"}


def test_node_of_a_graph_that_is_one_record_is_covered():
    """A molecule's nodes read each other and no other molecule."""
    nodes = changed(RIGHT["graphs"](), claim__unit="node", claim__told="node")
    assert remarks(changed(nodes, inference={"reads": "nothing private"})) == ()


def test_noise_for_a_node_may_spare_the_term_that_goes():
    """One of 6 terms comes or goes and 5 change: 11 clips, if nothing takes its place."""
    full = changed(RIGHT["dp_gnn"](), training__sampling="full batch", training__batch_size=10_000)
    full = changed(full, training__noise_multiplier=20.0, training__sensitivity=11)
    assert "message-passing" not in found(full, "wrong")
    assert "message-passing" in found(changed(full, training__sensitivity=10.9), "wrong")
    assert "message-passing" in found(changed(full, claim__adjacency="replace"), "wrong")


epsilons = st.floats(0.05, 20)
sensitivities = st.floats(1e-3, 1e3)


@given(epsilon=epsilons, sensitivity=sensitivities, less=st.floats(0.011, 0.9))
def test_laplace_scale_is_accepted_at_its_value_and_refused_below(epsilon, sensitivity, less):
    right = laplace(epsilon, sensitivity)
    assert remarks(right) == ()
    small = changed(right, noise__scale=sensitivity / epsilon * (1 - less))
    assert found(small, "wrong") == {"noise-scale"}


@given(epsilon=epsilons, sensitivity=sensitivities, delta=st.floats(1e-12, 0.1), less=st.floats(0.011, 0.9))
def test_gaussian_scale_is_accepted_at_its_value_and_refused_below(epsilon, sensitivity, delta, less):
    scale = sensitivity / distance_of(epsilon, delta)
    assert remarks(gaussian(epsilon, delta, sensitivity, scale)) == ()
    assert found(gaussian(epsilon, delta, sensitivity, scale * (1 - less)), "wrong") == {"noise-scale"}


@given(epsilon=epsilons, times=st.integers(2, 50))
def test_budget_of_repeated_releases_is_their_sum(epsilon, times):
    one = changed(laplace(epsilon / times, 1.0), claim__epsilon=epsilon, noise__times=times)
    assert remarks(one) == ()
    assert found(changed(one, claim__epsilon=epsilon * 0.98), "wrong") == {"budget"}


@given(epsilon=st.floats(0.1, 8), delta=st.floats(1e-9, 1e-3), times=st.integers(2, 100))
def test_repeated_gaussian_noise_adds_up_in_its_square(epsilon, delta, times):
    """Together they are one Gaussian mechanism, whose distance grows with the root of their number."""
    stated = gaussian(epsilon, delta, 1.0, math.sqrt(times) / distance_of(epsilon, delta))
    stated = changed(stated, noise__times=times, claim__composition="gaussian")
    assert remarks(stated) == ()
    assert found(changed(stated, claim__epsilon=epsilon * 0.98), "wrong") == {"budget"}
