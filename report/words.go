package report

import (
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// sentenceCase sets a metric's name as the start of a heading.
func sentenceCase(name string) string { return figure.Capital(figure.Spaced(clean(name))) }

// shareWords names the operation that a path stands for.
func (v view) shareWords(share float64) string {
	switch share {
	case lab.PathMean:
		return "mean " + v.Operation
	case 0.5:
		return "median " + v.Operation
	default:
		return "p" + plainNumber(share*100) + " " + v.Operation
	}
}
