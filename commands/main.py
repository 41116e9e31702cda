"""The command line. Only what a command needs is imported, when it runs."""

import sys
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..errors import InputError
from ..output_files import check_apart, check_outputs, write
from ..registry import FUNCTIONS, GROUPS, OURS, find, origin, registered, summaries
from ..reports.console.progress import staged
from .audit import audit_command
from .bring import published_command, release_command, score_command
from .check import baseline_group, check_command
from .check_claim import check_claim_command
from .check_training import check_training_command
from .lint_claim import lint_claim_command
from .plugin import plugin_group
from .publishing.anonymise import anonymise_command
from .record import record_command
from .report import report_command
from .reproduce import reproduce_command
from .terminal import (
    GuardedGroup,
    anyway_option,
    auxiliary_options,
    clear_errors,
    console,
    several,
    verbose_option,
)
from .written_settings import read_defense, read_pairs

DATASET = "citations"
INVALID = 4


@click.group(cls=GuardedGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="gaudit")
def main() -> None:
    """Privacy attack-and-defense auditing for graph learning.

    Runs a graph pipeline, attacks what it lets out, compares defenses, and says how sure it is.

    Example: gaudit attack --target fedgc --attack mia
    """


def _one_graph(options: dict[str, Any]) -> None:
    """Fills in the default dataset, where neither it nor a file is named."""
    if options["graph"] is not None and options["dataset"] is not None:
        raise InputError(f"--graph {options['graph']} and --dataset {options['dataset']} are two graphs: give one")
    options["dataset"] = options["dataset"] or DATASET


SERVICE = "service"
ASKED = {"true": ["full"], "none": ["0-hop"], "all": ["full", "0-hop"]}
"""How a service is asked, by ``--neighbours``."""


def _asked_of_service(options: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, and the target where it is named by a URL."""
    url, budget = options.pop("url"), options.pop("budget")
    if url is None:
        if budget is not None:
            raise InputError("--budget is of answers of a service: give its --url too")
        if options["target"] is None:
            raise click.MissingParameter(param_hint="'--target'", param_type="option")
        return settings
    if options["target"] not in (None, SERVICE):
        raise InputError(f"--url and --target {options['target']} are two targets: give one")
    if budget is None:
        raise InputError("--url needs --budget N: how many answers the service may be asked for")
    if options["neighbours"] not in ASKED:
        raise InputError(f"--neighbours {options['neighbours']}: a service is asked with {', '.join(ASKED)}")
    options["target"] = SERVICE
    return {"queries": ASKED[options["neighbours"]], **settings, "url": url, "budget": budget}


def _with_auxiliary(options: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, and among them the second network where one is held."""
    given = {name: options.pop(name) for name in ("auxiliary", "auxiliary_same")}
    asked = {name: file for name, file in given.items() if file is not None}
    if not asked:
        return settings
    known = find("targets", options["target"]).Settings.model_fields
    for name in asked:
        option = f"--{name.replace('_', '-')}"
        if name not in known:
            raise InputError(
                f"{option} goes with targets that publish a network, and '{options['target']}' does not: "
                "use --target publish"
            )
        if name in settings:
            raise InputError(f"{option} and --set {name}={settings[name]} are one setting: give it once")
    return {**settings, **asked}


_TARGET = "Pipeline to run (gaudit list targets)."
_pipeline = several(
    click.option("--dataset", metavar="NAME", help=f"gaudit list datasets. By default {DATASET}."),
    click.option(
        "--graph",
        type=click.Path(),
        metavar="FILE",
        help="A graph of your own instead (.npz or .graphml; to publish also edge lists: .txt, .csv, .tsv, .gz; "
        "a folder of TU files for graph-classifier).",
    ),
    click.option(
        "--defense",
        "defenses",
        multiple=True,
        metavar="NAME",
        help="Defense, repeatable, with settings as in k-degree:k=10. By default as published. The undefended "
        "control always runs too.",
    ),
    click.option("--strength", type=float, help="Strength of the defense, in its own unit."),
    click.option(
        "--preset",
        default="quick",
        show_default=True,
        help="quick (a minute or so) or paper (the paper's settings).",
    ),
    click.option("--ratio", type=float, help="Size of the condensed graph as a share."),
    click.option("--ratio-of", type=click.Choice(["nodes", "labelled"]), help="Share of what."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any target setting."),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Root of all randomness."),
    click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, ..."),
)


@main.command(short_help="Run a pipeline, attack what it lets out, say what leaks.")
@click.option("--target", metavar="NAME", help=_TARGET)
@_pipeline
@click.option(
    "--attack",
    "attacks",
    multiple=True,
    metavar="NAME",
    help="Attack, repeatable, or 'all', or 'auto': all that read something and do not cost much. By default auto. "
    "Attacks that cost next to nothing run beside those that are named.",
)
@click.option("--only", is_flag=True, help="Run the named attacks alone.")
@click.option("--observer", metavar="WHO", help="public, server, client:3, or several joined by +.")
@click.option(
    "--neighbours",
    type=click.Choice(["true", "partial", "none", "apart", "all"]),
    default="true",
    show_default=True,
    help="Edges to ask with: all, half, none (0-hop), or none across members and non-members.",
)
@click.option(
    "--attack-set", "attack_settings", multiple=True, metavar="KEY=VALUE", help="Any attack setting: shadows=64."
)
@click.option("--sweep", is_flag=True, help="Run each defense at every strength that it suggests: a curve.")
@click.option("--seeds", type=click.IntRange(1), help="Repetitions. Default: 1 for quick, 5 for paper.")
@click.option("--timeline", is_flag=True, help="Attack every release, not only the one validation chose.")
@click.option("--transfer", is_flag=True, help="Train other architectures on the release too.")
@click.option("--transcript", type=click.Path(), metavar="PATH", help="Attack a recorded run instead.")
@click.option(
    "--url",
    metavar="URL",
    help="Attack a model that answers there: the graph is sent to it. The target is then 'service'.",
)
@click.option(
    "--budget", type=click.IntRange(2), metavar="N", help="Answers that --url may be asked for, one node each."
)
@auxiliary_options
@click.option("--save-transcripts", type=click.Path(), metavar="FOLDER", help="Record what was sent.")
@click.option("--workers", type=click.IntRange(1), help="Trials at a time. Default: one per core.")
@click.option("--dry-run", is_flag=True, help="Say how many trials there are and what they take, and stop.")
@anyway_option
@click.option(
    "--per-node",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write how exposed each member is, by position in the graph (CSV; itself sensitive).",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write all results.")
@verbose_option
@clear_errors
def attack(**options: Any) -> None:
    """Run a pipeline with and without defenses, attack what it lets out, and say what that means.

    Exit codes: 0 done; 2 something in the command is wrong; 4 a control of the audit failed, so that its numbers
    mean nothing.

    Example: gaudit attack --target fedgc --attack mia --attack nearest --defense ib
    """
    from ..audit.planning.observers import chosen
    from ..audit.planning.request import AttackRequest
    from ..audit.results.attack_audit import foretold, run_attack

    settings = _asked_of_service(options, read_pairs(options["settings"]))
    options["settings"] = _with_auxiliary(options, settings)
    _one_graph(options)
    options["beside"] = not options.pop("only")
    json_file, per_node, verbose = options.pop("json_file"), options.pop("per_node"), options.pop("verbose")
    options["attack_settings"] = read_pairs(options["attack_settings"])
    options["defenses"] = tuple(map(read_defense, options["defenses"]))
    folder = options["save_transcripts"]
    check_apart(filter(None, [json_file, per_node, folder and Path(folder)]))
    check_outputs([json_file, per_node], [Path(options[key]) for key in ("graph", "transcript") if options[key]])
    dry_run = options.pop("dry_run")
    request: AttackRequest = AttackRequest(**options)
    if dry_run:
        for line in foretold(request):
            click.echo(line)
        return
    with staged() as report:
        audit = run_attack(request, report)
    from ..reports.console.brief_console import Shown, print_results
    from ..reports.text.sentences import conclusion

    if json_file is not None:
        write(json_file, audit.to_json(conclusion(audit.outcomes, audit.release_phrase, audit.valid)))
    if per_node is not None:
        write(per_node, audit.per_node(), private=True)
    names = dict.fromkeys(a.plan.name for o in audit.outcomes for a in o.attacks)
    added = [name for name in names if not {name, "all"} & set(request.attacks)]
    remarks = [] if audit.choice is None else audit.choice.sentences()
    if added and audit.choice is None:
        remarks.append(_ran_too(added))
    mounted = [(request.target, a.plan) for o in audit.outcomes for a in o.attacks if request.observer is None]
    remarks += chosen(mounted)
    shown = Shown(audit.headline(), audit.outcomes, audit.release_phrase, audit.controls, tuple(remarks))
    print_results(console(), shown, verbose)
    if json_file is not None:
        click.echo(f"Results written to {json_file}", err=True)
    if per_node is not None:
        click.echo(f"Written to {per_node}: how exposed each member is. Keep it as safe as the graph.", err=True)
    if not audit.valid:
        sys.exit(INVALID)


def _ran_too(names: list[str]) -> str:
    """That attacks ran which nobody named."""
    if len(names) == 1:
        return f"The attack {names[0]} ran too, since it costs next to nothing: --only leaves it out."
    return f"The attacks {', '.join(names)} ran too, since they cost next to nothing: --only leaves them out."


@main.command(short_help="Show who sees which messages, and which attacks read them.")
@click.option("--target", metavar="NAME", help=f"{_TARGET} Not needed with --transcript.")
@_pipeline
@click.option(
    "--observer",
    "observers",
    multiple=True,
    metavar="WHO",
    help="Repeatable. Default: public, server and client:0, as far as the run has them.",
)
@click.option("--transcript", type=click.Path(), metavar="PATH", help="Inspect a recorded run instead.")
@click.option(
    "--attacks",
    is_flag=True,
    help="Also show which attacks read what was sent. Without a target and a recorded run: which read which kinds.",
)
@clear_errors
def inspect(**options: Any) -> None:
    """Show who sees what: message kinds, how many, how large, in which rounds.

    Example: gaudit inspect --target fedgc --observer server --observer client:3
    """
    from ..reports.console.exposure_console import exposure_table
    from .inspect_command import run_inspection

    attacks = options.pop("attacks")
    if attacks and options["target"] is None and options["transcript"] is None:
        _print_readers(None)
        return
    if options["target"] is None and options["transcript"] is None:
        raise click.UsageError("Missing option '--target', or '--transcript' with a recorded run.")
    _one_graph(options)
    options["settings"] = read_pairs(options["settings"])
    options["defenses"] = tuple(map(read_defense, options["defenses"]))
    screen = console()
    with staged() as report:
        rows = run_inspection(options, report)
    screen.print(exposure_table(rows))
    if attacks:
        _print_readers([row.kind for row in rows])


def _print_readers(kinds: list[str] | None) -> None:
    """Which attacks read messages of some kinds, or of all."""
    from ..reports.console.readers_console import readers_table, unread
    from .inspect_command import readers_of

    readers, screen = readers_of(kinds), console()
    screen.print(readers_table(readers))
    left = unread(readers)
    if left is not None:
        screen.print(left, highlight=False, soft_wrap=True)


@main.command(name="list", short_help="List targets, attacks, defenses, datasets, ...")
@click.argument("what", metavar="WHAT", type=click.Choice([*GROUPS, *FUNCTIONS, "datasets"]))
@clear_errors
def list_(what: str) -> None:
    """List what there is, each with its name, the package that it comes from, and a line about it.

    WHAT is targets, attacks, defenses, games, mechanisms, formats, readers or datasets.

    Example: gaudit list attacks
    """
    if what == "datasets":
        from ..graphs.datasets.loading import dataset_names

        lines = dataset_names()
        origins = dict.fromkeys(lines, OURS)
    else:
        lines = summaries(what)
        origins = {name: origin(point) for name, point in registered(what).items()}
    if not lines:
        click.echo(f"No package that is installed brings {what}.", err=True)
        return
    width, wide = max(map(len, lines)), max(map(len, origins.values()))
    for name, text in lines.items():
        click.echo(f"{name:<{width}}  {origins[name]:<{wide}}  {text}")


for command in (
    check_claim_command,
    check_training_command,
    lint_claim_command,
    anonymise_command,
    score_command,
    release_command,
    published_command,
    audit_command,
    record_command,
    report_command,
    reproduce_command,
    check_command,
    baseline_group,
    plugin_group,
):
    main.add_command(command)
