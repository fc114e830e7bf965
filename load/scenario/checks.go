package scenario

import "strings"

// Unchecked lists the operations without an oracle: a failure behind a good status would not be detected.
func (p *Plan) Unchecked() []string {
	var unchecked []string
	for i, j := range p.judged {
		if !j.checked {
			unchecked = append(unchecked, p.operations[i])
		}
	}
	return unchecked
}

// Checks describes the checks of answers, by operation.
func (p *Plan) Checks() []string {
	checks := make([]string, len(p.judged))
	for i, j := range p.judged {
		checks[i] = strings.Join(j.descriptions, "; or ")
	}
	return checks
}

// Protocols reports whether there are steps with HTTP requests, and steps with gRPC calls.
func (p *Plan) Protocols() (http, grpc bool) {
	for _, f := range p.flows {
		for _, s := range f.steps {
			http = http || s.grpc == ""
			grpc = grpc || s.grpc != ""
		}
	}
	return http, grpc
}
