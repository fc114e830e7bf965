package meter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestProcessesOfOneProgramAreToldApart checks that processes of one program are named by what the user
// chooses, or else by their folders, or else by their ports. The folder of the root and a port that the root
// was given differ between trials, so names do not contain them.
func TestProcessesOfOneProgramAreToldApart(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Base(os.Args[0])
	for _, folder := range []string{"cart", "shelf"} {
		testset.Must(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
	}
	t.Setenv("CLEAVE_METER_TEST_PORT", "21999")
	for name, c := range map[string]struct {
		by     string
		orders []string
		want   []string // after the program's name; first and second stand for the answers to the commands
	}{
		"folders": {"", []string{"work " + dir + "/cart", "work " + dir + "/shelf"},
			[]string{"", " in cart", " in shelf"}},
		"ports":      {"", []string{"listen 21000", "listen 21000"}, []string{"", " at :first", " at :second"}},
		"given port": {"", []string{"listen 21999", "listen 21000"}, []string{"", " at :second"}},
		"a pool":     {"", []string{"hello", "hello"}, []string{""}},
		"ports, although folders differ": {lab.NameByPort, []string{"work " + dir + "/cart;listen 21000",
			"work " + dir + "/shelf;listen 21000"}, []string{"", " at :first", " at :second"}},
		"folders, although ports differ": {lab.NameByFolder, []string{"listen 21000", "listen 21000"},
			[]string{""}},
		"an argument": {"--service", []string{"--token a --service=cart|hello", "--token b --service shelf|hello"},
			[]string{"", " --service cart", " --service shelf"}},
		"the second argument": {"2", []string{"run cart|hello", "run shelf|hello"},
			[]string{"", " cart", " shelf"}},
		"a number below 1": {"-1", []string{"run cart|hello", "run shelf|hello"}, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			parent := startChild(t, "server", "system")
			parent.unit.Span = lab.SpanTree
			parent.unit.NameBy = c.by
			want := slices.Clone(c.want)
			for i, order := range c.orders {
				answer := parent.do("start " + order)
				for k := range want {
					want[k] = strings.Replace(want[k], []string{":first", ":second"}[i], ":"+answer, 1)
				}
			}
			var got []string
			for _, row := range between(t, func() {}, parent).Processes {
				got = append(got, strings.TrimPrefix(row.Name, program))
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("the processes are %q, want %q", got, want)
			}
		})
	}
}

// TestScriptsOfOneNameAreToldApart checks that scripts with the same name are named by their folders.
func TestScriptsOfOneNameAreToldApart(t *testing.T) {
	one := &process{name: "node server.js", file: "cart/server.js"}
	other := &process{name: "node server.js", file: "/srv/shelf/server.js"}
	root := &probe{dir: -1}
	if !addWhatDiffers([]*process{one, other}, foldersOf(root, []*process{one, other})) ||
		one.name != "node server.js in cart" || other.name != "node server.js in shelf" {
		t.Errorf("they are called %q and %q", one.name, other.name)
	}
}
