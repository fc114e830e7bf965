package external

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/cleave-lab/cleave/bounded"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// Exit codes of an audit's command. They mean the same as those of Cleave.
const (
	auditValid     = 0
	auditInvalid   = 5
	auditUndecided = 6
)

// FigureUndecided is 1 in the audit of a trial that the user's own command or a query could not decide.
const FigureUndecided = "audit_undecided"

// Limits of an audit's output and of its waiting.
const (
	maxOutputLines = 20 // the last ones
	maxLineLength  = 300
	maxAnswer      = 1 << 20
	answerTimeout  = 10 * time.Second
	auditGrace     = 2 * time.Second // for the output of a command that is being stopped
)

var _ lab.LiveAuditor = System{}

// definition returns the audit of a system file that is in a folder.
func (a audit) definition(folder string) (*lab.SystemAudit, error) {
	all := lab.SystemAudit{Command: a.Command, Dir: folder}
	for _, written := range a.Requests {
		r := lab.AuditRequest{Get: written.Get, Status: written.Status, JSON: map[string]json.RawMessage{}}
		isPath := strings.HasPrefix(r.Get, "/") && !strings.HasPrefix(r.Get, "//")
		if !isPath || r.Status < 0 || r.Status > 599 {
			return nil, fmt.Errorf("audit.requests: get is %q with status %d, expected a path such as /stock and a "+
				"status such as 200", r.Get, r.Status)
		}
		for path, value := range written.JSON {
			text, err := json.Marshal(value)
			if err != nil {
				return nil, fmt.Errorf("audit.requests: %s: json: %s: %w", r.Get, path, err)
			}
			r.JSON[path] = text
		}
		all.Requests = append(all.Requests, r)
	}
	a.addQueries(&all, folder)
	return &all, nil
}

// AuditWith replaces the audit's command, unless the new one is empty. It runs in the current folder.
func (d *Definition) AuditWith(command string) error {
	if command == "" {
		return nil
	}
	argv, err := shell.Split(command)
	if err == nil && len(argv) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return fmt.Errorf("--audit %q: expected a command and its arguments: %w", command, err)
	}
	own := *cmp.Or(d.Audit, &lab.SystemAudit{})
	own.Command = argv
	d.Audit = &own
	own.Dir, err = os.Getwd()
	return err
}

// AuditLive implements lab.LiveAuditor. It audits the generator's report, and then the running system with
// the requests, the queries and the command of its definition. The worst verdict counts. If the report is
// invalid already, or the point searches for the capacity, the system is not asked.
func (s System) AuditLive(ctx context.Context, v lab.Variant, p lab.Point, left lab.Leftover) lab.Audit {
	audit := s.Audit(v, p, left.Reports)
	x := v.External
	if x.Audit == nil || audit.Verdict == lab.AuditInvalid || loaded.Searches(p) {
		return audit
	}
	if audit.Figures == nil {
		audit.Figures = map[string]float64{}
	}
	address, err := addressOf(x, left.Foreign)
	if err != nil {
		judge(&audit, lab.AuditUnknown, err.Error())
		return audit
	}
	for _, request := range x.Audit.Requests {
		violation, err := s.ask(ctx, address, request)
		switch {
		case err != nil:
			judge(&audit, lab.AuditUnknown, err.Error())
		case violation != "":
			judge(&audit, lab.AuditInvalid, violation)
		}
	}
	s.auditDatabases(ctx, x, left, &audit)
	if len(x.Audit.Command) > 0 {
		s.auditCommand(ctx, x, address, left, &audit)
	}
	return audit
}

// judge adds a problem and its verdict to an audit. An invalid audit stays invalid.
func judge(audit *lab.Audit, verdict lab.AuditVerdict, problem string) {
	if audit.Verdict != lab.AuditInvalid {
		audit.Verdict = verdict
	}
	audit.Problems = append(audit.Problems, problem)
}

// addressOf returns the URL of a running system, given the addresses of its units. Port 80 only lets a URL
// with {port} be parsed: the address of the unit replaces it.
func addressOf(x *lab.ExternalSystem, units map[string]string) (*url.URL, error) {
	u, err := url.Parse(strings.ReplaceAll(x.URL, portMark, "80"))
	if err != nil {
		return nil, fmt.Errorf("audit: url: %w", err)
	}
	entry := cmp.Or(x.Entry, roleSystem)
	at, listens := units[entry]
	switch {
	case listens:
		u.Host = at
	case strings.Contains(x.URL, portMark):
		return nil, fmt.Errorf("audit: the unit %s has no address at which it could be asked: look into its log",
			entry)
	}
	return u, nil
}

// checkSecrets returns an error for the masked values of an audit that are not known: they are asked for
// before the trials, and not when the first one is audited.
func (s System) checkSecrets(audit *lab.SystemAudit) error {
	if audit == nil {
		return nil
	}
	texts := slices.Clone(audit.Command)
	for _, r := range audit.Requests {
		texts = append(texts, r.Get)
	}
	for _, q := range audit.Queries {
		texts = append(texts, q.SQL)
	}
	_, err := s.Secrets.FillMasked(strings.Join(texts, "\n"))
	return err
}

// ask sends a request of an audit and returns what is wrong with its answer, or "". It contacts only the
// system: it follows no redirects and uses no proxy.
func (s System) ask(ctx context.Context, at *url.URL, r lab.AuditRequest) (violation string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	text, missing := s.Secrets.FillMasked(r.Get)
	path, err := url.Parse(text)
	if err == nil && path.Scheme+path.Host != "" { // only files were checked for this, not plans
		err = errors.New("it is no path of the system")
	}
	if err := errors.Join(missing, withoutURL(err)); err != nil {
		return "", fmt.Errorf("audit: get %q: %w", r.Get, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.ResolveReference(path).String(), nil)
	if err != nil {
		return "", fmt.Errorf("audit: get %q: %w", r.Get, withoutURL(err))
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("audit: GET %s at %s: %w", r.Get, at.Host, withoutURL(err))
	}
	body, err := bounded.ReadAll(answer.Body, maxAnswer)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return "", fmt.Errorf("audit: GET %s: %w", r.Get, err)
	}
	if want := cmp.Or(r.Status, http.StatusOK); answer.StatusCode != want {
		return fmt.Sprintf("GET %s was answered with %d, expected %d", r.Get, answer.StatusCode, want), nil
	}
	if len(r.JSON) > 0 && !gjson.ValidBytes(body) { // GetBytes would find values in a part of an answer, too
		return fmt.Sprintf("GET %s: the answer is no JSON", r.Get), nil
	}
	for _, path := range slices.Sorted(maps.Keys(r.JSON)) {
		found := gjson.GetBytes(body, path)
		if !found.Exists() || !sameJSON(found.Raw, string(r.JSON[path])) {
			return fmt.Sprintf("GET %s: %s is %s, expected %s", r.Get, path, cmp.Or(shortened(found.Raw), "missing"),
				shortened(string(r.JSON[path]))), nil
		}
	}
	return "", nil
}

// withoutURL returns an error without the URL that it is about. That may have a masked value in an escaped
// form, which is not recognized where messages are concealed.
func withoutURL(err error) error {
	if about, is := errors.AsType[*url.Error](err); is {
		return about.Err
	}
	return err
}

// sameJSON reports whether two JSON texts mean the same value. Numbers are compared as sameValue does.
func sameJSON(a, b string) bool {
	left, errLeft := parseJSON(a)
	right, errRight := parseJSON(b)
	return errLeft == nil && errRight == nil && sameParsed(left, right)
}

// parseJSON returns the value of a JSON text, with its numbers as they are written.
func parseJSON(text string) (value any, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err = decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err = decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the value")
	}
	return value, nil
}

// sameParsed reports whether two values of parseJSON are the same.
func sameParsed(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, isNumber := b.(json.Number)
		return isNumber && sameValue(a.String(), b.String())
	case []any:
		b, isList := b.([]any)
		return isList && slices.EqualFunc(a, b, sameParsed)
	case map[string]any:
		b, isObject := b.(map[string]any)
		return isObject && maps.EqualFunc(a, b, sameParsed)
	}
	return a == b
}

// auditCommand runs the command of an audit and judges by its exit code. When the command ends, it kills what
// the command has left in its process group. If this program is killed, the command ends with it, and the
// sweeper finds the processes that the command has started by their CLEAVE_RUN.
func (s System) auditCommand(
	ctx context.Context, x *lab.ExternalSystem, at *url.URL, left lab.Leftover, audit *lab.Audit,
) {
	environment, err := s.environment(x)
	argv, missing := s.arguments(x.Audit.Command)
	if err := errors.Join(err, missing); err != nil {
		judge(audit, lab.AuditUnknown, "audit: "+err.Error())
		return
	}
	history := filepath.Join(left.Dir, loaded.History)
	for i := range argv {
		argv[i] = strings.NewReplacer("{history}", history, "{url}", at.String()).Replace(argv[i])
	}
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	command.Dir = x.Audit.Dir
	command.Env = slices.Concat(os.Environ(), environment, []string{"CLEAVE_HISTORY=" + history,
		"CLEAVE_URL=" + at.String(), "CLEAVE_RUN=" + s.Label})
	for _, unit := range slices.Sorted(maps.Keys(left.Foreign)) {
		command.Env = append(command.Env, lab.PeerVariable(unit)+"="+left.Foreign[unit])
	}
	var out, problems lastLines
	command.Stdout = &out
	command.Stderr = &problems
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = auditGrace
	runtime.LockOSThread() // Pdeathsig refers to the thread that starts the command
	defer runtime.UnlockOSThread()
	err = command.Run()
	audit.Said = append(audit.Said, out.lines()...)
	if command.ProcessState == nil {
		judge(audit, lab.AuditUnknown, fmt.Sprintf("the audit %s did not start: %v", x.Audit.Command[0], err))
		return
	}
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // processes that it has left behind
	lines := append(out.lines(), problems.lines()...)
	why := strings.Join(lines, "; ")
	switch code := command.ProcessState.ExitCode(); code {
	case auditValid:
	case auditInvalid:
		judge(audit, lab.AuditInvalid, "the audit found a broken rule: "+cmp.Or(why, "it does not say which"))
	case auditUndecided:
		judge(audit, lab.AuditUnknown, "the audit is undecided: "+cmp.Or(why, "it does not say why"))
		audit.Figures[FigureUndecided] = 1
	default:
		judge(audit, lab.AuditUnknown, fmt.Sprintf("the audit ended with %v, expected exit code 0, 5 or 6: %s",
			command.ProcessState, why))
	}
}

// lastLines is a writer that keeps the end of its text.
type lastLines struct{ text []byte }

// Write implements io.Writer.
func (l *lastLines) Write(text []byte) (int, error) {
	l.text = append(l.text, text...)
	if more := len(l.text) - maxOutputLines*maxLineLength; more > 0 {
		l.text = bytes.Clone(l.text[more:])
	}
	return len(text), nil
}

// lines returns the last lines, without empty ones.
func (l *lastLines) lines() []string {
	var all []string
	for line := range strings.Lines(strings.ToValidUTF8(string(l.text), "?")) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, shortened(line))
		}
	}
	return all[max(0, len(all)-maxOutputLines):]
}

// shortened returns the beginning of a text.
func shortened(text string) string {
	if len(text) <= maxLineLength {
		return text
	}
	return strings.ToValidUTF8(text[:maxLineLength], "") + "..."
}
