package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// pictureAt returns the point at which the architectures are drawn. It returns false if no variant has
// several parts, without the generator.
func (v view) pictureAt() (string, bool) {
	return v.shownAt(func(point string) bool {
		return slices.ContainsFunc(v.picturesAt(point), func(p lab.Picture) bool {
			own := filter(p.Parts, func(part lab.PicturePart) bool { return part.Name != lab.RoleGenerator })
			return len(own) > 1
		})
	})
}

// picturesAt returns the pictures at a point.
func (v view) picturesAt(point string) []lab.Picture {
	return filter(v.Pictures, func(p lab.Picture) bool { return p.Point.Name == point })
}

// pictureSection shows the architecture of each variant, with the costs of its parts.
func (v view) pictureSection() section {
	at, ok := v.pictureAt()
	if !ok {
		return section{}
	}
	s := section{ID: "architecture", Title: "Architecture", Wide: true,
		Caption: fmt.Sprintf("What ran, what calls what, and what it cost per %s at %s; medians over %s. "+
			"On a box: CPU per %s and peak memory of all its units; on an arrow: what went over it per %s.",
			v.Operation, v.at(at), v.counting, v.Operation, v.Operation),
		HowTo: "Boxes are units, rounded ones backing services; one with a shadow stands for several alike. A " +
			"dashed box is the load generator, which is in no sum. " +
			"The darker a box, the more of its variant's CPU it takes. A dotted arrow is a way that nothing went; " +
			"one without a number was not counted."}
	for i, p := range v.Pictures {
		if p.Point.Name != at {
			continue
		}
		s.Plots = append(s.Plots, plot{ID: fmt.Sprintf("plot-architecture-%d", i), Kind: "architecture", Index: i,
			Title: p.Variant,
			Label: "Architecture of " + p.Variant + ": " + partsText(p), Whole: true})
	}
	s.Folded = []table{v.pictureTable(at)}
	return s
}

// partsText describes the parts of a picture: "orders uses database, stock".
func partsText(p lab.Picture) string {
	var found []string
	for _, part := range p.Parts {
		if uses := linksText(part.Links); uses != "" {
			found = append(found, part.Name+" uses "+uses)
		}
	}
	return strings.Join(found, "; ")
}

// linksText describes the links of a part with their traffic: "database: 3.10 statements".
func linksText(links []lab.Link) string {
	var found []string
	for _, link := range links {
		shown := link.To
		if link.How != "" {
			shown += " (" + link.How + ")"
		}
		var traffic []string
		for _, kind := range slices.Sorted(maps.Keys(link.Traffic)) {
			traffic = append(traffic, figure.Rounded(link.Traffic[kind])+" "+kind)
		}
		if len(traffic) > 0 {
			shown += ": " + strings.Join(traffic, " and ")
		}
		found = append(found, shown)
	}
	return strings.Join(found, ", ")
}

// pictureTable shows the parts, links and costs of the pictures.
func (v view) pictureTable(at string) table {
	t := table{ID: "parts", Title: "Units, backing services and what they use, at " + v.at(at), Keys: 2,
		Note: fmt.Sprintf("per %s; medians over trials, n=%s; the generator is in no sum", v.Operation,
			v.counting),
		Columns: columns{}.text("variant", "part").number("units").text("where").
			number("CPU per "+v.Operation, "peak memory").prose("uses")}
	for _, p := range v.picturesAt(at) {
		for _, part := range p.Parts {
			name := part.Name
			if part.Service != "" {
				name += " (" + part.Service + ")"
			}
			t.add(p.Variant, name, unitCountText(part.Part), part.Node,
				unlessZero(part.CPUPerOperation, seconds(part.CPUPerOperation)),
				unlessZero(part.PeakMemory, figure.Amount(part.PeakMemory, "B")), linksText(part.Links))
		}
	}
	return t
}

// unitCountText returns the number of units of a part. If Cleave started no units for the part, it returns
// the reason: the part is embedded in other units, or a server that runs already.
func unitCountText(p lab.Part) string {
	switch {
	case p.Embedded:
		return "in the units"
	case p.Units == 0:
		return "runs already"
	}
	return fmt.Sprint(p.Units)
}
