"""Files appear whole or not at all, links and devices stay what they are, and private files are private."""

import os
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from gaudit.audit.running.ledger import Ledger
from gaudit.commands.main import main
from gaudit.errors import InputError
from gaudit.output_files import check_outputs, whole, write
from gaudit.targets.channel import Channel
from support.audits import parts
from support.ledgers import write_ledger

PRIVATE = 0o600


@pytest.fixture(autouse=True)
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def names(folder: Path | str) -> list[str]:
    return sorted(file.name for file in Path(folder).iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def stopped(path: Path, error: Exception) -> None:
    with whole(path) as part:
        part.write_text("half")
        raise error


def report(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["report", *map(str, arguments)])
    return result.exit_code, result.stderr


@pytest.fixture
def ledger(tmp_path) -> Path:
    write_ledger(tmp_path / "audit.db", 1.5)
    return tmp_path / "audit.db"


# --- modes


def test_a_ledger_and_the_files_beside_it_are_private(tmp_path):
    path = tmp_path / "audit.db"
    plan, grid, _ = parts({("none", None): (1.0, 0.8)})
    path.touch(0o644)
    with Ledger(path, write=True) as opened:
        opened.begin(plan, grid)
        beside = list(tmp_path.iterdir())
        assert len(beside) > 1
        assert {mode(file) for file in beside} == {PRIVATE}
    assert mode(path) == PRIVATE


def test_members_one_by_one_are_private(ledger, tmp_path):
    for before in (None, 0o666):
        members = tmp_path / f"members-{before}.csv"
        if before is not None:
            members.touch()
            members.chmod(before)
        code, _ = report(ledger, "-o", tmp_path / "report.md", "--records", members)
        assert code == 0
        assert mode(members) == PRIVATE
    assert mode(tmp_path / "report.md") == 0o644


def test_a_transcript_is_private(tmp_path):
    path = tmp_path / "run.safetensors"
    path.touch(0o644)
    Channel().transcript.save(path)
    assert mode(path) == PRIVATE


def test_a_private_file_is_private_while_it_is_written(tmp_path):
    with whole(tmp_path / "a", private=True) as part:
        assert mode(part) == PRIVATE
        assert part.parent == tmp_path


def test_what_is_replaced_keeps_its_mode(tmp_path):
    path = tmp_path / "report.html"
    path.touch()
    for before in (0o600, 0o640, 0o664):
        path.chmod(before)
        write(path, "new")
        assert mode(path) == before


# --- places


def test_a_link_stays_and_what_it_leads_to_is_replaced(ledger, tmp_path):
    (tmp_path / "far").mkdir()
    target, link, second = tmp_path / "far" / "report.md", tmp_path / "link.md", tmp_path / "second.md"
    link.symlink_to(Path("far") / "report.md")
    second.symlink_to(link)
    for old in (None, "old"):
        if old is not None:
            target.write_text(old)
        assert report(ledger, "-o", second)[0] == 0
        assert link.is_symlink()
        assert second.is_symlink()
        assert target.read_text().startswith("# Privacy audit")
    assert names(tmp_path / "far") == ["report.md"]


def test_a_pipe_is_written_to_and_stays_one(ledger, tmp_path):
    pipe, read = tmp_path / "pipe.md", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    assert report(ledger, "-o", pipe)[0] == 0
    reader.join(timeout=20)
    assert read[0].startswith("# Privacy audit")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.fixture
def full(tmp_path) -> Path:
    """A device that is always full, which a test may lose."""
    device = tmp_path / "full.md"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        with closing(os.fdopen(os.open(device, os.O_WRONLY), "wb")):
            pass
    except OSError:
        pytest.skip("no device can be made here")
    return device


def test_a_full_device_is_told_and_stays_a_device(ledger, full):
    code, said = report(ledger, "-o", full)
    assert code == 2
    assert said.count("\n") == 1
    assert f"cannot write {full}: No space left on device" in said
    assert stat.S_ISCHR(full.stat().st_mode)


def test_dev_full_itself(ledger):
    if not Path("/dev/full").is_char_device():
        pytest.skip("there is no /dev/full")
    before = names("/dev")
    code, said = report(ledger, "-o", "/dev/full")
    assert (code, said.count("\n")) == (2, 1)
    assert Path("/dev/full").is_char_device()
    assert names("/dev") == before


def test_a_stream_that_is_a_file_goes_on(tmp_path):
    """As in ``gaudit report -o /dev/stdout > file``: what was written before stays there."""
    path = tmp_path / "file"
    with path.open("w") as stream:
        stream.write("before\n")
        stream.flush()
        write(Path(f"/dev/fd/{stream.fileno()}"), "written\n")
    assert path.read_text() == "before\nwritten\n"


def test_no_place_for_a_file_is_told_beforehand(ledger, tmp_path):
    (tmp_path / "dangling.md").symlink_to(tmp_path / "nowhere" / "a.md")
    for place in (tmp_path, tmp_path / "nowhere" / "a.md", tmp_path / "dangling.md"):
        before = names(tmp_path)
        code, said = report(ledger, "-o", place)
        assert code == 2
        assert said.startswith(f"gaudit: error: cannot write {place}: ")
        assert said.count("\n") == 1
        assert names(tmp_path) == before


def test_a_failure_in_the_middle_leaves_what_was_there(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    for error, told in ((RuntimeError(), RuntimeError), (OSError(28, "No space left on device"), InputError)):
        with pytest.raises(told):
            stopped(path, error)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]
    check_outputs([path])
    assert names(tmp_path) == ["a"]
