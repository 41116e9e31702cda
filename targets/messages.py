"""Every kind of message, declared once: what it carries, and from whom to whom it goes.

Defenses and attacks select messages by what they carry, not by lists of names: a new kind that says what it carries
is covered by them without being named there. A kind that nobody declared does not pass the channel.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ..errors import InputError, unknown_name


class Carries(StrEnum):
    """What a message holds, in words that a sentence can use."""

    GRADIENT = "gradients"
    MEAN_GRADIENT = "the gradient of a mean loss"
    CLASS_GRADIENTS = "gradients of single classes"
    CONTROL = "control variates"
    TOTAL = "sums over clients of what they upload"
    UPDATE = "weights after local training"
    WEIGHTS = "weights"
    STARTS = "weights that a client begins a round with"
    MIXING = "shares of clients in mixtures"
    MATCHED_AT = "the weights at which gradients are matched"
    CLASSIFIER = "a classifier that answers"
    ROWS = "rows of real nodes"
    SUMS = "sums of rows of real nodes"
    MEANS = "means of a few rows of real nodes"
    LABEL_SUMS = "noisy sums of features by label"
    PROJECTION = "a projection of features"
    EMBEDDINGS = "embeddings of nodes"
    POSTERIORS = "posteriors"
    PROBED = "answers to changed features"
    SUBMITTED = "answers to submitted rows"
    EXPLANATIONS = "explanations of answers"
    LABELS = "labels"
    COUNTS = "counts"
    CLASS_SHARES = "how much a client has of each class"
    LINK_COUNT = "a number that grows with a client's links"
    CLUSTERS = "which clients are in one cluster"
    CHOICES = "several models, of which each client takes one"
    CHOICE = "which of several models a client took"
    NORMS = "norms of gradients"
    RANDOM_GRAPH = "a random graph"
    FUNCTION = "a mean answer about a random graph"
    IDS = "ids of nodes"
    CONDENSED = "a condensed graph"
    GRAPH = "a graph"
    WINDOWS = "a graph by windows of time"
    GRAPH_WITH_ACCOUNTS = "a graph with accounts that an adversary opened"
    TRANSFORMATION = "a transformation of features"
    FIRST_WEIGHTS = "first weights of a transformation"
    SCORES = "scores of persons"


@dataclass(frozen=True)
class Kind:
    """One kind of message.

    Attributes:
        name: as transcripts and exposure tables call it.
        carries: what it holds.
        routes: pairs of a sender and a receiver that it may go between: ``server``, ``client``, ``clients`` (all of
            them), ``public``; none for what a party keeps to itself.
        since: for weights after local training, the kind of the weights that the training began with: what is the
            client's own is the difference.
    """

    name: str
    carries: frozenset[Carries]
    routes: frozenset[tuple[str, str]]
    since: str | None = None


SENDERS, RECEIVERS = ("server", "client"), ("server", "client", "clients", "public")
"""Between whom messages go; ``clients`` are all of them."""
KINDS: dict[str, Kind] = {}
"""All declared kinds, by name."""


def declare(name: str, *carries: Carries, routes: Iterable[str], since: str | None = None) -> str:
    """Declares a kind of message, and returns its name.

    Args:
        name: of the kind.
        carries: what it holds.
        routes: between whom it may go, as in ``client > server``; none for what a party keeps.
        since: see `Kind`; needed where it carries weights after local training.

    Raises:
        ValueError: it holds nothing, is declared otherwise already, is an update since nothing that is declared, or
            a route is none.
    """
    if isinstance(routes, str):
        raise ValueError(f"the routes of the message kind '{name}' are a list, as in ['{routes}']")
    pairs = frozenset((a.strip(), b.strip()) for a, _, b in (route.partition(">") for route in routes))
    unknown = sorted(f"{a} > {b}" for a, b in pairs if a not in SENDERS or b not in RECEIVERS)
    if unknown:
        raise ValueError(
            f"the message kind '{name}' cannot go {', '.join(unknown)}: write it as in client > server"
        )
    if since is not None and since not in KINDS:
        raise ValueError(f"the message kind '{name}' is an update since '{since}', which nobody declared")
    kind = Kind(name, frozenset(carries), pairs, since)
    if not carries or (Carries.UPDATE in kind.carries) != (since is not None):
        raise ValueError(f"the message kind '{name}' must say what it carries, and an update since which kind")
    if KINDS.setdefault(name, kind) != kind:
        raise ValueError(f"the message kind '{name}' is declared twice, and not alike")
    return name


def kind_of(name: str) -> Kind:
    """The declaration of a kind.

    Raises:
        InputError: nobody declared it (with the nearest match).
    """
    if name not in KINDS:
        raise unknown_name("message kind", name, KINDS)
    return KINDS[name]


def check_route(name: str, sender: str, receiver: str) -> None:
    """Sees to it that a message goes where its kind may go.

    Raises:
        InputError: nobody declared the kind, or not for this way.
    """
    kind, ends = kind_of(name), (sender.partition(":")[0], receiver.partition(":")[0])
    if ends not in kind.routes:
        may = ", ".join(sorted(f"{a} > {b}" for a, b in kind.routes)) or "nowhere"
        raise InputError(f"a message '{name}' from {sender} to {receiver}: it is declared to go {may}")


CALLED = {
    "server": "uploads",
    "public": "releases",
    "clients": "messages to all clients",
    "client": "messages to one client",
}
"""Messages by whom they go to."""


@dataclass(frozen=True)
class Carrying:
    """The messages that carry one thing or another.

    Attributes:
        what: any of these.
        to: only what goes to such a receiver: ``server`` (uploads), ``clients``, ``client``, ``public`` (releases).
    """

    what: frozenset[Carries]
    to: str | None = None

    @classmethod
    def any_of(cls, *what: Carries, to: str | None = None) -> "Carrying":
        """The messages that carry any of these."""
        return cls(frozenset(what), to)

    def covers(self, name: str) -> bool:
        """Whether messages of a kind are among them; undeclared ones (of a file) are not."""
        kind = KINDS.get(name)
        if kind is None or not kind.carries & self.what:
            return False
        return self.to is None or any(receiver == self.to for _, receiver in kind.routes)

    def among(self, names: Iterable[str]) -> list[str]:
        """Those of some kinds that are covered."""
        return [name for name in names if self.covers(name)]

    def __str__(self) -> str:
        called = CALLED.get(self.to or "", "messages")
        return f"{called} that carry {' or '.join(sorted(self.what))}"


def kinds_of(wanted: Iterable[Carrying]) -> tuple[str, ...]:
    """All declared kinds that any of ``wanted`` covers, in the order of their declaration."""
    sorts = tuple(wanted)
    return tuple(name for name in KINDS if any(sort.covers(name) for sort in sorts))


QUERY_NAMES = {"true": "full", "none": "0-hop", "apart": "apart"}
"""What a table's query is called: all edges, none, or none between members and non-members."""


def posteriors_kind(query: str) -> str:
    """Kind of a table of posteriors: ``nodes`` [s] and ``posteriors`` [s, C]."""
    return f"posteriors-{query}"


def labels_kind(query: str) -> str:
    """Kind of a table of predicted labels: ``nodes`` [s] and ``labels`` [s]."""
    return f"labels-{query}"


_UP, _DOWN, _BETWEEN = "client > server", "server > clients", "client > client"
_TO_ALL = "client > clients"
_OUT = ("server > public", "client > public")

MODEL_KIND = declare("model", Carries.WEIGHTS, Carries.CLASSIFIER, routes=_OUT)
"""Trained weights by name, as a training configuration names them, to whoever may hold the model."""
GLOBAL_KIND = declare("global-model", Carries.WEIGHTS, Carries.CLASSIFIER, routes=[_DOWN, "server > client"])
"""The common weights that a server sends to its clients in one round."""
UPDATE_KIND = declare("update", Carries.UPDATE, Carries.CLASSIFIER, routes=[_UP], since=GLOBAL_KIND)
"""A client's weights after its local training in one round."""
PART_KIND = declare("shared-part", Carries.WEIGHTS, routes=[_DOWN])
"""The part of the common weights that clients share, where each keeps the rest to itself."""
PART_UPDATE_KIND = declare("part-update", Carries.UPDATE, routes=[_UP], since=PART_KIND)
"""The same part of a client's weights after its local training in one round."""
START_KIND = declare("round-start", Carries.STARTS, routes=[])
"""The weights that a client without a server begins a round with: a mixture, which it keeps (`mixing`)."""
PEER_KIND = declare("peer-model", Carries.UPDATE, Carries.CLASSIFIER, routes=[_BETWEEN], since=START_KIND)
"""A client's weights after its local training in one round, to its neighbours in the topology."""
PEER_PART_KIND = declare("peer-part", Carries.UPDATE, routes=[_BETWEEN], since=START_KIND)
"""The part of them that is shared, where each client keeps the rest to itself."""
FIRST_KIND = declare("first-model", Carries.WEIGHTS, Carries.CLASSIFIER, routes=[_TO_ALL])
"""The weights that clients without a server all begin with."""
FIRST_PART_KIND = declare("first-part", Carries.WEIGHTS, routes=[_TO_ALL])
"""The part of them that is shared."""
MIXING_KIND = declare("mixing-shares", Carries.MIXING, routes=[_TO_ALL])
"""The share of each client's weights in what each makes of all, ``shares`` [K, K]."""
GRADIENT_KIND = declare("gradient", Carries.GRADIENT, Carries.MEAN_GRADIENT, routes=[_UP])
"""A client's gradient at the common weights of one round: of the mean loss over its labelled nodes."""
GRADIENT_SUM_KIND = declare("gradient-sum", Carries.GRADIENT, Carries.TOTAL, routes=[])
"""The weighted mean of the clients' gradients of one round, as a server has it that cannot read them one by one."""
TABLE_KINDS = (
    *(declare(posteriors_kind(query), Carries.POSTERIORS, routes=_OUT) for query in QUERY_NAMES.values()),
    *(declare(labels_kind(query), Carries.LABELS, routes=_OUT) for query in QUERY_NAMES.values()),
)
"""Tables of answers about nodes."""
ANSWERS = Carrying.any_of(Carries.POSTERIORS, Carries.LABELS)
PROBED_KIND = declare("answers-to-changed-features", Carries.PROBED, Carries.POSTERIORS, routes=_OUT)
"""What a service answered to one query with submitted features: ``nodes`` [k], ``posteriors`` [k, C], and by what
``factors`` [k] these nodes' own rows were multiplied; all other rows were submitted as they are."""
PROBED = Carrying.any_of(Carries.PROBED)
"""Answers to submitted features."""
SUBMITTED_KIND = declare("answers-to-submitted-rows", Carries.SUBMITTED, Carries.POSTERIORS, routes=_OUT)
"""What a service answered to people who each submitted a row of their own with another value of one attribute:
``nodes`` [s], which ``value`` [s] it was (0: without it, 1: with it), and ``posteriors`` [s, C]."""
SUBMITTED = Carrying.any_of(Carries.SUBMITTED)
"""Answers to rows with another value of an attribute."""
HIDDEN_ROWS_KIND = declare("hidden-rows", Carries.EMBEDDINGS, routes=_OUT)
"""Rows of a classifier's hidden layer: ``nodes`` [s] and ``embeddings`` [s, h]."""
PUBLISHED_ROWS = Carrying.any_of(Carries.EMBEDDINGS, to="public")
"""Embeddings of nodes that were published."""
EXPLANATIONS_KIND = declare("explanations", Carries.EXPLANATIONS, routes=_OUT)
"""How much each feature says for a node's answer: ``nodes`` [s] and ``explanations`` [s, d]."""
EXPLANATIONS = Carrying.any_of(Carries.EXPLANATIONS)
"""Explanations of answers."""
LABELLED_COUNT_KIND = declare("labelled-count", Carries.COUNTS, routes=[_UP])
"""How many labels a client trains on."""

CONTROL_KIND = declare("control-variate", Carries.GRADIENT, Carries.CONTROL, routes=[_UP])
"""A client's control variate after a round: the mean of its gradients along its local steps (SCAFFOLD)."""
GLOBAL_CONTROL_KIND = declare("global-control", Carries.WEIGHTS, Carries.CONTROL, routes=[_DOWN])
"""The mean of the clients' control variates."""
GENERATOR_KIND = declare("generator", Carries.WEIGHTS, Carries.EMBEDDINGS, Carries.COUNTS, routes=[_UP, _DOWN])
"""A client's fGen weights, its nodes' noisy embeddings and numbers of missing neighbours, by the server to all."""
GENERATOR_GRADIENT_KIND = declare("generator-gradient", Carries.GRADIENT, routes=[_UP, "server > client"])
"""A client's gradient by another's fGen weights, to the server; and their sum, from there to the asking client."""
MOMENTS_KIND = declare("label-moments", Carries.CLASS_SHARES, Carries.LINK_COUNT, routes=[_UP])
"""Moments of a client's propagated soft labels, ``raw`` and ``central`` [M, C], the first ones first, and its
smoothing ``confidence`` (FedGTA)."""
RELIABILITY_KIND = declare("class-reliability", Carries.CLASS_SHARES, routes=[_UP])
"""How reliable a client's knowledge of each class is, ``shares`` [C], summing to one (FedTAD)."""
CONVOLUTIONS_KIND = declare("convolutions", Carries.WEIGHTS, routes=[_DOWN, "server > client"])
"""Those common weights that clients with graphs share who keep the first map and the last one (GCFL), or all but
the structure channel (FedStar)."""
CONVOLUTIONS_UPDATE_KIND = declare("convolutions-update", Carries.UPDATE, routes=[_UP], since=CONVOLUTIONS_KIND)
"""The same weights of a client after its local training in one round."""
GRADIENT_NORM_KIND = declare("gradient-norm", Carries.NORMS, routes=[_UP])
"""The ``norm`` [1] of a client's gradient after a round (GCFL+)."""
VALIDATED_KIND = declare("validated-count", Carries.COUNTS, routes=[_UP])
"""The ``count`` of a client's validation graphs that the common model has right, by which a round is chosen."""
CLUSTERS_KIND = declare("clusters", Carries.CLUSTERS, routes=[])
"""The ``cluster`` of each client [K], as the server has it that made them (GCFL)."""
CLUSTER_MODELS_KIND = declare("cluster-models", Carries.WEIGHTS, Carries.CHOICES, routes=[_DOWN])
"""The weights of several common models, ``0/w1``, ``1/w1`` and so on, of which each client trains one (IFCA)."""
CHOICE_KIND = declare("cluster-choice", Carries.CHOICE, routes=[_UP])
"""The number of the model that a client chose, ``choice`` [1] (IFCA)."""
CLUSTER_UPDATE_KIND = declare("cluster-update", Carries.UPDATE, Carries.CLASSIFIER, routes=[_UP], since=START_KIND)
"""That model's weights after the client's local training in one round (IFCA)."""
COMPONENTS_KIND = declare("component-models", Carries.WEIGHTS, routes=[_DOWN])
"""The weights of several common models, ``0/w1``, ``1/w1`` and so on, all of which each client trains (FedEM)."""
COMPONENTS_UPDATE_KIND = declare("component-updates", Carries.UPDATE, routes=[_UP], since=COMPONENTS_KIND)
"""The weights of all these models after a client's local training in one round, named likewise (FedEM)."""
RANDOM_GRAPH_KIND = declare("random-graph", Carries.RANDOM_GRAPH, routes=[_DOWN])
"""Features ``x`` [n, d] and ``edges`` [2, e] of a random graph that models are compared on (Fed-PUB)."""
FUNCTION_KIND = declare("functional-embedding", Carries.FUNCTION, routes=[_UP])
"""The mean over that graph of what a client's model makes of it, ``mean`` [C] or [h] (Fed-PUB)."""
BOUNDARY_ROWS_KIND = declare("boundary-rows", Carries.ROWS, routes=[_BETWEEN])
"""Features ``x`` [k, d] as they are, ids ``nodes`` [k] and degrees ``degree`` [k] of nodes with an edge to another
client, to that client (BNS-GCN)."""
BOUNDARY_HIDDEN_KIND = declare("boundary-hidden", Carries.EMBEDDINGS, routes=[_BETWEEN])
"""Hidden units ``hidden`` [k, h] of the same ``nodes`` [k] under the round's weights, after dropout (BNS-GCN)."""
BOUNDARY_GRADIENT_KIND = declare("boundary-gradient", Carries.GRADIENT, routes=[_BETWEEN])
"""How the asking client's loss, summed over its labelled nodes, changes with these hidden units: ``nodes`` [k] and
``gradient`` [k, h]."""
PARTIAL_GRADIENT_KIND = declare("partial-gradient", Carries.GRADIENT, routes=[_UP])
"""A client's part of the gradient of the loss summed over all labelled nodes: by its own nodes' use of weights."""
DRIFTED_KIND = declare("drifted-update", Carries.UPDATE, routes=[_UP], since=GLOBAL_KIND)
"""A client's weights plus its drift, the sum of its updates so far: what the server averages (FedDC)."""
COMMON_UPDATE_KIND = declare("common-update", Carries.WEIGHTS, Carries.CONTROL, routes=[_DOWN])
"""The mean of the clients' updates of the last round."""
PROTOTYPES_KIND = declare("embedding-prototypes", Carries.EMBEDDINGS, Carries.COUNTS, routes=[_UP, _DOWN])
"""Means ``prototypes`` [k, h] of a client's nodes' embeddings by cluster, and how many there are, ``sizes`` [k];
by the server to all (FedDEP)."""
NEIGHBOUR_IDS_KIND = declare("neighbour-ids", Carries.IDS, routes=[_UP])
"""Which rows a client asks for and contributes to: needed for routing, encrypted or not."""
NEIGHBOUR_SUMS_KIND = declare("neighbour-sums", Carries.SUMS, routes=[_UP])
"""A client's part of the sums over neighbours, and its nodes' degrees."""
AGGREGATED_ROWS_KIND = declare("aggregated-rows", Carries.SUMS, routes=["server > client"])
"""The sums over neighbours of all clients, for those nodes that one of them asks for."""

CONDENSED_KIND = declare("condensed-graph", Carries.CONDENSED, routes=_OUT)
"""A small graph that stands for a large one, released."""
CONDENSED_UPLOAD_KIND = declare("condensed-upload", Carries.CONDENSED, routes=[_UP])
"""A condensed graph that one client sends to the server, which does not pass it on."""
CONDENSED_ROWS_KIND = declare("condensed-rows", Carries.CONDENSED, routes=[_BETWEEN])
"""Features [k, d] and labels [k] of condensed nodes (positions [k]), once to each client that gets them."""
INITIAL_ROWS_KIND = declare("initial-rows", Carries.ROWS, routes=[_UP])
"""Features [k, d] and labels [k] of a client's labelled nodes, for the server to start from."""
MEAN_ROWS_KIND = declare("mean-rows", Carries.MEANS, routes=[_UP])
"""Means ``x`` [m, d] of ``rows`` [m] of a client's labelled rows each, and ``y`` [m, C] of labels (FedMix)."""
COMMON_MEANS_KIND = declare("common-means", Carries.MEANS, routes=[_DOWN])
"""Those of all clients."""
CLASS_COUNTS_KIND = declare("class-counts", Carries.COUNTS, routes=[_UP])
"""Labelled nodes of a client, by class."""
CLASS_GRADIENTS_KIND = declare("class-gradients", Carries.GRADIENT, Carries.CLASS_GRADIENTS, routes=[_UP])
"""A client's gradients, one for each class that it has labels of, named ``<class>/<weight>``."""
CLASS_GRADIENTS_SUM_KIND = declare(
    "class-gradients-sum", Carries.GRADIENT, Carries.CLASS_GRADIENTS, Carries.TOTAL, routes=[]
)
"""Their weighted means by class, as a server has them that cannot read them one by one."""
MATCHING_MODEL_KIND = declare("matching-model", Carries.WEIGHTS, Carries.MATCHED_AT, routes=[_DOWN])
"""The weights at which gradients to be matched are taken."""
SELF_TRAINING_MODEL_KIND = declare("self-training-model", Carries.WEIGHTS, routes=[_DOWN])
"""The common weights of federated self-training."""
SELF_TRAINING_GRADIENTS_KIND = declare("self-training-gradients", Carries.GRADIENT, routes=[_UP])
"""A client's gradient in federated self-training."""
SELF_TRAINING_SUM_KIND = declare("self-training-sum", Carries.GRADIENT, Carries.TOTAL, routes=[])
"""Their weighted mean, as a server has it that cannot read them one by one."""
STATISTICS_KIND = declare("embedding-statistics", Carries.EMBEDDINGS, routes=[_BETWEEN])
"""Norms [n'] and mean [h] of a client's embeddings of its condensed nodes, to another client (FedC4)."""
EMBEDDINGS_KIND = declare("node-embeddings", Carries.EMBEDDINGS, routes=[_BETWEEN])
"""Embeddings [k, h] of the condensed nodes (positions [k]) that a client chose for another one (FedC4)."""
FEATURE_SUMS_KIND = declare("feature-sums", Carries.SUMS, routes=[_UP])
"""A client's part of sums over all nodes that no label enters, of a private teacher."""
FEATURE_BASIS_KIND = declare("feature-basis", Carries.PROJECTION, routes=[_DOWN])
"""What the server makes of these: weights of words, directions of the common basis, the teacher's classifier."""
LABEL_SUMS_KIND = declare("label-sums", Carries.LABEL_SUMS, routes=[_UP])
"""A client's noisy sums of its labelled nodes' projected features by label [C, p]: its part of the statistic."""
LABEL_STATISTIC_KIND = declare("label-statistic", Carries.LABEL_SUMS, routes=[_DOWN])
"""The one statistic through which labels enter: ``sums`` [C, p], with the ``basis`` [d, p] and the ``mean`` [p] of
the features that are summed, the ``deviation`` of its noise, and the number of ``clients`` whose sums are in it."""
FIRST_ENCODER_KIND = declare("first-encoder", Carries.FIRST_WEIGHTS, routes=[_DOWN])
"""The weights from which all clients train the transformation of their features (FedGC, Algorithm 1, line 4)."""
ENCODER_KIND = declare("ib-encoder", Carries.TRANSFORMATION, routes=[])
"""How a client transforms features under the information bottleneck; it keeps that."""

PUBLISHED_KIND = declare("published-graph", Carries.GRAPH, routes=_OUT)
"""A network under published names."""
WINDOWS_KIND = declare("published-windows", Carries.GRAPH, Carries.WINDOWS, routes=_OUT)
"""A network under published names whose types of edges are windows of time."""
ACCOUNTS_KIND = declare("published-graph-with-accounts", Carries.GRAPH_WITH_ACCOUNTS, routes=_OUT)
"""The same network as it would have been published had an adversary opened accounts in it before."""

SCORES_KIND = declare("scores", Carries.SCORES, routes=_OUT)
"""Scores [s] of ``subjects`` [s] that somebody made elsewhere, of nodes or of pairs."""

RELEASED_GRAPH = Carrying.any_of(Carries.CONDENSED, to="public")
"""What an outsider holds of a condensation."""
LABEL_SUMS = Carrying.any_of(Carries.LABEL_SUMS)
"""Noisy sums of features by label."""
TRANSFORMATION = Carrying.any_of(Carries.TRANSFORMATION)
"""How features become what a pipeline sees."""
PUBLISHED_GRAPH = Carrying.any_of(Carries.GRAPH)
"""A network that was published."""
PUBLISHED_WINDOWS = Carrying.any_of(Carries.WINDOWS)
"""A network that was published by windows of time."""
GRAPH_WITH_ACCOUNTS = Carrying.any_of(Carries.GRAPH_WITH_ACCOUNTS)
"""A network that was published with an adversary's accounts in it."""
GIVEN_SCORES = Carrying.any_of(Carries.SCORES)
"""What another tool made of a release."""
