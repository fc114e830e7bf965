//go:build linux

package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Scenes: the kinds of load that tools are compared under.
const (
	sceneClosed    = "closed"    // 64 connections, as fast as it goes
	sceneFeatures  = "features"  // the same with a generated value, an assertion and an extraction
	sceneOpen      = "open"      // 10,000/s
	scenePrecision = "precision" // 2,000/s; the target notes when requests come
	sceneStall     = "stall"     // 5,000/s; the target stalls for a second at three quarters
	sceneMemory    = "memory"    // 10,000/s over 1,000 connections
	sceneCapacity  = "capacity"  // a search on a queue of known capacity
)

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
	name string
	path string
	args arguments
}

// arguments are those of a tool for a scene; nil: it cannot do it. They may
// contain marks.
type arguments func(scene, seconds string) []string

// Marks stand for things of one run in arguments.
const (
	urlMark      = "{url}"
	reportMark   = "{report}"   // a file of the tool's own
	scenarioMark = "{features}" // the scenario of sceneFeatures
	k6Mark       = "{k6}"       // k6Program
)

// command is the tool's command line for a scene, or nil.
func (t tool) command(scene string, length time.Duration) []string {
	args := t.args(scene, strconv.Itoa(int(length.Seconds())))
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

// replace puts what the marks stand for into a command line.
func replace(command []string, url, scratch string) []string {
	marks := strings.NewReplacer(urlMark, url, reportMark, filepath.Join(scratch, reportFile),
		scenarioMark, filepath.Join(scratch, featuresFile), k6Mark, filepath.Join(scratch, k6File))
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = marks.Replace(word)
	}
	return words
}

// gather builds our own tool and finds or installs the peers. A peer that cannot
// be had is left out, with the reason.
func gather(scratch string, story io.Writer) ([]tool, error) {
	own := filepath.Join(scratch, "cleave")
	if text, err := exec.Command("go", "build", "-o", own, "./cmd/cleave").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build cleave: %w\n%s", err, text)
	}
	for name, text := range map[string][]byte{featuresFile: features, k6File: []byte(k6Program)} {
		if err := os.WriteFile(filepath.Join(scratch, name), text, 0o644); err != nil {
			return nil, err
		}
	}
	tools := []tool{
		{"cleave", own, cleave("exact")}, {"cleave-grid", own, cleave("grid:1ms")}, {"cleave-spin", own, cleave("spin")},
	}
	for _, peer := range peers() {
		path, err := peer.find(scratch)
		if err != nil {
			fmt.Fprintf(story, "%s is skipped: %v\n", peer.name, err)
			continue
		}
		tools = append(tools, tool{peer.name, path, peer.args})
	}
	fmt.Fprintln(story, "jmeter is skipped: it needs a Java runtime and a plan per load, which this benchmark has not got")
	return tools, nil
}

// cleave is our own command line. Waiting differs in open loops only.
func cleave(pacing string) arguments {
	return func(scene, seconds string) []string {
		load := func(what string, more ...string) []string {
			args := []string{"load", what, "-d", seconds + "s", "--pacing", pacing, "--progress", "none", "--json", reportMark}
			return append(args, more...)
		}
		exact, spin := pacing == "exact", pacing == "spin"
		switch {
		case scene == sceneClosed && exact:
			return load(urlMark, "-u", strconv.Itoa(connections))
		case scene == sceneFeatures && exact:
			return load(scenarioMark, "--target", urlMark, "-u", strconv.Itoa(connections))
		case scene == sceneOpen && !spin:
			return load(urlMark, "-r", strconv.Itoa(rateOfOpen))
		case scene == scenePrecision && (exact || spin):
			return load(urlMark, "-r", strconv.Itoa(rateOfPrecision))
		case scene == sceneStall && exact:
			return load(urlMark, "-r", strconv.Itoa(rateOfStall))
		case scene == sceneMemory && exact:
			return load(urlMark, "-r", strconv.Itoa(rateOfOpen), "-c", strconv.Itoa(manyConnections))
		}
		return nil
	}
}
