package big

// Outcome holds the first result of several goroutines: an error, or nil for success. It is a channel from
// which one goroutine receives the result.
type Outcome chan error

// NewOutcome returns an outcome without a result.
func NewOutcome() Outcome { return make(Outcome, 1) }

// Set sets the result, unless there is one that was not received. It never blocks.
func (o Outcome) Set(err error) {
	select {
	case o <- err:
	default:
	}
}

// Result returns the result if there is one, or else nil.
func (o Outcome) Result() error {
	select {
	case err := <-o:
		return err
	default:
		return nil
	}
}

// Await returns nil when done is closed, or the result if there is one before.
func (o Outcome) Await(done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case err := <-o:
		return err
	}
}
