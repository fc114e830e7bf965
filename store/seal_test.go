package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestMain keeps the keys of tests out of the user's settings.
func TestMain(m *testing.M) {
	settings, err := os.MkdirTemp("", "store-test-")
	if err == nil {
		err = os.Setenv("XDG_CONFIG_HOME", settings)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(settings); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// expectOwn opens the folder and checks that its plan counts as the user's own if want is true, else that it
// does not. why describes the case.
func expectOwn(t *testing.T, dir string, want bool, why string) {
	t.Helper()
	f, err := Open(dir)
	testset.Must(t, err)
	if _, own, err := f.PlanWithSeal(); err != nil || own != want {
		t.Errorf("%s: own is %t, %v; want %t", why, own, err, want)
	}
}

// TestOnlyAnOwnUnchangedPlanIsOwn checks the seal of changed plans, with wrong seals, and for another user.
func TestOnlyAnOwnUnchangedPlanIsOwn(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	f, err := Create(t.TempDir(), plan(), nil)
	testset.Must(t, err)
	expectOwn(t, f.Dir(), true, "as it was made")
	key := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "cleave", "plan.key")
	for path, want := range map[string]os.FileMode{key: 0o600, filepath.Dir(key): 0o700} {
		info, err := os.Stat(path)
		testset.Must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s: %v, want %v", path, info.Mode().Perm(), want)
		}
	}
	whole, err := os.ReadFile(f.Path(planFile))
	testset.Must(t, err)
	write := func(name, text string) {
		t.Helper()
		testset.Must(t, os.WriteFile(f.Path(name), []byte(text), 0o644))
	}
	write(planFile, strings.Replace(string(whole), `"full"`, `"quick"`, 1))
	expectOwn(t, f.Dir(), false, "a changed plan")
	write(planFile, string(whole))
	expectOwn(t, f.Dir(), true, "the plan as it was")
	again, err := Create(t.TempDir(), plan(), nil)
	testset.Must(t, err)
	expectOwn(t, again.Dir(), true, "a second folder with the same key")
	for name, text := range map[string]string{"nothing": "", "half a seal": "abcd",
		"no hexadecimal": "\x1b[2J"} {
		write(sealFile, text)
		expectOwn(t, f.Dir(), false, name)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	expectOwn(t, again.Dir(), false, "another user, without a key")
	_, err = Create(t.TempDir(), plan(), nil)
	testset.Must(t, err)
	expectOwn(t, again.Dir(), false, "another user, with a key")
}

func TestWithoutSettingsThereIsNoSeal(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/dev/null")
	f, err := Create(t.TempDir(), plan(), nil)
	testset.Must(t, err)
	expectOwn(t, f.Dir(), false, "a plan without a seal")
}

// TestAPlanToBePlayedHasNothingUnknown checks that unknown fields are refused before a plan is played, but
// not when it is only read.
func TestAPlanToBePlayedHasNothingUnknown(t *testing.T) {
	f, err := Create(t.TempDir(), plan(), nil)
	testset.Must(t, err)
	whole, err := os.ReadFile(f.Path(planFile))
	testset.Must(t, err)
	testset.Must(t, f.Write(planFile, []byte(strings.Replace(string(whole), `"profile"`, `"hook": "x", "profile"`,
		1))))
	if _, _, err := f.PlanWithSeal(); err == nil || !strings.Contains(err.Error(), "hook") {
		t.Errorf("it may be played: %v", err)
	}
	if _, err := f.Plan(); err != nil {
		t.Errorf("it cannot be reported any more: %v", err)
	}
}
