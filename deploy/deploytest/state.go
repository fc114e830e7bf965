package deploytest

import (
	"fmt"
	"slices"
	"strings"
)

// State holds all objects of a user's cluster, as JSON, by their path and name.
type State map[string]string

// Changes lists, sorted, what differs from a later state; "" means nothing.
func (s State) Changes(later State) string {
	var changes []string
	for name, was := range s {
		if is := later[name]; is != was {
			changes = append(changes, fmt.Sprintf("%s\n  was %s\n  is %s", name, was, is))
		}
	}
	for name, is := range later {
		if s[name] == "" {
			changes = append(changes, fmt.Sprintf("%s is new: %s", name, is))
		}
	}
	slices.Sort(changes)
	return strings.Join(changes, "\n")
}
