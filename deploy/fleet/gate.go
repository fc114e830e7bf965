package fleet

import "context"

// Gate asks for consent before every trial on hosts of the user's.
type Gate struct {
	admit func(context.Context) error // nil: nobody is asked
}

// AskBefore sets who is asked before every trial. It is called before the first.
func (g *Gate) AskBefore(admit func(context.Context) error) { g.admit = admit }

// Admit returns an error unless the next trial may begin.
func (g *Gate) Admit(ctx context.Context) error {
	if g.admit == nil {
		return nil
	}
	return g.admit(ctx)
}
