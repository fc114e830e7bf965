package lab

// Estimate is a number with its confidence interval. Low and High are null if there is no
// interval.
type Estimate struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// Times returns the estimate, with its interval, multiplied by a factor above 0.
func (e Estimate) Times(factor float64) Estimate {
	scaled := func(end *float64) *float64 {
		if end == nil {
			return nil
		}
		product := *end * factor
		return &product
	}
	return Estimate{e.Value * factor, scaled(e.Low), scaled(e.High)}
}

// Estimate returns the ratio with its interval.
func (r Ratio) Estimate() Estimate { return Estimate{r.Ratio, r.Low, r.High} }

// Estimate returns the mean with its interval.
func (r Result) Estimate() Estimate { return Estimate{r.Mean, r.Low, r.High} }
