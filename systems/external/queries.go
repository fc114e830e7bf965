package external

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// Drivers of databases. MariaDB has the protocol of MySQL.
const (
	driverPostgres = "postgres"
	driverMySQL    = "mysql"
)

// drivers maps the names in system files to drivers.
var drivers = map[string]string{
	driverPostgres: driverPostgres, driverMySQL: driverMySQL, "mariadb": driverMySQL,
}

// Limits of the queries of a system file.
const (
	maxQueries = 32
	maxWait    = 10 * time.Minute // for an answer to become right
)

// auditQuery is a query of an audit in a system file. See lab.AuditQuery for its fields.
type auditQuery struct {
	Rule   string        `yaml:"rule"`
	In     string        `yaml:"in"`
	SQL    string        `yaml:"sql"`
	Equals any           `yaml:"equals,omitempty"`
	Counts string        `yaml:"counts,omitempty"`
	NoRows bool          `yaml:"no_rows,omitempty"`
	Within time.Duration `yaml:"within,omitempty"`
}

// onlyReference matches a text that is a reference to a variable, ${NAME}, and nothing else.
var onlyReference = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

// check reports the mistakes in the queries and databases of an audit, with their places in the file.
func (a audit) check(mistake func(place, format string, args ...any)) {
	for _, name := range slices.Sorted(maps.Keys(a.Databases)) {
		db, place := a.Databases[name], "audit.databases."+name
		if drivers[db.Driver] == "" {
			mistake(place+".driver", "it is %q, expected postgres, mysql or mariadb", db.Driver)
		}
		if _, _, err := splitAt(db.At); err != nil {
			mistake(place+".at", "%v", err)
		}
		if db.Password != "" && !onlyReference.MatchString(db.Password) {
			mistake(place+".password", "a system file holds no password: refer to a variable of the environment, "+
				"such as ${DB_PASSWORD}, or use password_file, or password_of with a variable of the service")
		}
		if countTrue(db.Password != "", db.PasswordFile != "", db.PasswordOf != "") > 1 {
			mistake(place, "give one of password, password_file and password_of")
		}
		if !slices.ContainsFunc(a.Queries, func(q auditQuery) bool { return q.In == name }) {
			mistake(place, "no query asks it: name it in a query (in: %s), or leave it out", name)
		}
	}
	if len(a.Queries) > maxQueries {
		mistake("audit.queries", "there are %d, at most %d are asked", len(a.Queries), maxQueries)
	}
	for i, q := range a.Queries {
		place := fmt.Sprintf("audit.queries[%d]", i)
		if _, known := a.Databases[q.In]; !known {
			mistake(place+".in", "there is no database %q in audit.databases%s", q.In,
				yamlfile.Suggest(q.In, slices.Sorted(maps.Keys(a.Databases))))
		}
		if strings.TrimSpace(q.Rule) == "" || strings.TrimSpace(q.SQL) == "" {
			mistake(place, "rule says what must hold, and sql asks for it: neither can be empty")
		}
		if strings.TrimSpace(q.SQL) != "" && !readsOnly(q.SQL) {
			mistake(place+".sql", "expected a SELECT, a WITH, a VALUES or a SHOW that writes no file: audits only "+
				"read")
		}
		if countTrue(q.Equals != nil, q.Counts != "", q.NoRows) != 1 {
			mistake(place, "give one of equals, counts and no_rows: what must be answered?")
		}
		if _, isPlain := plainValue(q.Equals); q.Equals != nil && !isPlain {
			mistake(place+".equals", "expected a number, a text, true or false: make one value of several in SQL")
		}
		if q.Within < 0 || q.Within > maxWait {
			mistake(place+".within", "it is %v, expected at most %v", q.Within, maxWait)
		}
	}
}

// countTrue returns the number of true values.
func countTrue(given ...bool) (n int) {
	for _, one := range given {
		if one {
			n++
		}
	}
	return n
}

// plainValue returns a value of a file as text; false if it is a list, an object or null.
func plainValue(value any) (string, bool) {
	switch value.(type) {
	case nil, map[string]any, []any:
		return "", false
	}
	return fmt.Sprint(value), true
}

// splitAt returns the host and the port of a database. The host is a unit of the system, or this host.
func splitAt(at string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(at)
	port, isPort := parsePort(text)
	if err != nil || host == "" || !isPort {
		return "", 0, fmt.Errorf("it is %q, expected a service of the system, or 127.0.0.1, and a port: db:5432",
			at)
	}
	return host, port, nil
}

// parsePort returns the number of a port, and whether the text is one.
func parsePort(text string) (port int, isPort bool) {
	port, err := strconv.Atoi(text)
	return port, err == nil && port >= 1 && port <= maxPort
}

// isLoopback reports whether a host is localhost or a loopback address.
func isLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// addQueries adds the databases and queries to the audit of a system file in a folder.
func (a audit) addQueries(all *lab.SystemAudit, folder string) {
	for name, db := range a.Databases {
		db.Driver = drivers[db.Driver]
		if db.PasswordFile != "" {
			db.PasswordFile = within(folder, db.PasswordFile)
		}
		if all.Databases == nil {
			all.Databases = map[string]lab.AuditDatabase{}
		}
		all.Databases[name] = db
	}
	for _, q := range a.Queries {
		query := lab.AuditQuery{Rule: q.Rule, In: q.In, SQL: q.SQL, Counts: q.Counts, NoRows: q.NoRows,
			Within: q.Within.Seconds()}
		if value, isPlain := plainValue(q.Equals); isPlain {
			query.Equals = &value
		}
		all.Queries = append(all.Queries, query)
	}
}

// readsHistory reports whether an audit needs the generator's history.
func readsHistory(a *lab.SystemAudit) bool {
	if a == nil {
		return false
	}
	counts := func(q lab.AuditQuery) bool { return q.Counts != "" }
	return len(a.Command) > 0 || slices.ContainsFunc(a.Queries, counts)
}

// LongestQueries returns the time limit of all queries of the audit, which run one after another.
func (d Definition) LongestQueries() (all time.Duration) {
	if d.Audit == nil {
		return 0
	}
	for _, q := range d.Audit.Queries {
		all += answerTimeout + lab.Seconds(q.Within)
	}
	return all
}

// locateDatabases sets the addresses of the audit's databases for the deployment of the system. It returns an
// error if this host cannot reach them there.
func (d *Definition) locateDatabases() (err error) {
	if d.Audit == nil || len(d.Audit.Databases) == 0 {
		return nil
	}
	own := *d.Audit // copies of the definition share the audit
	own.Databases = maps.Clone(own.Databases)
	d.Audit = &own
	for _, name := range slices.Sorted(maps.Keys(own.Databases)) {
		db := own.Databases[name]
		mistake := d.locate(&db)
		if mistake != nil {
			err = errors.Join(err, fmt.Errorf("audit.databases.%s: %w", name, mistake))
		}
		own.Databases[name] = db
	}
	return err
}

// locate sets the address of one database, or returns an error if this host cannot reach it.
func (d *Definition) locate(db *lab.AuditDatabase) error {
	host, port, err := splitAt(db.At)
	if err != nil {
		return fmt.Errorf("at: %w", err)
	}
	if db.Driver == driverPostgres {
		if err := checkEnvironment(); err != nil { // PGSERVICE would lead the driver to another database
			return err
		}
	}
	if d.IsRemote() {
		return fmt.Errorf("at: on %s this host does not reach %s: audit it with a command, or with requests, or "+
			"deploy it on this host", d.Deployment, db.At)
	}
	switch d.Kind() {
	case kindServices:
		return d.locateService(db, host, port)
	case kindCompose:
		if !isLoopback(host) {
			return fmt.Errorf("at: the compose command reaches %s by a port of this host only: give the service "+
				"ports: [\"127.0.0.1:PORT:%d\"], and at: 127.0.0.1:PORT", db.At, port)
		}
	default:
		listens := strings.Contains(d.URL, portMark)
		isSystem := listens && host == roleSystem
		if !isSystem && !isLoopback(host) {
			more := ""
			if listens {
				more = ", or " + roleSystem + " and a port of its container"
			}
			return fmt.Errorf("at: %s is not on this host: give 127.0.0.1 and a port%s", db.At, more)
		}
	}
	if _, set := d.Env[db.PasswordOf]; db.PasswordOf != "" && !set {
		return fmt.Errorf("password_of: neither env nor env_file of the system has a variable %s", db.PasswordOf)
	}
	return nil
}

// locateService sets the address of a database that is a service. The file names the service, or one of its
// published ports.
func (d *Definition) locateService(db *lab.AuditDatabase, host string, port int) error {
	if isLoopback(host) {
		var published []string
		for _, entry := range d.project.entryPoints {
			if entry.published != "" {
				published = append(published, entry.published)
			}
		}
		entry, found := d.project.publishedAt(db.At)
		if !found {
			return fmt.Errorf("at: no service publishes port %d of this host, but %s: name the service and its own "+
				"port: db:5432", port, cmp.Or(strings.Join(published, ", "), "none at all"))
		}
		host, port = entry.service, entry.port
	}
	i := slices.IndexFunc(d.Services, func(s lab.SystemService) bool {
		return s.Name == host || slices.Contains(s.Container.Names, host)
	})
	if i < 0 {
		return fmt.Errorf("at: there is no service %s: the system has %s", host, strings.Join(d.Units(), ", "))
	}
	d.Services = slices.Clone(d.Services)
	service := &d.Services[i]
	service.Port = cmp.Or(service.Port, port) // without one it has no address on this host
	db.At = net.JoinHostPort(service.Name, strconv.Itoa(port))
	if _, set := variableOf(service.Container.Env, db.PasswordOf); db.PasswordOf != "" && !set {
		return fmt.Errorf("password_of: the service %s has no variable %s", service.Name, db.PasswordOf)
	}
	return nil
}

// variableOf returns the value of a variable of an environment, and whether it is set.
func variableOf(environment []string, name string) (value string, set bool) {
	for _, v := range environment {
		if known, its, _ := strings.Cut(v, "="); known == name {
			value, set = its, true
		}
	}
	return value, set
}
