"""Starts an audit over and over in processes that are killed at random moments; run by `test_runner.py`.

Processes are forked from one that has imported everything: the moments fall into the audit itself.
A ledger that is whole is put aside with a number, and another audit begins. Prints how many processes were killed,
and how many ledgers are whole.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from gaudit.audit.planning.grid import laid_out
from gaudit.audit.planning.plan import Plan
from gaudit.audit.running import runner
from gaudit.audit.running.ledger import Ledger
from gaudit.audit.running.trial import run_trial  # noqa: F401  (imported before the fork)


def main(plan_file: str, ledger_file: str, kills: int, longest: float) -> None:
    plan = Plan.read(Path(plan_file))
    grid = laid_out(plan)
    draw, killed, ended = random.Random(0), 0, 0
    while killed < kills:
        child = os.fork()
        if child == 0:
            with Ledger(Path(ledger_file), write=True) as ledger:
                runner.run_audit(plan, grid, ledger, lambda task, done: None, workers=1)
            os._exit(0)
        time.sleep(draw.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        if os.WIFEXITED(status):  # the audit is whole: put it aside and start another
            ended += 1
            Path(ledger_file).rename(f"{ledger_file}.{ended}")
    print(killed, ended)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
