package convert

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/cleave-lab/cleave/load/scenario"
)

// maxRows is the largest number of requests that a replay may have.
const maxRows = 1_000_000

// logged is one request of an access log.
type logged struct {
	at             time.Time
	inWholeSeconds bool   // its line does not say when within the second
	method, target string // as in the first line of the request
	status         int64
}

// commonLine matches a line of the common log format, or of the combined format, which adds fields at the
// end.
var commonLine = regexp.MustCompile(`^\S+ \S+ .*?\[([^\]]+)\] "([^" ]*) ([^" ]*)(?: [^"]*)?" (\d{3}) `)

// accessLog converts the log of a web server (common, combined, or one JSON object per line) to a replay:
// its requests in their order, at their times.
func (d *draft) accessLog(data []byte) error {
	rows, unread := readLog(data)
	if len(rows) == 0 {
		return errors.New("the log has no requests that can be read")
	}
	read := len(rows)
	if unread > 0 {
		d.lose("log", fmt.Sprintf("%d lines", unread), "not a request in the formats common, combined and JSON")
	}
	drop := func(what, why string, is func(logged) bool) {
		before := len(rows)
		if rows = slices.DeleteFunc(rows, is); len(rows) < before {
			d.lose("log", fmt.Sprintf("%d requests %s", before-len(rows), what), why)
		}
	}
	drop("with another method than GET", "a log holds no bodies: write them as flows of a scenario",
		func(l logged) bool { return l.method != "GET" })
	drop("that failed", "the log has their status of 400 and above, and a load counts such answers as errors",
		func(l logged) bool { return l.status >= 400 })
	drop("without a path", "they were not requests for this server",
		func(l logged) bool { return !strings.HasPrefix(l.target, "/") || len(l.target) > maxTarget })
	if len(rows) == 0 {
		return errors.New("no request of the log can be replayed:" + d.reasons())
	}
	slices.SortStableFunc(rows, func(a, b logged) int { return a.at.Compare(b.at) })
	most := 0
	for size := 0; most < min(len(rows), maxRows); most++ { // size of the data file, in bytes
		if size += len(rows[most].target) + 8; size > maxData {
			break
		}
	}
	if most < len(rows) {
		d.lose("log", fmt.Sprintf("%d requests at its end", len(rows)-most),
			fmt.Sprintf("the data of a scenario has at most %d rows and %d bytes", maxRows, maxData))
		rows = rows[:most]
	}
	d.note("log", fmt.Sprintf("the server of %d requests", read),
		"a log does not name it: give it with --target")
	d.note("log", "headers, cookies and users", "a log does not have them; every request begins anew")
	d.replayRows(rows)
	return nil
}

// maxTarget bounds a path with its query, in bytes.
const maxTarget = 8 << 10

// readLog returns the requests of a log, and the number of lines that are none.
func readLog(data []byte) (rows []logged, unread int) {
	for line := range bytes.Lines(data) {
		if l, ok := readLine(line); ok {
			l.target = requestTarget(l.target)
			rows = append(rows, l)
		} else if len(bytes.TrimSpace(line)) > 0 {
			unread++
		}
	}
	return rows, unread
}

// readLine reads a line of any of the formats; ok is false for a line that is no request.
func readLine(line []byte) (l logged, ok bool) {
	line = bytes.TrimSpace(line)
	if bytes.HasPrefix(line, []byte("{")) && gjson.ValidBytes(line) {
		return readObject(gjson.ParseBytes(line))
	}
	m := commonLine.FindStringSubmatch(string(line))
	if m == nil {
		return l, false
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[1])
	target := strings.ToValidUTF8(m[3], "%EF%BF%BD")
	status, _ := strconv.ParseInt(m[4], 10, 64) // three digits
	return logged{at, !hasFraction(m[1]), m[2], target, status}, err == nil
}

// readObject reads a request of a log in JSON. It knows the field names of nginx, Caddy, Traefik, Envoy
// and similar servers.
func readObject(of gjson.Result) (l logged, ok bool) {
	first := func(names ...string) gjson.Result {
		for _, name := range names {
			if value := of.Get(name); value.Exists() && !value.IsObject() {
				return value
			}
		}
		return gjson.Result{}
	}
	l.method = first("request.method", "request_method", "RequestMethod", "method", "http_method",
		"http\\.request\\.method", "httpRequest.requestMethod").String()
	l.target = first("request.uri", "request_uri", "RequestPath", "uri", "path", "url", "request_path",
		"url\\.path", "httpRequest.requestUrl").String()
	query := first("query", "query_string", "args").String()
	if query != "" && !strings.Contains(l.target, "?") {
		l.target += "?" + strings.TrimPrefix(query, "?")
	}
	words := strings.Fields(first("request").String()) // "GET / HTTP/1.1"
	if l.method == "" && len(words) > 1 {
		l.method = words[0]
		l.target = words[1]
	}
	if u, err := url.Parse(l.target); err == nil && u.Host != "" {
		l.target = u.RequestURI()
	}
	l.status = first("status", "DownstreamStatus", "response_code", "status_code", "response.status",
		"httpRequest.status").Int()
	l.at, l.inWholeSeconds, ok = logTime(first("StartUTC", "start_time", "ts", "time", "time_iso8601",
		"@timestamp", "timestamp", "time_local", "msec"))
	return l, ok && l.method != "" && l.target != ""
}

// logTime reads a time as logs write it: a text, or seconds (or smaller units) since 1970.
func logTime(value gjson.Result) (at time.Time, inWholeSeconds, ok bool) {
	text := value.String()
	if value.Type == gjson.Number {
		text = value.Raw // String would return "1" for 1.0
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err == nil && !math.IsInf(seconds, 0) {
		inWholeSeconds = !hasFraction(text) && seconds <= 1e11
		for seconds > 1e11 { // milliseconds, microseconds or nanoseconds
			seconds /= 1000
		}
		whole, fraction := math.Modf(seconds)
		at = time.Unix(int64(whole), int64(fraction*1e9))
		return at.Round(time.Microsecond), inWholeSeconds, seconds > 0
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999-0700",
		"02/Jan/2006:15:04:05 -0700", "2006-01-02 15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, !hasFraction(text), true
		}
	}
	return time.Time{}, false, false
}

// hasFraction reports whether a time is written with a fraction of its seconds.
func hasFraction(at string) bool { return strings.ContainsAny(at, ".,") }

// replayRows makes one flow for all requests: the requests are its data, and their times its arrivals.
func (d *draft) replayRows(rows []logged) {
	name := d.name("log")
	stem := identifier(d.file.Name)
	if spread := spreadSeconds(rows); spread > 0 {
		d.note("log", fmt.Sprintf("the moments of %d requests within their second", spread),
			"their lines have whole seconds: spread evenly over them")
	}
	var times strings.Builder
	var table [][]string
	for _, l := range rows {
		fmt.Fprintf(&times, "%.6f\n", l.at.Sub(rows[0].at).Seconds())
		path := strings.TrimPrefix(l.target, "/")
		table = append(table, []string{path, strconv.FormatInt(l.status, 10)})
	}
	d.beside[stem+"-"+name+".csv"] = csvOf([]string{"path", "status"}, table)
	d.beside[stem+"-times.txt"] = []byte(times.String())
	d.file.Data = map[string]scenario.Data{name: {CSV: stem + "-" + name + ".csv"}}
	d.file.Load = &scenario.Load{Replay: stem + "-times.txt"}
	d.file.Cookies = new(false)
	d.file.Flows = []scenario.Flow{{Name: "log", Steps: []scenario.Step{{Name: "GET",
		Request: "GET /${" + name + ".path}", Expect: scenario.Expect{Status: cmp.Or(statuses(rows), "200-399")}}}}}
}

// spreadSeconds spreads the requests whose lines have whole seconds evenly over their second, and returns how
// many it has spread. Others keep their moments, unless the fractions of all lines are zero. The requests are
// in the order of their times, before and after.
func spreadSeconds(rows []logged) (spread int) {
	fractions := slices.ContainsFunc(rows, func(l logged) bool { return l.at.Nanosecond() != 0 })
	whole := map[int64][]int{} // indices of requests by their second
	for i, l := range rows {
		if l.inWholeSeconds || !fractions {
			whole[l.at.Unix()] = append(whole[l.at.Unix()], i)
		}
	}
	for _, same := range whole {
		for k, i := range same {
			offset := time.Duration(k) * time.Second / time.Duration(len(same))
			rows[i].at = rows[i].at.Add(offset)
		}
		if len(same) > 1 {
			spread += len(same)
		}
	}
	slices.SortStableFunc(rows, func(a, b logged) int { return a.at.Compare(b.at) })
	return spread
}

// statuses returns the success and redirection statuses of a log as a list in order, such as "200, 302".
func statuses(rows []logged) string {
	var all []string
	for _, l := range rows {
		if l.status == http.StatusNotModified { // the replay sends no condition such as If-None-Match
			l.status = http.StatusOK
		}
		if status := strconv.FormatInt(l.status, 10); l.status >= 200 && !slices.Contains(all, status) {
			all = append(all, status)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
