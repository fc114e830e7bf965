//go:build linux

package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scenes are the kinds of load under which tools are compared.
const (
	sceneClosed    = "closed"    // 64 connections, as fast as it goes
	sceneTraced    = "traced"    // the same with a traceparent header that asks for the spans of one flow in 32
	sceneFeatures  = "features"  // the same with a generated value, an assertion and an extraction
	sceneOpen      = "open"      // 10,000/s
	scenePrecision = "precision" // 2,000/s; the target notes when requests come
	sceneStall     = "stall"     // 5,000/s; the target stalls for a second at three quarters
	sceneMemory    = "memory"    // 10,000/s over 1,000 connections
	sceneCapacity  = "capacity"  // a search on a queue of known capacity
	sceneLoops     = "loops"     // like closed, with one and with two sending threads of cleave

	sceneHTTPS = "https" // as closed, over TLS
	sceneH2C   = "h2c"   // closed loop over HTTP/2 in clear text, with streams
	sceneH2    = "h2"    // the same over TLS
	sceneGRPC  = "grpc"  // the same with unary calls, in clear text
)

// shortScenes returns the scenes that every round plays, in their order.
func shortScenes() []string {
	return []string{
		sceneClosed, sceneTraced, sceneHTTPS, sceneH2C, sceneH2, sceneGRPC, sceneFeatures, sceneOpen,
		scenePrecision, sceneStall,
	}
}

// scenes returns all scenes.
func scenes() []string { return append(shortScenes(), sceneLoops, sceneMemory, sceneCapacity) }

// Rates of the scenes, operations per second, and their connections.
const (
	rateOfOpen      = 10_000
	rateOfPrecision = 2_000
	rateOfStall     = 5_000
	connections     = 64
	manyConnections = 1_000
)

// tool is a load generator, or one way of using it.
type tool struct {
	name   string
	path   string
	usages usages
}

// usages are the ways in which a tool is called, each in some scenes.
type usages []struct {
	arguments string // separated by blanks, with marks
	scenes    []string
}

// in returns the arguments of the first usage for a scene, with the marks of one run (see replace); nil: the
// tool cannot play the scene.
func (all usages) in(scene, seconds string) []string {
	rate := map[string]int{sceneOpen: rateOfOpen, scenePrecision: rateOfPrecision, sceneStall: rateOfStall,
		sceneMemory: rateOfOpen}[scene]
	clients := connections
	if scene == sceneMemory {
		clients = manyConnections
	}
	marks := strings.NewReplacer("{scene}", scene, "{seconds}", seconds, "{rate}", strconv.Itoa(rate),
		"{clients}", strconv.Itoa(clients), "{multiplexed}", strconv.Itoa(multiplexed),
		"{streams}", strconv.Itoa(streams))
	for _, usage := range all {
		if slices.Contains(usage.scenes, scene) {
			return strings.Fields(marks.Replace(usage.arguments))
		}
	}
	return nil
}

// Marks in arguments are replaced by values of one run.
const (
	urlMark      = "{url}"
	reportMark   = "{report}"   // the report file of the tool
	scenarioMark = "{features}" // the scenario of sceneFeatures
	addressMark  = "{address}"  // host and port of the URL
	k6Mark       = "{k6}"       // k6Program
)

// command returns the tool's command line for a scene, or nil.
func (t tool) command(scene string, length time.Duration) []string {
	seconds := int(length.Seconds())
	args := t.usages.in(scene, strconv.Itoa(seconds))
	if args == nil {
		return nil
	}
	return append([]string{t.path}, args...)
}

//go:embed features.yaml
var features []byte

// Files in the scratch folder.
const (
	featuresFile = "features.yaml"
	k6File       = "load.js"
	reportFile   = "report"
	stampsFile   = "stamps"
)

// replace returns a command line with its marks replaced.
func replace(command []string, url, scratch string) []string {
	_, address, _ := strings.Cut(strings.TrimSuffix(url, "/"), "://")
	marks := strings.NewReplacer(urlMark, url, reportMark, filepath.Join(scratch, reportFile),
		scenarioMark, filepath.Join(scratch, featuresFile),
		addressMark, address, k6Mark, filepath.Join(scratch, k6File))
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = marks.Replace(word)
	}
	return words
}

// cleavePath returns the path of the built program cleave.
func (p *plan) cleavePath() string { return filepath.Join(p.scratch, "cleave") }

// toolNames returns the names of all tools.
func toolNames() []string {
	names := []string{"floor", "cleave", "cleave-grid", "cleave-spin"}
	for _, p := range peers() {
		names = append(names, p.name)
	}
	return names
}

// gather builds cleave and finds or installs the peers that the wanted scenes need. It leaves out a peer
// that is not available, and prints the reason.
func (p *plan) gather() ([]tool, error) {
	own := p.cleavePath()
	if text, err := exec.Command("go", "build", "-o", own, "./cmd/cleave").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build cleave: %w\n%s", err, text)
	}
	for name, text := range map[string][]byte{featuresFile: features, k6File: []byte(k6Program)} {
		if err := os.WriteFile(filepath.Join(p.scratch, name), text, 0o644); err != nil {
			return nil, err
		}
	}
	tools := []tool{
		{"floor", p.self, usages{{"floor {address} {seconds}", []string{sceneClosed}}}},
		{"cleave", own, cleave("exact")},
		{"cleave-grid", own, cleave("grid:1ms")},
		{"cleave-spin", own, cleave("spin")},
	}
	for _, peer := range peers() {
		plays := func(scene string) bool { return p.wants(scene) && peer.usages.in(scene, "1") != nil }
		if !p.takes(peer.name) || !slices.ContainsFunc(scenes(), plays) {
			continue
		}
		path, err := peer.find(p.scratch)
		if err != nil {
			fmt.Fprintf(p.progress, "%s is skipped: %v\n", peer.name, err)
			continue
		}
		tools = append(tools, tool{peer.name, path, peer.usages})
	}
	fmt.Fprintln(p.progress,
		"jmeter is skipped: it needs a Java runtime and a plan per load, which this benchmark has not got")
	return slices.DeleteFunc(tools, func(t tool) bool { return !p.takes(t.name) }), nil
}

// takes reports whether a tool takes part.
func (p *plan) takes(name string) bool { return len(p.among) == 0 || slices.Contains(p.among, name) }

// cleave returns the usages of cleave with a pacing, which makes a difference in open loops only.
func cleave(pacing string) usages {
	load := func(what, more string) string {
		return "load " + what + " -d {seconds}s --pacing " + pacing + " --progress none --json {report} " + more
	}
	const users, shared, grpc = "-u {clients}", "-u {clients} --streams {streams}",
		"grpc://{address}/grpc.health.v1.Health/Check"
	open := load(urlMark, "-r {rate}")
	switch pacing {
	case "grid:1ms":
		return usages{{open, []string{sceneOpen}}}
	case "spin":
		return usages{{open, []string{scenePrecision}}}
	}
	return usages{
		{load(urlMark, users), []string{sceneClosed}},
		{load(urlMark, users+" --trace-share 1/32"), []string{sceneTraced}},
		{load(scenarioMark, "--target {url} "+users), []string{sceneFeatures}},
		{load(urlMark, users+" --insecure"), []string{sceneHTTPS}},
		{load(urlMark, shared+" --http2"), []string{sceneH2C}},
		{load(urlMark, shared+" --http2 --insecure"), []string{sceneH2}},
		{load(grpc, shared), []string{sceneGRPC}},
		{open, []string{sceneOpen, scenePrecision, sceneStall}},
		{open + " -c {clients}", []string{sceneMemory}},
	}
}
