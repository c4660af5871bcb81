"""The ten lines for Time-Series-Library, in a program with the same names and signatures: windows, loaders, `test`."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pateval as pv

torch = pytest.importorskip("torch")
PAGE = Path(__file__).parents[1] / "docs" / "coming-from" / "time-series-library.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is in the repository only")


class SegLoader(torch.utils.data.Dataset):
    """A stand-in for the data sets of the library: windows of ``win_size`` steps, ``step`` apart."""

    def __init__(self, args, root_path, win_size, step=1, flag="train"):  # noqa: ARG002 - the library's signature
        rng = np.random.default_rng(0)
        self.flag, self.step, self.win_size = flag, step, win_size
        self.train = rng.normal(size=(500, 2))
        self.test_labels = np.repeat([0, 1, 0, 1, 0], [200, 20, 150, 9, 124])[:, None]
        self.test = rng.normal(size=(503, 2)) + 2 * self.test_labels

    def __len__(self):
        steps = len(self.train if self.flag == "train" else self.test)
        return (steps - self.win_size) // self.step + 1

    def __getitem__(self, index):
        steps = slice(index * self.step, index * self.step + self.win_size)
        values = self.train if self.flag == "train" else self.test
        return np.float32(values[steps]), np.float32(self.test_labels[steps])


def data_provider(args, flag):
    data_set = SegLoader(args, args.root_path, win_size=args.seq_len, step=args.step, flag=flag)
    return data_set, torch.utils.data.DataLoader(data_set, batch_size=16, shuffle=flag == "train", drop_last=False)


class Experiment:
    """A stand-in for Exp_Anomaly_Detection whose network puts out zeros."""

    def __init__(self, args):
        self.args, self.device = args, torch.device("cpu")
        self.model = lambda batch_x, *_: torch.zeros_like(batch_x)

    def _get_data(self, flag):
        return data_provider(self.args, flag)

    def test(self, setting, test=0):  # noqa: ARG002 - the library's signature
        test_data, test_loader = self._get_data(flag="test")
        attens_energy = []
        with torch.no_grad():
            for batch_x, _ in test_loader:
                outputs = self.model(batch_x, None, None, None)
                score = torch.mean(torch.nn.MSELoss(reduction="none")(batch_x, outputs), dim=-1)
                attens_energy.append(score.detach().cpu().numpy())
        known = {"np": np, "self": self, "setting": setting, "test_data": test_data, "attens_energy": attens_energy}
        exec(ten_lines(), known)  # noqa: S102 - those of the page
        return known["gt"], known["scores"], known["result"]


def ten_lines() -> str:
    (block,) = re.findall(r"^```python\n(import pateval as pv\n.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return textwrap.dedent(block)


@pytest.mark.parametrize("step", [1, 20])
def test_the_table_is_that_of_the_series(step, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    args = SimpleNamespace(root_path=".", seq_len=20, step=step)
    gt, scores, result = Experiment(args).test("setting")
    whole = SegLoader(args, ".", 20, step, "test")
    expected = np.square(np.float32(whole.test)).mean(axis=1)
    steps = (503 - 20) // step * step + 20
    # The score of a step does not depend on the window here, so that the mean over windows is the score itself.
    np.testing.assert_allclose(scores[:steps], expected[:steps], rtol=1e-6)
    assert np.isnan(scores[steps:]).all()
    assert gt.tolist() == whole.test_labels.ravel().tolist()
    assert result["pate_ap"] == pytest.approx(pv.pate_ap(gt[:steps], scores[:steps]), abs=1e-12)
    assert capsys.readouterr().out == f"{result}\n"
    assert (tmp_path / "result_anomaly_detection.txt").read_text() == f"setting\n{result}\n\n"


def test_ten_lines_are_ten():
    assert len([line for line in ten_lines().splitlines() if line.strip()]) == 9
