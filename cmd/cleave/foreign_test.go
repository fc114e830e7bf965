package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/systems/external"
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

// TestConsentForURLs: --allow is read before anything is played. It bounds operations, not flows, and the
// longest time to which the conductor may lengthen load and warm-up: 52h0m8s is four times (--lengthen) the
// 13 hours and the warm-up of 2 s. A check may send all its operations within a second, and a search may
// begin at twice its rate. If the list cannot be read, that is the only error.
func TestConsentForURLs(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "list.yaml")
	flow := filepath.Join(dir, "flow.yaml")
	writeFiles(t, dir, map[string]string{
		"list.yaml": "allow:\n  - {host: 203.0.113.7, ports: [80], owner: me, max_rate: 9/s, hours: always,\n" +
			"     token: 4f0c1a8be6d94c7fa1b2, expires: " +
			time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly) + "}\n",
		"flow.yaml": "schema: cleave-scenario/1\nname: flow\nflows:\n  - {name: f, steps: [{request: GET /}, " +
			"{request: GET /}]}\n",
	})
	plan := "compare a=http://203.0.113.7 b=http://203.0.113.7:80 --plan "
	compare := plan + "--rate "
	for said, args := range map[string]string{
		"is not in the allow list":               compare + "1",
		"200 operations per second are planned":  plan + "--capacity --objective p99<50ms --allow " + list,
		"10 operations per second are planned":   compare + "10 --allow " + list,
		"12 operations per second are planned":   compare + "6 --allow " + list + " --scenario " + flow,
		"52h0m8s of load would end after":        compare + "1 -d 13h --allow " + list,
		"1000 operations per second are planned": "check http://203.0.113.7 --allow " + list,
	} {
		root := newRoot(strings.NewReader(""), io.Discard, io.Discard)
		root.SetArgs(strings.Fields(args))
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%v: %v, want %q", args, err, said)
		}
	}
	root := newRoot(strings.NewReader(""), io.Discard, io.Discard)
	root.SetArgs(strings.Fields(compare + "1 --allow " + flow))
	err := root.ExecuteContext(t.Context())
	if err == nil || !strings.Contains(err.Error(), flow) || strings.Contains(err.Error(), "no load on") {
		t.Errorf("a scenario as the list: %v, want an error about the file alone", err)
	}
}

// TestTextsOfOthersStayInComments: init writes what a compose file asks for into comments of the system file.
// A line break in it does not begin a key.
func TestTextsOfOthersStayInComments(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"compose.yaml": `services:
  web:
    image: nginx
    ports: ["8080:80"]
    volumes: [{type: bind, source: "/etc\naudit: {command: [x]}\u2028reset: [x]", target: /data}]
`})
	text, err := systemFile(filepath.Join(dir, "system.yaml"), filepath.Join(dir, "compose.yaml"), "")
	testset.Must(t, err)
	comments, _, _ := strings.Cut(string(text), "schema: ")
	expectTexts(t, "it", comments, "\n# audit: ", "reset: [x]")
	if strings.Contains(comments, "\u2028") {
		t.Errorf("YAML reads lines that are no comments in\n%s", comments)
	}
}

// TestAnyPathCanBeChanged by --to of explain: its blanks do not begin changes, and its "=" ends no name.
func TestAnyPathCanBeChanged(t *testing.T) {
	for _, folder := range []string{"my shop", "shop=1"} {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{folder + "/compose.yaml": `services:
  web: {image: nginx, ports: ["8080:80"]}
`})
		path := filepath.Join(dir, folder, "compose.yaml")
		s := makePlan(t, "explain", path, "--to", "web.replicas=2", "--rate", "10").Study
		if len(s.Steps) != 1 || s.Steps[0].Knob() != "web.replicas" {
			t.Errorf("in %s the steps are %+v", folder, s.Steps)
		}
	}
}

// TestNothingIsBuiltForAMistake: a build of images takes long, so flags are checked before.
func TestNothingIsBuiltForAMistake(t *testing.T) {
	built := filepath.Join(t.TempDir(), "built")
	flags := foreignFlags{build: true, builds: []external.Build{{Command: []string{"touch", built}}}}
	flags.documents.format = "xml"
	command := &cobra.Command{}
	command.SetContext(t.Context())
	_, err := app{secrets: secret.NewVault(os.LookupEnv)}.planForeign(command, nil, &flags,
		func(context.Context, []string) (lab.Plan, error) { return lab.Plan{}, nil })
	if _, missing := os.Stat(built); exitCode(err) != exitBadPlan || missing == nil {
		t.Errorf("exit code %d (%v), built: %t", exitCode(err), err, missing == nil)
	}
}

// cancelWriter ends a context when something is written.
type cancelWriter context.CancelFunc

func (c cancelWriter) Write(text []byte) (int, error) {
	c()
	return len(text), nil
}

// TestAnInterruptedBuildIsInterrupted: the build's own error only says that it was killed.
func TestAnInterruptedBuildIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := app{errOut: cancelWriter(cancel)}.buildImages(ctx,
		[]external.Build{{Command: []string{"sh", "-c", "echo begun; exec sleep 60"}}}, false)
	if code := exitCode(orInterrupted(ctx, err)); code != exitInterrupted {
		t.Errorf("exit code %d: %v", code, err)
	}
}
