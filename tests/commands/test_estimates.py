"""`gaudit attack` and `gaudit audit` tell what trials take, and refuse what will not fit into memory."""

import pytest

from gaudit.audit.planning import estimates

ATTACK = [
    "attack",
    "--target",
    "classifier",
    "--attack",
    "loss",
    "--only",
    "--defense",
    "none",
    "--dataset",
    "karate",
]
PLAN = 'datasets = ["karate"]\nseeds = 1\n[[target]]\nname = "classifier"\n[[attack]]\nname = "loss"\n'
TINY = 0.01 * estimates.GIB


def test_a_dry_run_of_an_attack_tells_and_runs_nothing(gaudit, monkeypatch):
    monkeypatch.setattr("gaudit.audit.running.runner.attempt", None)  # whatever ran would fail
    done = gaudit(*ATTACK, "--dry-run")
    assert done.exit_code == 0
    first, second, third = done.stdout.splitlines()
    assert first == "Trials to run: 1. Planted leaks beside them: 1."
    assert second.startswith(
        "classifier on karate: a trial takes at least 6 s of CPU time and about 0.6 GiB of mem"
    )
    assert third.endswith("GiB of memory are free.")


@pytest.mark.dear
@pytest.mark.parametrize("words", [ATTACK, ["audit", "plan.toml"]], ids=["attack", "audit"])
def test_what_does_not_fit_is_refused_before_it_runs(gaudit, monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.setattr("gaudit.audit.results.attack_audit.free_memory", lambda: TINY)
    monkeypatch.setattr(estimates, "free_memory", lambda: TINY)
    done = gaudit(*words)
    assert done.exit_code == 2
    (said,) = [line for line in done.stderr.splitlines() if "error" in line]
    assert "needs about 0.6 GiB of memory, and 0.0 are free" in said
    assert "--anyway" in said
    assert gaudit(*words, "--anyway").exit_code == 0
