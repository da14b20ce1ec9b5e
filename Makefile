# Everything that one does with a checkout. A fresh machine needs git, make and python3 (3.11 to 3.13) with venv.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules
# Tests start thousands of processes, and each would compile all modules of the project anew.
unexport PYTHONDONTWRITEBYTECODE

PYTHON := .venv/bin/python
# Runs a command with the Go, the JDK and the Maven that setup found.
TOOL := $(PYTHON) -m scripts.tool
MVN := mvn --batch-mode --no-transfer-progress
UV_COMPILE := UV_CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links

# The longest first, so that both end at about the same time.
TWO_AT_A_TIME := $(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync=target

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 28

.PHONY: setup
setup: ## Install what is needed: .venv, Go, a JDK with Maven, Prism
	@python3 -m scripts.setup

.PHONY: demo
demo: ## Train three models, call their ensemble from Python, Go and Java, compare the answers
	@python3 -m scripts.demo

.PHONY: examples
examples: setup ## Run the examples in every language, compare the answers; ONLY='NAME NAME' runs some
	@$(PYTHON) -m scripts.examples $(ONLY)

.PHONY: test
test: setup ## Everything that must hold: lint, types, import contracts, all tests (.ci/run leaves out three examples)
	@$(TWO_AT_A_TIME) test-python test-security lint test-conformance test-java test-go
	@$(MAKE) --no-print-directory test-integration
	@$(TWO_AT_A_TIME) examples test-image test-flink

.PHONY: lint
lint: ## Format, lint, types and import contracts of the Python code, spelling and wording of all
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy
	.venv/bin/lint-imports
	.venv/bin/hadolint Dockerfile scripts/containers/flink/Dockerfile
	.venv/bin/codespell $$(git ls-files ':!tests' ':!*_test.go' ':!*/src/test/*')
	$(PYTHON) -m scripts.words

.PHONY: test-python
test-python: ## Python's unit tests
	$(PYTHON) -m pytest tests/unit

.PHONY: test-conformance
test-conformance: ## Models as people save them: every way to score their rows against their own library
	$(PYTHON) -m pytest tests/conformance

.PHONY: test-go
test-go: ## Go's format, vet, staticcheck and unit tests
	@unformatted=$$($(TOOL) gofmt -l go_examples); [ -z "$$unformatted" ] || { echo "not formatted (make fmt): $$unformatted"; exit 1; }
	$(TOOL) --in go_examples go vet ./... ./ensemble/...
	$(TOOL) --in go_examples go tool staticcheck ./... ./ensemble/...
	$(TOOL) --in go_examples go test -timeout=1h ./... ./ensemble/...

.PHONY: test-java
test-java: ## Java's format, warnings and unit tests
	$(PYTHON) -m scripts.java_tests

.PHONY: test-security
test-security: ## Attacks on real processes, and a few hundred drawn ones on each thing that is read from outside
	$(PYTHON) -m pytest tests/security

.PHONY: fuzz
fuzz: setup ## Attack with drawn input for SECONDS=600; keeps what fails in build/fuzz; SEED=N repeats a round
	@$(PYTHON) -m scripts.fuzz --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))

.PHONY: test-integration
test-integration: ## Tests of all languages with the real service on real Prism
	$(PYTHON) -m scripts.integration

.PHONY: test-flink
test-flink: ## Tests on a real Flink cluster, which it starts; says why where there can be none
	$(PYTHON) -m scripts.flink.tests

.PHONY: flink
flink: setup ## A Flink cluster to try things on, with Beam's job server and Python workers, until Ctrl-C
	@$(PYTHON) -m scripts.flink

.PHONY: test-gpu
test-gpu: setup ## Tests that need an NVIDIA GPU; says which it skips and why, which without a GPU is all
	$(PYTHON) -m pytest tests/gpu

.PHONY: gpu-kit
gpu-kit: setup ## Pack what a machine with PyTorch and a GPU may lack for scripts.gpu_acceptance, into build/
	$(PYTHON) -m scripts.gpu_kit

.PHONY: test-upcoming
test-upcoming: setup ## Unit and conformance tests with Beam's next release candidate and the newest frameworks
	@$(PYTHON) -m scripts.upcoming
	build/upcoming/.venv/bin/python -m pytest tests/unit tests/conformance

.PHONY: image
image: setup ## Build the images of the service and of the workers; TARGETS=worker-gpu builds that for GPUs
	$(PYTHON) -m scripts.containers.images $(TARGETS)

.PHONY: test-image
test-image: setup ## Build the images and run pipelines with them; says so where there is no container engine
	$(PYTHON) -m scripts.containers.tests

.PHONY: bench
bench: setup ## Measure throughput, start-up and memory, also of Spark and Ray; writes build/bench.json
	$(PYTHON) -m tests.benchmarks

.PHONY: fmt
fmt: ## Format the code of all languages
	$(PYTHON) -m ruff check --fix
	$(PYTHON) -m ruff format
	$(TOOL) --in go_examples gofmt -l -w .
	$(TOOL) --in java_examples $(MVN) com.spotify.fmt:fmt-maven-plugin:format

.PHONY: docs
docs: ## Write what is generated: the pages of kinds and of commands, the JSON Schema of ensemble files, codes in Go, the table of versions
	$(PYTHON) -m scripts.handler_reference
	$(PYTHON) -m scripts.command_reference
	$(PYTHON) -m scripts.file_schema
	$(PYTHON) -m scripts.go_codes
	$(PYTHON) -m scripts.supported_versions

.PHONY: docs-site
docs-site: setup ## Build the site of the pages, with search, into build/site; a broken link is an error
	@$(PYTHON) -m scripts.site

.PHONY: lock
lock: ## Pin the newest allowed versions of all Python requirements, with hashes
	$(UV_COMPILE) --upgrade requirements/uv.in -o requirements/uv.txt
	$(UV_COMPILE) --upgrade requirements/go.in -o requirements/go.txt
	$(UV_COMPILE) --upgrade pyproject.toml --extra all --extra dev -o requirements/dev.txt
	$(UV_COMPILE) --upgrade requirements/demo.in pyproject.toml --extra sklearn --extra onnx --extra xgboost \
		--constraints requirements/dev.txt -o requirements/demo.txt
	$(UV_COMPILE) --upgrade requirements/gpu-overrides.txt pyproject.toml --extra all \
		--overrides requirements/gpu-overrides.txt --constraints requirements/dev.txt -o requirements/gpu.txt
	$(UV_COMPILE) --upgrade requirements/mlserver.in --constraints requirements/dev.txt -o requirements/mlserver.txt
	$(UV_COMPILE) --upgrade requirements/beam_yaml.in -o requirements/beam_yaml.txt
	$(UV_COMPILE) --upgrade requirements/kserve.in -o requirements/kserve.txt
	$(UV_COMPILE) --upgrade requirements/chat_server.in --no-deps --constraints requirements/dev.txt \
		-o requirements/chat_server.txt
	$(UV_COMPILE) --upgrade requirements/flink.in -o requirements/flink.txt
	$(UV_COMPILE) --upgrade requirements/triton.in -o requirements/triton.txt
	$(UV_COMPILE) --upgrade requirements/release.in -o requirements/release.txt
	$(UV_COMPILE) --upgrade requirements/docs.in -o requirements/docs.txt
	$(UV_COMPILE) --upgrade requirements/bench_spark.in --constraints requirements/dev.txt -o requirements/bench_spark.txt
	$(UV_COMPILE) --upgrade requirements/bench_ray.in --constraints requirements/dev.txt -o requirements/bench_ray.txt

.PHONY: release-check
release-check: setup ## Make and check the packages of all languages, their bills of materials, and audit; publishes nothing
	$(PYTHON) -m scripts.release

.PHONY: release-publish
release-publish: setup ## Check everything, then publish it in VERSION=X.Y.Z (docs/project/releasing.md)
	$(PYTHON) -m scripts.release --publish $(or $(VERSION),$(error say VERSION=X.Y.Z))

.PHONY: audit
audit: setup ## Look for known weaknesses of all dependencies; says where no source of advisories is reached
	$(PYTHON) -m scripts.release.audit

.PHONY: clean
clean: ## Remove what was built; keeps .venv
	rm -rf build dist java_examples/target java_examples/*/target examples/*/models
