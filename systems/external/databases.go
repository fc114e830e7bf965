package external

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// Limits of what is read for an audit.
const (
	maxRows     = 5  // of an answer
	maxColumns  = 20 // in messages
	maxPassword = 4096
)

// Pauses before a query is repeated. Each is twice as long as the one before.
const firstPause, maxPause = 100 * time.Millisecond, 2 * time.Second

// auditDatabases runs the queries of a system's audit, one after another.
func (s System) auditDatabases(
	ctx context.Context, x *lab.ExternalSystem, left lab.Leftover, audit *lab.Audit,
) {
	undecided := func(format string, args ...any) {
		judge(audit, lab.AuditUnknown, fmt.Sprintf(format, args...))
		audit.Figures[FigureUndecided] = 1
	}
	attempts := map[string]outcomes{}
	var err error
	if slices.ContainsFunc(x.Audit.Queries, func(q lab.AuditQuery) bool { return q.Counts != "" }) {
		if attempts, err = countOutcomes(left.Dir); err != nil {
			undecided("the audit cannot count operations: %v", err)
			return
		}
	}
	for _, q := range x.Audit.Queries {
		var db connected
		text, err := s.Secrets.FillMasked(q.SQL)
		if err == nil {
			db, err = s.open(x, x.Audit.Databases[q.In], left.Foreign)
		}
		if err != nil {
			undecided("audit: %s: in %s: %v", q.Rule, q.In, err)
			continue
		}
		asked := preparedQuery{AuditQuery: q, text: text, db: db, driver: x.Audit.Databases[q.In].Driver,
			attempts: attempts}
		answer, violation, err := asked.poll(ctx)
		switch place := fmt.Sprintf("%s (%s at %s, asked: %s)", q.Rule, q.In, db.address, shortened(q.SQL)); {
		case err != nil:
			undecided("audit: %s: %v", place, err)
		case violation != "":
			judge(audit, lab.AuditInvalid, fmt.Sprintf("the audit found a broken rule: %s: %s", place, violation))
		default:
			audit.Said = append(audit.Said, q.Rule+": "+answer)
		}
		_ = db.Close() // its answer is complete
	}
}

// open returns a database of an audit. units has the addresses of the system's units.
func (s System) open(x *lab.ExternalSystem, d lab.AuditDatabase, units map[string]string) (connected, error) {
	host, port, err := splitAt(d.At)
	if err != nil {
		return connected{}, fmt.Errorf("at: %w", err)
	}
	if !isLoopback(host) { // a plan from elsewhere may name any unit
		at, runs := units[host]
		if !runs {
			return connected{}, fmt.Errorf("at: there is no unit %s that listens", host)
		}
		if host, _, err = net.SplitHostPort(at); err != nil {
			return connected{}, fmt.Errorf("at: %w", err)
		}
	}
	password, err := s.passwordOf(x, d)
	if err != nil {
		return connected{}, err
	}
	return connect(d, net.JoinHostPort(host, strconv.Itoa(port)), password)
}

// passwordOf returns the password of a database, or "" if it has none. The vault masks it from now on.
func (s System) passwordOf(x *lab.ExternalSystem, d lab.AuditDatabase) (string, error) {
	const variable = "PASSWORD"
	text := d.Password
	var values map[string]string
	var err error
	switch {
	case d.PasswordFile != "":
		var content []byte
		if content, err = inputfile.Read(d.PasswordFile, maxPassword); err != nil {
			return "", fmt.Errorf("password_file: %w", err)
		}
		text = "${" + variable + "}"
		values = map[string]string{variable: strings.TrimRight(string(content), "\r\n")}
	case d.PasswordOf != "":
		host, _, _ := strings.Cut(d.At, ":")
		if service := serviceIn(x.Services, host); service != nil {
			value, set := variableOf(service.Container.Env, d.PasswordOf)
			if !set {
				return "", fmt.Errorf("password_of: the service %s has no variable %s", host, d.PasswordOf)
			}
			value, err = s.Secrets.FillMasked(value)
			text = "${" + variable + "}"
			values = map[string]string{variable: value}
			break
		}
		text = x.Env[d.PasswordOf]
		fallthrough
	default:
		values, err = envFileOf(x)
	}
	if err != nil {
		return "", fmt.Errorf("its password: %w", err)
	}
	password, err := s.Secrets.Fill(text, values)
	if err != nil {
		return "", fmt.Errorf("its password: %w", err)
	}
	return password, nil
}

// outcomes counts the attempts of an operation that succeeded, and those with an unknown outcome.
type outcomes struct{ ok, unknown int64 }

// countOutcomes counts the outcomes of the attempts in a trial's folder by operation.
func countOutcomes(dir string) (map[string]outcomes, error) {
	all := map[string]outcomes{}
	err := loaded.EachAttempt(dir, func(a loaded.Attempt[json.RawMessage]) {
		n := all[a.Operation]
		switch a.End {
		case loaded.EndedOK:
			n.ok++
		case loaded.EndedInfo:
			n.unknown++
		}
		all[a.Operation] = n
	})
	return all, err
}

// preparedQuery is a query of an audit with all that it takes to run it.
type preparedQuery struct {
	lab.AuditQuery
	text     string // the SQL with its secrets
	db       connected
	driver   string
	attempts map[string]outcomes // by operation
}

// reading matches the beginning of statements that only read. A read-only transaction is not enough: in
// PostgreSQL, COPY starts programs and writes files even there. writing matches the parts of queries that
// write files in MySQL.
var (
	reading = regexp.MustCompile(`(?i)^\s*\(*\s*(select|with|values|show|table)\b`)
	writing = regexp.MustCompile(`(?i)\binto\s+(out|dump)file\b`)
)

// readsOnly reports whether a statement only reads.
func readsOnly(sql string) bool { return reading.MatchString(sql) && !writing.MatchString(sql) }

// onlyReads makes all transactions of a MySQL session read-only. One such transaction is not enough: a DROP
// ends it first.
const onlyReads = "SET SESSION TRANSACTION READ ONLY"

// poll repeats the query until its answer is right or its time is over. It returns the right answer as a
// text, or what is wrong with the last answer. An error means that the query decides nothing.
func (q preparedQuery) poll(ctx context.Context) (answer, violation string, err error) {
	if _, known := q.attempts[q.Counts]; q.Counts != "" && !known {
		return "", "", fmt.Errorf("the load has no operation %q to be counted: it has %s", q.Counts,
			strings.Join(slices.Sorted(maps.Keys(q.attempts)), ", "))
	}
	if !readsOnly(q.text) {
		return "", "", errors.New("its sql must be a SELECT, a WITH, a VALUES or a SHOW, and write no file")
	}
	within := min(q.Within, maxWait.Seconds()) // a plan from elsewhere may exceed it
	last := time.Now().Add(lab.Seconds(within))
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		var found table
		if found, err = q.ask(ctx); err == nil {
			answer, violation, err = q.judge(found)
		}
		if err == nil && violation == "" {
			return answer, "", nil
		}
		rest := time.Until(last)
		if rest <= 0 || errors.Is(err, errLongAnswer) {
			return answer, violation, err
		}
		select {
		case <-time.After(min(pause, rest)):
		case <-ctx.Done(): // the answer might still have become right
			return "", "", context.Cause(ctx)
		}
	}
}

// table has the first rows of an answer.
type table struct {
	columns []string
	rows    [][]string
	more    bool // there are more rows
}

// begin begins a read-only transaction.
func (q preparedQuery) begin(ctx context.Context) (*sql.Tx, error) {
	if q.driver == driverMySQL { // the transaction uses the same session: there is one connection
		if _, err := q.db.ExecContext(ctx, onlyReads); err != nil {
			return nil, err
		}
	}
	return q.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
}

// ask runs the query once, in a read-only transaction of its own.
func (q preparedQuery) ask(ctx context.Context) (found table, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	q.db.received.Store(0)
	defer func() {
		if err != nil && q.db.received.Load() > maxAnswer { // drivers replace the error of the connection
			err = errLongAnswer
		}
	}()
	tx, err := q.begin(ctx)
	if err != nil {
		return found, fmt.Errorf("it cannot be asked, look at audit.databases.%s: %w", q.In, err)
	}
	defer func() { _ = tx.Rollback() }() // there is nothing to commit
	rows, err := tx.QueryContext(ctx, q.text)
	if err != nil {
		return found, fmt.Errorf("it was not answered, try the query in the database's own shell: %w", err)
	}
	defer func() {
		if found.more {
			cancel() // or Close would read the rest of the rows
		}
		if closed := rows.Close(); !found.more {
			err = errors.Join(err, closed)
		}
	}()
	if found.columns, err = rows.Columns(); err != nil {
		return found, err
	}
	for rows.Next() {
		if found.more = len(found.rows) == maxRows; found.more {
			return found, nil
		}
		cells := make([]any, len(found.columns))
		into := make([]any, len(cells))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return found, fmt.Errorf("its answer cannot be read: %w", err)
		}
		row := make([]string, len(cells))
		for i, cell := range cells {
			row[i] = cellText(cell)
		}
		found.rows = append(found.rows, row)
	}
	return found, rows.Err()
}

// cellText returns a value of a row as text.
func cellText(value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case []byte:
		return strings.ToValidUTF8(string(v), "?")
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(value)
}

// judge compares an answer with the expected one. It returns the same as poll.
func (q preparedQuery) judge(found table) (answer, violation string, err error) {
	if q.NoRows {
		if len(found.rows) == 0 {
			return "no rows", "", nil
		}
		return "", "there are rows, expected none: " + found.String(), nil
	}
	switch {
	case len(found.columns) != 1 || len(found.rows) > 1:
		return "", "", fmt.Errorf("it was answered with %s, expected one value: one row with one column", found)
	case len(found.rows) == 0 && q.Equals != nil:
		return "", fmt.Sprintf("no row came, expected %s", shortened(*q.Equals)), nil
	case len(found.rows) == 0:
		return "", "", errors.New("no row came, expected a number: ask with count(*)")
	}
	value := found.rows[0][0]
	if q.Equals != nil {
		if !sameValue(value, *q.Equals) {
			return "", fmt.Sprintf("%s came, expected %s", shortened(value), shortened(*q.Equals)), nil
		}
		return shortened(value), "", nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return "", "", fmt.Errorf("%s came, expected a whole number: ask with count(*), or coalesce(sum(...), 0)",
			shortened(value))
	}
	done := q.attempts[q.Counts]
	least, most := done.ok, done.ok+done.unknown
	expected := fmt.Sprintf("%d %s were answered rightly", least, q.Counts)
	if most > least {
		expected += fmt.Sprintf(", and of %d nobody knows", done.unknown)
	}
	switch {
	case n < least:
		return "", fmt.Sprintf("%d came, %d missing: %s", n, least-n, expected), nil
	case n > most:
		return "", fmt.Sprintf("%d came, %d too many: %s", n, n-most, expected), nil
	}
	return fmt.Sprintf("%d, %s", n, expected), "", nil
}

// whole matches whole numbers of any length.
var whole = regexp.MustCompile(`^[+-]?[0-9]+$`)

// isWhole reports whether a text is a whole number other than -0, which is the same as 0.
func isWhole(text string) bool { return text != "-0" && whole.MatchString(text) }

// sameValue reports whether two texts are the same value. Whole numbers are compared as texts, since float64
// does not hold all of them exactly; other numbers are compared as float64, so that 12 and 12.0 are the same.
func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	if isWhole(a) && isWhole(b) {
		return false
	}
	left, errLeft := strconv.ParseFloat(a, 64)
	right, errRight := strconv.ParseFloat(b, 64)
	return errLeft == nil && errRight == nil && left == right
}

// String returns the rows as one line for messages.
func (t table) String() string {
	var rows []string
	for _, row := range t.rows {
		var cells []string
		for i, cell := range row[:min(len(row), maxColumns)] {
			cells = append(cells, t.columns[i]+"="+shortened(cell))
		}
		rows = append(rows, strings.Join(cells, " "))
	}
	if t.more {
		rows = append(rows, "...")
	}
	return cmp.Or(strings.Join(rows, "; "), fmt.Sprintf("no rows of %d columns", len(t.columns)))
}
