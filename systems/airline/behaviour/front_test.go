package behaviour

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// newFront returns a proxy that replaces the HAProxy of trials: it sends each public path to the
// unit that has it, by its base URL, and refuses all others.
func newFront(units map[string]string) (http.Handler, error) {
	proxies := map[string]*httputil.ReverseProxy{}
	for name, base := range units {
		target, err := url.Parse(base)
		if err != nil {
			return nil, fmt.Errorf("unit %s: %w", name, err)
		}
		proxies[name] = &httputil.ReverseProxy{
			Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
			Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.URL.Scheme = target.Scheme
				r.Out.URL.Host = target.Host
				r.Out.URL.RawQuery = r.In.URL.RawQuery
			},
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
				w.WriteHeader(http.StatusBadGateway)
			},
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unit := unitOf(r.URL.EscapedPath())
		if proxies[Monolith] != nil && unit != "" {
			unit = Monolith
		}
		if proxy := proxies[unit]; proxy != nil {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w,
			`{"type":"/problems/unknown-path","title":"There is nothing here","status":404,"detail":"nothing is at this path"}`)
	}), nil
}

// unitOf returns the unit that has a path; empty: none has.
func unitOf(path string) string {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case first == "login" || first == "logout":
		return Auth
	case first == "customers" && strings.HasSuffix(rest, "/bookings"):
		return Bookings
	case first == "customers":
		return Customers
	case first == "flights":
		return Flights
	case first == "bookings":
		return Bookings
	}
	return ""
}
