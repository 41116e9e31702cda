"""SOS: federated averaging on subgraphs that an information bottleneck keeps (Zhang et al., AsiaCCS 2023)."""

from .fedavg import FedAvg


class SOS(FedAvg):
    """Federated averaging on IB-subgraphs: each client extracts its subgraph once, before training (SOS).

    Training is that of `fedavg` on what the defense `ib-subgraph` makes of each client's data (algorithm 1; two
    phases). The server is the adversary: it knows features and labels and wants the edges (section 3.2).

    The paper does not say which nodes and which graph it tests on. The accuracy here is that of all test nodes on
    the clients' own graphs. The figures of a run tell beside it that of the nodes that the subgraphs keep, on the
    subgraphs and on the clients' own graphs, and that of the others (`kept_nodes`): the first of these is near
    the published one. Half precision, in which the paper trains, is left out. Its other models are
    ``architecture``, and what it varies are beta, gamma and rho of `ib-subgraph`.
    """

    name = "sos"
    published_defense = "ib-subgraph"
