package lab

// RehearsedFigure is a figure of a system with the change of a rehearsal: what was measured of the system as
// it is, times changed / as it is in the rehearsal.
type RehearsedFigure struct {
	What   string `json:"what"` // for people: "median response time"
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Point  Point  `json:"point"`
	// Measured is the figure of the system as it is, by its model, with the scatter of its trials. Null: the
	// model has none. Without an interval: of one trial.
	Measured *Estimate `json:"measured"`
	// Ratio is changed / as it is. Null: one of the two was not rehearsed.
	Ratio *Estimate `json:"ratio"`
	// Changed is the product. Its interval holds the scatter of both. Null: withheld.
	Changed *Estimate `json:"changed"`
	// Withheld says why there is no product.
	Withheld string `json:"withheld,omitempty"`
}
