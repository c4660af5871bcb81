"""Folders of leaderboards that somebody changed or damaged: every edit is found, and nothing ends in a traceback."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.io import TableError
from pateval.report import report_of_folder

FEW, EDITS, DAMAGES = 40, 600, 1_300
NUMBER_OF_FILES = {"runs": 14, "rules": 26, "elsewhere": 9}


@pytest.fixture(scope="module")
def boards(tmp_path_factory):
    """Boards with all files there are.

    ``runs`` has two detectors with two runs each, on three series, with chance, missing scores and labels in doubt;
    ``rules`` a metric of one's own, and rules without training beside the detectors; ``elsewhere`` given values.
    """
    folder = tmp_path_factory.mktemp("boards")
    generator = np.random.default_rng(0)
    labels = np.tile([0, 0, 0, 0, 0, 0, 1, 1, 0, 0], 8)
    rows = {name: [] for name in ("detector", "series", "run", "label", "score")}
    for detector, strength in (("good", 1.0), ("poor", 0.1)):
        for series in "abc":
            for run in "12":
                rows["detector"] += [detector] * labels.size
                rows["series"] += [series] * labels.size
                rows["run"] += [run] * labels.size
                rows["label"] += labels.tolist()
                rows["score"] += [None, *(strength * labels + generator.random(labels.size))[1:].tolist()]
    pq.write_table(pa.table(rows), folder / "scores.parquet")
    for detector, strength in (("good", 1.0), ("poor", 0.1)):
        series = np.repeat(["a", "b"], labels.size)
        table = {"series": series, "value": generator.random(2 * labels.size), "label": np.tile(labels, 2)}
        table["score"] = strength * table["label"] + generator.random(2 * labels.size)
        pq.write_table(pa.table(table), folder / f"{detector}.parquet")
    (folder / "values.csv").write_text("series,x,y\na,0.5,0.4\nb,0.6,0.5\nc,0.7,0.9\n")
    options = {"chance": 1, "doubt": 1, "doubt_draws": 2, "workers": 1}
    metrics = ["auc_roc", "point_f1"]
    pv.leaderboard(folder / "scores.parquet", metrics=metrics, missing="ignore", **options, output=folder / "runs")
    files = [folder / "good.parquet", folder / "poor.parquet"]
    metrics = ["auc_roc", "support.user_metrics:flagged_share(scale=2)"]
    pv.leaderboard(files, metrics=metrics, **options, output=folder / "rules")
    pv.leaderboard_from_results(folder / "values.csv", metric="auc_roc").save(folder / "elsewhere")
    found = {name: folder / name for name in NUMBER_OF_FILES}
    assert {name: len(files_of(board)) for name, board in found.items()} == NUMBER_OF_FILES
    return found


def files_of(board):
    """The files of a board, and those of what stands beside its detectors."""
    return sorted(path for path in board.rglob("*") if path.is_file())


@pytest.fixture(params=NUMBER_OF_FILES)
def board(boards, request):
    return boards[request.param]


@pytest.fixture
def copy(board, tmp_path):
    shutil.copytree(board, tmp_path / "board")
    return tmp_path / "board"


def leaves(value, place=()):
    """Every single value in plain data, by the keys that lead to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield place
    for key, item in items or ():
        yield from leaves(item, (*place, key))


def another(value, generator):
    """A value of the same kind that is not the same."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + float(generator.choice([1, -1, 0.25, 1e-3]))
    return f"{value}x" if isinstance(value, str) else "x"


def edit(path, generator):
    """Change one value, or one line, of a file."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        name = str(generator.choice(table.column_names))
        cells = table[name].to_pylist()
        place = int(generator.integers(len(cells)))
        if generator.random() < 0.3:
            table = pa.concat_tables([table.slice(0, place), table.slice(place + 1)])
        else:
            changed = another(cells[place], generator)
            is_text = pa.types.is_string(table[name].type)
            cells[place] = str(changed) if is_text else 0.5 if isinstance(changed, str) else changed
            kind = pa.string() if is_text else pa.float64()
            table = table.set_column(table.column_names.index(name), name, pa.array(cells, kind))
        pq.write_table(table, path)
    elif path.suffix == ".json" and generator.random() < 0.7:
        content = json.loads(path.read_text())
        places = list(leaves(content))
        *way, last = places[int(generator.integers(len(places)))]
        holder = content
        for key in way:
            holder = holder[key]
        holder[last] = another(holder[last], generator)
        path.write_text(json.dumps(content, indent=1))
    else:
        lines = path.read_text().split("\n")
        place = int(generator.integers(max(len(lines) - 1, 1)))
        kind = generator.integers(3)
        if kind == 0:
            del lines[place]
        elif kind == 1:
            lines.insert(place, lines[place])
        else:
            at = int(generator.integers(len(lines[place]) + 1))
            lines[place] = lines[place][:at] + "7" + lines[place][at + int(generator.integers(2)) :]
        path.write_text("\n".join(lines))


def damage(folder, generator):
    """Do something to a folder that no program would."""
    files = files_of(folder)
    path, other = (files[int(generator.integers(len(files)))] for _ in range(2))
    content = bytearray(path.read_bytes())
    kind = int(generator.integers(8))
    if kind == 0:
        path.unlink()
    elif kind == 1:
        path.write_bytes(content[: int(generator.integers(len(content) + 1))])
    elif kind == 2:
        path.write_bytes(generator.bytes(int(generator.integers(200))))
    elif kind == 3:
        path.unlink()
        path.mkdir()
    elif kind == 4:
        path.write_bytes(other.read_bytes())
    elif kind == 5:
        for _ in range(int(generator.integers(1, 20))):
            content[int(generator.integers(len(content)))] = int(generator.integers(256))
        path.write_bytes(content)
    elif kind == 6:
        path.write_text(str(generator.choice(["", "[]", "null", "{}", "1", '"text"', "a,b\n1", "\n", "[" * 20_000])))
    else:
        for one in files:
            if generator.random() < 0.5:
                edit(one, generator)


def opened(folder, page):
    """Open a folder in every way there is; return what `verify` found, and the sentences that refused it."""
    found, refused = [], []
    for way in (pv.verify, pv.Leaderboard.load, *([] if page is None else [report_of_folder])):
        try:
            if way is pv.verify:
                found = [each.sentence for each in way(folder, sample=1, workers=1).differences]
            else:
                way(folder, *([page] if way is report_of_folder else []))
        except (TableError, OSError) as error:
            refused.append(str(error))
    assert not any("\n" in sentence or "Traceback" in sentence for sentence in (*found, *refused))
    return found, refused


def check_edits(copy, number, seed):
    generator = np.random.default_rng(seed)
    files, untouched = files_of(copy), opened(copy, None)
    unfound = []
    for count in range(number):
        path = files[count % len(files)]
        before = path.read_bytes()
        edit(path, generator)
        if path.read_bytes() != before:
            found, refused = opened(copy, None)
            # The reader refuses it, and `verify` says what is wrong, or refuses it, too.
            if not refused or len([*found, *refused]) < 2:
                unfound.append((count, path.name))
        path.write_bytes(before)
    assert unfound == []
    assert opened(copy, None) == untouched
    assert untouched == ([], []) or untouched[1][0].startswith(f"{copy}: its values were computed elsewhere")


def check_damages(board, tmp_path, number, seed):
    generator = np.random.default_rng(seed)
    for count in range(number):
        folder = tmp_path / "damaged"
        shutil.copytree(board, folder)
        damage(folder, generator)
        opened(folder, tmp_path / "page.html" if count % 10 == 0 else None)
        shutil.rmtree(folder)
        (tmp_path / "page.html").unlink(missing_ok=True)


def test_line_ends_are_content(copy):
    path = copy / "run.json"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n", 1))
    found, refused = opened(copy, None)
    assert found[0] == "run.json: it is not as it was written"
    assert refused[0].startswith(f"{copy}: run.json is not as it was written")


def test_a_file_that_was_put_there_later_is_found(boards, tmp_path):
    board, folder = boards["runs"], tmp_path / "board"
    pv.leaderboard(board.parent / "scores.parquet", metrics="auc_roc", chance=0, missing="ignore", output=folder)
    assert opened(folder, None) == ([], [])
    shutil.copy(board / "chance.parquet", folder)
    found, refused = opened(folder, None)
    assert found[0].startswith("chance.parquet: it ")
    assert refused[0].startswith(f"{folder}: chance.parquet is not as it was written")


def test_edits_are_found(copy):
    check_edits(copy, FEW, 1)


def test_damaged_folders_are_refused_in_a_sentence(board, tmp_path):
    check_damages(board, tmp_path, FEW, 1)


@pytest.mark.slow
def test_600_edits_are_found(copy):
    check_edits(copy, EDITS, 2)


@pytest.mark.slow
def test_1300_damaged_folders_are_refused_in_a_sentence(board, tmp_path):
    check_damages(board, tmp_path, DAMAGES, 2)
