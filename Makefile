# Thin names for the commands of README.md and CONTRIBUTING.md.
.PHONY: train rehearse test check format

train:
	python3 -m venv .venv && .venv/bin/pip install -c constraints.txt ".[train]" && .venv/bin/paretopo train examples/calculator.toml

rehearse:
	bash scripts/install_openrlhf_cpu.sh && .venv-openrlhf/bin/paretopo train examples/rehearsal.toml --rehearse

test:
	bash .ci/test

check:
	bash .ci/run

format:
	.venv/bin/ruff check --fix . && .venv/bin/ruff format .
	git ls-files 'csrc/*' 'fuzz/*' | xargs .venv/bin/clang-format -i
