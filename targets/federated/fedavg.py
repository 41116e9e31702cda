"""FedAvg: clients upload weights, or gradients, and the server averages (McMahan et al., AISTATS 2017)."""

from .shared_part import PartlyFederated


class FedAvg(PartlyFederated):
    """Federated averaging of a node classifier that several clients train on their own subgraphs.

    Edges between clients are nobody's and are not used. In each round the server sends the common weights, each
    client takes full-batch steps from them and uploads its weights, and the server takes the mean (McMahan et al.
    2017, algorithm 1, all clients in every round); or each uploads one gradient and the server takes the step
    (FedSGD). Defaults follow SOS (Zhang et al., AsiaCCS 2023, section 5.1), its baseline SOS-NIB. Half precision,
    which it trains in, is left out.

    With ``shared=extractor`` clients keep the last layer to themselves (FedPer, Arivazhagan et al. 2019), with
    ``shared=head`` the first one (LG-FedAvg, Liang et al. 2020). Here a client trains both parts in every local
    step, and draws the weights that it keeps by itself.
    """

    name = "fedavg"
