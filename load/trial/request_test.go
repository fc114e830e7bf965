package trial

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestRequestsAreSentAsTyped: nothing in them is a template.
func TestRequestsAreSentAsTyped(t *testing.T) {
	var seen atomic.Value
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen.Store(strings.Join([]string{r.Method, r.URL.RequestURI(), r.Header.Get("X-Key"), string(body)}, "|"))
	})
	for name, c := range map[string]struct {
		request Request
		want    string
	}{
		"url":  {Request{URL: url + "/a%20b?c=${d}"}, "GET|/a%20b?c=$%7Bd%7D||"},
		"root": {Request{URL: url}, "GET|/||"},
		"body": {Request{URL: url + "/a", Headers: []string{"X-Key:  v: ${w} "}, Body: []byte("${uuid}\n")},
			"POST|/a|v: ${w}|${uuid}\n"},
		"method": {Request{URL: url + "/a", Method: "PUT", Body: []byte("x")}, "PUT|/a||x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := specFor(t, url)
			file, err := c.request.Scenario()
			testset.Must(t, err)
			s.Scenario = file
			o := play(t, s)
			if seen.Load() != c.want {
				t.Errorf("the server saw %q, want %q", seen.Load(), c.want)
			}
			if want := c.request.method() + " " + c.request.URL; o.Summary.Operations[0].Name != want {
				t.Errorf("the operation is called %q, want %q", o.Summary.Operations[0].Name, want)
			}
		})
	}
}

// TestPasswordsOfURLsAreNotShown in the errors that refuse them, also if the URL cannot be read.
func TestPasswordsOfURLsAreNotShown(t *testing.T) {
	for _, text := range []string{"http://me:geheim@127.0.0.1/", "grpc://me:geheim@127.0.0.1/",
		"http://geheim@h/", "http://me:geheim@127.0.0.1:x/", "http://me:geheim/%zz@h/", "me:geheim@127.0.0.1/",
		"me@geheim:80/"} {
		_, err := Request{URL: text}.Scenario()
		if err == nil || strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), "as a header") {
			t.Errorf("%s: error %v, want one that says what to do, without the password", text, err)
		}
	}
}

func TestMistakesOfRequests(t *testing.T) {
	for name, c := range map[string]struct {
		request Request
		want    string
	}{
		"no host":     {Request{URL: "http:///a"}, "names no host"},
		"not a URL":   {Request{URL: "http://[::1"}, "missing ']'"},
		"header":      {Request{URL: "http://127.0.0.1/", Headers: []string{"a", ": b"}}, `header "a"`},
		"twice":       {Request{URL: "http://127.0.0.1/", Headers: []string{"a: 1", "a: 2"}}, "given twice"},
		"grpc method": {Request{URL: "grpc://127.0.0.1/a.B/C", Method: "GET"}, "package.Service/Method"},
		"grpc path":   {Request{URL: "grpc://127.0.0.1"}, "package.Service/Method"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.request.Scenario(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
	file, err := Request{URL: "grpcs://127.0.0.1:9/a.B/C", Body: []byte("{}")}.Scenario()
	if err != nil || file.Target != "grpcs://127.0.0.1:9" || file.Flows[0].Steps[0].GRPC != "a.B/C" ||
		file.Flows[0].Steps[0].Request != "" {
		t.Errorf("scenario %+v, error %v", file, err)
	}
}
