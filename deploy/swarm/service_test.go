package swarm

import (
	"regexp"
	"strings"
	"testing"
)

// TestServiceNamesAreValid checks that names with dots, and names that are cut, are as Swarm wants them.
func TestServiceNamesAreValid(t *testing.T) {
	valid := regexp.MustCompile(`^[a-zA-Z0-9](?:[-_]*[A-Za-z0-9]+)*$`) // of SwarmKit
	for length := range 80 {
		name := serviceName("012345-678901-2345678", 42, strings.Repeat("a.-_", length)+"z")
		if len(name) > 63 || !valid.MatchString(name) {
			t.Errorf("the name %q of %d characters is not valid", name, len(name))
		}
	}
	if name := serviceName("1-2-3", 4, "web.v1"); name != "cleave-1-2-3-4-web-v1" {
		t.Errorf("the service of web.v1 is called %q", name)
	}
}
