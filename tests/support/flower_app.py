"""A Flower app of `flower_world`, run with real supernodes: ``python -m support.flower_app FOLDER``."""

import sys
from pathlib import Path

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

import gaudit
from support.flower_world import CLIENTS, ROUNDS, World

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else ".").absolute()


def arrays_of(record: ArrayRecord) -> dict:
    return {name: array.numpy() for name, array in record.items()}


def record_of(arrays) -> ArrayRecord:
    from flwr.app import Array

    return ArrayRecord({name: Array(value) for name, value in arrays.items()})


def client_app(folder: Path) -> ClientApp:
    world = World()
    seen = gaudit.flower.client_mod(folder / "seen", names=world.names)
    app = ClientApp(mods=[gaudit.flower.tell_partition, seen])

    @app.train()
    def train(message: Message, context: Context) -> Message:
        number = int(context.node_config["partition-id"])
        trained = World().trained(number, arrays_of(message.content["arrays"]))
        metrics = MetricRecord({"num-examples": 1, "number": number})
        return Message(RecordDict({"arrays": record_of(trained), "metrics": metrics}), reply_to=message)

    @app.evaluate()
    def evaluate(message: Message, context: Context) -> Message:
        return Message(RecordDict({"metrics": MetricRecord({"num-examples": 1, "loss": 0.0})}), reply_to=message)

    return app


class InOrder(FedAvg):
    """Flower's FedAvg, with gaudit's mean in the order of partitions; the last model alone is evaluated."""

    def aggregate_train(self, server_round, replies):
        content = sorted((reply.content for reply in replies), key=lambda c: c["metrics"]["number"])
        return record_of(World().mean([arrays_of(c["arrays"]) for c in content])), None

    def configure_evaluate(self, server_round, arrays, config, grid):
        return super().configure_evaluate(server_round, arrays, config, grid) if server_round == ROUNDS else []


def server_app(folder: Path) -> ServerApp:
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        world = World()
        recorded = gaudit.flower.record(grid, folder / "run", names=world.names, **world.known)
        strategy = InOrder(min_available_nodes=CLIENTS, min_train_nodes=CLIENTS, min_evaluate_nodes=CLIENTS)
        strategy.start(recorded, record_of(world.start()), num_rounds=ROUNDS, train_config=ConfigRecord())

    return app


if __name__ == "__main__":
    run_simulation(
        server_app(FOLDER),
        client_app(FOLDER),
        num_supernodes=CLIENTS,
        backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0}},
    )
