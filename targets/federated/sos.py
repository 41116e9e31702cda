"""SOS: federated averaging on subgraphs that an information bottleneck keeps (Zhang et al., AsiaCCS 2023)."""

from .fedavg import FedAvg


class SOS(FedAvg):
    """Federated averaging on IB-subgraphs: each client extracts its subgraph once, before training (SOS).

    Training is that of `fedavg` on what the defense `ib-subgraph` makes of each client's data (algorithm 1; two
    phases). The server is the adversary: it knows features and labels and wants the edges (section 3.2). Accuracy
    is that of all test nodes on the clients' own graphs. The paper does not say which nodes and graph it tests on;
    on the nodes that are kept alone accuracy is far higher.
    """

    name = "sos"
    published_defense = "ib-subgraph"
