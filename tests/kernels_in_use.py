"""Check that this process computes with the kernels that ``make test-kernels`` asks for, which alone runs this file."""

import os
import platform

import pytest
import scipy.linalg
import torch
from numpy._core._multiarray_umath import __cpu_features__ as numpy_features
from threadpoolctl import threadpool_info

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="other names than x86-64's")


def test_numpy_and_scipy_multiply_with_the_kernels_asked_for() -> None:
    assert scipy.linalg is not None  # loads an OpenBLAS of its own
    found = {library["architecture"] for library in threadpool_info() if library["internal_api"] == "openblas"}
    assert found == {os.environ["OPENBLAS_CORETYPE"]}


def test_numpy_leaves_out_the_instructions_named() -> None:
    without = os.environ["NPY_DISABLE_CPU_FEATURES"].split()
    assert without
    assert [name for name in without if numpy_features.get(name, False)] == []


def test_torch_computes_with_the_instructions_asked_for() -> None:
    assert torch.backends.cpu.get_cpu_capability() == os.environ["ATEN_CPU_CAPABILITY"].upper()
