//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// peer is a tool that others wrote.
type peer struct {
	name   string
	module string // Go module with version, which is installed if the program is missing
	from   string // how to get it, if it is no Go module
	args   arguments
}

func peers() []peer {
	return []peer{
		{"wrk", "", "apt-get install wrk", wrk},
		{"wrk2", "", "no package registry has it; build github.com/giltene/wrk2 and put it into PATH as wrk2",
			wrk2},
		{"ab", "", "apt-get install apache2-utils", ab},
		{"h2load", "", "apt-get install nghttp2-client", h2load},
		{"oha", "", "cargo install oha --locked, and put it into PATH", oha},
		{"fortio", "fortio.org/fortio@v1.66.5", "", fortio},
		{"hey", "github.com/rakyll/hey@v0.1.4", "", hey},
		{"vegeta", "github.com/tsenart/vegeta/v12@v12.12.0", "", vegeta},
		{"k6", "go.k6.io/k6@v1.8.1", "", k6},
		{"ghz", "github.com/bojand/ghz/cmd/ghz@v0.120.0", "", ghz},
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

// rates returns the rate and the number of clients of a scene; rate 0 means as fast as possible.
func rates(scene string) (rate, clients string, known bool) {
	rates := map[string]int{sceneClosed: 0, sceneOpen: rateOfOpen, scenePrecision: rateOfPrecision,
		sceneMemory: rateOfOpen}
	n, known := rates[scene]
	clients = strconv.Itoa(connections)
	if scene == sceneMemory {
		clients = strconv.Itoa(manyConnections)
	}
	return strconv.Itoa(n), clients, known
}

func wrk(scene, seconds string) []string {
	if scene != sceneClosed && scene != sceneHTTPS {
		return nil
	}
	return []string{"-t1", "-c" + strconv.Itoa(connections), "-d" + seconds + "s", urlMark}
}

// wrk2 discards the first 10 s, which changes the expected percentiles of a short load with a stall, so it
// does not play that scene.
func wrk2(scene, seconds string) []string {
	rate, clients, known := rates(scene)
	if !known {
		return nil
	}
	if scene == sceneClosed {
		rate = "2000000" // higher than possible
	}
	return []string{"-t1", "-c" + clients, "-d" + seconds + "s", "-R" + rate, urlMark}
}

func ab(scene, seconds string) []string {
	if scene != sceneClosed {
		return nil
	}
	const enough = "3000000" // requests; the time is the limit, and ab allocates memory for all of them
	return []string{"-q", "-k", "-t", seconds, "-n", enough, "-c", strconv.Itoa(connections), urlMark}
}

func h2load(scene, seconds string) []string {
	switch scene {
	case sceneClosed:
		return []string{"--h1", "-t1", "-c", strconv.Itoa(connections), "-D", seconds, urlMark}
	case sceneH2C, sceneH2:
		return []string{"-t1", "-c", strconv.Itoa(multiplexed), "-m", strconv.Itoa(streams), "-D", seconds, urlMark}
	}
	return nil
}

func ghz(scene, seconds string) []string {
	if scene != sceneGRPC {
		return nil
	}
	return []string{"--insecure", "--call", "grpc.health.v1.Health.Check", "-d", "{}", "-z", seconds + "s",
		"-c", strconv.Itoa(connections), "--connections", strconv.Itoa(multiplexed), addressMark}
}

func oha(scene, seconds string) []string {
	rate, clients, known := rates(scene)
	if !known {
		return nil
	}
	args := []string{"--no-tui", "-z", seconds + "s", "-c", clients}
	if scene != sceneClosed {
		args = append(args, "-q", rate, "--latency-correction")
	}
	return append(args, urlMark)
}

func fortio(scene, seconds string) []string {
	rate, clients, known := rates(scene)
	if !known {
		return nil
	}
	return []string{"load", "-quiet", "-uniform", "-qps", rate, "-c", clients, "-t", seconds + "s", urlMark}
}

// hey takes the rate of each client, a whole number: 50 clients can share rateOfOpen evenly.
func hey(scene, seconds string) []string {
	switch scene {
	case sceneClosed:
		return []string{"-z", seconds + "s", "-c", strconv.Itoa(connections), urlMark}
	case sceneOpen:
		return []string{"-z", seconds + "s", "-c", "50", "-q", strconv.Itoa(rateOfOpen / 50), urlMark}
	case sceneMemory:
		return []string{"-z", seconds + "s", "-c", strconv.Itoa(manyConnections), "-q",
			strconv.Itoa(rateOfOpen / manyConnections), urlMark}
	}
	return nil
}

func vegeta(scene, seconds string) []string {
	rate, clients, known := rates(scene)
	if !known {
		return nil
	}
	return []string{"attack", "-rate", rate, "-max-workers", clients, "-duration", seconds + "s", "-targets",
		reportMark, "-output", "/dev/null"}
}

// k6 reads its load from a program.
func k6(scene, seconds string) []string {
	rate, clients, known := rates(scene)
	if !known && scene != sceneFeatures {
		return nil
	}
	return []string{"run", "--quiet", "--no-usage-report", "-e", "URL=" + urlMark, "-e", "SCENE=" + scene, "-e",
		"SECONDS=" + seconds,
		"-e", "RATE=" + rate, "-e", "CLIENTS=" + clients, k6Mark}
}

// k6Program does the work of features.yaml in that scene, and only sends requests in the others.
const k6Program = `
import http from 'k6/http';
import { check } from 'k6';
const open = __ENV.SCENE !== 'closed' && __ENV.SCENE !== 'features';
const clients = Number(__ENV.CLIENTS), duration = __ENV.SECONDS + 's';
export const options = { scenarios: { load: open
  ? { executor: 'constant-arrival-rate', rate: Number(__ENV.RATE), timeUnit: '1s', duration, preAllocatedVUs: clients }
  : { executor: 'constant-vus', vus: clients, duration } } };
const id = () => Math.random().toString(16).slice(2) + Math.random().toString(16).slice(2);
export default function () {
  if (__ENV.SCENE !== 'features') { http.get(__ENV.URL); return; }
  const answer = http.get(__ENV.URL + '?id=' + id());
  check(answer, { ok: (r) => r.json('ok') === true });
  answer.json('text');
}
`
