package convert

import (
	"strings"
	"testing"
	"testing/fstest"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cleave-lab/cleave/internal/testset"
)

// Long because it is a table.
func TestCurlCommands(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	beside := fstest.MapFS{"b.txt": {Data: []byte("x\r\ny&z\n")}}
	for _, c := range []struct{ name, command, want, note string }{
		{"plain", "curl http://a/b", "GET /b||", ""},
		{"byte order mark", "\ufeffcurl http://a/b", "GET /b||", ""},
		{"without a scheme", "curl a:8080/b", "GET /b||", ""},
		{"without a scheme, a URL in the query", "curl a:8080/?b=http://c", "GET /?b=http://c||", ""},
		{"escaped brackets", `curl 'http://a/\{b\}?c\[d\]=e'`, "GET /%7Bb%7D?c[d]=e||", ""},
		{"brackets as they are", `curl -g 'http://a/[b-c]?d={e}'`, "GET /[b-c]?d={e}||", ""},
		{"IPv6", "curl 'http://[::1]:8080/?b[]=%5Bc%5D'", "GET /?b[]=%5Bc%5D||", ""},
		{"path of the program", "/usr/bin/curl http://a", "GET /||", ""},
		{"quotes", `curl "http://a/b?c=\"d\"&e='f'"`, "GET /b?c=%22d%22&e='f'||", ""},
		{"continued", "curl \\\n  -X \\\n DELETE http://a/b", "DELETE /b||", ""},
		{"grouped options", "curl -sSXPUT http://a/b", "PUT /b||", ""},
		{"data", "curl http://a -d b=c --data 'd=e'", "POST /|" + form + "|b=c&d=e", ""},
		{"empty data", "curl http://a -d ''", "POST /||", ""},
		{"data in the query", "curl -G http://a/?x=1 -d b=c", "GET /?x=1&b=c||", ""},
		{"data in the query of a fragment", "curl -G http://a/b#c -d d=e", "GET /b?d=e||", ""},
		{"encoded", "curl http://a --data-urlencode 'b=c d' --data-urlencode '=e&f'",
			"POST /|" + form + "|b=c+d&e%26f", ""},
		{"from a file", "curl http://a -d @b.txt", "POST /|" + form + "|xy&z", ""},
		{"a file as it is", "curl http://a --data-binary @b.txt", "POST /|" + form + "|x\r\ny&z\n", ""},
		{"encoded from a file", "curl http://a --data-urlencode c@b.txt", "POST /|" + form + "|c=x%0D%0Ay%26z%0A",
			""},
		{"from a file of this folder", "curl http://a --json @./b.txt", "POST /|application/json|x\r\ny&z\n", ""},
		{"an at sign as it is", "curl http://a --data-raw @b.txt", "POST /|" + form + "|@b.txt", ""},
		{"json", `curl http://a --json '{"b":' --json '1}'`, `POST /|application/json|{"b":1}`, ""},
		{"ANSI quotes", `curl http://a --data-raw $'b\u0021\'\x41\n'`, "POST /|" + form + "|b!'A\n", ""},
		{"a dollar sign", `curl http://a --data-raw '${b} $c'`, "POST /|" + form + "|$${b} $c", ""},
		{"a variable of the input", "B=c; curl http://a/$B", "GET /c||", ""},
		{"a longer variable of the input", "B=c; B+=d; curl http://a/$B", "GET /cd||", ""},
		{"a longer variable of the environment", "B+=c; curl http://a -d $B", "POST /|" + form + "|${env:B}c", ""},
		{"a variable set by a command", "B=c; B=$(date); curl http://a -d $B", "POST /|" + form + "|${env:B}", ""},
		{"an exported variable of the input", "export B=c D; curl http://a/$B -d $D",
			"POST /c|" + form + "|${env:D}", ""},
		{"a variable of the environment", `curl http://a -d "b=$C"`, "POST /|" + form + "|b=${env:C}", ""},
		{"a variable behind a dollar sign", `curl http://a -d "b=\$$C"`, "POST /|" + form + "|b=${dollar}${env:C}",
			""},
		{"head", "curl -I http://a/b", "HEAD /b||", ""},
		{"location", "curl -L http://a/b", "GET /b||", "--location"},
		{"user", "curl -u b:c http://a", "GET /||", "header Authorization: kept as recorded"},
		{"user from the environment", "curl -u b:$C http://a", "GET /||", "give the header Authorization"},
		{"cookies of answers alone", "curl -b '' http://a", "GET /||", ""},
		{"cookie", "curl -b 'b=c; d=e' http://a", "GET /||", "cookies b, d"},
		{"a computed command", "$(x) http://b; curl http://a", "GET /||", "the command ?: only curl"},
		{"pipe", "curl http://a | jq .", "GET /||", "the command jq: only curl"},
		{"without a URL", "curl -d b; curl http://a", "GET /||", "it has no URL"},
		{"other options", "curl -k -m 5 --connect-timeout=3 -o /dev/null -w '%{http_code}' http://a", "GET /||",
			""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := converted(t, "a.sh", c.command, Options{beside: beside})
			wantStep(t, &got, c.want, c.note)
		})
	}
}

// TestAHeaderReplacesTheUser: curl sends the user and password only without a header Authorization.
func TestAHeaderReplacesTheUser(t *testing.T) {
	got := converted(t, "a.sh", "curl -u b:c -H 'authorization: d' http://a", Options{})
	if headers := got.File.Flows[0].Steps[0].Headers; len(headers) != 1 || headers["authorization"] != "d" {
		t.Errorf("headers %q, want the one of the command", headers)
	}
}

// TestCurlCommandsThatCannotBeSteps: the error says why, and quotes at most a line of the input.
func TestCurlCommandsThatCannotBeSteps(t *testing.T) {
	beside := fstest.MapFS{"long.txt": {Data: []byte(strings.Repeat("x\n", maxText))}}
	for command, want := range map[string]string{
		"curl":           "no request of the commands can be played",
		"curl 'http://a": "read the commands: 1:6: ",
		"curl ^\"http://a^\" ^\r\n -H ^\"b: c^\"":           "copy them as cURL for bash",
		"curl http://a/$B":                                  "a variable that is not known beforehand",
		"curl http://$B/c":                                  "cannot be read",
		"curl http://a/$(date)":                             "computed by the shell",
		"curl http://a/${B:-c}":                             "computed by the shell",
		"curl -F b=@c http://a":                             "--form",
		"curl -T b http://a":                                "--upload-file",
		"curl -b jar.txt http://a":                          "--cookie from a file",
		"curl -d @/etc/passwd http://a":                     "only files in the input's folder are read",
		"curl -d @../b.txt http://a":                        "only files in the input's folder are read",
		"curl -d @c.txt http://a":                           "file does not exist",
		"curl -d @long.txt http://a":                        "long.txt has more than 1048576 bytes",
		"curl -H @c.txt http://a":                           "--header from a file",
		"curl --frob http://a":                              "unknown flag: --frob",
		"curl --request-target /b http://a":                 "curl --request-target",
		"curl -n http://a":                                  "curl --netrc: has no counterpart",
		"curl --netrc-optional http://a":                    "curl --netrc-optional: has no counterpart",
		"curl --netrc-file b http://a":                      "curl --netrc-file: has no counterpart",
		"curl ftp://a/b":                                    "not a request over HTTP",
		"curl http://a/{b,c}":                               "several URLs",
		"curl http://a/?b={c,d}":                            "several URLs",
		"curl 'http://a/?b=[1-3]'":                          "several URLs",
		"curl 'http://a%80/'":                               "cannot be read",
		"curl -d $'\\200' http://a":                         "its body is binary",
		"while true; do curl a; done":                       "there is no curl command",
		"curl http://a " + strings.Repeat("x", maxCommands): "more than 1048576 bytes of commands",
	} {
		wantRefusal(t, "a.sh", command, Options{Format: Curl, beside: beside}, want)
	}
}

// TestVariablesThatGrowAreForgotten: a command of a few bytes can add a megabyte to a variable.
func TestVariablesThatGrowAreForgotten(t *testing.T) {
	c := &commands{draft: newDraft("a"), variables: map[string]string{}}
	text := "A=" + strings.Repeat("x", maxText/2) + strings.Repeat("; B+=$A", 9)
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	testset.Must(t, err)
	syntax.Walk(file, c.visit)
	if n := len(c.variables["B"]); n > maxText {
		t.Errorf("a variable has %d bytes, want at most %d", n, maxText)
	}
}

// TestCurlIsBounded checks that nesting does not exhaust the stack, which would end the program.
func TestCurlIsBounded(t *testing.T) {
	testset.Need(t, "its parser takes seconds")
	for _, part := range []string{"$(", "((", "if ", "`", "! ", "${a:-", "\"$(", "a&&"} {
		text := "curl a\n" + strings.Repeat(part, (maxCommands-10)/len(part))
		if _, err := convert("a.sh", []byte(text), Options{Format: Curl}); err == nil {
			t.Errorf("%s is taken", part)
		} else if len(err.Error()) > 2000 {
			t.Errorf("%s: an error of %d bytes", part, len(err.Error()))
		}
	}
}
