//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Rates of the scenes, operations per second.
const (
	rateOfOpen      = 10_000
	rateOfPrecision = 2_000
	rateOfStall     = 5_000
)

// scene is one kind of load.
type scene struct {
	name    string
	precise bool // send times are noted
	stalls  bool
}

func scenes() []scene {
	return []scene{{name: "closed"}, {name: "open"}, {name: "precision", precise: true}, {name: "stall", stalls: true}}
}

// tool is a load generator, or one way of using it.
type tool struct {
	name string
	path string
	args func(scene, seconds string) []string // nil: not for this scene
}

// URL and REPORT stand for the target and a file of the tool's own in arguments.
const (
	urlMark    = "URL"
	reportMark = "REPORT"
)

// command is the tool's command line for a scene, or nil.
func (t tool) command(scene string, length time.Duration) []string {
	args := t.args(scene, strconv.Itoa(int(length.Seconds())))
	if args == nil {
		return nil
	}
	return append([]string{t.path}, args...)
}

// gather builds our own tool and finds or installs the peers. A peer that cannot
// be had is left out, with the reason.
func gather(scratch string, story io.Writer) ([]tool, error) {
	own := filepath.Join(scratch, "cleave")
	if text, err := exec.Command("go", "build", "-o", own, "./cmd/cleave").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build cleave: %w\n%s", err, text)
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
	return tools, nil
}

// cleave is our own command line. Waiting differs in open loops only.
func cleave(pacing string) func(scene, seconds string) []string {
	return func(scene, seconds string) []string {
		args := []string{"load", urlMark, "-d", seconds + "s", "--pacing", pacing, "--progress", "none", "--json", reportMark}
		switch {
		case scene == "closed" && pacing == "exact":
			return append(args, "-u", "64")
		case scene == "open" && pacing != "spin":
			return append(args, "-r", strconv.Itoa(rateOfOpen))
		case scene == "precision" && pacing != "grid:1ms":
			return append(args, "-r", strconv.Itoa(rateOfPrecision))
		case scene == "stall" && pacing == "exact":
			return append(args, "-r", strconv.Itoa(rateOfStall))
		}
		return nil
	}
}

// peer is a tool that others wrote.
type peer struct {
	name   string
	module string // Go module with version; empty: a package of the distribution
	from   string // how to get it otherwise
	args   func(scene, seconds string) []string
}

func peers() []peer {
	return []peer{
		{"wrk", "", "apt-get install wrk", wrk},
		{"wrk2", "", "no package registry has it; build github.com/giltene/wrk2 and put it into PATH as wrk2", wrk2},
		{"fortio", "fortio.org/fortio@v1.66.5", "", fortio},
		{"hey", "github.com/rakyll/hey@v0.1.4", "", hey},
		{"vegeta", "github.com/tsenart/vegeta/v12@v12.12.0", "", vegeta},
	}
}

// find looks for the program in PATH, or installs it into the scratch folder.
func (p peer) find(scratch string) (string, error) {
	if path, err := exec.LookPath(p.name); err == nil {
		return path, nil
	}
	if p.module == "" {
		return "", fmt.Errorf("not found: %s", p.from)
	}
	command := exec.Command("go", "install", p.module)
	command.Env = append(os.Environ(), "GOBIN="+scratch, "GOFLAGS=-mod=mod")
	if text, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s: %w\n%s", p.module, err, text)
	}
	return filepath.Join(scratch, p.name), nil
}

func wrk(scene, seconds string) []string {
	if scene != "closed" {
		return nil
	}
	return []string{"-t1", "-c64", "-d" + seconds + "s", urlMark}
}

func wrk2(scene, seconds string) []string {
	rate := map[string]int{"closed": 2_000_000, "open": rateOfOpen, "precision": rateOfPrecision}[scene]
	if rate == 0 {
		return nil // it discards the first 10 s, so its truth is another one
	}
	return []string{"-t1", "-c64", "-d" + seconds + "s", "-R" + strconv.Itoa(rate), urlMark}
}

func fortio(scene, seconds string) []string {
	rate, known := map[string]int{"closed": 0, "open": rateOfOpen, "precision": rateOfPrecision}[scene]
	if !known {
		return nil
	}
	return []string{"load", "-quiet", "-uniform", "-qps", strconv.Itoa(rate), "-c", "64", "-t", seconds + "s", urlMark}
}

func hey(scene, seconds string) []string {
	switch scene {
	case "closed":
		return []string{"-z", seconds + "s", "-c", "64", urlMark}
	case "open":
		return []string{"-z", seconds + "s", "-c", "50", "-q", strconv.Itoa(rateOfOpen / 50), urlMark}
	}
	return nil
}

func vegeta(scene, seconds string) []string {
	rate, known := map[string]int{"closed": 0, "open": rateOfOpen, "precision": rateOfPrecision}[scene]
	if !known {
		return nil
	}
	return []string{"attack", "-rate", strconv.Itoa(rate), "-max-workers", "64", "-duration", seconds + "s", "-targets", reportMark, "-output", "/dev/null"}
}
