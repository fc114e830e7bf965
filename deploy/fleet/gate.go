package fleet

import "context"

// Gate checks the consent before every trial on a user's hosts.
type Gate struct {
	admit func(context.Context) error // nil: every trial may begin
}

// AskBefore sets the check before every trial. Callers set it before the first.
func (g *Gate) AskBefore(admit func(context.Context) error) { g.admit = admit }

// Admit returns an error unless the next trial may begin.
func (g *Gate) Admit(ctx context.Context) error {
	if g.admit == nil {
		return nil
	}
	return g.admit(ctx)
}
