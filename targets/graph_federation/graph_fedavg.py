"""FedAvg of whole graphs: each client holds some of them (McMahan et al., AISTATS 2017)."""

from ..messages import MODEL_KIND
from .graph_averaging import GraphFederation


class GraphFedAvg(GraphFederation):
    """Federated averaging of a classifier of whole graphs that clients train on graphs of their own.

    In each round the server sends the common weights, each client takes a local epoch and uploads its weights, and
    the server takes the mean, weighted by the graphs that clients train on (algorithm 1 with all clients in every
    round). With ``shared=convolutions`` the first map and the last one stay at home, as in GCFL's release; with
    ``shared=nothing`` each client trains alone, the control of all that is gained by training together.
    """

    name = "graph-fedavg"
    release = MODEL_KIND
    release_phrase = "what is published of the jointly trained model"
    sends = (*GraphFederation.sends, MODEL_KIND)
