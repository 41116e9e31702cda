"""A model behind a URL is asked within its budget, once, and what it answers is not trusted."""

import json

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import gaudit
from gaudit.audit.results.assemble import read_audit
from gaudit.commands.main import main
from gaudit.errors import InputError
from gaudit.graphs.files.data_file import write_graph
from gaudit.registry import find
from gaudit.targets.external.service import Service
from gaudit.targets.external.service_client import ServiceClient, read_answer, step_of
from support.answering_service import answering, dripping, sent
from support.sixty_nodes import sixty_nodes

QUICK = {"backoff": 0.0, "retries": 2}


def posteriors(data, decimals=None):
    """What a model that knows its members by heart answers: sure of their labels, in two minds of others'."""
    classes = int(data.y.max()) + 1
    sure = torch.where(data.train_mask, 0.97, 0.6)
    told = ((1 - sure) / (classes - 1))[:, None].repeat(1, classes)
    told[torch.arange(len(data.y)), data.y] = sure
    rng = np.random.default_rng(0)
    told = told.double().numpy() * rng.uniform(0.9, 1.1, told.shape)
    told /= told.sum(1, keepdims=True)
    return told if decimals is None else told.round(decimals)


def serving(data, decimals=None):
    """Answers with these posteriors; whom a request without edges is about its features tell."""
    table = posteriors(data, decimals)
    rows = {tuple(row): node for node, row in enumerate(data.x.tolist())}

    def reply(handler, asked):
        nodes = [rows[tuple(asked["x"][node])] for node in asked["nodes"]]
        sent(handler, json.dumps({"posteriors": table[nodes].tolist()}).encode())

    return reply


@pytest.fixture(name="data")
def graph_with_features():
    data = sixty_nodes()
    data.x = data.x + torch.arange(len(data.x))[:, None] / 1024  # every row another
    return data


def run_of(data, url, tmp_path, **settings):
    target = Service(url=url, answers=str(tmp_path / "kept"), **{"budget": 1000, "batch": 16, **QUICK, **settings})
    return target(data, find("defenses", "none")(), np.random.SeedSequence(0), lambda message: True)


def test_everybody_in_question_is_asked_about_once(data, tmp_path):
    with answering(serving(data)) as service:
        run = run_of(data, service.url, tmp_path)
        subjects = int((data.train_mask | data.test_mask).sum())
        assert service.nodes == 2 * subjects
        full = [request for request in service.requests if request["edge_index"][0]]
        assert {len(request["x"]) for request in full} == {len(data.x)}
        alone = [request for request in service.requests if not request["edge_index"][0]]
        assert all(len(request["x"]) == len(request["nodes"]) <= 16 for request in alone)
        again = run_of(data, service.url, tmp_path)
        assert service.nodes == 2 * subjects
    assert any("nothing was asked" in note for note in again.notes)
    assert not any("nothing was asked" in note for note in run.notes)
    for one, other in zip(run.transcript.messages, again.transcript.messages, strict=True):
        assert torch.equal(one.tensors["posteriors"], other.tensors["posteriors"])
        told = posteriors(data)[one.tensors["nodes"].numpy()]
        assert np.allclose(one.tensors["posteriors"].numpy(), told, atol=1e-6)


def test_no_more_is_asked_than_the_budget_allows(data, tmp_path):
    with answering(serving(data)) as service:
        run = run_of(data, service.url, tmp_path, budget=30)
        assert service.nodes == 30
        secrets = run.secrets["label-membership"]
        assert len(secrets.subjects) == 15
        assert any("the budget allows 15 of" in note for note in run.notes)
        run_of(data, service.url, tmp_path, budget=40)
        assert service.nodes == 40


def test_what_was_answered_before_a_failure_is_not_asked_for_again(data, tmp_path):
    well = serving(data)

    def reply(handler, asked):
        if len(service.requests) == 2:
            sent(handler, b"no", status=400)
        else:
            well(handler, asked)

    with answering(reply) as service:
        with pytest.raises(InputError, match=r"answers with the error 400$"):
            run_of(data, service.url, tmp_path)
        run_of(data, service.url, tmp_path)
        subjects = int((data.train_mask | data.test_mask).sum())
        assert service.nodes == 2 * subjects + 16  # those of the request that failed


def test_a_service_that_fails_for_a_while_is_asked_again(data, tmp_path):
    well = serving(data)

    def reply(handler, asked):
        if len(service.requests) <= QUICK["retries"]:
            sent(handler, b"", status=503)
        else:
            well(handler, asked)

    with answering(reply) as service:
        run_of(data, service.url, tmp_path, queries=["full"])


NODES, CLASSES = 2, 3
ROW = [0.2, 0.3, 0.5]
GARBAGE = {
    "no JSON": (b"<html>", "is no JSON"),
    "not UTF-8": (b"\xff", "is no JSON"),
    "deep": (b"[" * 50_000, "is no JSON|without posteriors"),
    "a list": (b"[1]", "without posteriors"),
    "no posteriors": (b'{"error": "no"}', "without posteriors"),
    "too few rows": (json.dumps({"posteriors": [ROW]}).encode(), "1 rows about 2 nodes"),
    "too few classes": (json.dumps({"posteriors": [ROW, ROW[:2]]}).encode(), "row 2 of an answer is"),
    "text": (json.dumps({"posteriors": [ROW, ["a", 0, 1]]}).encode(), "row 2 .* expected 3 numbers"),
    "yes and no": (json.dumps({"posteriors": [ROW, [True, False, False]]}).encode(), "row 2 .* expected 3 numbers"),
    "NaN": (b'{"posteriors": [[NaN, 1, 0], [0, 0, 1]]}', "row 1 .* expected 3 numbers"),
    "infinite": (b'{"posteriors": [[1e999, 1, 0], [0, 0, 1]]}', "row 1 .* expected 3 numbers"),
    "a number without end": (b'{"posteriors": [[' + b"9" * 9000 + b", 1, 0], [0, 0, 1]]}", "row 1 .* expected"),
    "negative": (json.dumps({"posteriors": [ROW, [-0.5, 1, 0.5]]}).encode(), "row 2 .* no posterior"),
    "logits": (json.dumps({"posteriors": [ROW, [2.512, 1.1, 0.57]]}).encode(), "row 2 .* no posterior"),
}


@pytest.mark.parametrize("case", GARBAGE)
def test_garbage_is_refused_in_one_line(case):
    raw, says = GARBAGE[case]
    with answering(lambda handler, asked: sent(handler, raw)) as service:
        client = ServiceClient(service.url, retries=2, backoff=0.0)
        with pytest.raises(InputError, match=says) as refused:
            client.ask(b'{"nodes": [0, 1]}', NODES, CLASSES)
        assert len(service.requests) == 1
    assert "\n" not in str(refused.value)


BODY = b'{"nodes": [0, 1]}'


def refused(url, says, **settings):
    """Asking there is refused in one line that says so."""
    with pytest.raises(InputError, match=says) as error:
        ServiceClient(url, **{"retries": 1, "backoff": 0.0, **settings}).ask(BODY, NODES, CLASSES)
    assert "\n" not in str(error.value)


def test_errors_and_other_addresses_are_refused_in_one_line():
    with answering(lambda handler, asked: sent(handler, b"", status=500)) as service:
        refused(service.url, "answers with the error 500, asked 2 times")
        elsewhere = service.url
        with answering(lambda handler, asked: sent(handler, b"", 307, Location=elsewhere)) as sending:
            refused(sending.url, r"sends elsewhere, to 'http://127.*nothing was sent there")
        assert len(service.requests) == 2
    refused(elsewhere, r"cannot be asked \(.*refused\), asked 2 times")


def test_silence_and_too_much_are_refused_in_one_line():
    with answering(lambda handler, asked: service.stop.wait(20)) as service:
        refused(service.url, r"did not answer within 0\.2 seconds, asked 2 times", timeout=0.2)
    with answering(lambda handler, asked: dripping(handler, service)) as service:
        refused(service.url, r"did not answer within 0\.3 seconds$", timeout=0.3, retries=0)
    with answering(lambda handler, asked: sent(handler, b" " * 10**6)) as service:
        refused(service.url, "more than 65,776 bytes")


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://host/x", "host:80", "http://", "http://h:99999/", "http://h/\n", "http://h/a b"],
)
def test_what_is_no_url_of_a_service_is_refused(url):
    with pytest.raises(InputError, match="expected http://host/path or https://host/path"):
        Service(url=url, budget=10)


def test_no_password_is_kept_with_results():
    with pytest.raises(InputError, match="use the setting token") as refused:
        Service(url="http://me:secret@host/", budget=10)
    assert "secret" not in str(refused.value)


def test_the_token_is_sent_and_not_kept(data, tmp_path, monkeypatch):
    monkeypatch.setenv("A_TOKEN", "much-secret")
    with answering(serving(data)) as service:
        run_of(data, service.url, tmp_path, token="A_TOKEN", queries=["full"])
        assert {headers["Authorization"] for headers in service.headers} == {"Bearer much-secret"}
    assert not any(b"much-secret" in file.read_bytes() for file in (tmp_path / "kept").iterdir())
    with pytest.raises(InputError, match="the environment has no such variable"):
        ServiceClient("http://127.0.0.1:1/", token="NO_SUCH_TOKEN").ask(b"{}", 1, 2)


@pytest.mark.parametrize("decimals", [1, 2, 3])
def test_rounding_is_noticed(data, decimals, tmp_path):
    with answering(serving(data, decimals)) as service:
        run = run_of(data, service.url, tmp_path)
    assert f"answers (full) are rounded, in steps of {10.0**-decimals:g}" in run.notes
    for message in run.transcript.messages:
        assert torch.allclose(message.tensors["posteriors"].sum(1), torch.ones(1), atol=2e-3)
    assert step_of(posteriors(data)) == 0


def test_exact_rows_may_not_be_far_from_one():
    told = {"posteriors": [[0.123456789, 0.3, 0.5]]}
    with pytest.raises(InputError, match="no posterior"):
        read_answer(json.dumps(told).encode(), 1, 3, "url")


def test_in_python_a_service_leaks_what_its_answers_leak(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with answering(serving(data)) as service:
        result = gaudit.audit(data, url=service.url, budget=1000, progress=False, ledger=tmp_path / "audit.db")
    answers = gaudit.audit(data, answers={"full": posteriors(data)}, progress=False)
    assert result.auc["loss"].estimate == pytest.approx(answers.auc["loss"].estimate)
    kept = read_audit(tmp_path / "audit.db")  # nobody is there to be asked any more
    assert [place.attack.auc for place in kept.findings()] == list(result.auc.values())
    for wrong in ({"budget": None}, {"seeds": 2}, {"answers": posteriors(data)}):
        with pytest.raises(InputError, match=r"budget|seeds|two ways in"):
            gaudit.audit(data, **{"url": service.url, "budget": 10, **wrong})


def test_how_the_model_was_trained_is_not_made_up(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with answering(serving(data)) as service:
        result = gaudit.audit(data, url=service.url, budget=1000, attacks=("lira", "loss"), progress=False)
    assert set(result.auc) == {"loss", "loss, 0-hop"}
    assert [why for name, why in result.refused.items() if "nobody declared how" not in why] == []
    assert {name.partition(" ")[0] for name in result.refused} == {"lira"}
    assert result.audit.sections[0].outcomes[0].defense == "unknown"


def command(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.dear
def test_on_the_command_line(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_graph(data, tmp_path / "graph.npz")
    with answering(serving(data)) as service:
        asked = ("attack", "--url", service.url, "--graph", "graph.npz", "--attack", "loss", "--workers", 1)
        done = command(*asked, "--budget", 1000)
        assert done.exit_code == 0, done.output
        assert "loss" in done.stdout
        count = service.nodes
        again = command(*asked, "--budget", 1000)
        assert service.nodes == count
        assert "nothing was asked" in again.stdout.replace("\n", " ")
        shadows = command(*asked, "--budget", 1000, "--attack", "lira")
        assert "declare" in shadows.stdout + shadows.stderr
        assert command(*asked).stderr.startswith("gaudit: error: --url needs --budget")
        two = command(*asked, "--budget", 10, "--target", "fedgc")
        assert two.stderr.startswith("gaudit: error: --url and --target fedgc are two targets")
        lone = command("attack", "--target", "fedgc", "--budget", 10)
        assert lone.stderr.startswith("gaudit: error: --budget is of answers")
        (tmp_path / "plan.toml").write_text(
            'name = "service"\ndatasets = ["graph.npz"]\n[[target]]\nname = "service"\n'
            f'[target.settings]\nurl = "{service.url}"\nbudget = 1000\ntoken = "TOKEN"\nqueries = ["full"]\n'
            '[[attack]]\nname = "loss"\n'
        )
        monkeypatch.setenv("TOKEN", "hidden")
        planned = command("audit", "plan.toml", "--workers", 1)
        assert planned.exit_code == 0, planned.output
        sent = f"this plan sends its graph to {service.url}, with the content of the environment variable TOKEN\n"
        assert sent in planned.stderr
        assert "hidden" not in planned.output
    down = command(*asked[:3], "--budget", 1000, *asked[3:], "--set", "retries=0", "--set", "answers=new")
    assert down.exit_code == 2
    assert "cannot be asked" in down.stderr
    assert command("attack", "--attack", "loss").exit_code == 2
