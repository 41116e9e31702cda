"""Measured lower bounds of epsilon beside the true one, on a mechanism whose epsilon is known.

    python benchmarks/known_mechanism.py --epsilon 1 --epsilon 4 --trials 4000 --repetitions 20

Two audits of logistic regression with output perturbation (benchmarks/output_perturbation.py), on a graph made for
them: many releases with and without one node's term in the loss, and one release with many canaries, each in by
a fair coin. In both the adversary knows all but the coins. A bound above the true epsilon is an error, which a
confidence of 95 % allows in one repetition of twenty.
"""

from collections.abc import Sequence

import click
import numpy as np
from output_perturbation import OutputPerturbation, aggregated_rows, hard_case

from gaudit.audit.statistics.epsilon import epsilon_lower_bound, one_run_epsilon


def classic(epsilon: float, trials: int, repetitions: int) -> list[float]:
    """Bounds from ``trials`` releases with the canary and as many without. The fit is computed twice only."""
    graph, mechanism = hard_case(), OutputPerturbation(epsilon)
    rows, labels = aggregated_rows(graph.x, graph.edge_index), graph.y.numpy()
    fits = mechanism.fit(rows, labels), mechanism.fit(rows[1:], labels[1:])
    rng, bounds = np.random.default_rng(0), []
    for seed in range(repetitions):
        scores = [mechanism.log_likelihood_ratio(mechanism.release(fit, rng, trials), *fits) for fit in fits]
        bounds.append(epsilon_lower_bound(scores[0], scores[1], validity="valid", seed=seed).low or 0.0)
    return bounds


def one_run(epsilon: float, canaries: int, guesses: int, repetitions: int) -> list[float]:
    """Bounds from one release each, with ``canaries`` along axes of their own; ``guesses`` in, as many out."""
    graph, mechanism = hard_case(canaries, canaries, push=5.0, lean=0.05), OutputPerturbation(epsilon)
    rows, labels = aggregated_rows(graph.x, graph.edge_index), graph.y.numpy()
    rng, bounds = np.random.default_rng(0), []
    for _ in range(repetitions):
        coins = rng.random(canaries) < 0.5
        kept = np.concatenate([coins, np.ones(len(rows) - canaries, dtype=bool)])
        released = mechanism.release(mechanism.fit(rows[kept], labels[kept]), rng)[0]
        bounds.append(one_run_epsilon(coins, released, guesses, guesses, validity="valid").low or 0.0)
    return bounds


def row(audit: str, epsilon: float, bounds: Sequence[float]) -> str:
    cells = [audit, f"{epsilon:g}", *(f"{f(bounds):.2f}" for f in (np.min, np.mean, np.max))]
    return "| " + " | ".join([*cells, f"{100 * np.mean(np.array(bounds) > epsilon):.0f} %"]) + " |"


@click.command()
@click.option("--epsilon", "epsilons", multiple=True, default=(1.0, 2.0, 3.0, 4.0), show_default=True)
@click.option("--one-run-epsilon", "large", multiple=True, default=(1.0, 4.0, 16.0, 64.0), show_default=True)
@click.option("--trials", default=4000, show_default=True, help="With the canary, and as many without.")
@click.option("--canaries", default=50, show_default=True, help="Of the one-run audit.")
@click.option("--guesses", default=10, show_default=True, help="Canaries called in, and as many called out.")
@click.option("--repetitions", default=20, show_default=True)
def main(
    epsilons: Sequence[float],
    large: Sequence[float],
    trials: int,
    canaries: int,
    guesses: int,
    repetitions: int,
) -> None:
    """Print a Markdown table."""
    click.echo("| audit | true epsilon | least bound | mean bound | greatest bound | exceeding |")
    click.echo("| --- " * 6 + "|")
    for epsilon in epsilons:
        click.echo(row(f"{trials} + {trials} releases", epsilon, classic(epsilon, trials, repetitions)))
    for epsilon in large:
        bounds = one_run(epsilon, canaries, guesses, repetitions)
        click.echo(row(f"one release, {canaries} canaries, {2 * guesses} guesses", epsilon, bounds))


if __name__ == "__main__":
    main()
