package convert

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/cleave-lab/cleave/internal/testset"
)

func TestDataSets(t *testing.T) {
	set := func(more ...string) string {
		return tag("CSVDataSet", "Data", prop("filename", "d/users.txt")+strings.Join(more, ""), "")
	}
	files := fstest.MapFS{"d/users.txt": {Data: []byte("user,pass word\nada,1\ngrace\n")}}
	use := sampler("A", "/${user}", "")
	cases := []struct{ name, set, request, file, note string }{
		{"header in the file", set(), "GET /${users.user}", "user,pass_word\nada,1\ngrace,\n", ""},
		{"names given", set(prop("variableNames", "a,user")), "GET /${users.user}",
			"a,user\nuser,pass word\nada,1\ngrace,\n", ""},
		{"names given, header skipped", set(prop("variableNames", "a,user"), prop("ignoreFirstLine", "true")),
			"GET /${users.user}", "a,user\nada,1\ngrace,\n", ""},
		{"once", set(prop("recycle", "false")), "GET /${users.user}", "user,pass_word\nada,1\ngrace,\n",
			"rows are used once"},
		{"for each thread", set(prop("shareMode", "shareMode.thread")), "GET /${users.user}",
			"user,pass_word\nada,1\ngrace,\n", "shareMode.thread"},
		{"ASCII", set(prop("fileEncoding", "US-ASCII")), "GET /${users.user}",
			"user,pass_word\nada,1\ngrace,\n", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := converts(t, plan(jar(), group("G", 1, c.set+use)), Options{beside: files})
			if request := got.File.Flows[0].Steps[0].Request; request != c.request {
				t.Errorf("request %q, want %q", request, c.request)
			}
			if data := string(got.Beside["plan-users.csv"]); data != c.file {
				t.Errorf("data %q, want %q", data, c.file)
			}
			wantNote(t, &got, c.note)
		})
	}
}

// TestDataWithoutRowsIsNoted: a scenario refuses a data file without rows, so the user must add it.
func TestDataWithoutRowsIsNoted(t *testing.T) {
	for _, c := range []struct{ text, more, columns string }{
		{"", prop("variableNames", "user,b"), ": user,b"},
		{"", "", ""},
		{"user,b\n", "", ": user,b"},
		{"x,y\n", prop("variableNames", "user,b") + prop("ignoreFirstLine", "true"), ": user,b"},
	} {
		set := tag("CSVDataSet", "Data", prop("filename", "d.txt")+c.more, "")
		got, err := convert("plan.jmx", []byte(plan(group("G", 1, set+sampler("A", "/${user}", "")))),
			Options{beside: fstest.MapFS{"d.txt": {Data: []byte(c.text)}}})
		testset.Must(t, err)
		wantNote(t, &got, "data file d.txt: not copied (it has no rows): put it beside the scenario as plan-d.csv")
		wantNote(t, &got, "a first line of column names"+c.columns)
		if len(got.Beside) > 0 {
			t.Errorf("%q: files %q", c.text, got.Beside)
		}
	}
}

func TestDataInAnotherEncoding(t *testing.T) {
	for encoding, want := range map[string]string{"ISO-8859-1": "user\nzo\u00e9\n", "x": ""} {
		set := tag("CSVDataSet", "Data", prop("filename", "latin.txt")+prop("fileEncoding", encoding), "")
		c, err := convert("plan.jmx", []byte(plan(group("G", 1, set+sampler("A", "/${user}", "")))),
			Options{beside: fstest.MapFS{"latin.txt": {Data: []byte("user\nzo\xe9\n")}}})
		testset.Must(t, err)
		if data := string(c.Beside["plan-latin.csv"]); data != want {
			t.Errorf("%s: data %q, want %q", encoding, data, want)
		}
		if refused := noted(&c, "the encoding x is not known"); refused != (want == "") {
			t.Errorf("%s: notes %v", encoding, c.NotConverted)
		}
	}
}

func TestDataOutsideTheFolderIsNotRead(t *testing.T) {
	for _, name := range []string{"/etc/passwd", "../secret.csv", `..\secret.csv`} {
		text := plan(group("G", 1, tag("CSVDataSet", "Data", prop("filename", name)+prop("variableNames", "user"),
			"")+sampler("A", "/${user}", "")))
		c, err := convert("plan.jmx", []byte(text),
			Options{beside: fstest.MapFS{"secret.csv": {Data: []byte("x\n")}}})
		testset.Must(t, err)
		if len(c.Beside) > 0 {
			t.Errorf("%s was read: %v", name, c.Beside)
		}
		wantNote(t, &c, "only files in the input's folder are read")
	}
}

// TestPipesAreNotRead: reading a pipe would wait forever for a writer.
func TestPipesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	text := plan(group("G", 1, tag("CSVDataSet", "Data",
		prop("filename", "users.csv")+prop("variableNames", "user"), "")+sampler("A", "/${user}", "")))
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "plan.jmx"), []byte(text), 0o600),
		syscall.Mkfifo(filepath.Join(dir, "users.csv"), 0o600),
		syscall.Mkfifo(filepath.Join(dir, "pipe.har"), 0o600),
	)
	testset.Must(t, err)
	c, err := ReadFile(filepath.Join(dir, "plan.jmx"), Options{})
	testset.Must(t, err)
	wantNote(t, &c, "users.csv is a pipe, expected a regular file")
	if _, err := ReadFile(filepath.Join(dir, "pipe.har"), Options{}); err == nil ||
		!strings.Contains(err.Error(), "is a pipe") {
		t.Errorf("a pipe as the input: %v", err)
	}
}
