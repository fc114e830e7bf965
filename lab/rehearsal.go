package lab

// RehearsedFigure is a figure of a system after a rehearsed change: the figure measured of the present
// system, times the ratio changed / present of the rehearsal.
type RehearsedFigure struct {
	What   string `json:"what"` // description: "median response time"
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Point  Point  `json:"point"`
	// Measured is the figure of the present system from its model, with an interval over its trials. Null: the
	// model does not have it. Without an interval: from one trial.
	Measured *Estimate `json:"measured"`
	// Ratio is changed / present. Null: one of the two was not rehearsed.
	Ratio *Estimate `json:"ratio"`
	// Changed is the product. Its interval accounts for the scatter of both. Null: withheld.
	Changed *Estimate `json:"changed"`
	// Withheld is the reason why there is no product.
	Withheld string `json:"withheld,omitempty"`
}
