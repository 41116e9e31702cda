"""A table of scores that another tool made."""

import numpy as np
import pytest
import torch

from gaudit import InputError, find
from gaudit.targets.external.scores import GivenScores, ScoresSettings, read_scores

SEED = np.random.SeedSequence(0)


def table(tmp_path, text, name="scores.csv"):
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


def read(file, **settings):
    return read_scores(ScoresSettings(file=file, **settings))


def test_rows_are_persons_whatever_their_names_and_order(tmp_path):
    found = read(table(tmp_path, "member;score;id\n1;0.5;John Smith\n0;0.25;zoe\n1;-3e2;anna\n"))
    assert found.names == ("John Smith", "anna", "zoe")
    assert [found.names[k] for k in found.subjects] == ["John Smith", "zoe", "anna"]
    assert found.member.tolist() == [True, False, True]
    assert found.score.tolist() == [0.5, 0.25, -300.0]


def test_the_same_table_in_three_formats_is_the_same(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": [3, 1, 2], "member": [1, 0, 0], "score": [0.1, 1 / 3, 2.0]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    np.savez(tmp_path / "a.npz", **{name: frame[name].to_numpy() for name in frame})
    tables = [read(str(tmp_path / f"a.{end}")) for end in ("csv", "tsv", "npz")]
    for other in tables[1:]:
        assert np.array_equal(other.score, tables[0].score)
        assert np.array_equal(other.subjects, tables[0].subjects)
        assert np.array_equal(other.member, tables[0].member)


def test_runs_are_repetitions_in_the_order_of_their_numbers(tmp_path):
    rows = [f"{i},{i % 2},{r + i / 10},{r}" for r in (10, 9) for i in range(4)]
    target = GivenScores(file=table(tmp_path, "id,member,score,run\n" + "\n".join(rows)))
    assert target.repetitions == 2
    run = GivenScores(**target.repetition(0))(target.own_graph(), find("defenses", "none")(), SEED, lambda m: True)
    told = run.transcript.seen_by("public").last("scores").tensors["score"]
    assert torch.equal(told, torch.tensor([9.0, 9.1, 9.2, 9.3], dtype=torch.float64))


def test_posteriors_are_scored_by_the_probability_of_the_label(tmp_path):
    found = read(table(tmp_path, "id,member,label,p0,p1\na,1,0,0.9,0.1\nb,0,1,0.7,0.3\n"))
    assert np.allclose(found.score, np.log([0.9, 0.3]), atol=0)


def test_pairs_are_the_same_in_both_directions(tmp_path):
    found = read(table(tmp_path, "id,id2,member,score\na,b,1,2\nc,a,0,1\n"))
    assert found.pairs
    with pytest.raises(InputError, match="row 2 names somebody again"):
        read(table(tmp_path, "id,id2,member,score\na,b,1,2\nb,a,0,1\n"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,score\na,1\n", "the column 'member' is missing: its columns are id, score"),
        ("id,member\na,1\n", "the column 'score' is missing: its columns are id, member"),
        ("id,member,score\na,1,x\n", "row 1 holds 'x' as 'score': expected a finite number"),
        ("id,member,score\na,1,1\nb,0,inf\n", "row 2 holds 'inf' as 'score'"),
        ("id,member,score\na,2,1\n", "row 1 holds '2' as 'member': expected 1 or 0"),
        ("id,member,score\na,1,1\n,0,1\n", "row 2 has no 'id'"),
        ("id,member,score\na,1,1\nb,1,2\n", "all 2 rows are members: both are needed"),
        ("id,member,score\na,1,1\na,0,2\n", "row 2 names somebody again"),
        ("id,member,score,run\na,1,1,x\nb,0,1,x\na,1,1,y\n", "all 1 rows of run 'y' are members"),
        ("id,member,p0,p1\na,1,.5,.5\nb,0,.5,.5\n", "need a column 'label'"),
        ("id,member,label,p0,p1\na,1,0,.5,.5\nb,0,5,.5,.5\n", "row 2 has the label 5: expected 0 to 1"),
        ("id,member,label,p0,p1\na,1,0,.5,.6\nb,0,1,.5,.5\n", "row 1 is no posterior"),
        ("id,id2,member,score\na,a,1,1\n", "row 1 is a pair of one node with itself"),
        ("id,member,score\n", "the table has no rows"),
        ("id,member,score\na,1,9007199254740993\nb,0,1\n", "whole numbers above 2.53 cannot be told apart"),
        ("id,member,Score,SCORE\na,1,1,1\nb,0,1,1\n", "the column 'score' may be Score or SCORE"),
        ("", "the table has no row of column names"),
    ],
)
def test_a_table_that_says_too_little_is_refused_in_one_line(tmp_path, text, says):
    with pytest.raises(InputError, match=says) as error:
        read(table(tmp_path, text))
    assert "\n" not in str(error.value)


def test_a_column_is_found_whether_its_letters_are_large_or_small(tmp_path):
    text = "ID,Member,Score,Class\n" + "\n".join(f"{i},{i % 2},{i / 7},{i % 3}" for i in range(12))
    read_as = read(table(tmp_path, text), stratum="Class")
    assert read_as.more["Class"].tolist() == [str(i % 3) for i in range(12)]
    assert read(table(tmp_path, text), stratum="class").more["class"].tolist() == read_as.more["Class"].tolist()


@pytest.mark.parametrize("column", ["score", "run", "blind", "stratum"])
def test_a_column_that_somebody_named_must_be_there(tmp_path, column):
    """Left out silently, a stratum or a blind score that was misspelt would change what is measured."""
    file = table(tmp_path, "id,member,score\na,1,1\nb,0,2\n")
    with pytest.raises(InputError, match="the column 'mine' is missing: its columns are id, member, score"):
        read(file, **{column: "mine"})


def test_a_game_that_the_rows_are_not_about_is_refused(tmp_path):
    target = GivenScores(file=table(tmp_path, "id,member,score\na,1,1\nb,0,2\n"), game="edge-presence")
    with pytest.raises(InputError, match="is about pairs, and its rows are about nodes"):
        target(target.own_graph(), find("defenses", "none")(), SEED, lambda m: True)


def test_a_separator_in_a_quoted_name_parts_no_columns(tmp_path):
    text = 'id,member,score,"x, first","x, second",X,x\na,1,1,0,0,0,0\nb,0,0,0,0,0,0\n'
    assert read(table(tmp_path, text)) is not None
