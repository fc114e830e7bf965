package big

// Outcome keeps the first of what several goroutines tell of a unit's work: a
// failure, or nil for a good end. It is a channel, from which one goroutine
// takes what was told.
type Outcome chan error

// NewOutcome returns an outcome of which nothing is told yet.
func NewOutcome() Outcome { return make(Outcome, 1) }

// Tell notes an end, unless one is waiting to be taken already. It never blocks.
func (o Outcome) Tell(err error) {
	select {
	case o <- err:
	default:
	}
}

// Await returns nil when done is closed, or what was told before that.
func (o Outcome) Await(done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case err := <-o:
		return err
	}
}
