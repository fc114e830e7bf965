package process

import "github.com/cleave-lab/cleave/lab"

var _ lab.Hosted = (*deployment)(nil)

// Platform implements lab.Hosted.
func (d *deployment) Platform() lab.PlatformCost { return d.Starts() }

// Daemons implements lab.Hosted: the kernel runs processes.
func (d *deployment) Daemons() ([]lab.Unit, string) { return nil, "" }
