package fleet

import "context"

// Gate checks before every trial that the owner of a user's hosts, or cluster, consents to load on them.
// Deployers that may use such hosts embed it.
type Gate struct {
	admit func(context.Context) error // nil: every trial may begin
}

// AskBefore sets the check before every trial. Callers set it before the first.
func (g *Gate) AskBefore(admit func(context.Context) error) { g.admit = admit }

// Admit calls the check. It returns an error unless the next trial may begin.
func (g *Gate) Admit(ctx context.Context) error {
	if g.admit == nil {
		return nil
	}
	return g.admit(ctx)
}
