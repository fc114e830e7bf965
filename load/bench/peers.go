//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// peer is a tool that others wrote.
type peer struct {
	name   string
	module string // Go module with version, which is installed if the program is missing
	from   string // how to get it, if it is no Go module
	usages usages
}

func peers() []peer {
	// Most tools take a rate, where 0 means as fast as possible.
	rated := []string{sceneClosed, sceneOpen, scenePrecision, sceneMemory}
	return []peer{
		{"wrk", "", "apt-get install wrk", usages{
			{"-t1 -c{clients} -d{seconds}s {url}", []string{sceneClosed, sceneHTTPS}}}},
		// wrk2 discards the first 10 s, which changes the expected percentiles of a short load with a stall, so it
		// does not play that scene. In the closed loop it gets a rate that is higher than possible.
		{"wrk2", "", "no package registry has it; build github.com/giltene/wrk2 and put it into PATH as wrk2",
			usages{
				{"-t1 -c{clients} -d{seconds}s -R2000000 {url}", []string{sceneClosed}},
				{"-t1 -c{clients} -d{seconds}s -R{rate} {url}", rated}}},
		// The time is the limit, not the number of requests, for all of which ab allocates memory.
		{"ab", "", "apt-get install apache2-utils", usages{
			{"-q -k -t {seconds} -n 3000000 -c {clients} {url}", []string{sceneClosed}}}},
		{"h2load", "", "apt-get install nghttp2-client", usages{
			{"--h1 -t1 -c {clients} -D {seconds} {url}", []string{sceneClosed}},
			{"-t1 -c {multiplexed} -m {streams} -D {seconds} {url}", []string{sceneH2C, sceneH2}}}},
		{"oha", "", "cargo install oha --locked, and put it into PATH", usages{
			{"--no-tui -z {seconds}s -c {clients} {url}", []string{sceneClosed}},
			{"--no-tui -z {seconds}s -c {clients} -q {rate} --latency-correction {url}", rated}}},
		{"fortio", "fortio.org/fortio@v1.66.5", "", usages{
			{"load -quiet -uniform -qps {rate} -c {clients} -t {seconds}s {url}", rated}}},
		// hey takes the rate of each client, a whole number: 50 clients can share rateOfOpen evenly.
		{"hey", "github.com/rakyll/hey@v0.1.4", "", usages{
			{"-z {seconds}s -c {clients} {url}", []string{sceneClosed}},
			{fmt.Sprintf("-z {seconds}s -c 50 -q %d {url}", rateOfOpen/50), []string{sceneOpen}},
			{fmt.Sprintf("-z {seconds}s -c {clients} -q %d {url}", rateOfOpen/manyConnections),
				[]string{sceneMemory}}}},
		{"vegeta", "github.com/tsenart/vegeta/v12@v12.12.0", "", usages{
			{"attack -rate {rate} -max-workers {clients} -duration {seconds}s -targets {report} -output /dev/null",
				rated}}},
		{"k6", "go.k6.io/k6@v1.8.1", "", usages{
			{"run --quiet --no-usage-report -e URL={url} -e SCENE={scene} -e SECONDS={seconds} -e RATE={rate} " +
				"-e CLIENTS={clients} {k6}", append(rated, sceneFeatures)}}},
		{"ghz", "github.com/bojand/ghz/cmd/ghz@v0.120.0", "", usages{
			{"--insecure --call grpc.health.v1.Health.Check -d {} -z {seconds}s -c {clients} " +
				"--connections {multiplexed} {address}", []string{sceneGRPC}}}},
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
