// Package serve shows the runs of a results folder in the browser: a list, the report of each as it is, and
// one run against another. It reads, and writes nothing but tags and notes. A page of somebody else in the
// same browser can neither read nor change anything here, and neither can a report, which may come from a
// stranger.
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

// Shelf is the folder of runs. Errors that are fs.ErrNotExist are answered as "not found".
type Shelf interface {
	// Runs returns runs, the newest first, and what it left out.
	Runs() (runs []lab.ListedRun, left lab.LeftOut, err error)
	Run(name string) (lab.ListedRun, error)
	Report(name string) ([]byte, error)
	Analysis(name string) (lab.Analysis, error)
	// Past returns runs of the study of a run, the oldest first, and what it left out.
	Past(name string) (runs []lab.PastRun, left lab.LeftOut, err error)
	WriteNotes(name string, notes lab.Notes) error
	// Progress returns whole lines of the progress of a run, from an offset on, and where they end. If the
	// offset is negative or beyond the end, they are the last lines.
	Progress(name string, from int64) (lines []byte, next int64, err error)
	// Seconds returns lines of how the trial that is played goes, as Progress does.
	Seconds(name string, from int64) (lines []byte, next int64, err error)
	State(name string) (lab.RunState, error)
	// Trials returns the trials of a run in playing order, and what it left out.
	Trials(run string) (trials []lab.ListedTrial, left lab.LeftOut, err error)
	Trial(run, name string) (lab.Trial, error)
	// Logs returns the ends of the logs of a trial, by unit, and how many more logs there are.
	Logs(run, name string) (logs []lab.LogEnd, more int, err error)
	Metrics(run string) ([]lab.Metric, error) // that the trials of a run are compared in
}

// Limits of what browsers may take.
const (
	mostRequests = 32 // at the same time
	mostForm     = 64 << 10
	patience     = 30 * time.Second // for a request, and for an answer to be taken
)

// Server answers browsers.
type Server struct {
	shelf Shelf
	pages pages
	// token has to come with every request; empty: none is needed.
	token string
	// form has to come with every form that changes something.
	form string
	busy chan struct{} // has an element for each request that is answered
}

// New returns a server for the runs of a shelf. With private set, only those who know a token are answered.
func New(shelf Shelf, private bool) (*Server, error) {
	made, err := readPages()
	s := &Server{shelf: shelf, pages: made, form: rand.Text(), busy: make(chan struct{}, mostRequests)}
	if private {
		s.token = rand.Text()
	}
	return s, err
}

// Listen listens on an address. private reports whether other hosts can reach it.
func Listen(address string) (listener net.Listener, private bool, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host != "localhost" && net.ParseIP(host) == nil {
		return nil, false, fmt.Errorf("%q is no address: expected IP:PORT, such as 127.0.0.1:8600", address)
	}
	if listener, err = net.Listen("tcp", address); err != nil {
		return nil, false, fmt.Errorf("listen on %s: %w: choose another port", address, err)
	}
	at, is := listener.Addr().(*net.TCPAddr)
	return listener, !is || !at.IP.IsLoopback(), nil
}

// URL returns where browsers find a run; run may be empty: the list of all.
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

// Serve answers until the context ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener, complaints *log.Logger) error {
	server := http.Server{
		Handler: s.handler(), ReadHeaderTimeout: patience, IdleTimeout: patience, MaxHeaderBytes: 16 << 10,
		ErrorLog: complaints, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(brief) // who is still reading then is cut off
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
	mux.HandleFunc("GET /serve.js", s.asset("text/javascript", s.pages.script))
	mux.HandleFunc("GET /serve.css", s.asset("text/css", s.pages.style))
	return s.guard(http.NewCrossOriginProtection().Handler(mux))
}

// ownPolicy is that of our pages, and foreignPolicy that of reports: their scripts draw, in an origin of
// their own that no other page belongs to, and without a network.
const (
	ownPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	foreignPolicy = "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; " +
		"script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'; " +
		"base-uri 'none'; frame-ancestors 'none'"
)

// guard refuses requests that must not be answered, and limits how many are answered at once.
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

// byAddress reports whether a request names its host by an IP address or as localhost. Any other name may be
// one that somebody else has pointed at this host.
func byAddress(host string) bool {
	u, err := url.Parse("http://" + host)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()) != nil)
}

// cookie returns the name of the cookie that holds the token in the browser. Cookies do not tell the ports of
// a host apart, so the name does.
func cookie(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host) // of a name alone it is the usual one
	return "cleave-token-" + port
}

// admits lets those in who know the token, and answers all others.
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

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// refuse answers an error.
func refuse(w http.ResponseWriter, err error) {
	code := http.StatusUnprocessableEntity
	if errors.Is(err, fs.ErrNotExist) {
		code = http.StatusNotFound
	}
	http.Error(w, err.Error(), code)
}

// data holds the values that a template shows.
type data map[string]any

// page answers with a template that shows what is read for a request.
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

// foreign answers with pages that have their own style, and may have scripts.
func foreign(read func(*http.Request) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		page, err := read(r)
		if err != nil {
			refuse(w, err)
			return
		}
		w.Header().Set("Content-Security-Policy", foreignPolicy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page) // a browser that has gone away needs no answer
	}
}

func (s *Server) list(*http.Request) (data, error) {
	runs, left, err := s.shelf.Runs()
	return data{"Runs": runs, "Left": left}, err
}

func (s *Server) run(r *http.Request) (data, error) {
	run, err := s.shelf.Run(r.PathValue("run"))
	return data{"Run": run, "Form": s.form, "Sides": []string{"Variant", "beside"}}, err
}

// report returns a report as it is.
func (s *Server) report(r *http.Request) ([]byte, error) { return s.shelf.Report(r.PathValue("run")) }

// compare returns the later of two runs against the earlier one.
func (s *Server) compare(r *http.Request) ([]byte, error) {
	names := r.URL.Query()["run"]
	if len(names) != 2 {
		return nil, fmt.Errorf("%d runs are chosen: choose two to compare them", len(names))
	}
	var listed [2]lab.ListedRun
	for i, name := range names {
		var err error
		if listed[i], err = s.shelf.Run(name); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(listed[:], func(a, b lab.ListedRun) int { return a.Created.Compare(b.Created) })
	changes, err := s.against(listed[0].Name, listed[1].Name)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = report.AgainstHTML(&page, changes)
	return page.Bytes(), err
}

// history shows the headline of a run over the runs of its study.
func (s *Server) history(r *http.Request) (data, error) {
	run, err := s.shelf.Run(r.PathValue("run"))
	if err == nil && run.Headline == nil {
		err = fmt.Errorf("%s has no headline that could be followed: it compares nothing", run.Name)
	}
	if err != nil {
		return nil, err
	}
	runs, left, err := s.shelf.Past(run.Name)
	return data{"Run": run, "Left": left, "History": analysis.History(*run.Headline, runs)}, err
}

func (s *Server) against(before, after string) (lab.Against, error) {
	earlier, err := s.shelf.Analysis(before)
	if err != nil {
		return lab.Against{}, err
	}
	later, err := s.shelf.Analysis(after)
	if err != nil {
		return lab.Against{}, err
	}
	changes, err := analysis.Against(earlier, later, nil)
	changes.Before.Folder, changes.After.Folder = before, after
	return changes, err
}

// keepNotes replaces tags and note of a run.
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

func (s *Server) asset(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind+"; charset=utf-8")
		_, _ = w.Write([]byte(text)) // a browser that has gone away needs no answer
	}
}
