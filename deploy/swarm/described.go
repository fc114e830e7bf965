package swarm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/lab"
)

// lacks returns what a service of a swarm cannot have of a container that its spec describes.
func lacks(spec lab.UnitSpec) (all []containers.Lack) {
	c := spec.Container
	for _, option := range c.SecurityOpt { // all others are refused everywhere
		all = append(all, containers.Lack{Asked: strings.HasPrefix(option, "no-new-privileges"),
			What: "the security option " + option})
	}
	if h := c.Health; h != nil && h.Port != 0 {
		all = append(all, containers.Lack{Asked: !spec.Listens || h.Port != spec.Port,
			What: fmt.Sprintf("a health check at port %d, which its node does not lead to", h.Port)})
	}
	return all
}

// plain returns a text in which Swarm finds no template to carry out.
func plain(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }

// aliases returns the names by which others find a unit.
func aliases(spec lab.UnitSpec) []string {
	all := append([]string{spec.Name}, containers.Aliases(spec)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// hasty returns how names are asked for. One that the node does not know yet is asked for outside, where
// nobody answers: by default for 5 s.
func hasty() engine.DNSConfig { return engine.DNSConfig{Options: []string{"timeout:1", "attempts:1"}} }
