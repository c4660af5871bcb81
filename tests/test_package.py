"""The package as users meet it: light to import, complete, the same in all its doors."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

import pateval as pv
import pateval.metrics

HEAVY = ["scipy", "pandas", "polars", "pyarrow", "narwhals", "matplotlib", "plotly", "torch", "sklearn", "dask", "rich"]


def loaded_after(code: str) -> set[str]:
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], check=True, capture_output=True, text=True
    )
    return set(shown.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import pateval",
        "import pateval; pateval.pate([0, 1, 0], [0.1, 0.9, 0.3]); pateval.evaluate([0, 1, 0], [0.1, 0.9, 0.3])",
        "import pateval.cli",
        "import pateval.compat",
    ],
)
def test_nothing_heavy_is_loaded(code):
    assert not loaded_after(code) & set(HEAVY)


def test_all_names_are_there_and_sorted_by_kind():
    assert len(set(pv.__all__)) == len(pv.__all__)
    for name in pv.__all__:
        assert not isinstance(getattr(pv, name), ModuleType), name


def test_functions_stay_functions_whatever_is_imported():
    for room in pkgutil.walk_packages(pv.__path__, "pateval."):
        if not room.name.endswith("__main__"):
            importlib.import_module(room.name)
    for name in pv.__all__:
        assert callable(getattr(pv, name)) or name == "DEFAULT_METRICS", name
    assert set(pv.__all__) <= set(dir(pv))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pv.nothing  # noqa: B018  # the access is the test


def test_every_metric_is_importable_from_the_top():
    assert set(pateval.metrics.__all__) <= set(pv.__all__)


def test_version_is_that_of_the_distribution():
    assert pv.__version__ == metadata.version("pateval")


def test_public_functions_have_documentation_with_examples():
    for name in pv.__all__:
        item = getattr(pv, name)
        if callable(item) and not isinstance(item, type):
            assert ">>>" in (item.__doc__ or ""), f"{name} has no example"


@pytest.mark.parametrize("name", pateval.metrics.__all__)
def test_help_of_a_metric_explains_all_that_it_takes(name):
    metric = getattr(pateval.metrics, name)
    if isinstance(metric, type):
        return
    parameters = re.split(r"\n(?=\w+\n-+\n)", inspect.getdoc(metric))[1]
    explained = [word for head in re.findall(r"^\w.*", parameters, re.MULTILINE) for word in re.findall(r"\w+", head)]
    assert parameters.startswith("Parameters")
    assert set(inspect.signature(metric).parameters) <= set(explained)


def test_no_two_classes_share_a_name():
    package = Path(pateval.__file__).parent
    found = [
        match
        for path in sorted(package.rglob("*.py"))
        if path.parent.name != "compat"  # names of other packages
        for match in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE)
    ]
    assert sorted({name for name in found if found.count(name) > 1}) == []


def test_scripts_beside_the_package_import_what_there_is():
    """Benchmarks, recipes and the scripts of results are not run by every test; a name they lack would go unseen."""
    root = Path(__file__).parents[1]
    scripts = [
        path for folder in ("benchmarks", "docs", "examples", "results") for path in (root / folder).rglob("*.py")
    ]
    assert len(scripts) > 20
    imports = [
        (script, node.module, name.name)
        for script in scripts
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "pateval"
        for name in node.names
    ]
    absent = [
        f"{script.relative_to(root)}: {module}.{name}"
        for script, module, name in imports
        if importlib.util.find_spec(module) is None
        or not (hasattr(importlib.import_module(module), name) or importlib.util.find_spec(f"{module}.{name}"))
    ]
    assert absent == []
