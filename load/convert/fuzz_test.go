package convert

import (
	"maps"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode"
)

// memoryOfConversion and memoryPerByte bound what a conversion may allocate, in bytes and in bytes for
// each byte of its input, so that a small input cannot exhaust the memory.
const memoryOfConversion, memoryPerByte = 32 << 20, 64 << 10

// fuzz converts arbitrary input. The conversion must not crash and must stay within its memory; each note
// must be one line, and the scenario must parse and compile.
func fuzz(f *testing.F, format string, fixtures ...string) {
	for _, name := range fixtures {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := convert("fuzz", data, Options{Format: format})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(memoryOfConversion+memoryPerByte*len(data)) {
			t.Errorf("%d bytes made it allocate %d", len(data), used)
		}
		if err != nil {
			return
		}
		for _, note := range c.NotConverted {
			if text := note.String(); strings.ContainsFunc(text, unicode.IsControl) || note.What == "" {
				t.Errorf("note %q", text)
			}
		}
		if _, err := compiled(t, &c, dataOf(&c)); err != nil {
			t.Fatal(err)
		}
	})
}

// dataOf returns the data files of a conversion. For a file that the input lacks it makes one with a
// single row that has all columns of the scenario.
func dataOf(c *Conversion) map[string][]byte {
	text, _ := c.YAML("columns") // compiled has checked the error already
	header := "a"
	row := "1"
	seen := map[string]bool{"a": true}
	for _, column := range regexp.MustCompile(`\$\{\w+\.(\w+)\}`).FindAllStringSubmatch(string(text), -1) {
		if !seen[column[1]] {
			seen[column[1]] = true
			header, row = header+","+column[1], row+",1"
		}
	}
	files := map[string][]byte{}
	for _, d := range c.File.Data {
		files[d.CSV] = []byte(header + "\n" + row + "\n")
	}
	maps.Copy(files, c.Beside)
	return files
}

func FuzzHAR(f *testing.F) {
	for _, entry := range []string{
		`{"request":{"method":"GET","url":"http://a/b?c=d","headers":[{"name":"X","value":"y"}]},"response":{"status":200,"content":{"text":"{\"a\":1}","mimeType":"application/json"}}}`,
		`{"startedDateTime":"2026-01-01T00:00:00Z","time":1e308,"request":{"method":"POST","url":"http://a/${x}","postData":{"text":"a=b","params":[{"name":"a","value":"b"}]}},"response":{"status":-1}}`,
		`{"request":{"method":"GET /","url":"\u0000"}}`, `{}`, `null`,
		`{"request":{"url":7,"cookies":{},"headers":null,"bodySize":0.0},"response":{"status":"200"}}`,
	} {
		f.Add([]byte(`{"log":{"entries":[` + entry + `]}}`))
	}
	fuzz(f, HAR, "shop.har")
}

func FuzzOpenAPI(f *testing.F) {
	fuzz(f, OpenAPI, "shop.openapi.yaml", "shop.swagger.json", "openapi/numbers-in-a-body.yaml",
		"openapi/texts-like-numbers.yaml", "openapi/port-of-a-server.yaml", "openapi/keys-by-reference.yaml",
		"openapi/type-null.yaml")
}

func FuzzJMX(f *testing.F) {
	f.Add([]byte(plan(group("G", 2, userVariable("a", "${b}")+
		sampler("A", "/${a}${__Random(1,2,c)}", regex("x(.)")+assertion("response_data", 2, "a"))+
		tag("GenericController", "S", "", sampler("B", "/${v}", ""))))))
	fuzz(f, JMX, "shop.jmx", "mix.jmx")
}

func FuzzCurl(f *testing.F) {
	for _, command := range []string{"curl $'a\\u0041' -d \"$B\" --next -G b -d c=d",
		"curl -u a:b 'http://[::1]:8/x' -H 'X;'",
		"A=1; curl a/$A | jq . && curl b", "curl <<E\n$(x)\nE\n",
		"curl \ue000env:A\ue001 -H 'B: \ue000uuid\ue001'"} {
		f.Add([]byte(command))
	}
	fuzz(f, Curl, "shop.curl")
}

func FuzzPostman(f *testing.F) {
	f.Add([]byte(collectionOf(item(`{"url":"{{s}}/{{$guid}}?{{x}}","body":{"mode":"raw","raw":"{{loop}}{{a}}"}}`),
		`{"item":[{"request":"{{s}}"}]}`, `{"request":{"url":{"raw":7,"query":{}},"header":"x"}}`)))
	fuzz(f, Postman, "shop.postman.json")
}

func FuzzAccessLog(f *testing.F) {
	f.Add([]byte(commonStart + `"GET /${x}?"{} HTTP/1.1" 200 5` + "\n" +
		`{"ts":1e300,"method":"GET","uri":"//","status":9}`))
	fuzz(f, Log, "shop.access.log")
}

// FuzzK6 starts with scripts without long loops; TestScriptsThatCannotBeRun covers the time limit of
// scripts.
func FuzzK6(f *testing.F) {
	f.Add([]byte(scriptOf("{vus: 1}", "const r = http.get('http://s/'); "+
		"http.post(`http://s/${r.json('a.b')}`, {a: uuidv4()})")))
	fuzz(f, K6, "shop.k6.js")
}
