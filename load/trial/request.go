package trial

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/cleave-lab/cleave/load/scenario"
)

// Request is one operation as a user types it.
type Request struct {
	// URL includes path and query. For gRPC: grpc://host:port/package.Service/Method.
	URL     string
	Method  string   // empty: GET, or POST with a body; not for gRPC
	Headers []string // "Name: value"
	Body    []byte   // for gRPC: the message as JSON
	Expect  scenario.Expect
}

// Scenario returns the request as a scenario of one flow with one step, and its target. Texts are sent
// literally; they contain no templates.
func (r Request) Scenario() (scenario.File, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.User != nil {
		// newDestination refuses these URLs, too, and its error says what to write.
		_, wrong := newDestination(r.URL)
		return scenario.File{}, wrong
	}
	body := scenario.Literal(string(r.Body))
	step := scenario.Step{Name: r.name(), Body: body, Expect: r.Expect.Literal()}
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
	target := url.URL{Scheme: u.Scheme, Host: u.Host}
	file.Target = target.String()
	return file, nil
}

// method returns the method, or its default.
func (r Request) method() string {
	switch {
	case r.Method != "":
		return r.Method
	case len(r.Body) > 0:
		return "POST"
	}
	return "GET"
}

// name returns the name of the operation in all output.
func (r Request) name() string {
	if strings.HasPrefix(r.URL, "grpc") {
		return r.URL
	}
	return r.method() + " " + r.URL
}

// headerFields parses lines "Name: value".
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
