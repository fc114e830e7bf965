package report

import (
	"maps"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// statics returns the static costs of variants at a point.
func (v view) statics(at string) []lab.VariantStatics {
	return filter(v.Statics, func(s lab.VariantStatics) bool { return s.Point.Name == at })
}

// staticsAt returns the point at which the static cost is shown.
func (v view) staticsAt() string {
	at, _ := shownWhere(v, v.Statics, func(s lab.VariantStatics) string { return s.Point.Name })
	return at
}

// staticsTable shows the static costs of each variant.
func (v view) staticsTable() table {
	at := v.staticsAt()
	t := table{ID: "statics", Title: "What each variant takes beside run time, at " + v.at(at), Keys: 1,
		Note: "counted, not measured, and no score; lines of code: of packages, without tests, comments and " +
			"generated files; added and saved: in packages that " + v.Baseline + " has not, or alone has",
		Columns: columns{}.text("variant").number("units", "processes", "tables", "queues",
			"configuration lines", "images", "image size", "lines of code", "added", "saved")}
	for _, s := range v.statics(at) {
		bytes := func(n int64) string { return figure.Amount(float64(n), "B") }
		counts := func(all ...*int) []cell {
			return cells(all, func(n *int) cell { return unlessNil(n, strconv.Itoa) })
		}
		t.add(s.Variant, s.Units, counts(s.Processes, s.Tables, s.Queues, s.ConfigurationLines, s.Images),
			unlessNil(s.ImageBytes, bytes), counts(s.CodeLines, s.CodeAdded, s.CodeSaved))
	}
	return t
}

// unknownStaticsTable shows the static costs that are unknown, with the reasons.
func (v view) unknownStaticsTable() table {
	t := table{ID: "statics-unknown", Title: "What is not known of it, and why", Keys: 2,
		Columns: columns{}.text("variant", "what").prose("why")}
	for _, s := range v.statics(v.staticsAt()) {
		for _, field := range slices.Sorted(maps.Keys(s.Unknown)) {
			t.add(s.Variant, figure.Spaced(field), s.Unknown[field])
		}
	}
	return t
}

// staticsSection shows the static costs of variants.
func (v view) staticsSection() section {
	return section{ID: "statics", Title: "Static cost",
		Shown: []table{v.staticsTable()}, Folded: []table{v.unknownStaticsTable()},
		HowTo: "What there is to write, run and look after, whatever the load. Units and processes are those " +
			"that run when the load begins, with the servers of backing services and without the generator. " +
			"Configuration is arguments, variables and lines of files, once for all units of a role; of a compose " +
			"file or of manifests, the lines of these. Few lines are not less work in themselves: the table says " +
			"where to look, and ranks nothing."}
}
