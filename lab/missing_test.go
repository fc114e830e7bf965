package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestOneLineInstallsAll(t *testing.T) {
	commands := []string{AptInstall("nginx-light"), "make airline",
		AptInstall("maven", "haproxy") + " && make airline", "a && b", AptInstall("haproxy"), "", "b"}
	const want = "sudo apt-get install --no-install-recommends haproxy maven nginx-light && make airline && " +
		"a && b # make: in the folder of Cleave's sources"
	if got := InstallAll(commands); got != want {
		t.Errorf("the line is %q, want %q", got, want)
	}
	if got := InstallAll([]string{want}); got != want {
		t.Errorf("the line alone is %q, want %q", got, want)
	}
	if got := InstallAll(nil); got != "" {
		t.Errorf("without commands the line is %q, want it empty", got)
	}
}

func TestAMissingPartIsNamedOnce(t *testing.T) {
	balancer := &MissingError{What: "no balancer", Install: AptInstall("haproxy")}
	disk := fmt.Errorf("a disk: %w", &MissingError{What: "no server", Install: AptInstall("glusterfs-server")})
	got := LackLines([]Lack{{Variant: "one", Err: balancer},
		{Variant: "two", Points: []string{"p", "q"}, Err: balancer}, {Variant: "two", Err: disk},
		{Variant: "three", Err: errors.New("no room")}}, 3)
	want := []string{
		"one, two at p, q: untestable here: no balancer (nothing else is missing for one): type: sudo apt-get " +
			"install --no-install-recommends haproxy",
		"two: untestable here: no server: type: sudo apt-get install --no-install-recommends glusterfs-server",
		"three: untestable here: no room",
		"to install all of it: sudo apt-get install --no-install-recommends glusterfs-server haproxy",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the lines are %q, want %q", got, want)
	}
	got = LackLines([]Lack{{Variant: "two", Points: []string{"p"}, Err: fmt.Errorf("at p: %w", balancer)},
		{Variant: "two", Points: []string{"q"}, Err: fmt.Errorf("at q: %w", balancer)},
		{Variant: "one", Err: balancer}, {Variant: "one", Err: errors.New("no room")}}, 3)
	if want := "(nothing else is missing for two at p, two at q)"; !strings.Contains(got[0], want) {
		t.Errorf("a part that errors of two points name: %q, want %q", got, want)
	}
	for variants, want := range map[int]string{2: "all variants: untestable here: no room",
		3: "a, b: untestable here: no room"} {
		room := errors.New("no room")
		got := LackLines([]Lack{{Variant: "a", Err: room}, {Variant: "b", Err: room}}, variants)
		if !slices.Equal(got, []string{want}) {
			t.Errorf("of %d variants two lack a part: %q, want %q", variants, got, want)
		}
	}
}

func TestProgramsThatAreNotInPathAreNamedTogether(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := MissingPrograms("a cluster", map[string]string{"b": "two", "a": "one", "c": "two", "/bin/sh": "dash"})
	const want = "a cluster needs a, b, c, not found here: type: sudo apt-get install --no-install-recommends " +
		"one two"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := MissingPrograms("a shell", map[string]string{"/bin/sh": "dash"}); err != nil {
		t.Errorf("a shell is here: %v", err)
	}
}

// causeless is an error whose Unwrap returns no errors.
type causeless struct{ error }

func (causeless) Unwrap() []error { return nil }

// TestLeavesAreWhatWasJoined: an error that wraps others within a text is one leaf.
func TestLeavesAreWhatWasJoined(t *testing.T) {
	a := errors.New("a")
	b := errors.New("b")
	wrapped := fmt.Errorf("of %w and %w", a, b)
	got := Leaves(errors.Join(a, errors.Join(b, a), nil, wrapped, causeless{errors.New("c")}))
	if !slices.Equal(got[:3], []error{a, b, wrapped}) || got[3].Error() != "c" || len(Leaves(nil)) != 0 {
		t.Errorf("the leaves are %v", got)
	}
}
