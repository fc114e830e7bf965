package deploytest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// Folder makes the folder of a trial and returns its path.
func Folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trial")
	testset.Must(t, os.Mkdir(dir, 0o700))
	return dir
}

// programInAFolder deploys a foreign program from a folder that it may read, and checks that the
// lead starts only when the program is ready. In a container the program cannot write there.
func programInAFolder(t *testing.T, s *suite) {
	folder := filepath.Dir(s.program)
	testset.Must(t, os.WriteFile(filepath.Join(folder, "goods"), []byte("flour"), 0o644))
	want := "flour"
	if s.Name() == lab.Process {
		want += ", may write"
	}
	l := Layout("shelf")
	early, ready := false, false
	l.Units[1] = lab.UnitSpec{
		Name: "shelf", Role: "shelf",
		Runnable: lab.Runnable{Foreign: true, Program: s.program, Args: []string{"shelf", folder}},
		Lifecycle: lab.Lifecycle{
			Ready: func(_ context.Context, address string) error {
				if _, err := os.Stat(filepath.Join(s.dir, l.Lead)); !errors.Is(err, fs.ErrNotExist) {
					early = true
				}
				err := checkAnswer(address, want)
				ready = err == nil
				return err
			},
		},
		Networking: lab.Networking{Listens: true},
		Storage:    lab.Storage{Reads: []string{folder}},
	}
	d := s.deploy(t, l)
	if early || !ready {
		t.Errorf("the lead was started early (%t); the shelf was found to be ready: %t", early, ready)
	}
	job(t, d)
	harm(t, d, "shelf", lab.FaultKill)
	heal(t, d, "shelf", lab.FaultKill)
	answers(t, d, "shelf", want)
}

// secretsOfTheHost checks that a program of this host, whose container has this host's /etc, reads only what
// every user may read there. A user's program may write into its folder and has the usual capabilities.
func secretsOfTheHost(t *testing.T, s *suite) {
	if s.Name() == lab.Process || s.Name() == lab.SSH {
		t.Skip("its units are processes of their hosts")
	}
	l := Layout("stock")
	folder := t.TempDir()
	l.Units = append(l.Units, lab.UnitSpec{
		Name: "spy", Role: "spy",
		Runnable: lab.Runnable{
			Foreign: true, Program: "sh",
			Args: []string{"-c", `cat /etc/shadow; grep CapEff /proc/self/status; echo that is all; exec sleep 1000`},
		},
		Lifecycle: lab.Lifecycle{Readiness: lab.Readiness{Log: "that is all"}},
		Storage:   lab.Storage{Reads: []string{t.TempDir()}}, // skips the test where nodes lack this host's folders
	}, lab.UnitSpec{
		Name: "tool", Role: "tool",
		Runnable: lab.Runnable{
			Foreign: true, Program: "sh", Dir: folder,
			Args: []string{"-c", `grep CapBnd /proc/self/status; touch made; echo that is all; exec sleep 1000`},
		},
		Lifecycle: lab.Lifecycle{Readiness: lab.Readiness{Log: "that is all"}},
		Storage:   lab.Storage{Mounts: []string{folder}},
	})
	d := s.deploy(t, l)
	if _, err := os.Stat(filepath.Join(folder, "made")); err != nil ||
		strings.Contains(d.Logs()["tool"], "CapBnd:\t0000000000") {
		t.Errorf("the program of the user's says %q, and has left: %v", d.Logs()["tool"], err)
	}
	log := d.Logs()["spy"]
	if strings.Contains(log, "root:") || !strings.Contains(log, "CapEff:\t0000000000000000") {
		t.Errorf("it reads /etc/shadow, or has capabilities of root: it writes %d bytes", len(log))
	}
	job(t, d)
}

// whatIsLeft ends a foreign program that writes files only at its end, and checks that regular
// ones are handed over, and nothing else.
func whatIsLeft(t *testing.T, s *suite) {
	l := Layout("stock")
	l.Units = append(l.Units, lab.UnitSpec{
		Name: "diary", Role: "diary",
		Runnable: lab.Runnable{
			Foreign: true, Program: "sh", Files: map[string][]byte{"notes/": nil},
			Args: []string{"-c",
				`trap 'echo the end > notes/page; ln -s /etc/passwd notes/link; exit 0' TERM; echo waits; ` +
					`while :; do sleep 0.1; done`},
		},
		Lifecycle: lab.Lifecycle{Readiness: lab.Readiness{Log: "waits"}}, // the trap is set
		Storage:   lab.Storage{Leaves: "notes"},
	})
	d := s.play(t, l)
	reportsOf(t, d)
	testset.Must(t, d.EndForeign(Within(t)))
	left, err := filepath.Glob(filepath.Join(d.HandedOver(), "diary.*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "diary.page" {
		t.Fatalf("it left %q (%v), want diary.page", left, err)
	}
	if text, err := os.ReadFile(left[0]); err != nil || string(text) != "the end\n" {
		t.Errorf("it left %q (%v)", text, err)
	}
	goesOn(t, d)
}

// looksUpOnce deploys a foreign program that resolves its peers once at its start, and ends if it cannot. It
// is the first of the layout, and must start last.
func looksUpOnce(t *testing.T, s *suite) {
	names := []string{"front", "stock", "crates", "scales", "till", "ramp"}
	l := Layout(names...)
	proxy := lab.UnitSpec{
		Name: "proxy", Role: "proxy",
		Runnable: lab.Runnable{
			Foreign: true, Program: s.program, Args: append([]string{"proxy"}, names...),
		},
		Networking: lab.Networking{Listens: true, Peers: names},
		Storage:    lab.Storage{Reads: []string{filepath.Dir(s.program)}},
	}
	l.Units[0].Args = append(l.Units[0].Args, proxy.Name)
	l.Units[0].Peers = append(slices.Clone(names), proxy.Name)
	l.Units = slices.Insert(l.Units, 0, proxy)
	d := s.play(t, l)
	answers(t, d, proxy.Name, "knows all")
	if all := d.Units(); all[0].Name != proxy.Name {
		t.Errorf("the units are %v, want them in the order of the layout", all)
	}
}
