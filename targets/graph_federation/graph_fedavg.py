"""FedAvg of whole graphs: each client holds some of them (McMahan et al., AISTATS 2017)."""

from ..games.neighbourhood_presence import NeighbourhoodPresence
from ..messages import GRADIENT_KIND, MODEL_KIND, UPDATE_KIND
from .graph_averaging import GraphFederation
from .graph_gradients import GraphGradientRun, GraphGradientSettings


class GraphFedAvg(GraphFederation):
    """Federated averaging of a classifier of whole graphs that clients train on graphs of their own.

    In each round the server sends the common weights, each client takes a local epoch and uploads its weights, and
    the server takes the mean, weighted by the graphs that clients train on (algorithm 1 with all clients in every
    round). With ``shared=convolutions`` the first map and the last one stay at home, as in GCFL's release; with
    ``shared=nothing`` each client trains alone, the control of all that is gained by training together. With
    ``upload=gradients`` clients upload the gradient of one batch a round (FedSGD there).
    """

    name = "graph-fedavg"
    release = MODEL_KIND
    release_phrase = "what is published of the jointly trained model"
    sends = (*GraphFederation.sends, MODEL_KIND, GRADIENT_KIND)
    games = (*GraphFederation.games, NeighbourhoodPresence.name)
    loop = GraphGradientRun
    Settings = GraphGradientSettings
    settings: GraphGradientSettings

    @property
    def plays(self) -> frozenset[str]:
        asked = self.settings.upload == "gradients"
        return super().plays if asked else super().plays - {NeighbourhoodPresence.name}

    def sent(self) -> set[str]:
        return super().sent() - {UPDATE_KIND if self.settings.upload == "gradients" else GRADIENT_KIND}
