package swarm

import (
	"regexp"
	"strings"
	"testing"
)

// TestServiceNamesAreValid checks that names that are cut still end as Swarm wants it.
func TestServiceNamesAreValid(t *testing.T) {
	valid := regexp.MustCompile(`^[a-zA-Z0-9](?:[-_]*[A-Za-z0-9]+)*$`) // of SwarmKit
	for length := range 80 {
		name := serviceName("012345-678901-2345678", 42, strings.Repeat("a-_", length)+"z")
		if len(name) > 63 || !valid.MatchString(name) {
			t.Errorf("the name %q of %d characters is not valid", name, len(name))
		}
	}
}
