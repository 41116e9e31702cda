"""Membership by likeness to released rows."""

import numpy as np
import pytest
import torch

from gaudit.attacks.membership import nearest
from gaudit.attacks.membership.nearest import Nearest
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.messages import CONDENSED_KIND, CONDENSED_ROWS_KIND, CONDENSED_UPLOAD_KIND, INITIAL_ROWS_KIND

NOTHING_TO_READ = r"does not apply: .* sees .* messages that carry a condensed graph or rows of real nodes"


def test_planted_rows_are_found(world, publish):
    found = auc_finding([world.judged(Nearest(), publish(world.release(world.members)))])
    assert found.estimate > 0.99
    assert found.low > 0.9


def test_planted_rows_are_found_whatever_their_scale(world, publish):
    release = world.release(world.members)
    shrunk = publish({**release.tensors(), "x": 0.01 * release.x})
    assert auc_finding([world.judged(Nearest(), shrunk)]).estimate > 0.99


def test_planted_rows_in_an_encoders_space_are_found_by_who_has_it(world, publish, bend):
    encoder, z = bend(world)
    transcript = publish(world.release(world.members, z), encoder)
    outsider = auc_finding([world.judged(Nearest(), transcript, "public", "none")])
    client = auc_finding([world.judged(Nearest(), transcript, "client:0", "none")])
    assert outsider.low < 0.5 < outsider.high
    assert client.estimate > 0.99


def test_planted_rows_in_an_upload_are_found_by_who_receives_it(world):
    """A client's own condensed graph goes to the server; the release is of strangers' rows."""
    channel = Channel()
    channel.send(CONDENSED_UPLOAD_KIND, "client:0", "server", 0, world.release(world.members).tensors())
    channel.send(CONDENSED_KIND, "server", "public", 1, world.release(world.strangers).tensors())
    server, outsider = (
        auc_finding([world.judged(Nearest(), channel.transcript, observer)]) for observer in ("server", "public")
    )
    assert server.estimate > 0.99
    assert outsider.low < 0.5 < outsider.high


def test_null_release_of_other_nodes_is_chance(make_world, publish, at_chance):
    worlds = [make_world(seed) for seed in range(40)]
    at_chance([w.judged(Nearest(), publish(w.release(w.strangers))) for w in worlds])


def test_null_scrambled_truth_is_chance(world, publish, at_chance):
    judged = world.judged(Nearest(), publish(world.release(world.members)))
    at_chance([judged.scrambled(np.random.default_rng(seed)) for seed in range(40)])


def test_null_blind_baseline_is_chance(make_world, at_chance):
    at_chance([make_world(seed).judged_blind(Nearest(), seed=seed) for seed in range(40)])


def test_scores_of_nodes_do_not_depend_on_their_numbers(world, publish):
    transcript = publish(world.release(world.members))
    one, other = (world.judged(Nearest(), transcript, seed=seed) for seed in (0, 1))
    assert not torch.equal(world.given(seed=0).knowledge.subjects, world.given(seed=1).knowledge.subjects)
    np.testing.assert_array_equal(one.subjects, other.subjects)
    np.testing.assert_allclose(one.score, other.score, atol=1e-6)


def test_truth_does_not_reach_the_scores(world, publish):
    transcript = publish(world.release(world.members))
    told = world.with_other_truth()
    assert not np.array_equal(told.secrets.truth, world.secrets.truth)
    np.testing.assert_array_equal(
        world.judged(Nearest(), transcript).score, told.judged(Nearest(), transcript).score
    )


def test_blind_baseline_is_the_same_for_the_same_seed(world):
    one, again, other = (world.judged_blind(Nearest(), seed=seed).score for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("neighbours", ["true", "partial", "none"])
def test_raw_features_need_no_neighbours(world, publish, neighbours):
    transcript = publish(world.release(world.members))
    asked = world.judged(Nearest(), transcript, neighbours=neighbours)
    np.testing.assert_allclose(asked.score, world.judged(Nearest(), transcript).score, atol=1e-6)


def test_rows_of_zeros_are_no_error(world, publish):
    x = world.data.x.clone()
    x[world.members[:5]] = 0
    blank = world.with_features(x)
    assert np.isfinite(blank.judged(Nearest(), publish(blank.release(blank.members))).score).all()


def broken(release, how):
    tensors = release.tensors()
    nan = release.x.clone()
    nan[0, 0] = float("nan")
    return {
        "narrow": {**tensors, "x": release.x[:, 1:]},
        "nan": {**tensors, "x": nan},
        "no rows": {name: tensor[:0] for name, tensor in tensors.items()},
        "negative labels": {**tensors, "y": release.y - 1},
        "no labels": {"x": release.x, "adjacency": release.adjacency},
        "square": {**tensors, "adjacency": release.adjacency[:-1]},
    }[how]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("narrow", "features"),
        ("nan", "not finite"),
        ("no rows", "features"),
    ],
)
def test_a_broken_release_is_refused(world, publish, how, says):
    with pytest.raises(InputError, match=says):
        world.judged(Nearest(), publish(broken(world.release(world.members), how)))


@pytest.mark.parametrize("how", ["negative labels", "no labels", "square"])
def test_rows_are_all_that_it_reads_of_a_release(world, publish, how):
    release = world.release(world.members)
    whole = world.judged(Nearest(), publish(release))
    assert np.array_equal(world.judged(Nearest(), publish(broken(release, how))).score, whole.score)


def test_without_a_release_it_does_not_apply(world, publish):
    transcript = publish(world.release(world.members))
    transcript.messages.pop()
    with pytest.raises(InputError, match=r"'nearest' does not apply.*that carry a condensed graph"):
        world.judged(Nearest(), transcript)


def released_twice(world, first, last):
    channel = Channel()
    for round_, x in enumerate((first, last)):
        graph = world.release(world.strangers)
        channel.send(CONDENSED_KIND, "server", "public", round_, {**graph.tensors(), "x": x})
    return channel.transcript


def test_planted_changes_are_found_where_rows_say_nothing(world):
    """Rows that move a little towards members, from rows so large that the last ones look like the first."""
    start = 100 * world.data.x[world.strangers]
    transcript = released_twice(world, start, start + world.data.x[world.members])
    by_rows, by_changes = (
        auc_finding([world.judged(Nearest(compare=how), transcript)]) for how in ("rows", "changes")
    )
    assert by_rows.low < 0.5 < by_rows.high
    assert by_changes.estimate > 0.99


def test_null_changes_towards_others_are_chance(make_world, at_chance):
    runs = []
    for seed in range(40):
        w = make_world(seed)
        start = torch.randn(len(w.strangers), w.data.num_features)
        transcript = released_twice(w, start, start + w.data.x[w.strangers])
        runs.append(w.judged(Nearest(compare="changes"), transcript))
    at_chance(runs)


def test_changes_need_two_releases_of_one_size(world, publish):
    with pytest.raises(InputError, match="need two releases"):
        world.judged(Nearest(compare="changes"), publish(world.release(world.members)))
    channel = Channel()
    for round_, rows in enumerate((world.members, world.members[:5])):
        channel.send(CONDENSED_KIND, "server", "public", round_, world.release(rows).tensors())
    with pytest.raises(InputError, match="cannot be compared"):
        world.judged(Nearest(compare="changes"), channel.transcript)


def test_planted_rows_told_to_a_client_are_found_by_that_client_alone(world):
    channel = Channel()
    content = {"nodes": torch.arange(50), "x": world.data.x[world.members], "y": world.data.y[world.members]}
    channel.send(CONDENSED_ROWS_KIND, "client:1", "client:0", 0, content)
    found = auc_finding([world.judged(Nearest(), channel.transcript, "client:0")])
    assert found.estimate > 0.99
    with pytest.raises(InputError, match=NOTHING_TO_READ):
        world.judged(Nearest(), channel.transcript, "server")
    with pytest.raises(InputError, match="but its own"):
        world.judged(Nearest(), channel.transcript, "client:1")
    with pytest.raises(InputError, match="but its own"):
        world.judged(Nearest(), channel.transcript, "server+client:1")
    channel.send(CONDENSED_ROWS_KIND, "client:1", "client:0", 0, {**content, "x": torch.zeros(3, 2)})
    with pytest.raises(InputError, match="finite features x"):
        world.judged(Nearest(), channel.transcript, "client:0")


def test_planted_rows_to_start_from_are_found_by_the_server_alone(world):
    channel = Channel()
    content = {"x": world.data.x[world.members], "y": world.data.y[world.members]}
    channel.send(INITIAL_ROWS_KIND, "client:1", "server", -1, content)
    assert auc_finding([world.judged(Nearest(), channel.transcript, "server")]).estimate > 0.99
    with pytest.raises(InputError, match=NOTHING_TO_READ):
        world.judged(Nearest(), channel.transcript, "public")
    channel.send(INITIAL_ROWS_KIND, "client:1", "server", -1, {**content, "x": torch.zeros(3, 2)})
    with pytest.raises(InputError, match="'initial-rows' must hold finite features x"):
        world.judged(Nearest(), channel.transcript, "server")


def test_comparing_a_few_at_a_time_changes_nothing(monkeypatch):
    rng = torch.Generator().manual_seed(0)
    rows, others = torch.randn(50, 6, generator=rng), torch.randn(7, 6, generator=rng)
    expected = torch.nn.functional.cosine_similarity(rows[:, None], others[None], dim=2).max(1).values
    for pairs in (1, 20, 10**6):
        monkeypatch.setattr(nearest, "AT_ONCE", pairs)
        assert torch.allclose(nearest.largest_cosine(rows, others), expected, atol=1e-6)
        assert nearest.largest_cosine(rows[:0], others).shape == (0,)
