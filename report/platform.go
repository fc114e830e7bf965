package report

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// platformTable returns what the deployment's platform itself said of processors, beside the
// control groups; without rows where it said nothing.
func (v view) platformTable(at string) table {
	t := table{ID: "platform-" + at, Title: "CPU as the platform says it, at " + v.at(at), Keys: 2}
	var source string
	var window float64
	for _, x := range v.variants() {
		for _, u := range v.usages(x.Name, at) {
			p := u.Platform
			if p == nil {
				continue
			}
			source, window = p.Source, p.WindowSeconds
			t.add(text(x.Name), text(u.Role), millicores(p.Millicores), millicores(p.MostMillicores),
				millicores(p.GroupMillicores),
				difference(*p), text(figure.Fixed(p.LagSeconds, 0)+" s"))
		}
	}
	t.Columns = []column{words("variant"), words("unit"), numbers(source), numbers("its maximum"),
		numbers("control group meanwhile"),
		numbers("difference"), numbers("said after")}
	t.Note = fmt.Sprintf("averages over windows of about %s s whose middle lies in the load, 1000m is one "+
		"processor; medians over trials; said after: since the middle of the window",
		figure.Fixed(window, 0))
	return t
}

func millicores(m float64) cell { return text(figure.Fixed(m, 0) + "m") }

// difference returns how far the platform is from the control group. Of next to nothing a share
// says nothing.
func difference(p lab.PlatformUsage) cell {
	if p.GroupMillicores < 1 {
		return toned(absent, toneMuted)
	}
	return text(fmt.Sprintf("%+.1f %%", 100*(p.Millicores/p.GroupMillicores-1)))
}
