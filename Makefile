# Cleave's build. `make help` lists what there is.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GOBUILD := CGO_ENABLED=0 go build
BIN     := bin
WEB     := report/web
TOOLS   := $(addprefix bin/tools/,staticcheck errcheck protoc-gen-go protoc-gen-go-grpc)
SCRIPTS := $(wildcard scripts/*.sh) .ci/run

# All go commands compile alike, also in other clones, so that Go's cache serves for all. grpcnotrace leaves
# out gRPC's page of traces, for which the linker would keep every exported method. Without tables for a
# debugger everything compiles a twelfth faster; to debug a program, build it with go build.
export GOFLAGS := $(GOFLAGS) -trimpath -tags=grpcnotrace -gcflags=all=-dwarf=false

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The unit programs go into images: they have no symbols. scripts/dist.sh sets STRIP, so that cleave has none
# in archives.
.PHONY: build
build: web ## build bin/cleave, bin/host-agent and the unit programs, bin/unit/*
	@scripts/need.sh build
	$(GOBUILD) -ldflags "-X main.version=$(VERSION) $(STRIP)" -o $(BIN)/cleave ./cmd/cleave
	$(GOBUILD) -ldflags "-s -w" -o $(BIN)/host-agent ./cmd/host-agent
	$(GOBUILD) -ldflags "-s -w" -o $(BIN)/unit/ ./cmd/unit/...

ARCHES := amd64 arm64

.PHONY: dist
dist: web ## make an archive of all programs that runs from anywhere, for amd64 and arm64, in dist
	scripts/dist.sh dist "$(VERSION)" $(ARCHES)

.PHONY: web
web: $(WEB)/dist/report.js ## build the scripts of reports and of cleave serve

# Make judges by the age of the next two targets whether npm has to run again; touch sets it after each run.
$(WEB)/node_modules/.package-lock.json: $(WEB)/package.json $(WEB)/package-lock.json
	@scripts/need.sh build
	cd $(WEB) && npm ci --no-audit --no-fund --loglevel=error
	touch $@

$(WEB)/dist/report.js: $(WEB)/node_modules/.package-lock.json $(WEB)/vite.config.ts $(WEB)/tsconfig.json \
  $(shell find $(WEB)/src -type f)
	cd $(WEB) && npm run --silent build
	touch $@

# The airline in Java and Node.js is built by Maven and npm, each into a folder that runs from anywhere.
AIRLINE := java node

.PHONY: airline
airline: $(AIRLINE:%=bin/airline/%/run) ## build the airline in Java and Node.js into bin/airline (Maven, npm)

airline_sources = $(shell find systems/airline/$(1) \
  \( -name node_modules -o -name target -o -name dist \) -prune -o -type f -print)

define build_airline
bin/airline/$(1)/run: scripts/airline-$(1).sh $$(call airline_sources,$(1))
	scripts/airline-$(1).sh build
	touch $$@
endef
$(foreach runtime,$(AIRLINE),$(eval $(call build_airline,$(runtime))))

.PHONY: airline-test
airline-test: airline ## lint and test the airline in Java and Node.js
	for runtime in $(AIRLINE); do scripts/airline-$$runtime.sh check; done

.PHONY: demo
demo: build ## a shop as monolith, services and event-driven: what splitting it costs
	bin/cleave explain shop --from monolith --to async --quick

.PHONY: demo-cluster
demo-cluster: build ## a shop as monolith and services on a private Kubernetes (make kubernetes, first)
	bin/cleave explain shop --from monolith --to sync --quick --deploy kubernetes

# With GOGC=400 Go's compiler and the tests collect garbage less often: they take more memory, and compiling
# takes a twelfth less CPU time.
.PHONY: test
test: export GOGC := 400
test: ## run the tests that need no server, container or browser (minutes)
	@scripts/need.sh test
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target web web-test modules
	scripts/test.sh

# Fetches Go's modules while npm fetches its packages. It ignores errors: the tests may not need the module.
.PHONY: modules
modules:
	-@go mod download

# The build of the airline mostly waits, so it runs beside the linters. Go's cache has the results of tests
# that `make test` has run, unless something has changed since.
.PHONY: test-all
test-all: export GOGC := 400
test-all: ## install what is missing, then lint and run all tests but those of clusters (half an hour)
	scripts/need.sh test-all
	$(MAKE) --no-print-directory --jobs=3 --output-sync=target lint web-test airline-test
	CLEAVE_TESTS=all scripts/test.sh

# Kubernetes is built once, from its Go modules, and kept in the user's cache folder.
.PHONY: kubernetes
kubernetes: ## build Kubernetes for private clusters, once (minutes), and install what it runs on
	@scripts/need.sh cluster
	scripts/kubernetes.sh

# The command that builds Kubernetes for the tests of clusters. .ci/run sets it to false if its own build, in
# the background, took too long.
KUBERNETES = scripts/kubernetes.sh

# tally runs the packages before and after `--` in parallel. The swarms take less time than the pods of
# deploy/kubernetes, so the packages api and private are tested after them. The tests of cmd run last: they
# look for leftovers on this host.
.PHONY: test-cluster
test-cluster: ## run the tests that bring up clusters on this host (minutes)
	@scripts/need.sh cluster
	$(KUBERNETES) || echo "test-cluster: the tests that need what was not built will be skipped" >&2
	status=0; export CLEAVE_TESTS=clusters; \
	go run ./internal/tally -p=1 -vet=off -timeout=30m ./deploy/swarm/... ./deploy/kubernetes/{api,private} \
	  -- -p=1 -vet=off -timeout=30m ./deploy/kubernetes || status=1; \
	go run ./internal/tally -p=1 -vet=off -timeout=30m -run=Swarm ./cmd/cleave \
	  -- -p=1 -vet=off -timeout=30m -run=Kubernetes -skip=Swarm ./cmd/cleave || status=1; \
	exit $$status

.PHONY: web-test
web-test: $(WEB)/node_modules/.package-lock.json ## test the script of the report
	cd $(WEB) && npm test --silent

FUZZTIME ?= 10m
FUZZ     ?= .

.PHONY: fuzz
fuzz: ## feed every reader of foreign bytes with hostile ones (FUZZTIME=10m each, FUZZ=pattern)
	@scripts/fuzz.sh $(FUZZTIME) "$(FUZZ)"

KILLS ?= 100
.PHONY: kills
kills: ## kill cleave at random moments and look what is left (KILLS=100, 30 minutes)
	CGO_ENABLED=0 CLEAVE_TESTS=all CLEAVE_KILLS=$(KILLS) go test -count=1 -timeout=3h -v \
	  -run=TestKillsLeaveNothing ./cmd/cleave

# Without cgo, like the programs and most tests (internal/tally), so that packages are compiled only once.
.PHONY: lint
lint: export CGO_ENABLED := 0
lint: $(TOOLS) web ## gofmt, vet, staticcheck, errcheck, prettier, tsc, shellcheck
	@unformatted=$$(find . -name node_modules -prune -o -name '*.go' -print0 | xargs -0 gofmt -l); \
	  if [ -n "$$unformatted" ]; then \
	    echo "not formatted (type: gofmt -w FILE):"; echo "$$unformatted"; exit 1; \
	  fi
	go vet ./...
	bin/tools/staticcheck ./...
	bin/tools/errcheck -ignoretests -exclude tools/errcheck-exclude.txt ./...
	cd $(WEB) && npm run --silent lint
	scripts/page-script.sh systems/people/gateway check
	shellcheck $(SCRIPTS)

# Linters and generators are built from their own module, so that go.mod stays
# clean; one build brings them all.
$(TOOLS) &: tools/go.mod tools/go.sum
	mkdir -p bin/tools
	cd tools && go build -o ../bin/tools/ tool
	touch $(TOOLS)

PROTOS := $(shell find systems binding -name node_modules -prune -o -name '*.proto' -print 2>/dev/null)
# Those whose services are components of a system.
COMPONENTS := $(addprefix systems/,shop/shoppb/shop.proto people/peoplepb/people.proto \
  social/socialpb/social.proto rehearsal/rehearsalpb/rehearsal.proto)

.PHONY: generate
generate: bin/tools/protoc-gen-go bin/tools/protoc-gen-go-grpc
generate: $(WEB)/node_modules/.package-lock.json ## write all generated files anew
	@scripts/need.sh generate
	go run ./docs/schema/generate
	PATH="$$PWD/bin/tools:$$PATH" protoc --go_out=. --go_opt=paths=source_relative \
	  --go-grpc_out=. --go-grpc_opt=paths=source_relative $(PROTOS)
	go build -o bin/tools/protoc-gen-components ./binding/rpc/generate
	PATH="$$PWD/bin/tools:$$PATH" protoc --components_out=. --components_opt=paths=source_relative $(COMPONENTS)
	scripts/page-script.sh systems/people/gateway

.PHONY: bench-big
bench-big: build ## compare our bindings with their peers on the Big benchmark
	go run ./systems/big/bench

.PHONY: bench-meter
bench-meter: ## measure what the meter itself costs (2 minutes)
	go run ./meter/bench -out results/bench/meter.json

.PHONY: bench-load
bench-load: ## compare the load engine with its peers (35 minutes, two idle cores)
	go run ./load/bench -out results/bench/load.json

.PHONY: bench-people
bench-people: ## compare people with its own statements, and time its encryption (ten minutes, two idle cores)
	go run ./systems/people/bench -out results/bench/people.json

.PHONY: bench-social
bench-social: ## compare social with its own statements, services with the monolith (2 minutes, 2 idle cores)
	go run ./systems/social/bench -out results/bench/social.json

.PHONY: bench-shop
bench-shop: build ## compare the shop's architectures and bindings with their marks (15 minutes, 2 idle cores)
	go run ./systems/shop/bench -out results/bench/shop.json

# Containers need Docker's daemon, clusters need root and make kubernetes.
.PHONY: bench-deploy
bench-deploy: ## measure how long units take until ready and until gone, and what metering costs (six minutes)
	go run ./deploy/bench -out results/bench/deploy.json

.PHONY: bench-stats
bench-stats: ## hold the statistics against simulated experiments of which the truth is known (a minute)
	go run ./stats/bench -out results/bench/stats.json

.PHONY: bench-predict
bench-predict: build ## measure the simulator, and how far off predictions are (2 hours, 2 idle cores)
	go run ./predict/bench -out results/bench/predict.json
	CGO_ENABLED=0 go run ./systems/rehearsal/bench -out results/bench/placements.json

.PHONY: bench-truth
bench-truth: build ## hold answers against servers of which the truth is known (25 minutes, 2 idle cores)
	CGO_ENABLED=0 go run ./report/bench -out results/bench/truth.json

.PHONY: bench-serve
bench-serve: build ## measure what it costs to watch a run in the browser (7 minutes, 2 idle cores)
	CGO_ENABLED=0 go run ./report/bench watching -out results/bench/serve.json

.PHONY: clean
clean: ## remove what was built; results stay
	rm -rf bin dist $(WEB)/node_modules $(WEB)/dist/report.js $(WEB)/dist/report.js.map $(WEB)/dist/serve.js \
	  $(WEB)/dist/licences.md
