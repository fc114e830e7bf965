package process

import "github.com/cleave-lab/cleave/lab"

var (
	_ lab.Linker = (*Deployer)(nil)
	_ lab.Linked = (*deployment)(nil)
)

// LinksHosts implements lab.Linker.
func (d *Deployer) LinksHosts() error { return nil }

// Links implements lab.Linked.
func (d *deployment) Links() map[string]string { return d.links.Proofs() }

// seenBy returns the endpoints as a unit has them.
func (d *deployment) seenBy(spec lab.UnitSpec) map[string]lab.Endpoint {
	return d.links.SeenBy(spec, d.endpoints, func(unit string) string { return d.endpoints[unit].Bind })
}
