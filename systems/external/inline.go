package external

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/cleave-lab/cleave/shell"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// Inline returns a definition that is written on the command line: URL, name=URL or name=COMMAND. A command
// is split by shell.Split, without a shell; {port} in it stands for the port on which it has to listen.
func Inline(text string) (Definition, error) {
	name, value, named := strings.Cut(text, "=")
	if isURL(text) || !named {
		name, value = "", text
	}
	d := Definition{Name: name}
	switch {
	case isURL(value):
		d.URL = value
		u, err := url.Parse(value)
		// complete refuses a URL with a password, which this message would show.
		if err == nil && u.User == nil && u.RawQuery != "" {
			return d, fmt.Errorf("URL %q: a query belongs to what is asked of every system: --path %s, and "+
				"%s://%s here", value, shell.Quote(u.RequestURI()), u.Scheme, u.Host)
		}
		if err == nil && name == "" {
			d.Name = loaded.NameOf(u.Host)
		}
	case !named:
		return d, fmt.Errorf("%q is no file, no URL and not name=COMMAND", text)
	default:
		var err error
		if d.Command, err = shell.Split(value); err != nil {
			return d, fmt.Errorf("system %s: %w", name, err)
		}
		if len(d.Command) == 0 {
			return d, fmt.Errorf("system %s: there is no command behind %q", name, name+"=")
		}
		if !strings.Contains(value, portMark) {
			return d, fmt.Errorf("system %s: put %s into the command where its port belongs, or write a system file "+
				"with its url: cleave init system", name, portMark)
		}
		if d.Dir, err = os.Getwd(); err != nil {
			return d, err
		}
	}
	return d, joinMistakes("system "+d.Name, d.complete())
}

// isURL reports whether a text begins with a scheme, such as http://.
func isURL(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && !strings.ContainsAny(scheme, "= /")
}
