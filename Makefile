# Every target makes .venv first when it is missing or older than pyproject.toml.
PYTHON ?= python3
JOBS ?= 2
# Those that take many seconds each run with TESTS="slow or not slow".
TESTS ?= not slow

BIN := .venv/bin
STAMP := .venv/stamp

.PHONY: demo test lint bench docs site clean venv

demo: $(STAMP)
	@$(BIN)/tracelake demo

test: lint
	@echo "docs: are the generated pages up to date?"
	@$(BIN)/python docs/build.py --check
	@echo "pytest: the tests, $(JOBS) at a time"
	@$(BIN)/pytest -n $(JOBS) --dist loadfile -m "$(TESTS)"

lint: $(STAMP)
	@echo "ruff: style"
	@$(BIN)/ruff check -q --output-format concise .
	@echo "ruff: format"
	@$(BIN)/ruff format -q --check . || { echo "unformatted; run: $(BIN)/ruff format ." >&2; exit 1; }
	@echo "mypy: types"
	@cd .venv/src && ../bin/mypy --config-file ../../pyproject.toml --no-error-summary
	@echo "lint-imports: the direction of dependencies"
	@cd .venv/src && ../bin/lint-imports --config ../../pyproject.toml > ../lint-imports.txt || { cat ../lint-imports.txt >&2; exit 1; }
	@echo "lint_sql: the style of sql/"
	@$(BIN)/python tests/lint_sql.py

bench: $(STAMP)
	@echo "bench: speed and memory, as ratios"
	@$(BIN)/python benchmarks/run.py
	@$(BIN)/python benchmarks/tables.py
	@$(BIN)/python benchmarks/views.py
	@$(BIN)/python benchmarks/what_ifs.py

docs: $(STAMP)
	@echo "docs: generated pages"
	@$(BIN)/python docs/build.py

site: $(STAMP)
	@echo "site: the documentation, with a gallery and a notebook that are made for it"
	@$(BIN)/python docs/website.py

clean:
	@echo "clean: .venv, caches and build output"
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

venv: $(STAMP)

# The link lets mypy and import-linter find the root folder under the package's name.
$(STAMP): pyproject.toml
	@echo "venv: Python environment in .venv, a minute the first time"
	@$(PYTHON) -m venv .venv
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip install -q -e '.[dev]'
	@mkdir -p .venv/src && ln -sfn ../.. .venv/src/tracelake
	@touch $(STAMP)
