"""GAP with promises for edges: nothing but noisy sums knows edges."""

from support.private_training import ran, told
from support.sixty_nodes import sixty_nodes


def test_answers_alone_are_published():
    kinds = {m.kind for m in ran("gap-edp", sixty_nodes()).transcript.messages}
    assert kinds == {"posteriors-full"}


def test_without_noise_to_speak_of_an_edge_is_read():
    data = sixty_nodes()
    one, other = data.edge_index[:, 0].tolist()
    less, ends = data.clone(), {(one, other), (other, one)}
    less.edge_index = data.edge_index[:, [tuple(e) not in ends for e in data.edge_index.t().tolist()]]
    runs = (ran("gap-edp", d, epsilon=1e6, steps=40) for d in (data, less))
    a, b = (told(run, "posteriors-full")["posteriors"] for run in runs)
    assert float((a - b).abs()[[one, other]].max()) > 1e-3


def test_accuracy_grows_with_epsilon():
    low, high = (ran("gap-edp", sixty_nodes(), epsilon=e, steps=80).utility.test for e in (0.05, 1e5))
    assert high > 0.6
    assert low <= high


def test_a_split_by_labels_is_fine_where_these_are_public():
    run = ran("gap-edp", sixty_nodes(), split="20/40/40")
    assert "labels" in run.promise.public
    assert 0 < run.secrets["label-membership"].truth.sum() < 30


def test_the_promise_speaks_of_edges():
    assert any("differ in one edge" in note for note in ran("gap-edp", sixty_nodes()).notes)
