# Every target is described by the text behind its "##"; "make" alone prints them.
# Targets are run one at a time even under -j: each big build uses the whole machine already.
.NOTPARALLEL:
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

VERSION := $(shell cat VERSION)
comma := ,
# Without the folder's name in what is compiled, all clones share it in Go's build cache.
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)
# KUBERNETES=1.31 runs the oldest that is supported, in whatever needs a cluster or an API server.
export TESTBED_KUBERNETES := $(or $(KUBERNETES),$(TESTBED_KUBERNETES))
TESTBED := go run ./test/testbed/cmd/testbed
# Builds the operator and test/scale, which measures it.
SCALE = assets=$$($(TESTBED) build --programs | tail -n 1); \
	tools/compile ./cmd/skyhook-operator bin/skyhook-operator; tools/compile ./test/scale bin/scale; \
	KUBEBUILDER_ASSETS=$$assets bin/scale
# A tool that cannot be built has said why: "false" ends the recipe.
tool = $$(tools/tool $(1) || echo false)
GOTESTSUM = $(call tool,gotestsum) --format pkgname-and-test-fails --format-icons text --format-hide-empty-pkg

##@ Try it
.PHONY: demo
demo: ## Bring up a cluster, install the operator, apply examples/demo.yaml and show it work
	@tools/available unless $(if $(KUBECONFIG),,'rootfs-*') 'debs/*.deb'
	@tools/compile ./test/demo bin/demo && exec bin/demo

.PHONY: testbed-up
testbed-up: ## Bring up the local cluster only (NODES=2)
	@$(TESTBED) up --nodes $(or $(NODES),2)

.PHONY: testbed-down
testbed-down: ## Take the local cluster down; leaves nothing behind
	@$(TESTBED) down

##@ Build
.PHONY: build
build: ## Build the binaries into bin/
	CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -o bin/ ./cmd/...

.PHONY: images
images: ## Build all images for amd64 and arm64 into dist/images, without Docker
	@go run ./build/cmd/build images

.PHONY: package
package: ## Check a package and build its image (DIR=path/to/package BASE= NAME= REPOSITORY= PLATFORMS=)
	@[[ -n "$(DIR)" ]] || { echo "make package: say which folder: make package DIR=path/to/package" >&2; exit 2; }
	@go run ./cmd/skyhook package build --project . --base "$(BASE)" --name "$(NAME)" --repository "$(REPOSITORY)" \
		--platform "$(or $(PLATFORMS),linux/amd64$(comma)linux/arm64)" "$(DIR)"

.PHONY: site
site: ## Make a site of the documentation in dist/site, which needs no network to be read
	@go run ./tools/site -search "$$(tools/npm minisearch)/dist/umd/index.js"

.PHONY: release
release: ## Make all of a release in dist/release: images, chart, programs, contents, checksums (COSIGN_KEY=file signs, DEBS=)
	@go run ./build/cmd/build release --key "$(COSIGN_KEY)" --debs "$(DEBS)"

.PHONY: publish
publish: ## Push the release's images and chart, where they are not yet (REGISTRY=host for a copy of your own)
	@go run ./build/cmd/build publish --registry "$(REGISTRY)"

.PHONY: release-check
release-check: ## Make the release twice, of the same packages of Debian, and compare every byte
	@rm -rf dist/release-check
	@for n in 1 2; do go run ./build/cmd/build release --key "$(COSIGN_KEY)" --debs "$(or $(DEBS),dist/release-check/debs)" \
		--dist dist/release-check/$$n; done
	@diff -r dist/release-check/1/release dist/release-check/2/release
	@echo "both are equal:" && sha256sum dist/release-check/[12]/release/$(VERSION)/SHA256SUMS

.PHONY: generate
generate: ## Write deepcopy methods, CRDs, pages and pictures
	@tools/generate

.PHONY: changelog
changelog: ## Write CHANGELOG.md from the subjects of the commits, before a release
	@tools/changelog

.PHONY: clean
clean: ## Remove what the build made in this folder (caches stay)
	rm -rf bin dist

##@ Check
.PHONY: test
test: reachable verify ## Run every test but the nightly ones, each once: generated files, unit, integration, end to end
	@assets=$$($(TESTBED) build | tail -n 1); \
	KUBEBUILDER_ASSETS=$$assets $(GOTESTSUM) --ignore-non-json-output-lines --raw-command -- go run ./tools/gotest # which writes times, too

.PHONY: reachable
reachable:
	@tools/available unless 'rootfs-*' 'debs/*.deb' 'chromium-*'

.PHONY: fresh
fresh: ## Run make demo and make test as on a machine that never did: a clone, and empty caches (TARGETS=)
	@tools/fresh $(or $(TARGETS),demo testbed-down test)

.PHONY: unit
unit: ## Run the tests that need nothing but Go
	@go test ./...

.PHONY: integration
integration: ## Run the tests of packages that need an API server, root or Debian's tools (DIR=internal/cli RUN=TestX UPDATE=1)
	@assets=$$($(TESTBED) build --programs | tail -n 1); \
	KUBEBUILDER_ASSETS=$$assets $(GOTESTSUM) -- -tags integration -timeout 20m $(if $(RUN),-run '$(RUN)') \
		$(if $(DIR),./$(DIR) $(if $(UPDATE),-update),$$(grep -rl --include='*_test.go' '^//go:build .*integration' . | xargs -n 1 dirname | sort -u))

.PHONY: e2e
e2e: ## Run only the end-to-end tests, or RUN=TestX of them (TAGS=nightly for all, KUBERNETES=1.31 for the oldest)
	@$(GOTESTSUM) --format testname -- -tags e2e$(if $(TAGS),$(comma)$(TAGS)) -count=1 -timeout 60m $(if $(RUN),-run '$(RUN)') \
		./test/e2e/...

.PHONY: testbed-test
testbed-test: ## Run the testbed's own tests, which bring up clusters
	@$(GOTESTSUM) --format testname -- -tags e2e -count=1 -timeout 30m ./test/testbed

.PHONY: tutorials
tutorials: ## Do what the tutorials say that need no cluster
	@$(GOTESTSUM) --format testname -- -tags nightly -count=1 -timeout 30m ./test/tutorial

.PHONY: race
race: ## Run the tests of all that is concurrent with the race detector (needs gcc)
	@assets=$$($(TESTBED) build --programs | tail -n 1); \
	KUBEBUILDER_ASSETS=$$assets CGO_ENABLED=1 $(GOTESTSUM) -- -race -tags integration -timeout 30m \
		-skip '^TestReviewsOfAnybody$$' ./internal/... ./pkg/... ./test/faults # it limits processor time, which -race multiplies

.PHONY: verify
verify: ## Check that the generated files are current
	@tools/generate --check

.PHONY: lint
lint: ## Run the linters, the purity rules among them, and look for known vulnerabilities
	@$(call tool,golangci-lint) run
	@go vet ./... # the linters see all tests; those of "make unit" have to compile without the others
	@tools/vulncheck

.PHONY: bench
bench: ## Run the benchmarks, and measure rollouts on small fleets against test/scale/ranges.yaml
	@go test -tags integration -run '^$$' -bench . -benchmem $$(grep -rl --include='*_test.go' '^func Benchmark' . | xargs -n 1 dirname | sort -u)
	@$(SCALE) plain:50 plain:200 interrupt:50

.PHONY: scale
scale: ## Measure rollouts on emulated fleets (SIZES=500,1000x3 WORLDS=plain FLAGS=), see docs/numbers.md
	@$(SCALE) $(FLAGS) $(foreach world,$(subst $(comma), ,$(or $(WORLDS),plain)),$(addprefix $(world):,$(subst $(comma), ,$(or $(SIZES),500))))

.PHONY: floor
floor: ## Measure an install beside the least that a pod per stage can cost, three times (SIZES=500)
	@$(SCALE) -phases floor,install $(FLAGS) $(foreach n,1 2 3,$(addprefix plain:,$(subst $(comma), ,$(or $(SIZES),500))))
	@$(call tool,benchstat) -filter '/phase:install .unit:(secondsByFloor OR cpuAPIServerByFloor OR writesPerNode)' dist/scale/scale.txt

.PHONY: soak
soak: ## Let random edits, node churn and kills of the operator happen on an emulated fleet (NODES=5000 FOR=1h SEED= FLAGS=)
	@$(SCALE) -soak $(or $(FOR),1h) $(if $(SEED),-seed $(SEED)) $(FLAGS) $(or $(NODES),5000)

.PHONY: faults
faults: ## Play random worlds against the real controllers (N=10000, or FOR=2m; SEED=1)
	@go test ./test/faults -run 'TestWorlds$$' -count=1 -timeout 24h -v -faults.n=$(or $(N),10000) -faults.for=$(or $(FOR),0) \
		-faults.seed=$(or $(SEED),1)

.PHONY: agree
agree: ## Compare all that shows the status of a node and why it waits, in random worlds at rest (N=10000, SEED=1)
	@go test ./internal/cli -run 'TestEverythingAgrees$$' -count=1 -timeout 24h -v -agree.n=$(or $(N),10000) \
		-agree.seed=$(or $(SEED),1)

.PHONY: mutants
mutants: ## Plant small bugs into the engine, one at a time, and see that the simulator finds each
	@go test -tags mutants -count=1 -timeout 5h -v ./test/faults/mutants

.PHONY: nightly
nightly: ## Run what takes too long for every change, in about five hours; a failure does not end it
	@tools/nightly

.PHONY: fuzz
fuzz: ## Run each fuzz target for a while (TIME=60s)
	@tools/fuzz $(or $(TIME),60s)

##@ Help
.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## "; print "skyhook $(VERSION)\n\nUsage: make <target>" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
