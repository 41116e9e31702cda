"""Who was trained on, read off what targets send: exactly, of sums, under noise, and nobody without a leak."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from gaudit.attacks.gradients.label_pursuit import LabelPursuit, pursued, surroundings
from gaudit.attacks.gradients.node_gradients import Atoms, node_gradients
from gaudit.attacks.gradients.sights import Taken, sights
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.registry import find
from gaudit.targets.game import Adversary
from gaudit.targets.games.membership import LabelMembership
from gaudit.targets.messages import (
    CLASS_COUNTS_KIND,
    CLASS_GRADIENTS_KIND,
    GRADIENT_SUM_KIND,
    LABELLED_COUNT_KIND,
    SELF_TRAINING_GRADIENTS_KIND,
    SELF_TRAINING_MODEL_KIND,
)
from support.sixty_nodes import sixty_nodes

SEED = np.random.SeedSequence(0)
SHORT = {"rounds": 2, "checkpoints": (2,), "self_training_rounds": 3, "clients": 4, "hidden": 32}
NOISE = 0.005
TEST = {"epochs": 1, "models": 1}


def without_twins():
    """Nearly orthogonal features on a ring with chords: no two nodes read the same."""
    data = load_dataset("planted")
    nodes = torch.arange(data.num_nodes)
    ring = torch.stack([nodes, nodes.roll(1)])
    data.edge_index = torch.cat([data.edge_index, ring, ring.flip(0)], 1).unique(dim=1)
    return data


PLANTED = without_twins()


def ran(target, settings, defense="none", data=PLANTED, **knobs):
    made = find("targets", target)(**settings)
    return made(data, find("defenses", defense)(**knobs), SEED, lambda message: True)


class Account:
    """What an attack on a run claims, beside the truth."""

    def __init__(self, run, data=PLANTED, change=lambda view: view, observer="server", **settings):
        attack = LabelPursuit(**settings)
        game = run.secrets[LabelMembership.name]
        grant, _ = game.grant(data, Adversary(attack), branch(SEED, "adversary"))
        view = change(grant.renamed(run.transcript.seen_by(observer)))
        self.reason = attack.why_not(view, grant.knowledge)
        if self.reason is not None:
            return
        self.found = pursued(view, grant.knowledge, attack.settings.rounds)
        scores = attack(view, grant.knowledge, SEED)
        self.score, self.claims = scores.score, scores.accusations
        ids = grant.subject_ids(grant.knowledge.subjects.numpy())
        place = {node: k for k, node in enumerate(game.subjects.tolist())}
        order = [place[node] for node in ids.tolist()]
        self.truth, self.owner, self.y = game.truth[order], game.owners[order], data.y.numpy()[ids]

    @property
    def accused(self):
        return {claim.subject for claim in self.claims}

    @property
    def members(self):
        return set(np.flatnonzero(self.truth).tolist())

    def all_right(self, with_owner=True):
        """Whether exactly the members are accused, each with its label, and with its owner."""
        labels = all(claim.label == self.y[claim.subject] for claim in self.claims)
        owners = all(claim.owner == (self.owner[claim.subject] if with_owner else None) for claim in self.claims)
        return self.accused == self.members and labels and owners


def without(*kinds):
    return lambda view: replace(view, messages=tuple(m for m in view.messages if m.kind not in kinds))


def noisy(deviation, kept=1.0, seed=0):
    """What is uploaded shrunk to a share, with noise."""

    def change(view):
        draw = torch.Generator().manual_seed(seed)
        messages = [
            replace(
                m,
                tensors={
                    n: kept * t + deviation * torch.randn(t.shape, generator=draw) for n, t in m.tensors.items()
                },
            )
            if m.kind == SELF_TRAINING_GRADIENTS_KIND
            else m
            for m in without(CLASS_GRADIENTS_KIND)(view).messages
        ]
        return replace(view, messages=tuple(messages))

    return change


@pytest.fixture(scope="module")
def self_trained():
    return ran("fedgc", {**SHORT, "test": TEST}, "pseudo-labels")


def test_members_are_named_with_owner_and_label_and_that_is_proven(self_trained):
    account = Account(self_trained)
    assert account.found.kind == SELF_TRAINING_GRADIENTS_KIND
    assert account.all_right()
    assert all(claim.proven and not claim.alike for claim in account.claims)
    assert account.score[account.truth].min() > account.score[~account.truth].max()


def test_nobody_need_say_how_many(self_trained):
    assert Account(self_trained, change=without(LABELLED_COUNT_KIND, CLASS_COUNTS_KIND)).all_right()


def test_a_secure_sum_hides_the_owner_alone(self_trained):
    run = ran("fedgc", {**SHORT, "test": TEST}, "sealed-uploads")
    account = Account(run)
    assert account.all_right(with_owner=False)
    assert not run.transcript.seen_by("server").of_kind(CLASS_GRADIENTS_KIND)


def test_a_client_reads_the_sum_off_the_common_weights(self_trained):
    account = Account(self_trained, observer="client:1")
    assert all(claim.owner is None for claim in account.claims)
    assert len(account.accused & account.members) >= 0.95 * len(account.members)


def test_class_gradients_within_known_parts():
    settings = {"rounds": 1, "refinements": 1, "clients": 4, "hidden": 32, "test": TEST}
    run = ran("fedgm", settings)
    account = Account(run, parts="known")
    assert account.found.kind == CLASS_GRADIENTS_KIND
    assert account.all_right()


@pytest.mark.parametrize(
    "settings",
    [
        {"upload": "gradients"},
        {"optimiser": "sgd", "lr": 0.1, "local_epochs": 1, "dropout": 0.0, "weight_decay": 0.01},
    ],
)
def test_federated_averaging_with_gradients_or_one_plain_step(settings):
    data = sixty_nodes()
    run = ran("fedavg", {**settings, "clients": 2, "rounds": 1, "hidden": 64, "split": "dataset"}, data=data)
    account = Account(run, data, parts="known")
    assert account.accused == account.members
    assert all(claim.owner == account.owner[claim.subject] for claim in account.claims)


def test_updates_since_a_model_that_one_client_alone_was_handed():
    """In FedGTA's second round each client begins with a mean of its own."""
    data = sixty_nodes()
    plain = {"optimiser": "sgd", "lr": 0.1, "local_epochs": 1, "dropout": 0.0, "weight_decay": 0.0}
    run = ran("fedgta", {**plain, "clients": 2, "rounds": 2, "hidden": 64, "split": "dataset"}, data=data)

    def later(view):
        return replace(view, messages=tuple(m for m in view.messages if m.round > 0))

    account = Account(run, data, change=later, parts="known")
    assert account.accused == account.members
    assert all(claim.owner == account.owner[claim.subject] for claim in account.claims)


def test_rounds_of_masked_models_take_no_proof_away():
    """Fed-PUB's clients mask what they are handed by masks that they keep, once the first step has moved these."""
    data = sixty_nodes()
    plain = {"optimiser": "sgd", "lr": 1.0, "local_epochs": 1, "dropout": 0.0, "weight_decay": 0.0}
    run = ran("fedpub", {**plain, "clients": 2, "rounds": 2, "hidden": 64, "split": "dataset"}, data=data)
    one, two = (Account(run, data, parts="known", rounds=rounds) for rounds in (1, 2))
    assert one.accused == two.accused == one.members
    assert all(claim.proven for claim in one.claims)
    assert all(claim.proven for claim in two.claims)


@pytest.mark.parametrize("target", ["feddc", "scaffold"])
def test_updates_that_others_corrected_are_no_gradients(target):
    """From the second round on other clients' updates are in them; SCAFFOLD's variates are gradients in each."""
    data = sixty_nodes()
    plain = {"lr": 0.1, "local_epochs": 1, "dropout": 0.0, "weight_decay": 0.0}
    run = ran(target, {**plain, "clients": 2, "rounds": 3, "hidden": 64, "split": "dataset"}, data=data)
    read = sights(run.transcript.seen_by("server"), 3)
    assert {len(sight.rounds) for sight in read["update"]} == {1}
    account = Account(run, data, parts="known", rounds=3)
    assert account.accused == account.members
    assert all(claim.owner == account.owner[claim.subject] for claim in account.claims)


def test_what_clients_hand_the_server_is_not_what_it_handed_them():
    """FedSage+'s clients send weights of their generators, and such a round may have a number of training's."""
    brief = {"generator": {"epochs": 1, "rounds": 1}, "rounds": 2, "clients": 2, "hidden": 8, "upload": "gradients"}
    run = ran("fedsage+", brief | {"architecture": "gcn"}, "sealed-uploads")
    (sums,) = sights(run.transcript.seen_by("server"), 2)[GRADIENT_SUM_KIND]
    assert len(sums.rounds) == 2


def test_a_recorded_run_is_read_alike(self_trained, tmp_path):
    path = str(tmp_path / "run.safetensors")
    self_trained.transcript.save(path)
    again = find("targets", "recorded")(transcripts=(path,))(
        PLANTED, find("defenses", "none")(), SEED, lambda message: True
    )
    game = self_trained.secrets[LabelMembership.name]
    assert Account(replace(again, secrets={LabelMembership.name: game})).all_right()


def test_several_noisy_rounds_tell_more_than_one(self_trained):
    """About 48 and 94 of 150 are named, with deviations of about 6: less than 20 apart once in 1,000 times."""
    one = Account(self_trained, change=noisy(NOISE))
    three = Account(self_trained, change=noisy(NOISE), rounds=3)
    assert len(three.accused & three.members) > len(one.accused & one.members) + 20
    assert len(three.accused - three.members) <= 0.1 * len(three.accused)


def test_noise_alone_names_nobody(self_trained):
    """Noise explained by some choice so well that it counts as evidence: once in 1,000 clients; there are 8."""
    found = [Account(self_trained, change=noisy(NOISE, kept=0.0, seed=seed)).claims for seed in range(2)]
    assert found == [(), ()]


def of_outsiders(run, seed, data=PLANTED):
    """Uploads made of 20 nodes each that nobody asks about, at the weights that the clients got."""
    subjects, draw = run.secrets[LabelMembership.name].subjects, np.random.default_rng(seed)
    others = np.setdiff1d(np.arange(data.num_nodes), subjects)
    near = surroundings(csr_array(data.x.double().numpy()), data.edge_index.numpy(), others)

    def change(view):
        made = []
        for m in without(CLASS_GRADIENTS_KIND)(view).messages:
            if m.kind == SELF_TRAINING_GRADIENTS_KIND:
                at = next(w for w in view.messages if w.kind == SELF_TRAINING_MODEL_KIND and w.round == m.round)
                gradients = node_gradients(near, {n: t.double().numpy() for n, t in at.tensors.items()})
                some = draw.choice(len(others), 20, replace=False)
                atoms = Atoms(some, data.y.numpy()[others[some]])
                sent = gradients.of(gradients.summed_errors(atoms, np.full(20, 1 / 20)))
                m = replace(m, tensors={n: torch.from_numpy(v).float() for n, v in sent.items()})  # noqa: PLW2901
            made.append(m)
        return replace(view, messages=tuple(made))

    return change


@pytest.mark.dear
def test_what_others_explain_accuses_nobody(self_trained):
    """What is left over is no noise then, and was taken for evidence against some ninety people."""
    found = [Account(self_trained, change=of_outsiders(self_trained, seed)).claims for seed in range(3)]
    assert not any(claim.proven for claims in found for claim in claims)
    assert sum(map(len, found)) == 0


def test_without_decoys_people_are_ranked_and_nobody_is_accused(self_trained, monkeypatch):
    none = np.empty(0, dtype=int)
    monkeypatch.setattr("gaudit.attacks.gradients.label_pursuit.decoys_of", lambda knowledge: none)
    account = Account(self_trained, change=noisy(NOISE))
    assert account.claims == ()
    above = account.score[account.truth][:, None] > account.score[~account.truth][None]
    assert above.mean() > 0.7


def test_heavy_tails_are_no_evidence(self_trained):
    draw = np.random.default_rng(0)

    def heavy(message):
        if message.kind != SELF_TRAINING_GRADIENTS_KIND:
            return message
        sent = {
            n: torch.from_numpy(1e-4 * draw.standard_cauchy(t.shape)).float() for n, t in message.tensors.items()
        }
        return replace(message, tensors=sent)

    def change(view):
        return replace(view, messages=tuple(map(heavy, without(CLASS_GRADIENTS_KIND)(view).messages)))

    assert len(Account(self_trained, change=change).claims) <= 2


def changed(change, sender=None):
    """Self-training gradients changed, of one client or of all."""

    def of(view):
        kept = without(CLASS_GRADIENTS_KIND)(view).messages
        return replace(
            view,
            messages=tuple(
                replace(m, tensors={n: change(t) for n, t in m.tensors.items()})
                if m.kind == SELF_TRAINING_GRADIENTS_KIND and sender in (None, m.sender)
                else m
                for m in kept
            ),
        )

    return of


def test_shares_that_add_up_and_are_no_people_accuse_nobody(self_trained):
    """The sign turned, shares of wrong labels leave nothing over: that is exact, and no proof of anything."""
    account = Account(self_trained, change=changed(torch.neg))
    assert all(one.solution.exact for one in account.found.found)
    assert account.claims == ()
    untold = without(LABELLED_COUNT_KIND, CLASS_COUNTS_KIND)
    account = Account(self_trained, change=lambda view: untold(changed(torch.neg)(view)))
    assert not any(claim.proven for claim in account.claims)


PATIENTS = load_dataset("patients")


@pytest.fixture(scope="module")
def small():
    """A model with fewer weights than there are people: its gradient is a sum of whoever there is."""
    return ran("fedgc", {**SHORT, "clients": 3, "hidden": 4, "test": TEST}, "pseudo-labels", PATIENTS)


@pytest.mark.parametrize("seed", range(3))
def test_a_small_model_proves_nothing_about_others(small, seed):
    untold = without(LABELLED_COUNT_KIND, CLASS_COUNTS_KIND)
    others = of_outsiders(small, seed, PATIENTS)
    for change in (others, lambda view: untold(others(view))):
        account = Account(small, PATIENTS, change=change)
        assert not any(claim.proven for claim in account.claims)
        assert len(account.claims) <= 3


def test_few_people_prove_nothing_where_their_number_is_not_told(self_trained):
    """The middle one of one or two shares is a whole one by itself."""
    near_all = np.flatnonzero(Account(self_trained).truth)[:2]

    def change(view):
        kept = without(CLASS_GRADIENTS_KIND, LABELLED_COUNT_KIND, CLASS_COUNTS_KIND)(view).messages
        made = []
        for m in kept:
            if m.kind == SELF_TRAINING_GRADIENTS_KIND:
                at = next(w for w in view.messages if w.kind == SELF_TRAINING_MODEL_KIND and w.round == m.round)
                some = self_trained.secrets[LabelMembership.name].subjects
                near = surroundings(csr_array(PLANTED.x.double().numpy()), PLANTED.edge_index.numpy(), some)
                gradients = node_gradients(near, {n: t.double().numpy() for n, t in at.tensors.items()})
                atoms = Atoms(near_all, PLANTED.y.numpy()[some[near_all]])
                sent = gradients.of(gradients.summed_errors(atoms, np.array([0.5, 0.5])))
                m = replace(m, tensors={n: torch.from_numpy(v).float() for n, v in sent.items()})  # noqa: PLW2901
            made.append(m)
        return replace(view, messages=tuple(made))

    account = Account(self_trained, change=change)
    assert all(one.solution.exact for one in account.found.found)
    assert not any(claim.proven for claim in account.claims)


@pytest.mark.filterwarnings("error")
def test_a_gradient_of_nothing_but_zeros_is_of_nobody(self_trained):
    account = Account(self_trained, change=changed(torch.zeros_like, sender="client:1"))
    assert {claim.owner for claim in account.claims} == {0, 2, 3}
    others = set(np.flatnonzero(account.truth & (account.owner != 1)).tolist())
    assert account.accused == others


def test_a_client_whose_upload_is_heavy_noise_accuses_nobody(self_trained):
    """Others' uploads are exact beside it."""
    draw = np.random.default_rng(1)

    def heavy(tensor):
        noise = torch.from_numpy(draw.standard_cauchy(tensor.shape)).float()
        return noise * tensor.norm() / noise.norm()

    account = Account(self_trained, change=changed(heavy, sender="client:2"))
    assert {claim.owner for claim in account.claims} == {0, 1, 3}
    assert all(claim.proven for claim in account.claims)


def test_people_whose_gradients_are_nearly_parallel_are_told_apart():
    """With tiny features all gradients of a class look alike; the equations still have one solution."""
    data = PLANTED.clone()
    data.x = data.x * 0.01
    run = ran("fedgc", {**SHORT, "test": TEST, "self_training_rounds": 1}, "pseudo-labels", data)
    account = Account(run, data, change=without(CLASS_GRADIENTS_KIND))
    assert all(one.solution.exact for one in account.found.found)
    assert account.members <= {c.subject for c in account.claims} | {a for c in account.claims for a in c.alike}


def test_nothing_to_read_is_said(self_trained):
    assert "no gradient" in Account(self_trained, change=lambda view: view.until(-1)).reason or "sees no" in (
        Account(self_trained, change=lambda view: view.until(-1)).reason
    )


def test_parts_that_nobody_knows_are_said(self_trained):
    game = self_trained.secrets[LabelMembership.name]
    with pytest.raises(Exception, match="which client holds which node"):
        replace(game, holders=None).grant(PLANTED, Adversary(LabelPursuit(parts="known")), SEED)


def test_twins_are_a_set():
    """Two nodes with the same words and no edges, of which one is labelled: both are named as a set."""
    data = PLANTED.clone()
    members, others = (mask.nonzero().flatten() for mask in (data.train_mask, data.test_mask))
    one, twin = int(members[0]), int(others[0])
    touching = (data.edge_index == one).any(0) | (data.edge_index == twin).any(0)
    data.edge_index = data.edge_index[:, ~touching]
    data.x[twin] = data.x[one]
    account = Account(ran("fedgc", {**SHORT, "test": TEST}, "pseudo-labels", data=data), data)
    undecided = [claim for claim in account.claims if claim.alike]
    assert len(undecided) == 1
    pair = {undecided[0].subject, *undecided[0].alike}
    assert len(pair) == 2
    assert len(pair & account.members) == 1
    assert account.accused - pair == account.members - pair


def test_a_step_from_weights_of_zero_holds_no_decay():
    weights = {"w1": np.zeros((3, 2)), "b1": np.ones(2)}
    step = Taken(weights, {"w1": np.ones((3, 2)), "b1": np.zeros(2)}, moved=True)
    assert step.decays is weights
    zero = {name: np.zeros_like(value) for name, value in weights.items()}
    assert Taken(zero, step.gradient, moved=True).decays is None  # nothing could be divided by its length
    assert Taken(weights, step.gradient).decays is None
