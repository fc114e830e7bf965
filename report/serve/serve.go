// Package serve shows the runs of a results folder in the browser: a list, the unchanged report of each run,
// and comparisons of runs, variants and trials. It writes nothing but tags and notes. Pages of other sites in
// the same browser can neither read nor change anything here, and neither can the reports, since they may
// come from someone else.
//
// Entry points: New, Listen.
package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/report/analysis"
)

// Shelf gives access to a folder of runs. An error that is fs.ErrNotExist is answered as "not found".
type Shelf interface {
	// Runs returns runs, the newest first, and counts those that it left out.
	Runs() (runs []lab.ListedRun, left lab.LeftOut, err error)
	Run(name string) (lab.ListedRun, error)
	Report(name string) ([]byte, error)
	Analysis(name string) (lab.Analysis, error)
	// Past returns the runs of the study of a run, the oldest first, and counts those that it left out.
	Past(name string) (runs []lab.PastRun, left lab.LeftOut, err error)
	WriteNotes(name string, notes lab.Notes) error
	// Progress returns whole lines of the progress of a run from an offset on, and the offset at which they
	// end. If the offset is negative or beyond the end of the file, it returns the last lines.
	Progress(name string, from int64) (lines []byte, next int64, err error)
	// Seconds returns lines about the seconds of the current trial, in the same way as Progress.
	Seconds(name string, from int64) (lines []byte, next int64, err error)
	State(name string) (lab.RunState, error)
	// Trials returns the trials of a run in the order in which they were played, and counts those that it left
	// out.
	Trials(run string) (trials []lab.ListedTrial, left lab.LeftOut, err error)
	Trial(run, name string) (lab.Trial, error)
	// Logs returns the ends of the logs of a trial, by unit, and how many more logs there are.
	Logs(run, name string) (logs []lab.LogEnd, more int, err error)
	// Metrics returns the metrics in which the trials of a run are compared.
	Metrics(run string) ([]lab.Metric, error)
}

// Limits for browsers.
const (
	mostRequests = 32               // answered at the same time
	mostForm     = 64 << 10         // bytes
	patience     = 30 * time.Second // for reading a request, and for sending an answer
)

// Server answers the requests of browsers.
type Server struct {
	shelf Shelf
	pages pages
	// token must come with every request, in the URL or a cookie, unless it is empty.
	token string
	// form must come with every form that changes something.
	form string
	busy chan struct{} // has an element for each request that is being answered
}

// New returns a server for the runs of a shelf. A private server answers only browsers that know its token.
func New(shelf Shelf, private bool) (*Server, error) {
	made, err := readPages()
	s := &Server{shelf: shelf, pages: made, form: rand.Text(), busy: make(chan struct{}, mostRequests)}
	if private {
		s.token = rand.Text()
	}
	return s, err
}

// Listen listens on an address. private reports whether the server must be private, since other hosts can
// reach the address.
func Listen(address string) (listener net.Listener, private bool, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || !isAddress(host) {
		return nil, false, fmt.Errorf("%q is not an address: expected IP:PORT, such as 127.0.0.1:8600", address)
	}
	if listener, err = net.Listen("tcp", address); err != nil {
		return nil, false, fmt.Errorf("listen on %s: %w: choose another port", address, err)
	}
	at, is := listener.Addr().(*net.TCPAddr)
	return listener, !is || !at.IP.IsLoopback(), nil
}

// URL returns the URL of the page of a run, or of the list of all runs if run is empty.
func (s *Server) URL(at net.Listener, run string) string {
	u := url.URL{Scheme: "http", Host: at.Addr().String(), Path: "/"}
	if run != "" {
		u.Path += "run/" + run
	}
	if s.token != "" {
		u.RawQuery = url.Values{"token": {s.token}}.Encode()
	}
	return u.String()
}

// Serve answers requests until the context ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener, errorLog *log.Logger) error {
	server := http.Server{
		Handler: s.handler(), ReadHeaderTimeout: patience, IdleTimeout: patience, MaxHeaderBytes: 16 << 10,
		ErrorLog: errorLog, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(brief) // connections that are left are closed below
		closed <- server.Close()
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-closed
}

// handler returns the handler of all pages, behind the guard.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page("list.html", s.list))
	mux.HandleFunc("GET /run/{run...}", s.page("run.html", s.run))
	mux.HandleFunc("GET /report/{run...}", foreign(s.report))
	mux.HandleFunc("GET /live/{run...}", s.live)
	mux.HandleFunc("GET /history/{run...}", s.page("history.html", s.history))
	mux.HandleFunc("GET /compare", foreign(s.compare))
	mux.HandleFunc("GET /variants/{run...}", s.page("variants.html", s.variants))
	mux.HandleFunc("GET /trials", s.page("trials.html", s.trials))
	mux.HandleFunc("GET /beside", s.page("beside.html", s.beside))
	mux.HandleFunc("POST /notes/{run...}", s.keepNotes)
	mux.HandleFunc("GET /serve.js", asset("text/javascript", s.pages.script))
	mux.HandleFunc("GET /serve.css", asset("text/css", report.Style+ownStyle))
	return s.guard(http.NewCrossOriginProtection().Handler(mux))
}

// ownPolicy is the content security policy of the pages of this package. foreignPolicy is that of reports:
// their scripts may run, but in a separate origin and without access to the network.
const (
	ownPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	foreignPolicy = "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; " +
		"script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'; " +
		"base-uri 'none'; frame-ancestors 'none'"
)

// guard sets the headers that protect pages, refuses requests that must not be answered, and limits how many
// are answered at once.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{"Content-Security-Policy": ownPolicy,
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin"} {
			w.Header().Set(name, value)
		}
		if !byAddress(r.Host) {
			http.Error(w, "open this page by the address that cleave serve has printed", http.StatusMisdirectedRequest)
			return
		}
		if !s.admits(w, r) {
			return
		}
		select {
		case s.busy <- struct{}{}:
			defer func() { <-s.busy }()
		default:
			http.Error(w, "too many pages are open: close some", http.StatusServiceUnavailable)
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience)) // net/http can set it
		next.ServeHTTP(w, r)
	})
}

// byAddress reports whether a request names its host by an IP address or as localhost. An attacker may let
// any other name point to this host (DNS rebinding).
func byAddress(host string) bool {
	u, err := url.Parse("http://" + host)
	return err == nil && isAddress(u.Hostname())
}

// isAddress reports whether a host is an IP address or localhost.
func isAddress(host string) bool { return host == "localhost" || net.ParseIP(host) != nil }

// cookie returns the name of the cookie that holds the token. The name contains the port, because browsers
// send cookies to all ports of a host.
func cookie(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host) // without a port it is an error, and port is empty
	return "cleave-token-" + port
}

// admits reports whether a request may be answered. If not, it has answered the request: with a redirect that
// moves the token from the URL into a cookie, or with an error.
func (s *Server) admits(w http.ResponseWriter, r *http.Request) bool {
	if s.token == "" {
		return true
	}
	if same(r.URL.Query().Get("token"), s.token) {
		http.SetCookie(w, &http.Cookie{Name: cookie(r), Value: s.token, Path: "/", HttpOnly: true,
			SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, r.URL.EscapedPath(), http.StatusSeeOther)
		return false
	}
	if kept, err := r.Cookie(cookie(r)); err == nil && same(kept.Value, s.token) {
		return true
	}
	http.Error(w, "open this page by the address that cleave serve has printed, with its token",
		http.StatusForbidden)
	return false
}

// same compares two secrets in constant time.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// refuse answers a request with an error.
func refuse(w http.ResponseWriter, err error) {
	code := http.StatusUnprocessableEntity
	if errors.Is(err, fs.ErrNotExist) {
		code = http.StatusNotFound
	}
	http.Error(w, err.Error(), code)
}

// data holds the values for a template.
type data map[string]any

// page returns a handler that answers with a template, filled with the data that read returns.
func (s *Server) page(template string, read func(*http.Request) (data, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		shown, err := read(r)
		if err != nil {
			refuse(w, err)
			return
		}
		s.pages.show(w, template, shown)
	}
}

// foreign returns a handler that answers with whole pages, which contain their own style and scripts.
func foreign(read func(*http.Request) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		page, err := read(r)
		if err != nil {
			refuse(w, err)
			return
		}
		w.Header().Set("Content-Security-Policy", foreignPolicy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page) // the browser may have closed the connection
	}
}

// list returns the data of the list of all runs.
func (s *Server) list(*http.Request) (data, error) {
	runs, left, err := s.shelf.Runs()
	return data{"Runs": runs, "Left": left}, err
}

// run returns the data of the page of a run.
func (s *Server) run(r *http.Request) (data, error) {
	run, err := s.shelf.Run(r.PathValue("run"))
	labels := []string{"Variant", "beside"} // of the fields that choose two variants to compare
	return data{"Run": run, "Form": s.form, "Labels": labels}, err
}

// report returns the report of a run, unchanged.
func (s *Server) report(r *http.Request) ([]byte, error) { return s.shelf.Report(r.PathValue("run")) }

// compare returns a page that compares the later of two runs to the earlier one.
func (s *Server) compare(r *http.Request) ([]byte, error) {
	names := r.URL.Query()["run"]
	if len(names) != 2 {
		return nil, fmt.Errorf("%s chosen: choose two to compare them", lab.Count(len(names), "run"))
	}
	var listed [2]lab.ListedRun
	for i, name := range names {
		var err error
		if listed[i], err = s.shelf.Run(name); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(listed[:], func(a, b lab.ListedRun) int { return a.Created.Compare(b.Created) })
	var both [2]lab.Analysis
	for i, run := range listed {
		var err error
		if both[i], err = s.shelf.Analysis(run.Name); err != nil {
			return nil, err
		}
	}
	changes, err := analysis.Against(both[0], both[1], nil)
	if err != nil {
		return nil, err
	}
	changes.Before.Folder = listed[0].Name
	changes.After.Folder = listed[1].Name
	var page bytes.Buffer
	err = report.AgainstHTML(&page, changes)
	return page.Bytes(), err
}

// history returns the data of a page that shows the headline of a run over the runs of its study.
func (s *Server) history(r *http.Request) (data, error) {
	run, err := s.shelf.Run(r.PathValue("run"))
	if err == nil && run.Headline == nil {
		err = fmt.Errorf("%s has no headline to follow over its runs: it compares nothing", run.Name)
	}
	if err != nil {
		return nil, err
	}
	runs, left, err := s.shelf.Past(run.Name)
	return data{"Run": run, "Left": left, "History": analysis.History(*run.Headline, runs)}, err
}

// keepNotes replaces the tags and the note of a run.
func (s *Server) keepNotes(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience)) // net/http can set it
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	if !same(r.PostForm.Get("form"), s.form) {
		http.Error(w, "the page is older than this server: go back, load it again, and repeat the change",
			http.StatusForbidden)
		return
	}
	notes := lab.Notes{Schema: lab.NotesSchema, Tags: []string{},
		Text: strings.ReplaceAll(r.PostForm.Get("text"), "\r\n", "\n")}
	for tag := range strings.SplitSeq(r.PostForm.Get("tags"), ",") {
		if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(notes.Tags, tag) {
			notes.Tags = append(notes.Tags, tag)
		}
	}
	name := r.PathValue("run")
	if err := s.shelf.WriteNotes(name, notes); err != nil {
		refuse(w, err)
		return
	}
	http.Redirect(w, r, (&url.URL{Path: "/run/" + name}).EscapedPath(), http.StatusSeeOther)
}

// asset returns a handler that answers with a constant text.
func asset(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		_, _ = w.Write([]byte(text)) // the browser may have closed the connection
	}
}
