# make run [ARGS="…"]   open specview on the bundled model
# make test             ruff, mypy, import-linter, pytest
# make test-real        tests with real models; MODELS names their folder
# make test-full        greedy text with drafts against plain, every combination: hours; ARGS="--minutes 10 --models folder"
# make pictures        draw every screen from the example sessions
# make benchmarks       print the figures of tests/benchmarks
# make clean            remove what was built

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The backend of MLX: Metal comes with the plain package; on Linux cuda with an NVIDIA GPU, else cpu.
ifeq ($(shell uname -s),Darwin)
BACKEND ?=
else
BACKEND ?= $(if $(shell command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L 2>/dev/null | head -n 1),cuda,cpu)
endif
comma := ,
RUN_EXTRAS := $(if $(BACKEND),[$(BACKEND)])
TEST_EXTRAS := [$(if $(BACKEND),$(BACKEND)$(comma))test]

.PHONY: run test backend pictures test-real test-full lint types house benchmarks clean

run: $(VENV)/run.stamp
	@$(BIN)/specview $(ARGS)

# A stamp stands for "installed from this pyproject.toml"; the checkout itself is installed editable.
$(VENV)/run.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".$(RUN_EXTRAS)"
	@touch $@

$(VENV)/test.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".$(TEST_EXTRAS)"
	@touch $@ $(VENV)/run.stamp

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("specview needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

test: lint types house
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

lint: $(VENV)/test.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

# mypy wants a folder named as the package, so it looks at the checkout through a link.
types: $(VENV)/test.stamp
	@mkdir -p $(VENV)/house && ln -sfn "$(CURDIR)" $(VENV)/house/specview
	$(BIN)/mypy

house: $(VENV)/test.stamp
	$(BIN)/lint-imports

test-real: $(VENV)/test.stamp
	@test -n "$(MODELS)" || { echo "say where the models are: make test-real MODELS=folder"; exit 1; }
	SPECVIEW_MODELS="$(MODELS)" $(BIN)/python -m pytest -m real_model

test-full: $(VENV)/test.stamp
	$(BIN)/python tests/full/equality.py $(ARGS)

benchmarks: $(VENV)/test.stamp
	@for script in tests/benchmarks/*.py; do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

# Pictures of every screen, from the shipped example sessions, for README and docs.
pictures: $(VENV)/run.stamp
	$(BIN)/python tests/pictures/draw.py

backend:
	@echo $(BACKEND)

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
