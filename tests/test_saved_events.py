"""A leaderboard whose labels are intervals in a file of their own: resumed, reported and verified from its folder."""

from __future__ import annotations

import json

import numpy as np
import pytest

from support.command_line import invoke


@pytest.fixture(params=["steps", "times"])
def board(request, tmp_path):
    """The folder of a leaderboard, and the command that wrote it."""
    rng = np.random.default_rng(0)
    clock = np.datetime64("2026-01-01T00:00") + np.arange(120).astype("m8[m]")
    rows, events = ["timestamp,series,good,guess"], ["series,start,stop"]
    for name in ("x", "y", "z"):
        labels = np.zeros(120)
        for first in (20, 60, 95):
            labels[first : first + 6] = 1
            ends = (first, first + 6) if request.param == "steps" else (clock[first], clock[first + 6])
            events.append(f"{name},{ends[0]},{ends[1]}")
        values = zip(clock, labels + rng.random(120), rng.random(120), strict=True)
        rows += [f"{time},{name},{good},{guess}" for time, good, guess in values]
    (tmp_path / "scores.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "events.csv").write_text("\n".join(events) + "\n")
    command = ["leaderboard", tmp_path / "scores.csv", "--events", tmp_path / "events.csv", "--score", "good,guess"]
    command += ["--metrics", "pate,point_f1", "--early", "3", "--delay", "3", "-o", tmp_path / "board"]
    invoke(*command)
    return tmp_path / "board", command


def test_it_is_resumed(board):
    folder, command = board
    before = (folder / "summary.csv").read_text()
    invoke(*command)
    assert (folder / "summary.csv").read_text() == before


def test_its_report_shows_the_events(board, tmp_path):
    folder, _ = board
    invoke("report", folder, "-o", tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "can no longer be read" not in text


def test_it_is_verified(board):
    folder, _ = board
    found = invoke("verify", folder, "--all", "--format", "json")
    assert json.loads(found.stdout)["differences"] == []
