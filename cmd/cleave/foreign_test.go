package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestForeignScripts runs check, explain and bottleneck on compose files and commands, whose services are the
// server of testdata/server.
func TestForeignScripts(t *testing.T) {
	servers := serverFolder(t)
	if testset.All() {
		t.Parallel()
		dockertest.Once(t, composeImage, buildServer)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/foreign",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", strings.Join([]string{binaries, servers, env.Getenv("PATH")},
				string(os.PathListSeparator)))
			env.Setenv("DOCKER_HOST", os.Getenv("DOCKER_HOST"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".settings"))
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "valid": valid,
		},
	})
}
