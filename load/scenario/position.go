package scenario

import "github.com/cleave-lab/cleave/yamlfile"

// position holds the positions of the parts of a scenario in its file. It is empty for a scenario that
// was built in Go.
type position struct {
	file  string
	lines map[string]int // by place, such as flows[0].steps[1].request
}

// problem returns a mistake at a place, or at the top of the file if the place is missing.
func (p *position) problem(place, format string, args ...any) yamlfile.Problem {
	message := yamlfile.Message(format, args...)
	if p.lines == nil {
		if place != "" {
			message = place + ": " + message
		}
		return yamlfile.Problem{File: p.file, Message: message}
	}
	line, found := p.lines[place]
	if !found {
		line = p.lines[""]
	}
	return yamlfile.Problem{File: p.file, Line: line, Message: message}
}
