"""A statement with every fact and what it means, as a file to begin with."""

import json
from typing import Any

from ...settings import Settings
from .claim_statement import Bound, Claim, Inference, Noise, Selection, Statement, Training

EXAMPLE = Statement(
    claim=Claim(
        title="node classifier on noised aggregates (GAP)",
        unit="node",
        told="node",
        adjacency="add/remove",
        epsilon=5.1,
        delta=1e-6,
        units=10_000,
        composition="rdp",
    ),
    noise=(
        Noise(
            name="aggregates",
            times=2,
            mechanism="gaussian",
            sensitivity=10,
            norm="L2",
            scale=20,
            seed="secret",
            sampler="exact",
        ),
    ),
    training=(
        Training(
            name="classifier",
            example="node",
            layers=0,
            clipping="joint",
            normalisation="none",
            sensitivity=1,
            noise_multiplier=1.2,
            sampling="poisson",
            sample_rate=0.02,
            steps=1000,
            accountant="rdp",
            seed="secret",
            sampler="exact",
        ),
    ),
    bound=(Bound(what="degree", source="public"),),
    selection=Selection(tried=1, judged_on="public"),
    inference=Inference(reads="training graph", noised=True),
)
"""Two hops of aggregates of rows of norm 1, at most 100 readers; and a classifier that reads no edges itself."""


def example_text() -> str:
    """The example as TOML; facts that it does not need stand there as comments."""
    lines = ["# What a claim of differential privacy rests on, for gaudit lint-claim. Delete what does not apply."]
    for name, field in Statement.model_fields.items():
        value = getattr(EXAMPLE, name)
        head = f"[[{name}]]" if isinstance(value, tuple) else f"[{name}]"
        lines += ["", f"{head}  # {field.description}", *_facts(value[0] if isinstance(value, tuple) else value)]
    return "\n".join(lines) + "\n"


def _facts(part: Settings) -> list[str]:
    """A line for each fact, the ones that are stated first."""
    pairs = [(name, field.description, getattr(part, name)) for name, field in type(part).model_fields.items()]
    said = [f"{name} = {_written(value)}  # {what}" for name, what, value in pairs if value is not None]
    return said + [f"# {name} =  # {what}" for name, what, value in pairs if value is None]


def _written(value: Any) -> str:
    """A number, a truth value or a text, as TOML and JSON both write it."""
    return json.dumps(value)
