package convert

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Limits of the input. The parser is recursive, so nesting takes stack.
const (
	maxCommands   = 1 << 20 // bytes
	maxShellWords = 50_000  // matches of shellWord
)

// shellWord matches the shell's words, signs and quotes that can open a nested construct without a bracket.
var shellWord = regexp.MustCompile("\\b(if|elif|while|until|for|case|select|time|coproc)\\b|[!`\"]")

// windowsCommand matches a command as browsers copy it for Windows: with ^ in front of quotes and line
// ends.
var windowsCommand = regexp.MustCompile(`(?m)(^|\s)curl\s(\^"|.*\s\^\r?$)`)

// globs matches the beginning of a list or a range of URLs, such as {b,c} or [1-3]. globEscapes removes the
// backslashes that browsers put before braces and brackets that are part of a URL.
var (
	globs       = regexp.MustCompile(`(^|[^\\])(\{|\[[^\]]*-)`)
	globEscapes = strings.NewReplacer(`\{`, "{", `\}`, "}", `\[`, "[", `\]`, "]")
)

// commands is the conversion of curl commands in progress.
type commands struct {
	*draft
	options   Options
	number    int               // of commands so far
	variables map[string]string // variables that the input assigns
}

// curl converts curl commands, as browsers copy them. It runs nothing in a shell.
func (d *draft) curl(data []byte, options Options) error {
	if len(data) > maxCommands || nesting(data) > maxBrackets ||
		len(shellWord.FindAll(data, -1)) > maxShellWords {
		return fmt.Errorf("more than %d bytes of commands, or too deeply nested: split them", maxCommands)
	}
	if windowsCommand.Match(data) {
		return errors.New("these are commands for Windows' cmd: copy them as cURL for bash")
	}
	file, err := syntax.NewParser().Parse(bytes.NewReader(data), "")
	if err != nil {
		return fmt.Errorf("read the commands: %s", oneLine(err.Error()))
	}
	c := &commands{draft: d, options: options, variables: map[string]string{}}
	syntax.Walk(file, c.visit)
	if c.number == 0 {
		return errors.New("there is no curl command")
	}
	return d.flow("commands", "commands", options)
}

// visit converts a command, and lists commands that a shell would have to run.
func (c *commands) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause, *syntax.FuncDecl:
		where := fmt.Sprintf("line %d", n.Pos().Line())
		c.lose(where, "a loop, a choice or a function",
			"the shell is not run: write its commands one after another")
		return false
	case *syntax.DeclClause: // such as export
		c.assign(n.Args)
		return false
	case *syntax.CallExpr:
		c.call(n)
		return false
	}
	return true
}

// assign keeps the values of variables that the input sets. It forgets a variable whose new value is too
// long, or would have to be computed by a shell, as if the input had not set it.
func (c *commands) assign(assigns []*syntax.Assign) {
	for _, a := range assigns {
		if a.Name == nil || a.Naked { // it assigns nothing
			continue
		}
		value := ""
		ok := a.Index == nil && a.Array == nil
		if ok && a.Value != nil {
			value, ok = c.text(a.Value.Parts)
		}
		if ok && a.Append {
			value = c.variable(a.Name.Value) + value
			ok = len(value) <= maxText
		}
		if ok {
			c.variables[a.Name.Value] = value
		} else {
			delete(c.variables, a.Name.Value)
		}
	}
}

// call converts one command with its arguments.
func (c *commands) call(call *syntax.CallExpr) {
	where := fmt.Sprintf("line %d", call.Pos().Line())
	if len(call.Args) == 0 {
		c.assign(call.Assigns)
		return
	}
	name, _ := c.text(call.Args[0].Parts)
	if name = path.Base(cmp.Or(name, "?")); name != "curl" {
		c.note(where, "the command "+name, "only curl commands are converted; nothing is run")
		return
	}
	c.number++
	var words []string
	for _, arg := range call.Args[1:] {
		word, ok := c.text(arg.Parts)
		if !ok {
			c.lose(where, "curl", "a word of it has to be computed by the shell, which is not run")
			return
		}
		words = append(words, word)
	}
	for _, one := range split(words, "--next", "-:") {
		c.command(where, one)
	}
}

// split divides words at separators.
func split(words []string, separators ...string) [][]string {
	var parts [][]string
	for {
		i := slices.IndexFunc(words, func(word string) bool { return slices.Contains(separators, word) })
		if i < 0 {
			return append(parts, words)
		}
		parts = append(parts, words[:i])
		words = words[i+1:]
	}
}

// variable returns the value of a variable. One that the input does not set becomes a variable of the
// environment of the load.
func (c *commands) variable(name string) string {
	if value, known := c.variables[name]; known {
		return value
	}
	return c.reference("env:" + name)
}

// text returns the value of a word. ok is false if a shell would have to run something for it.
func (c *commands) text(parts []syntax.WordPart) (text string, ok bool) {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescaped(p.Value))
		case *syntax.SglQuoted:
			value := p.Value
			if p.Dollar {
				value, _, _ = expand.Format(nil, value, nil) // errors are about invalid formats only
			}
			b.WriteString(value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, isLit := inner.(*syntax.Lit)
				value := ""
				if isLit {
					value = quotedEscapes.Replace(lit.Value)
				} else if value, ok = c.text([]syntax.WordPart{inner}); !ok {
					return "", false
				}
				b.WriteString(value)
			}
		case *syntax.ParamExp:
			if !isPlain(p) {
				return "", false
			}
			b.WriteString(c.variable(p.Param.Value))
		default:
			return "", false
		}
		if b.Len() > maxText {
			return "", false
		}
	}
	return strings.ToValidUTF8(b.String(), "\ufffd"), true
}

// isPlain reports whether an expansion is the value of a variable, without any operator of the shell.
func isPlain(p *syntax.ParamExp) bool {
	hasPrefix := p.Excl || p.Length || p.Width
	hasSuffix := p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil
	if hasPrefix || hasSuffix || p.Param == nil {
		return false
	}
	return p.Param.Value == identifier(p.Param.Value)
}

// quotedEscapes removes the backslashes that escape within double quotes. One at a line end joins the lines.
var quotedEscapes = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\$`, "$", "\\`", "`", "\\\n", "")

// unescaped removes the backslashes of a text without quotes. One at a line end joins the lines.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// curlRequest holds the options of one command.
type curlRequest struct {
	method, user              string
	headers                   []field
	cookies                   []string
	data, urls, lost          []string // lost: options without a counterpart
	asJSON, asQuery, onlyHead bool
	follow, raw               bool // raw: braces and brackets in URLs have no meaning (--globoff)
}

// flags returns the options of curl. Those that change a request fill in r. The others are about curl's
// output, its connections and TLS; they are listed so that their values are skipped. The function is long
// because it is that list.
func (c *commands) flags(r *curlRequest) *pflag.FlagSet {
	f := pflag.NewFlagSet("curl", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	text := func(name, short string, set func(string)) {
		f.FuncP(name, short, "", func(value string) error { set(value); return nil })
	}
	header := func(name string) func(string) {
		return func(value string) { r.headers = append(r.headers, field{name, value}) }
	}
	text("request", "X", func(v string) { r.method = v })
	text("url", "", func(v string) { r.urls = append(r.urls, v) })
	text("user", "u", func(v string) { r.user = v })
	text("user-agent", "A", header("User-Agent"))
	text("referer", "e", header("Referer"))
	text("header", "H", func(v string) {
		if name, value, found := strings.Cut(v, ":"); found && strings.TrimSpace(value) != "" {
			header(name)(strings.TrimSpace(value))
		} else if name, found := strings.CutSuffix(v, ";"); found {
			header(name)("")
		} else if strings.HasPrefix(v, "@") {
			r.lost = append(r.lost, "--header from a file")
		}
	})
	text("oauth2-bearer", "", func(v string) { header("Authorization")("Bearer " + v) })
	text("cookie", "b", func(v string) {
		if v != "" && !strings.Contains(v, "=") { // an empty file name only turns on curl's cookie engine
			r.lost = append(r.lost, "--cookie from a file")
		}
		r.cookies = append(r.cookies, cookieNames([]field{{"cookie", v}})...)
	})
	for _, name := range []string{"data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "json"} {
		text(name, map[string]string{"data": "d"}[name], func(v string) { c.addData(r, name, v) })
	}
	f.BoolVarP(&r.asQuery, "get", "G", false, "")
	f.BoolVarP(&r.onlyHead, "head", "I", false, "")
	f.BoolVarP(&r.follow, "location", "L", false, "")
	f.BoolVarP(&r.raw, "globoff", "g", false, "")
	r.addLost(f)
	for _, option := range strings.Fields("connect-timeout proxy=x create-file-mode happy-eyeballs-timeout-ms " +
		"proxy-user=U pass retry-max-time dump-header=D cookie-jar=c speed-limit=Y keepalive-time " +
		"write-out=w retry retry-delay speed-time=y trace-ascii unix-socket max-filesize dns-servers proto-redir " +
		"output=o max-time=m cert-type key-type max-redirs connect-to interface limit-rate output-dir local-port " +
		"cacert capath cert=E key ciphers tls-max resolve stderr trace noproxy proto") {
		name, short, _ := strings.Cut(option, "=")
		text(name, short, func(string) {})
	}
	for _, option := range strings.Fields("silent=s show-error=S verbose=v include=i insecure=k compressed " +
		"fail=f fail-with-body http1.0=0 http1.1 http2 http2-prior-knowledge http3 ipv4=4 ipv6=6 remote-name=O " +
		"remote-header-name=J no-buffer=N progress-bar=# location-trusted tlsv1=1 tlsv1.2 tlsv1.3 basic anyauth " +
		"path-as-is no-keepalive parallel=Z create-dirs tcp-nodelay no-progress-meter retry-connrefused " +
		"retry-all-errors fail-early junk-session-cookies=j disable=q raw compressed-ssh ssl-no-revoke") {
		name, short, _ := strings.Cut(option, "=")
		f.BoolP(name, short, false, "")
	}
	return f
}

// addLost adds the options without a counterpart to f. They fill in r.lost.
func (r *curlRequest) addLost(f *pflag.FlagSet) {
	lose := func(name string) func(string) error {
		return func(string) error { r.lost = append(r.lost, "--"+name); return nil }
	}
	for _, option := range []string{"form F", "form-string", "upload-file T", "config K", "aws-sigv4", "range r",
		"time-cond z", "variable", "expand-url", "expand-data", "request-target", "netrc-file"} {
		name, short, _ := strings.Cut(option, " ")
		f.FuncP(name, short, "", lose(name))
	}
	f.BoolFuncP("netrc", "n", "", lose("netrc"))
	f.BoolFuncP("netrc-optional", "", "", lose("netrc-optional"))
}

// addData adds a part of the body, as curl's data options do.
func (c *commands) addData(r *curlRequest, option, value string) {
	r.asJSON = r.asJSON || option == "json"
	field := ""
	rest := value
	isFile := strings.HasPrefix(value, "@")
	if option == "data-urlencode" {
		at := strings.IndexAny(value, "=@")
		if isFile = at >= 0 && value[at] == '@'; at > 0 {
			field = value[:at] + "="
		}
		rest = value[at+1:]
	} else if isFile = isFile && option != "data-raw"; isFile {
		rest = value[1:]
	}
	if isFile {
		content, err := c.options.read(rest, maxText)
		if err != nil {
			r.lost = append(r.lost, fmt.Sprintf("--%s from the file %s (%v)", option, rest, err))
			return
		}
		if rest = string(content); option == "data" || option == "data-ascii" {
			rest = strings.NewReplacer("\r", "", "\n", "").Replace(rest)
		}
	}
	if option == "data-urlencode" {
		rest = field + restoreReferences(url.QueryEscape(rest))
	}
	r.data = append(r.data, rest)
}

// command converts one transfer of curl.
func (c *commands) command(where string, words []string) {
	var r curlRequest
	flags := c.flags(&r)
	if err := flags.Parse(words); err != nil {
		c.lose(where, "curl", "an option that is not known, or lacks its value: "+oneLine(err.Error()))
		return
	}
	if len(r.lost) > 0 {
		c.lose(where, "curl "+strings.Join(r.lost, ", "), "has no counterpart; write the request as a step")
		return
	}
	body := strings.Join(r.data, "&")
	if r.asJSON {
		body = strings.Join(r.data, "")
	}
	if r.user != "" {
		c.addAuthorization(where, &r)
	}
	usual, mime := "GET", formType
	switch {
	case r.onlyHead:
		usual = "HEAD"
	case len(r.data) > 0 && !r.asQuery:
		usual = "POST"
	}
	if r.asJSON {
		mime = "application/json"
		if _, given := valueOf(r.headers, "Accept"); !given {
			r.headers = append(r.headers, field{"Accept", mime})
		}
	}
	if r.follow {
		c.note("commands", "--location", "an answer that redirects is an answer here; add a step for the new "+
			"address")
	}
	addresses := append(r.urls, flags.Args()...)
	if len(addresses) == 0 {
		c.lose(where, "curl", "it has no URL")
	}
	for _, address := range addresses {
		one := &recorded{where: where, method: cmp.Or(r.method, usual), address: r.fullURL(address, body),
			headers: r.headers, cookies: r.cookies}
		if body != "" && !r.asQuery {
			one.body = body
			one.mimeType = mime
		}
		reason := one.parse()
		if reason == "" && !r.raw && globs.MatchString(address) {
			reason = "curl makes several URLs of its braces and brackets: write one command for each, or use --globoff"
		}
		c.keep(one, reason)
	}
}

// fullURL returns the URL that curl requests for an address: without the fragment, and with the body in the
// query if --get asks for it.
func (r *curlRequest) fullURL(address, body string) string {
	address, _, _ = strings.Cut(address, "#")
	if !r.raw {
		address = globEscapes.Replace(address)
	}
	beforeQuery, _, hasQuery := strings.Cut(address, "?")
	if !strings.Contains(beforeQuery, "://") {
		address = "http://" + address
	}
	switch {
	case body == "" || !r.asQuery:
		return address
	case hasQuery:
		return address + "&" + body
	}
	return address + "?" + body
}

// addAuthorization adds the header for the user and password of a command, or lists them. curl does not send
// them if the command has the header itself.
func (c *commands) addAuthorization(where string, r *curlRequest) {
	if _, given := valueOf(r.headers, "Authorization"); given {
		return
	}
	if referencePattern.MatchString(r.user) {
		c.note(where, "--user", "its user or password is a variable, which cannot be encoded beforehand: give "+
			"the header Authorization")
		return
	}
	r.headers = append(r.headers, basicAuth(r.user))
}
