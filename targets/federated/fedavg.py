"""FedAvg: clients upload weights, or gradients, and the server averages (McMahan et al., AISTATS 2017)."""

from .federated_averaging import Federated


class FedAvg(Federated):
    """Federated averaging of a node classifier that several clients train on their own subgraphs.

    Edges between clients are nobody's and are not used. In each round the server sends the common weights, each
    client takes full-batch steps from them and uploads its weights, and the server takes the mean (McMahan et al.
    2017, algorithm 1, all clients in every round); or each uploads one gradient and the server takes the step
    (FedSGD). Defaults follow SOS (Zhang et al., AsiaCCS 2023, section 5.1), its baseline SOS-NIB. Half precision,
    which it trains in, is left out.
    """

    name = "fedavg"
