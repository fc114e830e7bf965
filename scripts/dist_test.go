// Package scripts tests scripts that no other test runs.
//
// Entry points: TestDistRunsAlone for dist.sh; TestUsageFromAnyFolder and
// TestAFailedInstallationIsNotMarkedAsComplete for scripts of the airline;
// TestAnInterruptedInstallationIsRepeated for need.sh.
package scripts

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
)

// debianFile is the name of the file system of Debian that scripts/need.sh creates in the cache folder.
const debianFile = "debian-bookworm.tar"

// TestDistRunsAlone unpacks the archive of make dist in a plain Debian container without
// network, and plays the demo there.
func TestDistRunsAlone(t *testing.T) {
	dockertest.Start(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	debian := filepath.Join(cache, "cleave", debianFile)
	if _, err := os.Stat(debian); err != nil {
		t.Skipf("there is no file system of Debian for a container: %v: type scripts/need.sh test-all", err)
	}
	archive := dist(t)
	checkDist(t, archive)
	const image = "cleave-test-debian"
	runDocker(t, "import", debian, image)
	t.Cleanup(func() { runDocker(t, "rmi", "--force", image) })
	text := runDocker(t, "run", "--rm", "--network", "none", "--volume", archive+":/cleave.tar.gz:ro", image,
		"bash", "-euc", `
			mkdir /opt/some && cd /opt/some && tar -xzf /cleave.tar.gz && cd /home
			dist=$(echo /opt/some/*) && ln -s "$dist/bin/cleave" /usr/bin/cleave
			bash -n "$dist/share/bash-completion/completions/cleave"
			cleave --version
			cleave explain shop --from monolith --to async --quick
			grep -q "^@observablehq/plot" results/explain/latest/report.html
			cleave clean`)
	for _, want := range []string{"cleave version v1-test", "How sure", "monolith -> async"} {
		if !strings.Contains(text, want) {
			t.Errorf("the output of the demo in a container has no %q: %s", want, text)
		}
	}
}

// dist creates the archive for this processor and returns its path.
func dist(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	command := exec.Command("./dist.sh", folder, "v1-test", runtime.GOARCH)
	command.Env = append(os.Environ(), "MAKEFLAGS=")
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("make the archive: %v\n%s", err, text)
	}
	return filepath.Join(folder, "cleave-v1-test-linux-"+runtime.GOARCH+".tar.gz")
}

// checkDist checks that the archive has all parts, and that owners and modes are independent
// of the user who created it.
func checkDist(t *testing.T, archive string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for entries := tar.NewReader(unzipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(entry.Name, "cleave-v1-test-linux-"+runtime.GOARCH+"/"))
		if entry.Uid != 0 || entry.Gid != 0 || entry.Mode&0o022 != 0 {
			t.Errorf("%s has owner %d:%d and mode %o: want 0:0, writable only for its owner", entry.Name,
				entry.Uid, entry.Gid, entry.Mode)
		}
	}
	for _, want := range []string{"bin/cleave", "bin/host-agent", "bin/unit/shop", "bin/unit/nats", "LICENSE",
		"docs/consent.md", "licences/go/LICENSE", "licences/github.com/spf13/cobra@v1.10.2/LICENSE.txt",
		"licences/modernc.org/sqlite@v1.61.1/LICENSE", "licences/report.md", "share/man/man1/cleave.1",
		"share/man/man1/cleave-explain.1", "share/bash-completion/completions/cleave",
		"share/zsh/site-functions/_cleave", "share/fish/vendor_completions.d/cleave.fish"} {
		if !slices.Contains(names, want) {
			t.Errorf("the archive has no %s", want)
		}
	}
}

// runDocker runs a docker command and returns its output.
func runDocker(t *testing.T, args ...string) string {
	t.Helper()
	text, err := exec.Command("docker", args...).CombinedOutput()
	if err != nil {
		t.Errorf("docker %s: %v\n%s", args[0], err, text)
	}
	return string(text)
}
