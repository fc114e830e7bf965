package convert

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/load/scenario"
)

// fuzz converts whatever comes: never a crash, and what is converted can be
// parsed and compiled.
func fuzz(f *testing.F, format string, fixtures ...string) {
	for _, name := range fixtures {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Convert("fuzz", data, Options{Format: format})
		if err != nil {
			return
		}
		text, err := c.YAML("fuzz")
		if err != nil {
			t.Fatal(err)
		}
		file, err := scenario.Parse("fuzz.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		folder := t.TempDir()
		for _, d := range file.Data { // those that the input did not bring
			if err := os.WriteFile(filepath.Join(folder, d.CSV), []byte(columnsOf(&c)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := file.Compile(folder); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}

// columnsOf is a data file for a conversion without one: with all columns that
// its steps read.
func columnsOf(c *Conversion) string {
	header, row, seen := "a", "1", map[string]bool{"a": true}
	for i := range c.File.Flows {
		for j := range c.File.Flows[i].Steps {
			rewriteStep(&c.File.Flows[i].Steps[j], func(name string) string {
				if column := filepath.Ext(name); column != "" && !seen[column[1:]] {
					seen[column[1:]] = true
					header, row = header+","+column[1:], row+",1"
				}
				return "${" + name + "}"
			})
		}
	}
	return header + "\n" + row + "\n"
}

func FuzzHAR(f *testing.F) { fuzz(f, HAR, "shop.har") }

func FuzzOpenAPI(f *testing.F) { fuzz(f, OpenAPI, "shop.openapi.yaml", "shop.swagger.json") }

func FuzzJMX(f *testing.F) {
	f.Add([]byte(plan(group("G", 2, userVariable("a", "${b}")+sampler("A", "/${a}${__Random(1,2,c)}", regex("x(.)")+assertion("response_data", 2, "a"))+share("S", "50", sampler("B", "/${v}", ""))))))
	fuzz(f, JMX, "shop.jmx", "mix.jmx")
}
