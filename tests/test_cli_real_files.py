"""What users bring, by the command: each kind of file, and everything that is said about it, whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pateval.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = {
    "plain.csv": "label,score\n0,0.1\n1,0.9\n0,0.2\n",
    "unsorted.csv": "timestamp,label,score\n2024-01-01 00:00,0,0.1\n2024-01-01 02:00,1,0.9\n2024-01-01 01:00,0,0.2\n",
    "twice.csv": "timestamp,label,score\n2024-01-01 00:00,0,0.1\n2024-01-01 01:00,1,0.9\n2024-01-01 01:00,0,0.2\n",
    "numbers.csv": "time,label,score\n1,0,0.1\n2,1,0.9\n3,0,0.2\n",
    "zoned.csv": "when,label,score\n2024-01-01T00:00+01:00,0,0.1\n2024-01-01T01:00+01:00,1,0.9\n",
    "infinite.csv": "label,score\n0,0.1\n1,inf\n0,0.2\n",
    "warm.csv": "label,score\n0,\n1,0.9\n0,0.2\n0,0.3\n",
    "unlabelled.csv": "label,score\n0,0.1\n,0.9\n1,0.2\n",
    "forecast.csv": "ds,y,label,yhat\n2024-01-01,1,0,1.1\n2024-01-02,2,1,1.2\n",
    "sensors.csv": "label,threshold,temperature,f00,f37,usad\n0,1,20,5,6,0.1\n1,1,21,5,6,0.9\n0,1,20,5,6,0.3\n",
    "features.csv": "label,temperature,f00,f37\n0,20,5,6\n1,21,5,6\n",
    "attack.csv": "attack,host,score\n0,a,0.1\n1,a,0.9\n0,b,0.2\n1,b,0.3\n",
    "predicted.csv": "outlier,y_pred,prediction\n0,0,1\n1,1,0\n",
    "equals.csv": "label,is_anomaly,score\n0,0,0.1\n1,1,0.9\n",
    "words.csv": "label,score\nnormal,0.1\nattack,0.9\nnormal,0.2\n",
    "yes.csv": "label,score\nno,0.1\nyes,0.9\nno,0.2\n",
    "true.csv": "label,score\nFalse,0.1\nTrue,0.9\nFalse,0.2\n",
    "signed.csv": "label,score\n1,0.1\n-1,0.9\n1,0.2\n",
    "classes.csv": "label,score\n0,0.1\n2,0.9\n3,0.2\n",
    "scores.csv": "score\n0.1\n0.9\n0.2\n",
    "events.csv": "start,stop\n1,2\n",
    "damaged.csv": "label,score\n0,0.1\n1,0,9\n",
}
INVALID_TIMES = {
    "unsorted.csv": (
        "the time in row 3, 2024-01-01 01:00:00, lies before the one in row 2, 2024-01-01 02:00:00 (1 such place); "
        "sort the rows with --sort (sort=True), name the column that tells series apart with --series, or read without "
        "times by --time none"
    ),
    "twice.csv": (
        "the time in row 3, 2024-01-01 01:00:00, is the same as the one in row 2, 2024-01-01 01:00:00 (1 such place); "
        "leave out all but one of the rows with the same time (1 too many), name the column that tells series apart "
        "with --series, or read without times by --time none"
    ),
}
RULES = (
    "oracle, best, quantile, standard-deviation, median-deviation, peaks-over-threshold, train-quantile, "
    "train-test-quantile, alarms:2/1d, false-alarms:2/1d"
)
GUESSED = "{}: guessed label 'label', score 'score'"
ON_CLOCK = f"{GUESSED}, time 'timestamp'"
NUMBERED = f"{GUESSED}, time 'time'"


@pytest.fixture
def run(tmp_path: Path, capsys: Any) -> Callable[..., tuple[int, str, list[str]]]:
    """Run a command on one of the files; returns the status, what is printed, and the lines that are said beside it."""

    def call(command: str, name: str, *options: str) -> tuple[int, str, list[str]]:
        path = tmp_path / name
        for each in {name, "events.csv"}:
            (tmp_path / each).write_text(FILES[each])
        with pytest.raises(SystemExit) as caught:
            main([command, str(path), *(option.format(tmp_path) for option in options)])
        shown = capsys.readouterr()
        said = [line.replace(str(path), "{}") for line in shown.err.splitlines()]
        return int(caught.value.code or 0), shown.out, said

    return call


REFUSED: list[tuple[str, list[str], list[str], str]] = [
    # The clock.
    ("unsorted.csv", [], [ON_CLOCK], "{}: column 'timestamp': " + INVALID_TIMES["unsorted.csv"]),
    ("twice.csv", [], [ON_CLOCK], "{}: column 'timestamp': " + INVALID_TIMES["twice.csv"]),
    (
        "twice.csv",
        ["--sort"],
        [ON_CLOCK, "{}: the rows of each series are sorted by 'timestamp'"],
        "{}: column 'timestamp': " + INVALID_TIMES["twice.csv"],
    ),
    ("plain.csv", ["--sort"], [], "{}: no column looks like times to sort the rows by; name it with --time"),
    (
        "plain.csv",
        ["--time", "when"],
        [],
        "{}: there is no time column 'when'; its columns are 'label', 'score'",
    ),
    # Durations.
    (
        "plain.csv",
        ["--early", "10min"],
        [GUESSED],
        "delay must be a duration such as '10min' too where the other buffer is one",
    ),
    (
        "plain.csv",
        ["--early", "10min", "--delay", "1h"],
        [GUESSED],
        "{}: early=['10min'] of pate_ap is a duration, which needs a column of times; name it with --time (time=...)",
    ),
    (
        "numbers.csv",
        ["--early", "10min", "--delay", "1h"],
        [NUMBERED],
        (
            "{}: column 'time': early=['10min'] of pate_ap needs the unit of times that are numbers; give it with "
            "--time-unit (time_unit='s')"
        ),
    ),
    (
        "plain.csv",
        ["--threshold", "alarms:2/1d"],
        [GUESSED],
        "{}: threshold='alarms:2/1d' is a duration, which needs a column of times; name it with --time (time=...)",
    ),
    (
        "plain.csv",
        ["--metrics", "false_alarm_rate(per=1d)"],
        [GUESSED],
        (
            "{}: per='1d' of false_alarm_rate(per=1d) is a duration, which needs a column of times; name it with "
            "--time (time=...)"
        ),
    ),
    # What to leave out.
    (
        "plain.csv",
        ["--ignore", "maintenance"],
        [],
        (
            "{}: there is no ignore column 'maintenance'; its columns are 'label', 'score', and there is no file of "
            "that name"
        ),
    ),
    (
        "warm.csv",
        [],
        [GUESSED],
        (
            "{}: column 'score': scores must hold no missing values; found one in row 1 (1 in 4): leave such steps out "
            "with --missing ignore, or count them as never predicted with --missing normal (missing=...)"
        ),
    ),
    (
        "unlabelled.csv",
        [],
        [GUESSED],
        (
            "{}: column 'label': labels must hold no missing values; found one in row 2 (1 in 3): fill it in, or leave "
            "such steps out with --ignore COLUMN (ignore=...)"
        ),
    ),
    (
        "infinite.csv",
        [],
        [GUESSED],
        (
            "{}: column 'score': scores must be finite at every step; found an infinite value in row 2 (1 such value "
            "in 3): put a finite number above or below all others in its place, or NaN where the score is not known"
        ),
    ),
    # Labels as people have them.
    (
        "words.csv",
        [],
        [],
        (
            "{}: column 'label' holds text in row 1, 'normal'; say which of 'normal', 'attack' mean an anomaly with "
            "--positive (positive=...)"
        ),
    ),
    (
        "words.csv",
        ["--positive", "attacks"],
        [],
        "{}: column 'label' holds no label 'attacks'; its labels are 'normal', 'attack'",
    ),
    (
        "signed.csv",
        [],
        [GUESSED],
        (
            "{}: column 'label': labels must be 0 or 1 at every step; found -1 in row 2 (1 such value in 3); if -1 "
            "marks the anomalies, as in scikit-learn, say --positive -1, and if 1 does, --positive 1"
        ),
    ),
    (
        "classes.csv",
        [],
        [GUESSED],
        (
            "{}: column 'label': labels must be 0 or 1 at every step; found 2 in row 2 (2 such values in 3); say which "
            "of '0', '2', '3' mean an anomaly with --positive (positive=...)"
        ),
    ),
    (
        "scores.csv",
        [],
        [],
        (
            "{}: no column looks like labels; name it (label=..., --label) among 'score', or give the anomalies in "
            "a file of their own with --events FILE (events=...)"
        ),
    ),
    # Guesses that are right or not made.
    (
        "forecast.csv",
        [],
        [],
        "{}: no column looks like scores; name it (score=..., --score) among 'y', 'yhat'",
    ),
    (
        "features.csv",
        [],
        [],
        (
            "{}: no column looks like scores; name it (score=..., --score) among 'temperature', 'f00', 'f37'; scores "
            "of values are made by 'pateval detect', as in 'pateval detect pca --data FILE -o scores'"
        ),
    ),
    (
        "predicted.csv",
        [],
        [],
        (
            "{}: no column looks like scores; name it (score=..., --score) among 'y_pred', 'prediction'; 0/1 "
            "predictions are read with --score y_pred --threshold 1"
        ),
    ),
    ("equals.csv", [], [], "{}: 'label' and 'is_anomaly' look like the label; name one (label=..., --label)"),
    # Names that are not there.
    (
        "plain.csv",
        ["--score", "scor"],
        [],
        "{}: there is no score column 'scor' (did you mean 'score'?); its columns are 'label', 'score'",
    ),
    (
        "plain.csv",
        ["--metrics", "PATE"],
        [],
        "unknown metric 'PATE'; did you mean 'pate'? ('pateval metrics' lists them)",
    ),
    (
        "plain.csv",
        ["--metrics", "pate(lead=3)"],
        [],
        "the metric pate has no option 'lead'; it takes early, delay, thresholds",
    ),
    (
        "plain.csv",
        ["--threshold", "soon"],
        [],
        f"threshold must be a number, or a rule such as 'quantile:0.01', of these: {RULES}; got 'soon'",
    ),
    (
        "damaged.csv",
        [],
        [],
        "{}: row 2 has 3 cells, and the header 2; the file is damaged, or a cell with commas lacks its quotes",
    ),
]


@pytest.mark.parametrize(("name", "options", "notes", "message"), REFUSED, ids=[f"{c[0]} {c[1]}" for c in REFUSED])
def test_what_is_refused(
    run: Callable[..., Any], name: str, options: list[str], notes: list[str], message: str
) -> None:
    assert run("score", name, *options) == (2, "", [*notes, f"pateval: {message}"])


AUC = ("--metrics", "auc_roc", "--chance", "0", "--format", "json")
READ: list[tuple[str, list[str], list[str], float]] = [
    ("unsorted.csv", ["--sort"], [ON_CLOCK, "{}: the rows of each series are sorted by 'timestamp'"], 1.0),
    ("twice.csv", ["--time", "none"], [GUESSED], 1.0),
    ("zoned.csv", ["--time", "when"], [GUESSED], 1.0),
    ("words.csv", ["--positive", "attack"], [GUESSED], 1.0),
    ("yes.csv", [], [GUESSED], 1.0),
    ("true.csv", ["--positive", "True"], [GUESSED], 1.0),
    ("true.csv", ["--positive", "1"], [GUESSED], 1.0),
    ("true.csv", ["--positive", "false"], [GUESSED], 0.0),
    ("signed.csv", ["--positive", "-1"], [GUESSED], 1.0),
    ("classes.csv", ["--positive", "2", "--positive", "3"], [GUESSED], 1.0),
    (
        "scores.csv",
        ["--events", "{}/events.csv"],
        [
            "{}: guessed score 'score'",
            "EVENTS: 1 event in steps, the first being 0: from 'start' up to but without 'stop'",
        ],
        1.0,
    ),
    ("sensors.csv", [], ["{}: guessed label 'label', score 'usad'"], 1.0),
]


@pytest.mark.parametrize(("name", "options", "notes", "value"), READ, ids=[f"{c[0]} {c[1]}" for c in READ])
def test_what_is_read_and_announced(
    run: Callable[..., Any], tmp_path: Path, name: str, options: list[str], notes: list[str], value: float
) -> None:
    code, out, said = run("score", name, *options, *AUC)
    assert (code, json.loads(out)[0]["value"]) == (0, value)
    assert said == [note.replace("EVENTS", str(tmp_path / "events.csv")) for note in notes]


@pytest.mark.parametrize(("missing", "what"), [("ignore", "left out"), ("normal", "never predicted")])
def test_missing_scores_are_announced(run: Callable[..., Any], missing: str, what: str) -> None:
    code, out, said = run("score", "warm.csv", "--missing", missing, "--metrics", "auc_roc", "--chance", "0")
    assert (code, out.split()[-1]) == (0, "1.0000")
    assert said == [GUESSED, f"1 of 4 scores is missing (coverage 75.0 %): such steps are {what}"]


def test_hosts_are_series_and_attacks_labels(run: Callable[..., Any]) -> None:
    code, out, said = run("score", "attack.csv", *AUC)
    assert (code, json.loads(out)[0]["value"]) == (0, pytest.approx(1.0))
    assert said[0] == "{}: guessed label 'attack', score 'score', series 'host'"


def test_detect_says_what_is_a_feature(tmp_path: Path, capsys: Any) -> None:
    for name in ("forecast.csv", "plain.csv"):
        (tmp_path / name).write_text(FILES[name])

    def detect(name: str) -> tuple[int, list[str]]:
        with pytest.raises(SystemExit) as caught:
            main(["detect", "random", "--data", str(tmp_path / name), "-o", str(tmp_path / name.split(".")[0])])
        return int(caught.value.code or 0), capsys.readouterr().err.splitlines()

    fitted = "no training stretch: detectors are fitted on the test stretch, without its labels"
    assert detect("forecast.csv") == (
        0,
        [
            f"{tmp_path / 'forecast.csv'}: features are 'y'; not taken as such: 'ds', 'label', 'yhat'",
            fitted,
            "random on forecast finished (1 of 1)",
        ],
    )
    assert detect("plain.csv") == (
        2,
        [
            (
                f"pateval: {tmp_path / 'plain.csv'}: there is no column of recorded values beside the labels, which "
                "detectors and 'pateval check' need; its columns are 'label', 'score': add the values, or name the "
                "file they stand in"
            )
        ],
    )


LOST = (
    "{}: column 'score': scores must be numbers that floats can tell apart; found the integer %s in row 2: subtract a "
    "constant from all of them"
)


@pytest.mark.parametrize("score", [str(2**62 + 1), "1" * 30, "-" + "2" * 30])
def test_integers_that_floats_cannot_tell_apart_are_refused(tmp_path: Path, capsys: Any, score: str) -> None:
    for name, content in (
        ("a.csv", f"label,score\n0,0.5\n1,{score}\n0,7\n"),
        ("b.csv", f"label,score\n0,5\n1,{score}\n0,7\n"),
        ("c.csv", f"label;score\n0;0,5\n1;{score}\n0;7\n"),
        ("a.json", f'{{"label": [0, 1, 0], "score": [0.5, {score}, 7]}}'),
        ("b.json", f'{{"label": [0, 1, 0], "score": [5, {score}, 7]}}'),
    ):
        path = tmp_path / name
        path.write_text(content)
        with pytest.raises(SystemExit) as caught:
            main(["score", str(path)])
        said = capsys.readouterr().err.replace(str(path), "{}").splitlines()
        assert (caught.value.code, said[-1]) == (2, f"pateval: {LOST % score}"), name


def test_one_detector_is_compared_with_nothing(run: Callable[..., Any]) -> None:
    assert run("compare", "plain.csv") == (
        2,
        "",
        [
            GUESSED,
            (
                "pateval: two detectors are compared; {} holds 1 ('plain'); give the file of the second detector too, "
                "or both columns with --score COLUMN,COLUMN"
            ),
        ],
    )


def test_a_series_that_is_not_there(run: Callable[..., Any]) -> None:
    assert run("explain", "attack.csv", "--only-series", "c") == (
        2,
        "",
        [
            "{}: guessed label 'attack', score 'score', series 'host'",
            "pateval: {}: there is no series named 'c'; its series are 'a', 'b'",
        ],
    )
