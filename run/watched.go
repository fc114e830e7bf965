package run

import "github.com/cleave-lab/cleave/lab"

// loaded returns who is told of each second of a load; nil: nobody watches.
func (e *experiment) loaded() func(lab.LoadSecond) {
	if e.Seconds == nil {
		return nil
	}
	return e.Seconds.Loaded
}

// used returns who is told of what units use in each second; nil: nobody watches.
func (e *experiment) used() func(lab.UsedSecond) {
	if e.Seconds == nil {
		return nil
	}
	return e.Seconds.Used
}
