"""Plans and policies with a mistake: one line names the place, what was given, what goes there, what is nearest."""

import pytest
from click.testing import CliRunner

from gaudit.commands.main import main

TARGET, ATTACK = '[[target]]\nname = "classifier"\n', '[[attack]]\nname = "loss"\n'
NOISE = '[[defense]]\nname = "label-noise"\n'
CHECK = '[[check]]\nname = "c"\nattack = "loss"\n'
SOUND = CHECK + "budget = 0.6\n"

PLANS = [
    ("sed = 3\n" + TARGET + ATTACK, ["'sed'", "did you mean 'seed'"]),
    ("[sevrity]\nfpr = 0.1\n" + TARGET + ATTACK, ["'sevrity'", "did you mean 'severity'"]),
    ("seeds = 0\n" + TARGET + ATTACK, ["'seeds'", "at least 1", "got 0"]),
    ('seeds = "three"\n' + TARGET + ATTACK, ["'seeds'", "whole number", "'three'"]),
    ("seeds = 2.5\n" + TARGET + ATTACK, ["'seeds'", "whole number", "2.5"]),
    ("seeds = true\n" + TARGET + ATTACK, ["'seeds'", "whole number", "True"]),
    ("seed = -1\n" + TARGET + ATTACK, ["'seed'", "at least 0", "-1"]),
    ('preset = "fast"\n' + TARGET + ATTACK, ["'preset'", "'quick' or 'paper'", "'fast'"]),
    ('preset = "papers"\n' + TARGET + ATTACK, ["'preset'", "did you mean 'paper'", "'papers'"]),
    ('name = ""\n' + TARGET + ATTACK, ["'name'", "not be empty"]),
    ('datasets = "Cora"\n' + TARGET + ATTACK, ["'datasets'", "a list, as in datasets = ['Cora']"]),
    ('[[target]]\nname = "fedavg"\nsettings = { asked_shares = "0.1, 0.2" }\n' + ATTACK, ["shares = [0.1, 0.2]"]),
    ('datasets = ["Coro"]\n' + TARGET + ATTACK, ["dataset 'Coro'", "did you mean 'Cora'"]),
    ("datasets = []\n" + TARGET + ATTACK, ["no datasets", '["citations"]']),
    ("datasets = [3]\n" + TARGET + ATTACK, ["'datasets.0'", "text", "got 3"]),
    ('timeline = "yes"\n' + TARGET + ATTACK, ["'timeline'", "true or false", "'yes'"]),
    ("alternatives = 2\n" + TARGET + ATTACK, ["'alternatives'", "true or false", "got 2"]),
    ('target = "fedgc"\n' + ATTACK, ["'target'", "[[target]], with two brackets", "'fedgc'"]),
    ('[target]\nname = "fedgc"\n' + ATTACK, ["'target'", "[[target]], with two brackets"]),
    ('[[target]]\nnam = "fedgc"\n' + ATTACK, ["'target.0.nam'", "did you mean 'target.0.name'"]),
    ('[[target]]\nname = "fedcg"\n' + ATTACK, ["target 'fedcg'", "did you mean 'fedgc'"]),
    ("[[target]]\nname = 3\n" + ATTACK, ["'target.0.name'", "text", "got 3"]),
    (TARGET + "settings = { recipee = 3 }\n" + ATTACK, ["'classifier'", "'recipee'", "did you mean 'recipe'"]),
    (TARGET + "settings = { recipe = { epoch = 3 } }\n" + ATTACK, ["'recipe.epoch'", "'recipe.epochs'"]),
    (TARGET + 'settings = { recipe = { epochs = "many" } }\n' + ATTACK, ["'recipe.epochs'", "number", "'many'"]),
    (TARGET + "settings = { recipe = { epochs = -5 } }\n" + ATTACK, ["'recipe.epochs'", "at least", "-5"]),
    (TARGET + 'defenses = ["label-noise"]\n' + ATTACK, ["'classifier'", "[[defense]]", "'label-noise'"]),
    (
        TARGET + '[[defense]]\nname = "label-nois"\n' + ATTACK,
        ["defense 'label-nois'", "did you mean 'label-noise'"],
    ),
    (TARGET + NOISE + "strengths = [-1]\n" + ATTACK, ["'epsilon'", "'label-noise'", "greater than 0", "-1"]),
    (TARGET + NOISE + 'strengths = ["a"]\n' + ATTACK, ["'defense.0.strengths.0'", "number", "'a'"]),
    (TARGET + NOISE + "strength = [1]\n" + ATTACK, ["'defense.0.strength'", "did you mean 'defense.0.strengths'"]),
    (TARGET + '[[defense]]\nname = "none"\nstrengths = [1]\n' + ATTACK, ["'none'", "no strength", "leave"]),
    (TARGET + NOISE + "settings = { epsilom = 1 }\n" + ATTACK, ["'epsilom'", "did you mean 'epsilon'"]),
    (TARGET + '[[attack]]\nname = "lirra"\n', ["attack 'lirra'", "did you mean 'lira'"]),
    (
        TARGET + ATTACK + 'observers = ["servr"]\n',
        ["'attack.0.observers'", "'servr'", "public, server, client:<n>"],
    ),
    (TARGET + ATTACK + 'neighbours = ["all"]\n', ["'attack.0.neighbours.0'", "'partial'", "'all'"]),
    (TARGET + ATTACK + "neighbours = []\n", ["'attack.0.neighbours'", "at least 1"]),
    (TARGET + '[[attack]]\nname = "lira"\nsettings = { shadows = 1 }\n', ["'shadows'", "'lira'", "at least 4"]),
    (TARGET + ATTACK + "[severity]\nfpr = 2\n", ["'severity.fpr'", "less than 1", "got 2"]),
    (TARGET + '[[attack]]\nname = "atuo"\n', ["attack 'atuo'", "known"]),
    ("seeds = \n" + TARGET + ATTACK, ["not TOML", "line 2"]),
]
POLICIES = [
    ("", ["no [[check]]"]),
    ("[gates]\nstrict = true\n" + SOUND, ["'gates'", "did you mean 'gate'"]),
    ("[gate]\nalpah = 0.1\n" + SOUND, ["'gate.alpah'", "did you mean 'gate.alpha'"]),
    ("[gate]\nalpha = 0.6\n" + SOUND, ["'gate.alpha'", "less than 0.5", "got 0.6"]),
    ('[gate]\nalpha = "low"\n' + SOUND, ["'gate.alpha'", "number", "'low'"]),
    ("[gate]\nlargest_fall = 0\n" + SOUND, ["'gate.largest_fall'", "greater than 0", "got 0"]),
    ('[gate]\nstrict = "maybe"\n' + SOUND, ["'gate.strict'", "true or false", "'maybe'"]),
    (CHECK, ["'c'", "give a 'margin', a 'budget', or both"]),
    (CHECK + "budget = 1.2\n", ["'c'", "auc is at most 1", "1.2"]),
    (CHECK + 'budget = "0.6"\n', ["'check.0.budget'", "number", "'0.6'"]),
    (CHECK + "budget = -1\n", ["'check.0.budget'", "at least 0", "-1"]),
    (CHECK + "budgt = 0.6\n", ["'check.0.budgt'", "did you mean 'check.0.budget'"]),
    (CHECK + "margin = 0\n", ["'check.0.margin'", "greater than 0", "got 0"]),
    (CHECK + 'max = "low"\n', ["'c'", "'max' goes with metric = \"level\""]),
    (CHECK + 'metric = "level"\nmax = "lo"\n', ["'check.0.max'", "did you mean 'low'", "'lo'"]),
    (CHECK + 'metric = "level"\nbudget = 0.6\n', ["'c'", "'level' goes with 'max'"]),
    (CHECK + 'metric = "tpr@fpr=2"\nbudget = 0.6\n', ["'check.0.metric'", "between 0 and 1", "tpr@fpr=2"]),
    (CHECK + 'metric = "epsilon"\nmargin = 0.6\n', ["'c'", "give a 'budget', no 'margin'"]),
    (SOUND + SOUND, ["two checks are called 'c'"]),
    ('[[check]]\nname = "c"\nattack = "lose"\nbudget = 0.6\n', ["'c'", "'lose'", "did you mean 'loss'"]),
    ('[[check]]\nattack = "loss"\nbudget = 0.6\n', ["'check.0.name'", "is missing"]),
    (SOUND + 'target = "clasifier"\n', ["'c'", "'clasifier'", "did you mean 'classifier'"]),
    (SOUND + 'defense = "label-nois, epsilon 1"\n', ["'c'", "'label-nois'", "did you mean 'label-noise'"]),
    (SOUND + 'observer = "servr"\n', ["'servr'", "public, server, client:<n>"]),
    (SOUND + 'neighbours = "all"\n', ["'check.0.neighbours'", "'partial'", "'all'"]),
    (SOUND + 'strength = "1"\n', ["'check.0.strength'", "number", "'1'"]),
    (SOUND + 'game = "membersip"\n', ["'c'", "'membersip'", "did you mean 'label-membership'"]),
    ("[severity]\nmoderat = 0.6\n" + SOUND, ["'severity.moderat'", "did you mean 'severity.moderate'"]),
    ('check = "loss"\n', ["'check'", "[[check]], with two brackets", "'loss'"]),
    ('{"check": []}', ["not TOML", "line 1"]),
]

SCORES, PAIR = "id,member,score\n", "1,1,0.3\n2,0,0.1\n"
TABLES = [
    (b"", ["t.csv", "no row of column names"]),
    (SCORES.encode(), ["t.csv", "no rows"]),
    (b"\xd9\x00\xff\xfe", ["t.csv", "not text in UTF-8"]),
    (b"id;member;score\n1;1;0,3\n2;0;0,1\n", ["t.csv", "row 1", "'0,3'", "finite number"]),
    (f"\ufeff{SCORES}{PAIR}2,1,0.5\n".encode(), ["t.csv", "row 3", "'run'"]),
    (f"{SCORES}1,1,nan\n2,0,0.1\n".encode(), ["t.csv", "row 1", "'nan'", "finite number"]),
    (f"{SCORES}1,1,1e999\n2,0,0.1\n".encode(), ["t.csv", "row 1", "'1e999'", "finite number"]),
    (f"{SCORES}1,2,0.4\n2,0,0.1\n".encode(), ["t.csv", "row 1", "'2'", "1 or 0"]),
    (f"{SCORES}1,1,0.4\n2,1,0.1\n".encode(), ["t.csv", "all 2 rows are members"]),
    (f"id,membr,score\n{PAIR}".encode(), ["t.csv", "'member' is missing", "membr"]),
    (b"id,member,score,score\n1,1,0.3,0.4\n2,0,0.1,0.2\n", ["t.csv", "several columns", "'score'"]),
    (b"id,member,label,p0,p1\n1,1,0,0.9,0.4\n2,0,1,0.5,0.5\n", ["t.csv", "row 1", "sum to 1"]),
    (b"id,member,label,p0,p1\n1,1,7,0.6,0.4\n2,0,1,0.5,0.5\n", ["t.csv", "row 1", "label 7", "0 to 1"]),
]
COMMANDS = [
    (["score", "no.csv"], ["no.csv", "No such file"]),
    (["score", "folder.csv"], ["folder.csv", "directory"]),
    (["score", "t.xlsx"], ["t.xlsx", ".csv", "'.xlsx'"]),
    (["score", "sound.csv", "--below", "auc=high"], ["auc=high", "tpr_at_1=0.05"]),
    (["score", "sound.csv", "--below", "auk=0.6"], ["auk=0.6", "auc, tpr_at_10"]),
    (["score", "sound.csv", "--below", "auc=1.6"], ["auc=1.6", "at most 1"]),
    (["anonymize", "folder.csv", "--defense", "k-degree", "-o", "o.txt"], ["folder.csv", "folder"]),
    (["anonymize", "net.txt", "--defense", "k-degre", "-o", "o.txt"], ["'k-degre'", "did you mean 'k-degree'"]),
    (["anonymize", "net.txt", "--defense", "ib", "-o", "o.txt"], ["'ib'", "does not change a graph", "k-degree"]),
    (["anonymize", "net.txt", "--defense", "k-degree", "--k", 0, "-o", "o.txt"], ["'k'", "at least 1", "got 0"]),
    (
        ["anonymize", "net.txt", "--defense", "k-degree", "--k", 10**11, "-o", "o.txt"],
        ["only 4 nodes", "at most 4"],
    ),
    (["anonymize", "net.txt", "--defense", "k-degree:k=ten", "-o", "o.txt"], ["'k'", "whole number", "'ten'"]),
    (["anonymize", "net.txt", "--defense", "k-degree", "-o", "o.docx"], ["o.docx", ".graphml"]),
    (["anonymize", "net.txt", "--defense", "k-degree", "-o", "net.txt"], ["net.txt", "another file name"]),
    (["attack", "--target", "clasifier"], ["'clasifier'", "did you mean 'classifier'"]),
    (["attack", "--target", "classifier", "--set", "recipe.epocs=3"], ["'classifier': 'recipe.epocs'", "epochs'"]),
    (["attack", "--target", "classifier", "--set", "hops"], ["'hops'", "KEY=VALUE"]),
    (
        ["attack", "--target", "classifier", "--attack", "lira", "--attack-set", "shadow=8"],
        ["'shadow'", "'shadows'"],
    ),
    (["attack", "--target", "classifier", "--dataset", "patiens"], ["'patiens'", "did you mean 'patients'"]),
    (["attack", "--target", "classifier", "--graph", "net.txt"], ["net.txt", ".npz or .graphml"]),
    (["report", "audit.db", "-o", "x.docx"], ["x.docx", ".docx", "html"]),
    (["report", "audit.db", "--date", "31.1.2026"], ["'31.1.2026'", "2026-01-31"]),
    (["report", "sound.csv"], ["sound.csv", "no ledger"]),
    (["record", "folder.csv", "--graph", "net.npz"], ["folder.csv", "no recording"]),
    (["audit", "binary.toml"], ["binary.toml", "not text in UTF-8"]),
    (["list", "attack"], ["'attack'", "did you mean 'attacks'?"]),
    (["attak"], ["'attak'", "attack"]),
    (["inspect"], ["--target", "--transcript"]),
]


def _refused(arguments, says):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 2, result.output
    assert not result.stdout or result.stdout.splitlines()[2].startswith("Will be left out: ")  # told beforehand
    (line,) = result.stderr.strip().splitlines()
    assert all(part in line for part in says), line
    assert len(line) < 400


@pytest.mark.parametrize(("content", "says"), PLANS, ids=range(len(PLANS)))
def test_a_wrong_plan_is_refused_in_one_line_before_anything_runs(tmp_path, content, says):
    plan = tmp_path / "plan.toml"
    plan.write_text(content if "datasets" in content else f'datasets = ["karate"]\n{content}')
    _refused(["audit", plan, "--ledger", tmp_path / "audit.db"], says)
    assert not (tmp_path / "audit.db").exists()


@pytest.mark.parametrize(("content", "says"), POLICIES, ids=range(len(POLICIES)))
def test_a_wrong_policy_is_refused_in_one_line(tmp_path, content, says):
    policy = tmp_path / "gaudit.toml"
    policy.write_text(content)
    _refused(["check", tmp_path / "audit.db", "--policy", policy], says)


@pytest.mark.parametrize(("content", "says"), TABLES, ids=range(len(TABLES)))
def test_a_wrong_table_of_scores_is_refused_in_one_line(tmp_path, monkeypatch, content, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_bytes(content)
    _refused(["score", "t.csv"], says)


@pytest.mark.parametrize(("command", "says"), COMMANDS, ids=range(len(COMMANDS)))
def test_a_wrong_command_is_refused_in_one_line(tmp_path, monkeypatch, command, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sound.csv").write_text(SCORES + PAIR)
    (tmp_path / "net.txt").write_text("a b\nb c\nc d\n")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "folder.csv").mkdir()
    _refused(command, says)
