package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestNewFindsPrograms checks that there is an answer for every kind of server: either its path and version,
// or a command that installs it.
func TestNewFindsPrograms(t *testing.T) {
	for _, kind := range Kinds() {
		found, err := New(kind, Settings{})
		switch {
		case err != nil && !strings.Contains(err.Error(), "type: "):
			t.Errorf("%s is missing, and the error has no command: %v", kind, err)
		case err == nil && ((found.Path == "") != (kind == NATS) || found.Version == ""):
			t.Errorf("%s is installed, but its path or version is wrong: %+v", kind, found.Installed)
		}
		t.Logf("%s: %v", kind, err)
	}
}

func TestMissingProgramNamesItsPackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for kind, want := range map[Kind]string{
		RabbitMQ:  "sudo apt-get install --no-install-recommends rabbitmq-server",
		Mongo:     "pip install secantusdb==" + secantusVersion,
		Cassandra: "type: scripts/need.sh test-all",
	} {
		_, err := New(kind, Settings{})
		missing, is := errors.AsType[*lab.MissingError](err)
		if !is || !strings.HasPrefix(missing.What, string(kind)+" ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %q", kind, err, want)
		}
	}
}

// fakeProgram creates an executable that prints a text, and returns its folder.
func fakeProgram(t *testing.T, name, output string) string {
	t.Helper()
	folder := t.TempDir()
	script := "#!/bin/sh\necho '" + output + "'\n"
	testset.Must(t, os.WriteFile(filepath.Join(folder, name), []byte(script), 0o755))
	return folder
}

func TestMongodIsPreferredToTheStandIn(t *testing.T) {
	folder := fakeProgram(t, "mongod", "db version v7.0.5")
	t.Setenv("PATH", folder)
	found, err := installedMongo()
	testset.Must(t, err)
	if found.StandIn != "" || found.Version != "7.0.5" || found.Path != filepath.Join(folder, "mongod") {
		t.Errorf("found %+v", found)
	}
	mongod, err := New(Mongo, Settings{})
	testset.Must(t, err)
	line := strings.Join(mongod.Unit("documents").Args, " ")
	if want := "--dbpath {dir}/data --bind_ip {host} --port {port} --wiredTigerCacheSizeGB 0.25 " +
		"--nounixsocket --auth"; line != want {
		t.Errorf("arguments %q, want %q", line, want)
	}
}

// TestABrokenMongodIsNotReplaced: the stand-in takes the place of a mongod that is not there, not of one that
// fails.
func TestABrokenMongodIsNotReplaced(t *testing.T) {
	t.Setenv("PATH", fakeProgram(t, "mongod", "hello")+":"+fakeProgram(t, secantusProgram, "1.0"))
	if found, err := installedMongo(); err == nil || !strings.Contains(err.Error(), "repair this mongod") {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestAProgramWithoutAVersionIsAnError(t *testing.T) {
	t.Setenv("PATH", fakeProgram(t, "mariadb", "hello")+":/bin")
	if _, err := installed(MariaDB, "mariadb", "-v"); err == nil ||
		!strings.Contains(err.Error(), "names no version: hello") {
		t.Errorf("error = %v", err)
	}
}

func TestFirstVersion(t *testing.T) {
	for text, want := range map[string]string{
		"mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64": "10.11.19",
		"postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)":                    "15.20",
		"secantusdb-0.7.0b3.dist-info":                                            "0.7.0b3",
		"no number":                                                               "",
	} {
		if got := firstVersion(text); got != want {
			t.Errorf("firstVersion(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestNeedScriptInstallsTheseVersions checks that scripts/need.sh installs the stand-in for MongoDB and
// Cassandra, which no package has, in the versions and folders that this package looks for.
func TestNeedScriptInstallsTheseVersions(t *testing.T) {
	script, err := os.ReadFile("../../scripts/need.sh")
	testset.Must(t, err)
	t.Setenv("XDG_CACHE_HOME", "/cache")
	for _, want := range []string{
		// The folder has the version in its name: otherwise a new version would not be installed.
		"pip_install secantusdb " + secantusVersion + " secantusdb-" + secantusVersion + " " + secantusProgram,
		"version=" + cassandraVersion + " ", strings.TrimSuffix(strings.TrimPrefix(cassandraFolder(), "/cache/"),
			cassandraVersion) + `$version"`,
	} {
		if !strings.Contains(string(script), want) {
			t.Errorf("scripts/need.sh has no %q", want)
		}
	}
	if want := "/cache/cleave/secantusdb-" + secantusVersion; standInFolder() != want {
		t.Errorf("the stand-in is looked for in %s, want %s", standInFolder(), want)
	}
	recipe, err := os.ReadFile("../../docs/recipes/hotel.sh")
	testset.Must(t, err)
	if want := "secantus=" + secantusVersion + "\n"; !strings.Contains(string(recipe), want) {
		t.Errorf("docs/recipes/hotel.sh has no %q", want)
	}
}
