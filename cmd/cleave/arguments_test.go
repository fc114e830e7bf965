package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// argumentRows are invalid command lines, each with a part of the message. own.yaml is a study, huge.yaml a
// study with more than 100,000 trials, pipe a pipe without a writer, folder a folder, and URL an address at
// which nothing listens.
const argumentRows = `
run own.yaml --plan --blocks -1                  | blocks is -1, expected a whole number from 1 to 1000
run own.yaml --plan --blocks 0                   | blocks is 0
run own.yaml --plan --blocks 1001                | blocks is 1001
run own.yaml --plan --blocks 99999999999999999999 | value out of range
run own.yaml --plan --blocks 1.5                 | invalid argument "1.5" for "--blocks"
run own.yaml --plan --scale 0                    | scale is 0
run own.yaml --plan --scale -1                   | scale is -1
run own.yaml --plan --scale NaN                  | scale is NaN
run own.yaml --plan --scale Inf                  | scale is +Inf
run own.yaml --plan --scale 1e308                | scale is 1e+308
run own.yaml --plan --scale 1e309                | value out of range
run own.yaml --plan --seed -1                    | invalid argument "-1" for "--seed"
run own.yaml --plan --points ''                  | --points is empty
run own.yaml --plan --points q                   | there is no point "q"
run own.yaml --plan --progress bogus             | expected auto, terminal, plain, json, none
run own.yaml --plan --results ''                 | --results is empty
run own.yaml --plan --backing ''                 | --backing is empty
run own.yaml --resume ''                         | --resume is empty
run own.yaml --block 3                           | unknown flag: --block (did you mean "blocks"?)
run own.yaml own.yaml                            | accepts 1 arg
run huge.yaml --plan                             | more than 100000 trials
run objective.yaml | the load of own: objective, column 1: unknown metric "nonsense"
run pointless.yaml                               | needs one of rate, per_minute
run                                              | accepts 1 arg
run ''                                           | no such file
run pipe                                         | pipe is a pipe, expected a regular file
run folder                                       | folder is a folder
run /dev/zero                                    | /dev/zero is a device
run large.yaml                                   | large.yaml has 262145 bytes, at most 262144 are read
check --resume damaged-run                       | plan.json is damaged
run broken-run                                   | broken-run is a folder
report broken-run                                | is no result folder
report ''                                        | is no result folder
report pipe                                      | is no result folder
reproduce rego2021 --plan --points ''            | --points is empty
reproduce nosuch                                 | no built-in study "nosuch"
rnu own.yaml                                     | there is no command "rnu" (did you mean "run"?)
help nosuch                                      | there is no command "nosuch"
run rego2021                                     | played by cleave reproduce rego2021
run nosuch.yaml                                  | cleave init study writes one
reproduce own.yaml                               | a study file of yours is played by cleave run
rehearse nosuch.yaml                             | no such file or directory: cleave model makes one
explain shop --rate x                            | invalid syntax: see cleave help explain
load import --nosuch                             | see cleave help load import
doctor folder                                    | folder is a folder
doctor pipe                                      | pipe is a pipe
explain                                          | expected cleave explain SYSTEM | A B | FILE
list extra                                       | there is no system "extra"
init system ''                                   | no such file
init system missing/x.yaml | missing/x.yaml: no such file or directory: give another path
init system pipe --force                         | no such device or address
init bogus                                       | no file to begin with for "bogus"
init system --url URL                            | is for --from
compare a=URL b=URL -r 1 --connections 0            | --connections is 0
compare a=URL b=URL -u 1 -c 5                       | every one of --users has a connection
compare a=URL b=URL -r 1 --timeout -1s              | --timeout is -1s
compare a=URL b=URL -r 1 --ca pipe                  | pipe is a pipe
explain shop --users 0                           | --users is 0
explain shop --users 4 --rate 5                  | --users is a closed loop
load ''                                          | no such file
load URL                                         | no load: give --rate
load URL -c -1                                   | none may be negative
load URL -r 0                                    | out of range
load URL -r -1                                   | out of range
load URL -r NaN                                  | out of range
load URL -r Inf                                  | out of range
load URL -r 1e308                                | out of range
load URL -r ''                                   | --rate is empty
load URL -u 0                                    | --users is 0
load URL -u -1                                   | none may be negative
load URL -r 1 -d 0                               | --duration is 0s
load URL -r 1 -d -1s                             | not above zero
load URL -r 1 -d 1                               | missing unit
load URL -r 1 -d 2562047h                        | longer than 168h
load URL -r 1 -d 9999999999h                     | invalid duration
load URL -r 1 --timeout 0                        | --timeout is 0s
load URL -r 1 --timeout -1s                      | negative
load URL -r 1 --timeout 2562047h                 | longer than 168h
load URL -r 1 -c 0                               | --connections is 0
load URL -r 1 -c -1                              | -1 connections
load URL -r 1 --http2 --streams -1               | -1 streams
load URL -r 1 --loops 0                          | --loops is 0
load URL -r 1 --loops 100000                     | 100000 loops
load URL -r 1 --seed 0                           | --seed is 0
load URL -r 1 --agents -1                        | --agents is -1, expected 1 to 1000
load URL -r 1 --agents 1000000000                | --agents is 1000000000, expected 1 to 1000
load URL -r 1 --agents 1 --agent x               | give either --agents
load URL -r 1 --trace-share NaN                  | "NaN" is no share
load URL -r 1 --trace-share 0/0                  | "0/0" is no share
load URL -r 1 --resolution 1.1                   | --resolution belongs to --search
load URL -r 1 --search --objective p99<1s --resolution NaN | --resolution is NaN
load URL -r 1 --search --objective p99<1s --resolution 1 | --resolution is 1, expected a ratio from 1.002
load URL -r 1 --search --objective p99<1s --resolution Inf | --resolution is +Inf
load URL --ramp 1:NaN                            | out of range
load URL --steps 1:1:5:2562047h                  | longer than 168h
load URL --steps 1:1:1000000000:1s               | use 1 to 10000 steps
load URL --spike 1:2:2562047h:2562047h           | is not within the load
load URL --replay pipe                           | pipe is a pipe
load URL --replay folder                         | folder is a folder
load URL -u 1 --think -1s                        | none may be negative
load URL -u 1 --think 2562047h                   | longer than 168h
load URL -u 2 --ramp-up 2562047h                 | not shorter than the load
load URL -r 1 --pacing grid:2562047h             | no length of a grid
load URL -r 1 --objective p99<NaN                | "NaN" is not a time
load URL -r 1 --objective ''                     | --objective is empty
load URL -r 1 --progress bogus                   | expected auto, terminal, plain, json, none
load URL -r 1 --json - --hgrm /dev/stdout        | both take standard output
load URL -r 1 --expect-status 99999              | expected status "99999"
load URL -r 1 --body @pipe                       | --body: pipe is a pipe
load URL -r 1 --body @/dev/zero                  | --body: /dev/zero is a device
load URL -r 1 --ca pipe                          | --ca: pipe is a pipe
load URL -r 1 --allow pipe                       | --allow: pipe is a pipe
load URL -r 1 --proto-set /dev/zero              | --proto-set: /dev/zero is a device
load URL -r 1 --rat 2                            | unknown flag: --rat (did you mean "rate"?)
load http:// -r 1                                | names no host
load http://127.0.0.1:99999/ -r 1                | port "99999" is out of range
load ftp://127.0.0.1/ -r 1                       | scheme "ftp" is not supported
load pipe -r 1                                   | scenario: pipe is a pipe
load /dev/zero -r 1                              | scenario: /dev/zero is a device
load piped.yaml -r 1                             | pipe is a pipe
load import pipe                                 | pipe is a pipe
load import /dev/zero                            | /dev/zero is a device
load import folder                               | folder is a folder
load import ''                                   | no such file
load import own.yaml --format bogus              | neither a HAR recording
agent --job @pipe                                | pipe is a pipe
compare a=URL b=URL --rate 1 --blocks 1001       | --blocks is 1001
compare a=URL b=URL --rate 1 --blocks -1         | --blocks is -1
compare a=URL b=URL --rate 1 --margin NaN        | --margin is NaN
compare a=URL b=URL --rate 1 --margin 1          | --margin is 1, expected a share from 0 to below 1
compare a=URL b=URL --rate 1 -d 2562047h         | expected 1s to 168h
compare a=URL b=URL --rate 1 --warm-up 2562047h  | expected 0s to 168h
compare a=URL b=URL --rate 1 --warm-up soon      | invalid argument "soon" for "--warm-up"
compare a=URL b=URL --rate 1 --warm-up-limit 2s  | --warm-up-limit is 2s, expected 5s to 3600s
compare a=URL b=URL --rate 1 --warm-up 9s --warm-up-limit 8s | expected 9s to 3600s
compare a=URL b=URL --rate NaN                   | out of range
compare a=URL b=URL --users -1                   | expected a number from 1 on
compare a=URL b=URL --rate ''                    | --rate is empty
compare a=URL b=URL --rate 1 --scenario pipe     | pipe is a pipe
compare a=URL b=URL --rate 1 --allow /dev/zero   | /dev/zero is a device
compare pipe b=URL --rate 1                      | pipe is a pipe
compare piped-compose.yaml b=URL --rate 1        | pipe is a pipe
compare folder b=URL --rate 1                    | there is no Deployment
check shop --operations 0                        | use 1 to 1000000
check shop --operations 9223372036854775807      | use 1 to 1000000
check shop --architecture ''                     | --architecture is empty
check shop --architecture sync,sync              | there are two variants "sync"
bottleneck people --units persons,persons        | there are two variants "persons-x2"
check shop --deploy kubernetes --kubeconfig ''   | --kubeconfig is empty
check shop --hosts a,,b                          | "" is no host
check shop --plan --progress bogus               | expected auto, terminal, plain, json, none
check shop --fault kill:every-unit@2562047h      | no time span
check shop --fault kill:every-unit+-1s           | no time span
explain shop --rate NaN                          | --rate is NaN
explain shop --rate 1e6                          | --rate is 1e+06, expected operations per second above 0 and at most
model shop --rate Inf                            | --rate is +Inf
model shop --rate 5 --further-rates 9,NaN        | --further-rates has NaN, expected
bottleneck people --cpu NaN                      | --cpu is NaN, expected processors such as 0.2
bottleneck people --cpu Inf                      | --cpu is +Inf
bottleneck people --users 0                      | --users is 0
bottleneck people --level case=NaN               | case is "NaN"
check people --architecture services --replicas gateway=0 | gateway is 0: use 1 to 20
run own.yaml --plan --profile=-1                 | -1 blocks cannot be profiled
compare a=URL b=URL --rate 1 --lengthen NaN      | --lengthen is NaN
explain shop --margin -0.1                       | --margin is -0.1
explain shop --blocks 1001                       | --blocks is 1001
explain shop -d 2562047h                         | expected 1s to 168h
explain shop --from ''                           | --from is empty
`

// TestArgumentsThatNoCommandTakes: the program ends at once, with the code for bad arguments and a message
// that says what to do. Nothing is played.
func TestArgumentsThatNoCommandTakes(t *testing.T) {
	dir := hostileFolder(t)
	for row := range strings.Lines(strings.TrimSpace(argumentRows)) {
		line, phrase, _ := strings.Cut(strings.TrimSpace(row), " | ")
		t.Run(strings.TrimSpace(line), func(t *testing.T) {
			t.Parallel()
			var args []string
			for word := range strings.FieldsSeq(strings.ReplaceAll(line, "URL", "http://127.0.0.1:1/")) {
				args = append(args, strings.ReplaceAll(word, "''", ""))
			}
			code, said := runLimited(t, dir, args...)
			if phrase = strings.TrimSpace(phrase); code != exitBadPlan || !strings.Contains(said, phrase) ||
				strings.Contains(said, "goroutine ") {
				t.Errorf("exit code %d, want %d, and the text %q:\n%s", code, exitBadPlan, phrase, said)
			}
		})
	}
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(dir, "results")); !errors.Is(err, os.ErrNotExist) {
			t.Error("something was played")
		}
	})
}

// TestAFileToImportIsNamedAndNotPrinted: a file of another load tool, given as a scenario, fails with a
// message that names the import command and does not quote the file.
func TestAFileToImportIsNamedAndNotPrinted(t *testing.T) {
	dir := t.TempDir()
	const secret = "4f0c1a8be6d9"
	files := map[string]string{
		"plan.jmx": `<?xml version="1.0"?><jmeterTestPlan version="1.2"><hashTree><TestPlan testname="` + secret +
			`"/></hashTree></jmeterTestPlan>`,
		"shop.har": `{"log": {"version": "1.2", "entries": [], "comment": "` + secret + `"}}`,
		"api.yaml": "openapi: 3.0.0\ninfo: {title: " + secret + ", version: 1}\npaths: {}\n",
	}
	writeFiles(t, dir, files)
	for name := range files {
		code, said := runLimited(t, dir, "load", name, "-r", "1")
		if code != exitBadPlan || !strings.Contains(said, "make one of it with cleave load import "+name) ||
			strings.Contains(said, secret) || strings.Count(said, "\n") > 3 {
			t.Errorf("%s: exit code %d: %s", name, code, said)
		}
	}
}

// runLimited runs cleave in a folder, with limited memory and time: if it waits for a pipe, it is killed
// after a minute.
func runLimited(t *testing.T, dir string, args ...string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "prlimit",
		append([]string{"--as=8589934592", filepath.Join(binaries, "cleave")}, args...)...)
	command.Dir = dir
	return finish(t, command)
}

// hostileFolder returns a folder with the files that the rows name.
func hostileFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const study = "schema: cleave-study/1\nname: own\ntitle: A test\nsystem: big\nbaseline: a\nvariants:\n  " +
		"a: {architecture: threads}\n  b: {architecture: http}\n"
	const shop = "schema: cleave-study/1\nname: own\ntitle: A test\nsystem: shop\nbaseline: a\nvariants:\n  " +
		"a: {architecture: monolith}\n"
	var levels []string
	for n := range 60 {
		levels = append(levels, strconv.Itoa(n+1))
	}
	writeFiles(t, dir, map[string]string{
		"own.yaml": study + "points:\n  p: {neighbourhoods: 1, workers: 2, pings: 1}\n",
		"huge.yaml": study + "design: {blocks: 1000}\nfactors:\n  neighbourhoods: [" +
			strings.Join(levels, ", ") + "]\n  workers: [2]\n  pings: [1]\n",
		"objective.yaml": shop + "points: {p: {orders: 5}}\nload: {objective: nonsense}\n",
		"pointless.yaml": shop + "points: {p: {rate: 0}}\nload: {duration: 1s}\n",
		"large.yaml":     study + "#" + strings.Repeat("x", 262145-len(study)-1),
		"piped.yaml": "schema: cleave-scenario/1\nname: x\ntarget: http://127.0.0.1:1\ndata: {d: {csv: " +
			"pipe}}\nflows: [{name: y, steps: [{request: GET /}]}]\n",
		"damaged-run/plan.json": "{",
		"piped-compose.yaml":    "schema: cleave-system/1\nname: x\nurl: http://127.0.0.1:1\ncompose: pipe\n",
	})
	if err := errors.Join(
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		os.Mkdir(filepath.Join(dir, "broken-run"), 0o700),
		syscall.Mkfifo(filepath.Join(dir, "broken-run", "plan.json"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	return dir
}
