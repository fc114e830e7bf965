package fleet

import (
	"context"
	"fmt"
	"net/http"

	"github.com/cleave-lab/cleave/lab"
)

// PortVisit returns the visit of a container whose health check is a call of its port.
func PortVisit(check *lab.HealthCheck) Visit {
	return func(ctx context.Context, address string) error {
		if check.Path == "" {
			return nil // it was connected to before
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+check.Path, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultTransport.RoundTrip(request) // a redirection is an answer
		if err != nil {
			return err
		}
		if answer.StatusCode >= http.StatusBadRequest {
			err = fmt.Errorf("GET %s: %s", check.Path, answer.Status)
		}
		_ = answer.Body.Close() // of which nothing was read
		return err
	}
}
