package process

import "github.com/cleave-lab/cleave/lab"

var (
	_ lab.Linker = (*Deployer)(nil)
	_ lab.Linked = (*deployment)(nil)
)

// LinksHosts implements lab.Linker.
func (d *Deployer) LinksHosts() error { return nil }

// seenBy returns the endpoints as a unit has them.
func (d *deployment) seenBy(spec lab.UnitSpec) map[string]lab.Endpoint {
	return d.Wanted.SeenBy(spec, d.Endpoints, func(unit string) string { return d.Endpoints[unit].Bind })
}
