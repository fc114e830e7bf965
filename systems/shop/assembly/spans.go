package assembly

import (
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/systems/shop/api"
)

// tracer makes the spans of the unit; nil where no orders are traced.
func (u *unit) tracer() trace.TracerProvider {
	if u.spans == nil {
		return nil // and not an interface of a nil pointer
	}
	return u.spans
}

// traced begins the traces of orders at the front.
func (u *unit) traced(handler http.Handler) http.Handler {
	if u.spans == nil {
		return handler
	}
	return api.Traced(handler, u.spans)
}

// writeSpans leaves the spans of the unit in the directory of the trial.
func (u *unit) writeSpans() error {
	if u.spans == nil {
		return nil
	}
	return u.spans.Write(u.place.Dir, u.instance)
}
