package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/deploy/gluster"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/internal/testset"
)

// Variables with the number of kills and the seed of their random moments; `make kills` sets them.
const killsVariable, killsSeedVariable = "CLEAVE_KILLS", "CLEAVE_KILLS_SEED"

// gonePatience is the time after a kill until everything must be removed: keepers give
// foreign programs ten seconds to end.
const gonePatience = 60 * time.Second

// victim is a command of cleave that is killed.
type victim struct {
	name      string
	arguments []string
	needs     []server.Kind
	disk      bool          // it has a replicated disk
	length    time.Duration // it is killed within this time, which is reduced if the command ends earlier
	killed    int
	longest   time.Duration // the longest time from a kill until everything was removed
}

// victims returns the commands to kill, in this order.
func victims(t *testing.T) []*victim {
	t.Helper()
	web := filepath.Join(serverFolder(t), "server") + " -port {port}"
	const mixed, short, long = "mariadb,rabbitmq,mongo", 8 * time.Second, 20 * time.Second
	three := []server.Kind{server.MariaDB, server.RabbitMQ, server.Mongo}
	shop := []string{"check", "shop", "--operations", "300"}
	return []*victim{
		{name: "check", arguments: shop, length: short},
		{name: "check on servers", arguments: append(slices.Clone(shop), "--architecture", "sync,async",
			"--backing", mixed), needs: three, length: long},
		{name: "check on a replicated disk", arguments: append(slices.Clone(shop), "--architecture", "async-dfs"),
			disk: true, length: long},
		{name: "reproduce rego2021", arguments: []string{"reproduce", "rego2021", "--quick", "--points", "s1,s5"},
			length: short},
		{name: "check on nodes", arguments: append(slices.Clone(shop), "--architecture", "monolith-ha", "--knob",
			"balancer=pair"), length: short},
		{name: "check on postgres", arguments: append(slices.Clone(shop), "--architecture", "monolith,async",
			"--backing", "postgres"),
			needs: []server.Kind{server.Postgres}, length: long},
		{name: "compare", arguments: []string{"compare", "a=" + web, "b=" + web, "--rate", "50", "-d", "1s",
			"--blocks", "2", "--cores", "none"}, length: short},
		{name: "explain", arguments: []string{"explain", "shop", "--quick"}, length: short},
		{name: "explain on postgres", arguments: []string{"explain", "shop", "--quick", "--backing", "postgres"},
			needs: []server.Kind{server.Postgres}, length: long},
		{name: "reproduce costa2022 on servers", arguments: []string{"reproduce", "costa2022", "--quick",
			"--backing", mixed}, needs: three, length: long},
		{name: "reproduce costa2022", arguments: []string{"reproduce", "costa2022", "--quick"}, length: short},
	}
}

// TestKillsLeaveNothing kills cleave at random moments, alone and with its process
// group. Soon after that nothing must be left, without a clean.
func TestKillsLeaveNothing(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	count := number(t, killsVariable, 6)
	seed := number(t, killsSeedVariable, time.Now().Unix())
	t.Logf("seed %d: repeat it with %s=%d %s=%d", seed, killsVariable, count, killsSeedVariable, seed)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	missing := map[server.Kind]bool{}
	for _, kind := range server.Kinds() {
		_, err := server.New(kind, server.Settings{})
		missing[kind] = err != nil
	}
	all := slices.DeleteFunc(victims(t), func(v *victim) bool {
		absent := slices.ContainsFunc(v.needs, func(kind server.Kind) bool { return missing[kind] }) ||
			v.disk && gluster.Missing() != nil
		if absent {
			t.Logf("%s is left out: this host lacks one of %v, or GlusterFS", v.name, v.needs)
		}
		return absent
	})
	for kills := 0; kills < int(count) && !t.Failed(); {
		v := all[kills%len(all)]
		after := time.Duration(random.Int64N(int64(v.length)))
		withGroup := random.IntN(2) == 0
		length, took, killed := v.kill(t, after, withGroup)
		if !killed {
			v.length = min(v.length, length) // it had ended before: choose an earlier moment
			continue
		}
		kills++
		v.killed++
		v.longest = max(v.longest, took)
		t.Logf("kill %d: %s after %v, gone after %v", kills, v.name, after.Round(time.Millisecond),
			took.Round(time.Millisecond))
	}
	for _, v := range all {
		t.Logf("%3d kills of %s: all was gone after %v at most", v.killed, v.name,
			v.longest.Round(time.Millisecond))
	}
}

// number returns the number in an environment variable, or the default if it is not set.
func number(t *testing.T, variable string, usual int64) int64 {
	t.Helper()
	text, set := os.LookupEnv(variable)
	if !set {
		return usual
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// kill starts the command and kills it after some time, with its process group if withGroup is set. It
// returns the time until the kill, the time after it until everything was removed, and whether the command
// was still running at the kill.
func (v *victim) kill(
	t *testing.T, after time.Duration, withGroup bool,
) (length, took time.Duration, killed bool) {
	t.Helper()
	tmp := shortDir(t)
	e := &experiment{t: t, dir: t.TempDir()}
	command := with(program("", append(slices.Clone(v.arguments), "--results",
		filepath.Join(e.dir, "results"))...), "TMPDIR="+tmp)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	had := belongings{tmp: tmp, tree: map[launch.ID]bool{}, sockets: map[string]bool{}, memory: memoryFiles()}
	begin := time.Now()
	e.startCommand(command)
	had.label = e.label()
	ended := make(chan struct{})
	go func() {
		_ = e.Cmd.Wait() // it was killed, or its end is checked below
		close(ended)
	}()
	select {
	case <-ended:
		if code := e.Cmd.ProcessState.ExitCode(); code == exitBadPlan || code == exitMissingPart {
			t.Fatalf("%s ended by itself with %d:\n%s", v.name, code, e.errOut.String())
		}
		return time.Since(begin), 0, false
	case <-time.After(after):
	}
	for _, pid := range descendants(t, e.Process.Pid) {
		had.remember(t, pid)
	}
	target := e.Process.Pid
	if withGroup {
		target = -target
	}
	if err := syscall.Kill(target, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	died := time.Now()
	<-ended
	left := had.left(t)
	for ; len(left) > 0 && time.Since(died) < gonePatience; left = had.left(t) {
		time.Sleep(50 * time.Millisecond)
	}
	if len(left) > 0 {
		t.Errorf("%s was killed after %v (its group too: %t); %v later there are:\n%s",
			v.name, after, withGroup, gonePatience, strings.Join(left, "\n"))
	}
	return after, time.Since(died), true
}

// belongings holds the resources of a cleave at the moment of its kill, and the state from
// which later ones are found.
type belongings struct {
	tmp, label string             // its TMPDIR, and the label of its processes
	tree       map[launch.ID]bool // its processes
	sockets    map[string]bool    // listening sockets, by inode
	memory     map[string]bool    // all files in /dev/shm before the start
}

// remember adds a process with its sockets.
func (h *belongings) remember(t *testing.T, pid int) {
	t.Helper()
	id, exists := processID(t, pid)
	if !exists {
		return // it has ended
	}
	h.tree[id] = true
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		target, err := os.Readlink(link)
		if inode, is := strings.CutPrefix(target, "socket:["); err == nil && is {
			h.sockets[strings.TrimSuffix(inode, "]")] = true
		}
	}
}

// left returns the resources that still exist. Long because it checks every kind.
func (h *belongings) left(t *testing.T) (left []string) {
	t.Helper()
	for id := range h.tree {
		if id.Fate() != launch.Ended {
			left = append(left, fmt.Sprintf("process %d", id.PID))
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range processes {
		for _, file := range []string{"environ", "cmdline"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			names := func(what string) bool { return bytes.Contains(text, []byte(what)) }
			if err == nil && (names(h.tmp) || names("CLEAVE_RUN="+h.label+"\x00")) {
				begin := bytes.ReplaceAll(text[:min(200, len(text))], []byte{0}, []byte(" "))
				left = append(left, fmt.Sprintf("%s: %s", dir, begin))
			}
		}
		if work, err := os.Readlink(filepath.Join(dir, "cwd")); err == nil && strings.HasPrefix(work, h.tmp) {
			left = append(left, dir+" works in "+work)
		}
	}
	links, _ := filepath.Glob("/sys/class/net/cleave-*/ifalias")
	for _, link := range links {
		if alias, err := os.ReadFile(link); err == nil && strings.TrimSpace(string(alias)) == h.label {
			left = append(left, link)
		}
	}
	mounted := mounts(t)
	walked := filepath.WalkDir(h.tmp, func(path string, _ os.DirEntry, err error) error {
		if path != h.tmp && len(left) < 20 {
			left = append(left, path)
		}
		if mounted[path] {
			return filepath.SkipDir // what a dead process mounted may never answer
		}
		return nil // files may be removed meanwhile
	})
	for _, line := range tableOf(t, "/proc/net/tcp") { // proc(5): the state, 0A for LISTEN, and the inode
		if fields := strings.Fields(line); len(fields) > 9 && fields[3] == "0A" && h.sockets[fields[9]] {
			left = append(left, "a socket that listens: "+line)
		}
	}
	for _, line := range tableOf(t, "/proc/sysvipc/shm") { // proc(5): the fifth field is the creator's PID
		for id := range h.tree {
			if fields := strings.Fields(line); len(fields) > 4 && strconv.Itoa(id.PID) == fields[4] {
				left = append(left, "shared memory: "+line)
			}
		}
	}
	for name := range memoryFiles() {
		if !h.memory[name] && !strings.Contains(name, "hrom") { // other tests run Chromium
			left = append(left, name)
		}
	}
	found, err := leftovers.Docker(func(l string) bool { return l == h.label })
	for _, leftover := range found {
		left = append(left, leftover.String())
	}
	if err = errors.Join(walked, err); err != nil {
		t.Fatal(err)
	}
	return left
}

// mounts returns the mount points of this host.
func mounts(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, line := range tableOf(t, "/proc/self/mountinfo") { // proc(5): the fifth field is the mount point
		if fields := strings.Fields(line); len(fields) > 4 {
			all[fields[4]] = true
		}
	}
	return all
}

// memoryFiles returns the files of POSIX shared memory on this host.
func memoryFiles() map[string]bool {
	names, _ := filepath.Glob("/dev/shm/*")
	found := map[string]bool{}
	for _, name := range names {
		found[name] = true
	}
	return found
}

// tableOf returns the lines of a table of the kernel.
func tableOf(t *testing.T, path string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		all = append(all, scanner.Text())
	}
	return all
}
