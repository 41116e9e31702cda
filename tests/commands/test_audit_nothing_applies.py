"""An audit in which no attack applied must not pass for one that found nothing."""

from pathlib import Path

PLAN = 'datasets = ["karate"]\nseeds = 1\n[[target]]\nname = "publish"\n[[attack]]\nname = "loss"\n'


def test_it_exits_with_4_and_a_line_and_so_does_a_check_of_it(gaudit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    done = gaudit("audit", "plan.toml", "--workers", "1")
    assert done.exit_code == 4, done.output
    last = done.stderr.splitlines()[-1]
    assert last.startswith("gaudit: no attack applied, so nothing was measured: loss on publish on karate: ")
    Path("gaudit.toml").write_text('[[check]]\nname = "a"\nattack = "loss"\nbudget = 0.6\n')
    checked = gaudit("check", "audit.db")
    assert checked.exit_code == 4
    assert "no attack applied" in checked.stdout
