package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/internal/testset"
)

// shortDir returns a folder for temporary files with a path that is short enough for Unix
// sockets below it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// rootIn returns the root of the private directories of a cleave whose TMPDIR is dir.
func rootIn(dir string) string { return filepath.Join(dir, filepath.Base(leftovers.Root())) }

// runCleave runs cleave with this TMPDIR to its end, and returns its exit code and what it printed. wrap is a
// command that runs it, such as unshare; empty: none.
func runCleave(t *testing.T, tmp string, wrap []string, arguments ...string) (code int, said string) {
	t.Helper()
	argv := slices.Concat(wrap, []string{filepath.Join(binaries, "cleave")}, arguments)
	return finish(t, with(exec.Command(argv[0], argv[1:]...), "TMPDIR="+tmp))
}

// namespaces returns a command that runs another one in new namespaces. It skips the test
// if this host does not permit that.
func namespaces(t *testing.T, flags ...string) []string {
	t.Helper()
	wrap := append([]string{"unshare"}, flags...)
	if out, err := exec.Command("unshare", append(flags, "true")...).CombinedOutput(); err != nil {
		t.Skipf("unshare %v: %v: %s", flags, err, out)
	}
	return wrap
}

// TestCleanSparesTheLiving runs a study in its own PID namespace, as in containers and CI
// jobs, and calls clean outside of it, also without a /proc that shows processes. clean must
// not remove anything of the study.
func TestCleanSparesTheLiving(t *testing.T) {
	testset.Need(t, "it plays whole studies")
	inside := namespaces(t, "--pid", "--fork", "--kill-child", "--mount-proc")
	for name, c := range map[string]struct {
		shared bool // inside and outside have the same folder for temporary files
		wrap   []string
		says   string
	}{
		"with the same scratch": {true, nil, "nothing to remove"},
		"with a scratch each":   {false, nil, "cannot be told from here"},
		"without /proc": {true, []string{"unshare", "--mount", "sh", "-c",
			`mount -t tmpfs none /proc && exec "$0" "$@"`},
			"/proc does not show"},
	} {
		t.Run(name, func(t *testing.T) {
			own := shortDir(t)
			other := shortDir(t)
			e := begin(t, 4000, "--plan") // only writes the study file
			e.code()
			argv := append(inside[1:], filepath.Join(binaries, "cleave"), "run", filepath.Join(e.dir, "long.yaml"),
				"--blocks", "1", "--results", e.results)
			e.startCommand(with(exec.Command(inside[0], argv...), "TMPDIR="+own))
			label := until(t, "it has a private directory", func() (string, bool) {
				entries, err := os.ReadDir(rootIn(own))
				if err != nil || len(entries) != 1 {
					return "", false
				}
				return entries[0].Name(), true
			})
			before := e.awaitWorkers(label)
			scratch := other
			if c.shared {
				scratch = own
			}
			code, said := runCleave(t, scratch, c.wrap, "clean")
			if !strings.Contains(said, c.says) || strings.Contains(said, "removed ") {
				t.Errorf("clean ended with %d and said %q, want %q", code, said, c.says)
			}
			for _, pid := range before {
				if err := syscall.Kill(pid, 0); err != nil && len(e.trials()) == 0 {
					t.Errorf("worker %d of a living trial: %v", pid, err)
				}
			}
			if code := e.code(); code != exitFine {
				t.Errorf("the study ended with %d after %q\n%s", code, said, e.errOut.String())
			}
			for _, trial := range e.trials() {
				if !trial.Valid {
					t.Errorf("trial %d was spoilt: %s", trial.Number, trial.Reason)
				}
			}
		})
	}
}

// TestCleanTellsWhatItCouldNotRemove: clean does not say that it removed a folder that it could not remove.
func TestCleanTellsWhatItCouldNotRemove(t *testing.T) {
	disk := shortDir(t)
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m,mode=700"); err != nil {
		t.Skipf("mounting a small disk needs root, run the tests as root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, 0) })
	own, err := launch.Own()
	if err != nil {
		t.Fatal(err)
	}
	// The directory of a process that has ended: this one has the same number, but was not started at tick 1.
	dir := filepath.Join(rootIn(disk), launch.ID{Scope: own.Scope, PID: own.PID, Start: "1"}.String())
	if err := os.MkdirAll(filepath.Join(dir, "services"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	code, said := runCleave(t, disk, nil, "clean")
	if code != exitFailed || strings.Contains(said, "removed directory "+dir) ||
		!strings.Contains(said, "remove "+dir+":") {
		t.Errorf("clean ended with %d and said %q, want code %d and %s named", code, said, exitFailed, dir)
	}
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	if code, said := runCleave(t, disk, nil, "clean"); code != exitFine ||
		!strings.Contains(said, "removed directory "+dir) {
		t.Errorf("clean ended with %d and said %q, want %s removed", code, said, dir)
	}
}

// TestAScratchThatSomebodyElseMadeIsNotUsed: neither runs nor clean use a folder or link of another user.
func TestAScratchThatSomebodyElseMadeIsNotUsed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving a folder to another user needs root: run the tests as root")
	}
	const other = 4711
	victim := t.TempDir() // the target of the other user's link
	kept := filepath.Join(victim, "1-1", "kept")
	for name, plant := range map[string]func(root string) error{
		"a folder": func(root string) error {
			return errors.Join(os.Mkdir(root, 0o700), os.Chmod(root, 0o777), os.Lchown(root, other, other))
		},
		"a link": func(root string) error {
			return errors.Join(os.Symlink(victim, root), os.Lchown(root, other, other))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tmp := shortDir(t)
			err := errors.Join(os.Chmod(tmp, 0o777|os.ModeSticky), plant(rootIn(tmp)),
				os.MkdirAll(filepath.Dir(kept), 0o700), os.WriteFile(kept, nil, 0o600))
			if err != nil {
				t.Fatal(err)
			}
			results := filepath.Join(t.TempDir(), "results")
			for _, c := range []struct {
				code      int
				arguments []string
			}{
				{exitFailed, []string{"clean"}},
				{exitMissingPart, []string{"check", "shop", "--architecture", "monolith", "--operations", "5",
					"--results", results}},
				{exitMissingPart, []string{"reproduce", "rego2021", "--quick", "--results", results}},
			} {
				code, said := runCleave(t, tmp, nil, c.arguments...)
				if code != c.code || !strings.Contains(said, "user 4711") || !strings.Contains(said, "TMPDIR=") ||
					strings.Contains(said, "removed ") {
					t.Errorf("cleave %v ended with %d and said %q, want code %d, who made the folder, and what to do",
						c.arguments, code, said, c.code)
				}
			}
			if _, err := os.Stat(kept); err != nil {
				t.Errorf("what the link points to: %v", err)
			}
			if _, err := os.Stat(results); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a result folder was made: %v", err)
			}
		})
	}
}

// TestFoldersForTemporaryFilesThatCannotBeUsed: such folders are refused before anything starts. The private
// files of RabbitMQ need a path that is safe in scripts, and Unix sockets need a short one.
func TestFoldersForTemporaryFilesThatCannotBeUsed(t *testing.T) {
	rabbit := []string{"check", "shop", "--architecture", "async", "--operations", "5", "--backing", "rabbitmq"}
	sockets := []string{"reproduce", "rego2021", "--quick", "--points", "s1"}
	for name, c := range map[string]struct {
		folder    string
		arguments []string
		want      string
	}{
		"a quote":      {`it's`, rabbit, "not every character of that path"},
		"quotes":       {`a "quoted" one`, rabbit, "not every character of that path"},
		"a dollar":     {`$HOME`, rabbit, "not every character of that path"},
		"too long":     {strings.Repeat("x", 90), sockets, "the kernel allows 107"},
		"is not there": {"nowhere/at/all", sockets, "not there: make it"},
	} {
		t.Run(name, func(t *testing.T) {
			tmp := filepath.Join(shortDir(t), c.folder)
			results := filepath.Join(t.TempDir(), "results")
			if !strings.Contains(c.folder, "/") {
				if err := os.Mkdir(tmp, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			code, said := runCleave(t, tmp, nil, append(c.arguments, "--results", results, "--strict")...)
			if code != exitMissingPart || !strings.Contains(said, c.want) || !strings.Contains(said, "TMPDIR") {
				t.Errorf("it ended with %d and said %q, want code %d and %q", code, said, exitMissingPart, c.want)
			}
			if _, err := os.Stat(results); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a result folder was made: %v", err)
			}
		})
	}
}
