"""CUDA graphs: each is captured on a stream of its own, and no number depends on how a network was trained."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pateval.detectors import REGISTRY, make, training
from pateval.detectors.deep import fit_together
from pateval.detectors.devices import GraphStep
from test_detectors_training import DEEP, series

NETWORKS = [name for name in DEEP if "cuda_graph" in make(name).settings.__dataclass_fields__]


class FakeCuda:
    """Stands for torch.cuda on a machine without a GPU: remembers on which stream each graph was captured."""

    def __init__(self) -> None:
        self.captured_on: list[object] = []
        self.warmed_up_on: list[object] = []

    def Stream(self, *_: object) -> Any:  # noqa: N802 - torch's name
        class Stream:
            def wait_stream(self, other: object) -> None:
                """Nothing runs side by side here."""

        return Stream()

    def CUDAGraph(self) -> Any:  # noqa: N802 - torch's name
        class Graph:
            def replay(self) -> None:
                """What was captured has run once, which is enough here."""

        return Graph()

    def current_stream(self) -> Any:
        return self.Stream()

    @contextlib.contextmanager
    def stream(self, chosen: object) -> Iterator[None]:
        self.warmed_up_on.append(chosen)
        yield

    @contextlib.contextmanager
    def graph(self, _: object, stream: object = "torch's shared capture stream") -> Iterator[None]:
        self.captured_on.append(stream)
        yield


@pytest.fixture
def fake_cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()
    for name in ("Stream", "CUDAGraph", "current_stream", "stream", "graph"):
        monkeypatch.setattr(torch.cuda, name, getattr(fake, name))
    return fake


def test_each_graph_is_captured_on_a_stream_of_its_own(fake_cuda: FakeCuda) -> None:
    def loss(batch: Tensor) -> Tensor:
        return batch.sum()

    steps = [GraphStep(loss, batch_size=2) for _ in range(5)]
    for _ in range(GraphStep.WARM_UP + 2):
        for step in steps:
            step(torch.ones(2))
    assert len(fake_cuda.captured_on) == 5
    assert len(set(map(id, fake_cuda.captured_on))) == 5
    assert "torch's shared capture stream" not in fake_cuda.captured_on
    # Warm-up and capture of one graph share their stream, as torch asks for.
    assert {id(stream) for stream in fake_cuda.warmed_up_on} == {id(stream) for stream in fake_cuda.captured_on}


def test_short_batches_are_neither_captured_nor_replayed(fake_cuda: FakeCuda) -> None:
    step = GraphStep(lambda batch: batch.sum(), batch_size=3)
    assert [float(step(torch.ones(2))) for _ in range(6)] == [2.0] * 6
    assert fake_cuda.captured_on == []


def test_every_network_but_the_small_autoencoder_can_use_a_graph() -> None:
    networks = {name for name, entry in REGISTRY.items() if entry.needs == "torch"}
    assert set(NETWORKS) == networks - {"autoencoder"}


def test_more_trainings_than_streams_are_done_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[int] = []
    streams = training._streams

    def counted(count: int, device: torch.device) -> Any:
        groups.append(count)
        return streams(count, device)

    monkeypatch.setattr(training, "_streams", counted)
    detectors = [make("usad", **{**DEEP["usad"], "epochs": 1}, seed=seed, device="cpu") for seed in range(20)]
    fit_together(detectors, series())
    assert groups == [16, 4]
    alone = make("usad", **{**DEEP["usad"], "epochs": 1}, seed=19, device="cpu").fit(series())
    np.testing.assert_array_equal(detectors[19].score(series(60)), alone.score(series(60)))


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU: equality of graphs and seeds not checked")
@pytest.mark.parametrize("name", DEEP)
def test_alone_is_together_and_eager_is_graph_and_twice_is_the_same(name: str) -> None:
    train, test = series(2003, 8), series(517, 8)

    def settings(seed: int, graph: bool) -> dict[str, Any]:
        chosen = {**DEEP[name], "epochs": 8, "seed": seed, "device": "cuda"}
        return {**chosen, "cuda_graph": graph} if name in NETWORKS else chosen

    def trained(seeds: tuple[int, ...], graph: bool) -> list[tuple[np.ndarray, list[float]]]:
        detectors = [make(name, **settings(seed, graph)) for seed in seeds]
        fit_together(detectors, train)
        return [(one.score(test), [epoch.loss for epoch in one.history_]) for one in detectors]

    seeds = tuple(range(5))
    alone = [trained((seed,), graph=False)[0] for seed in seeds]
    others = {
        "alone, graph": [trained((seed,), graph=True)[0] for seed in seeds],
        "together, eager": trained(seeds, graph=False),
        "together, graph": trained(seeds, graph=True),
        "together, graph, once more": trained(seeds, graph=True),
    }
    for how, found in others.items():
        for seed, ((scores, losses), (expected, expected_losses)) in enumerate(zip(found, alone, strict=True)):
            assert losses == expected_losses, (how, seed)
            np.testing.assert_array_equal(scores, expected, err_msg=f"{how}, seed {seed}")
