package trial

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/cleave-lab/cleave/load/scenario"
)

// Request is one operation as somebody types it.
type Request struct {
	// URL with path and query. Of gRPC: grpc://host:port/package.Service/Method.
	URL     string
	Method  string   // empty: GET, with a body POST; not for gRPC
	Headers []string // "Name: value"
	Body    []byte   // of gRPC: the message as JSON
	Expect  scenario.Expect
}

// Scenario returns the request as a scenario of one flow with one step, and its
// target. Nothing in it is a template.
func (r Request) Scenario() (scenario.File, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" {
		// newDestination knows what is wrong.
		_, wrong := newDestination(r.URL)
		return scenario.File{}, wrong
	}
	step := scenario.Step{Name: r.name(), Body: scenario.Literal(string(r.Body)), Expect: r.Expect.Literal()}
	if strings.HasPrefix(u.Scheme, "grpc") {
		step.GRPC = strings.TrimPrefix(u.Path, "/")
		if r.Method != "" || step.GRPC == "" {
			return scenario.File{}, fmt.Errorf("URL %q: write the method of gRPC as the path: "+
				"%s://%s/package.Service/Method", r.URL, u.Scheme, u.Host)
		}
	} else {
		step.Request = r.method() + " " + scenario.Literal(u.RequestURI())
	}
	if step.Headers, err = headerFields(r.Headers); err != nil {
		return scenario.File{}, err
	}
	file := *scenario.Single(step)
	target := url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User}
	file.Target = target.String()
	return file, nil
}

// method returns the method, or the usual one.
func (r Request) method() string {
	switch {
	case r.Method != "":
		return r.Method
	case len(r.Body) > 0:
		return "POST"
	}
	return "GET"
}

// name returns the operation in all output.
func (r Request) name() string {
	if strings.HasPrefix(r.URL, "grpc") {
		return r.URL
	}
	return r.method() + " " + r.URL
}

// headerFields reads lines "Name: value".
func headerFields(lines []string) (map[string]string, error) {
	var mistakes []error
	fields := make(map[string]string, len(lines))
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			mistakes = append(mistakes, fmt.Errorf("header %q: write 'Name: value'", line))
			continue
		}
		if _, twice := fields[name]; twice {
			mistakes = append(mistakes, fmt.Errorf("header %q is given twice: write its values in one line", name))
		}
		fields[name] = scenario.Literal(strings.TrimSpace(value))
	}
	return fields, errors.Join(mistakes...)
}
