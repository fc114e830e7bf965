package external

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
)

// TestMain also runs the helper processes of the tests: the janitor and the keeper of database servers.
func TestMain(m *testing.M) { servers.Main(m.Run, nil) }

// stored is a database with orders, as a system file describes it.
type stored struct {
	lab.AuditDatabase
	password string
}

// store creates a database with some orders.
func store(t *testing.T, driver database.Driver) stored {
	t.Helper()
	var s stored
	config := databasetest.Fresh(t, driver)
	s.Driver = driverPostgres
	if driver == database.MariaDB {
		s.Driver = driverMySQL
		dsn, err := mysql.ParseDSN(config.DSN)
		testset.Must(t, err)
		s.At = dsn.Addr
		s.Name = dsn.DBName
		s.User = dsn.User
		s.password = dsn.Passwd
	} else {
		dsn, err := url.Parse(config.DSN)
		testset.Must(t, err)
		s.At = dsn.Host
		s.Name = strings.TrimPrefix(dsn.Path, "/")
		s.User = dsn.User.Username()
		s.password, _ = dsn.User.Password()
	}
	s.Password = "${SHOP_PASSWORD}"
	db, err := systemWithPassword(s.password).open(&lab.ExternalSystem{}, s.AuditDatabase, nil)
	testset.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	for _, statement := range []string{
		"CREATE TABLE orders (id INT PRIMARY KEY, note VARCHAR(40), total NUMERIC(6,2))",
		"INSERT INTO orders VALUES (1, 'tea', 2.50), (2, 'milk', 3), (3, NULL, 0), (4, 'x', -1), (5, 'x', -1), " +
			"(6, 'x', -1), (7, 'x', -1), (8, 'x', -1), (9, 'x', -1)"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// systemWithPassword returns a system whose environment has a password.
func systemWithPassword(password string) System {
	return System{Generator: &loadedtest.Generator{Report: lab.LoadReport{Sent: 9, OK: 9}},
		Secrets: secret.NewVault(func(name string) (string, bool) { return password, name == "SHOP_PASSWORD" })}
}

// history has one successful order, one that was refused, and another operation. ask adds 6 successful
// orders, and 2 with an unknown outcome.
const history = `{"operation":"buy","end":"ok","warm_up":true,"noted":[1]}
` + `{"operation":"buy","end":"fail"}
{"operation":"look","end":"ok"}
`

// ask returns the audit of a system with these queries of the database.
func (s stored) ask(t *testing.T, system System, queries ...lab.AuditQuery) lab.Audit {
	t.Helper()
	x := &lab.ExternalSystem{URL: "http://127.0.0.1:1/", Audit: &lab.SystemAudit{Queries: queries,
		Databases: map[string]lab.AuditDatabase{"shop": s.AuditDatabase}}}
	lines := []string{history}
	for range 6 {
		lines = append(lines, `{"operation":"buy","end":"ok"}`)
	}
	for range 2 {
		lines = append(lines, `{"operation":"buy","end":"info"}`)
	}
	return system.AuditLive(t.Context(), lab.Variant{Name: "it", External: x}, at(Operations, 9),
		loadedtest.Left(t, lines...))
}

// TestDatabasesAreAudited with queries. Long because it is a table.
func TestDatabasesAreAudited(t *testing.T) {
	is := func(value string) lab.AuditQuery { return lab.AuditQuery{Equals: &value} }
	counts := lab.AuditQuery{Counts: "buy"}
	none := lab.AuditQuery{NoRows: true}
	for _, driver := range []database.Driver{database.PostgreSQL, database.MariaDB} {
		t.Run(string(driver), func(t *testing.T) {
			s := store(t, driver)
			for _, c := range []struct {
				sql     string
				want    lab.AuditQuery
				verdict lab.AuditVerdict
				message string
			}{
				{"SELECT count(*) FROM orders", is("9"), lab.AuditValid, "shop is right: 9"},
				{"SELECT count(*) FROM orders", is("8"), lab.AuditInvalid, "9 came, expected 8"},
				{"SELECT total FROM orders WHERE id = 2", is("3"), lab.AuditValid, "3.00"},
				{"SELECT note FROM orders WHERE id = 1", is("tea"), lab.AuditValid, "tea"},
				{"SELECT note FROM orders WHERE id = 3", is("tea"), lab.AuditInvalid, "NULL came, expected tea"},
				{"SELECT note FROM orders WHERE id = 99", is("tea"), lab.AuditInvalid, "no row came"},
				{"SELECT note, id FROM orders", is("tea"), lab.AuditUnknown, "note=milk id=2; note=NULL id=3"},
				{"SELECT count(*) FROM orders", counts, lab.AuditValid, "9, 7 buy were answered rightly, and of 2"},
				{"SELECT count(*) FROM orders WHERE id > 2", counts, lab.AuditValid, "7, 7 buy"},
				{"SELECT count(*) FROM orders WHERE id > 3", counts, lab.AuditInvalid, "6 came, 1 missing: 7 buy"},
				{"SELECT 1 + count(*) FROM orders", counts, lab.AuditInvalid, "10 came, 1 too many"},
				{"SELECT sum(id) FROM orders WHERE id > 99", counts, lab.AuditUnknown, "coalesce(sum(...), 0)"},
				{"SELECT 1", lab.AuditQuery{Counts: "bay"}, lab.AuditUnknown, `no operation "bay" to be counted: it ` +
					"has buy, look"},
				{"SELECT id FROM orders WHERE total < -5", none, lab.AuditValid, "no rows"},
				{"SELECT id, total FROM orders WHERE total < 0 ORDER BY id", none, lab.AuditInvalid,
					"expected none: id=4 total=-1.00; id=5 total=-1.00; id=6 total=-1.00; id=7 total=-1.00; " +
						"id=8 total=-1.00; ..."},
				{"SELECT ids FROM orders", none, lab.AuditUnknown, "asked: SELECT ids FROM orders): it was not answered"},
				{"SELECT repeat('x', 2000000)", is("x"), lab.AuditUnknown, "more than 1048576 bytes, and no more"},
				{"SELECT repeat('x', 600000)", lab.AuditQuery{Equals: new("x"), Within: 0.3}, lab.AuditInvalid,
					"xxx... came, expected x"}, // asked twice: the limit is that of one answer
				{"SELECT 1; DELETE FROM orders", none, lab.AuditUnknown, "it was not answered"},
				{"WITH gone AS (DELETE FROM orders RETURNING id) SELECT * FROM gone", none, lab.AuditUnknown,
					"it was not answered"},
				{"DROP TABLE orders", none, lab.AuditUnknown, "its sql must be a SELECT"},
				{"COPY (SELECT 1) TO PROGRAM 'true'", none, lab.AuditUnknown, "its sql must be a SELECT"},
				{"SELECT 1 INTO OUTFILE '/tmp/cleave'", none, lab.AuditUnknown, "its sql must be a SELECT"},
			} {
				c.want.Rule = "shop is right"
				c.want.In = "shop"
				c.want.SQL = c.sql
				got := s.ask(t, systemWithPassword(s.password), c.want)
				messages := strings.Join(append(got.Problems, got.Said...), "; ")
				if got.Verdict != c.verdict || !strings.Contains(messages, c.message) {
					t.Errorf("%s: %s, %s; want %s and %q", c.sql, got.Verdict, messages, c.verdict, c.message)
				}
				if undecided := got.Figures[FigureUndecided] == 1; undecided != (c.verdict == lab.AuditUnknown) {
					t.Errorf("%s: undecided is %t", c.sql, undecided)
				}
			}
			s.becomesRight(t)
			s.keepsItsPassword(t)
		})
	}
}

// TestTheEnvironmentChoosesNoDatabase, not even with the variables of PostgreSQL.
func TestTheEnvironmentChoosesNoDatabase(t *testing.T) {
	connection := func(config *pgx.ConnConfig) string {
		var texts []string
		for _, at := range append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port,
			TLSConfig: config.TLSConfig}}, config.Fallbacks...) {
			text := fmt.Sprintf("%s:%d", at.Host, at.Port)
			if secured := at.TLSConfig; secured != nil {
				text += fmt.Sprint(" by TLS ", secured.ServerName, secured.InsecureSkipVerify, secured.RootCAs,
					len(secured.Certificates), secured.NextProtos)
			}
			texts = append(texts, text)
		}
		return fmt.Sprint(texts, config.User, config.Password, config.Database, config.RuntimeParams,
			config.ConnectTimeout, config.ValidateConnect == nil, config.SSLNegotiation, config.SSLCertMode,
			config.ChannelBinding, config.RequireAuth, config.MinProtocolVersion, config.MaxProtocolVersion)
	}
	named := lab.AuditDatabase{Name: "shop", User: "me"}
	unnamed := lab.AuditDatabase{}
	before := map[lab.AuditDatabase]string{}
	for _, d := range []lab.AuditDatabase{named, unnamed} {
		config, err := postgresConfig("localhost:5432", "", d)
		testset.Must(t, err)
		before[d] = connection(config)
	}
	for d, want := range before {
		for _, name := range []string{"HOST", "PORT", "DATABASE", "USER", "PASSWORD", "PASSFILE", "APPNAME",
			"CONNECT_TIMEOUT", "SSLMODE", "SSLKEY", "SSLCERT", "SSLCERTMODE", "SSLSNI", "SSLROOTCERT", "SSLPASSWORD",
			"SSLNEGOTIATION", "TARGETSESSIONATTRS", "TZ", "OPTIONS", "MINPROTOCOLVERSION", "MAXPROTOCOLVERSION",
			"CHANNELBINDING", "REQUIREAUTH"} {
			for _, value := range []string{"direct", "3.2", "disable"} { // one of them is a value of each variable
				t.Setenv("PG"+name, value)
				got, err := postgresConfig("localhost:5432", "", d)
				if err != nil || connection(got) != want {
					t.Errorf("PG%s=%s changes %s: %v", name, value, want, err)
				}
			}
		}
	}
	t.Setenv("PGSERVICE", "other")
	if _, err := postgresConfig("localhost:5432", "", lab.AuditDatabase{}); err == nil ||
		!strings.Contains(err.Error(), "env -u PGSERVICE") {
		t.Errorf("with PGSERVICE: %v", err)
	}
}

// becomesRight checks that an audit waits for a system that still works after its load, and not longer.
func (s stored) becomesRight(t *testing.T) {
	later := map[string]string{driverPostgres: "to_timestamp", driverMySQL: "from_unixtime"}[s.Driver]
	for within, want := range map[float64]lab.AuditVerdict{0: lab.AuditInvalid, 60: lab.AuditValid} {
		open := lab.AuditQuery{Rule: "all is done", In: "shop", NoRows: true, Within: within, SQL: fmt.Sprintf(
			"SELECT id FROM orders WHERE id = 1 AND now() < %s(%d)", later, time.Now().Add(2*time.Second).Unix())}
		if within == 0 {
			open.SQL = "SELECT id FROM orders WHERE id = 1"
		}
		if got := s.ask(t, systemWithPassword(s.password), open); got.Verdict != want {
			t.Errorf("within %g s it is %s: %v", within, got.Verdict, got.Problems)
		}
	}
}

// keepsItsPassword checks all sources of passwords, and that no message has one.
func (s stored) keepsItsPassword(t *testing.T) {
	query := lab.AuditQuery{Rule: "there", In: "shop", SQL: "SELECT id FROM orders WHERE id = 99", NoRows: true}
	wrong := systemWithPassword("not-the-password")
	got := s.ask(t, wrong, query)
	problems := strings.Join(got.Problems, "; ")
	if got.Verdict != lab.AuditUnknown || !strings.Contains(problems, "look at audit.databases.shop") ||
		strings.Contains(problems, "not-the-password") {
		t.Errorf("with a wrong password it is %s: %s", got.Verdict, problems)
	}
	system := systemWithPassword(s.password)
	hidden := "hidden-text"
	secretly := lab.AuditQuery{Rule: "there", In: "shop", Equals: &hidden,
		SQL: "SELECT '" + secret.Reference(system.Secrets.Mask("sql", "TOKEN", hidden)) + "'"}
	if got := s.ask(t, system, secretly); got.Verdict != lab.AuditValid {
		t.Errorf("with a secret in the query it is %s: %v", got.Verdict, got.Problems)
	}
	file := filepath.Join(t.TempDir(), "password")
	testset.Must(t, os.WriteFile(file, []byte(s.password+"\n"), 0o600))
	s.Password = ""
	s.PasswordFile = file
	if got := s.ask(t, wrong, query); got.Verdict != lab.AuditValid ||
		wrong.Secrets.Conceal(s.password) != "***" {
		t.Errorf("with a password in a file it is %s: %v", got.Verdict, got.Problems)
	}
	_, port, err := net.SplitHostPort(s.At)
	testset.Must(t, err)
	s.PasswordFile = ""
	s.PasswordOf = "DB_PASSWORD"
	masked := secret.NewVault(os.LookupEnv)
	reference := secret.Reference(masked.Mask("system", "DB_PASSWORD", s.password))
	x := &lab.ExternalSystem{Services: []lab.SystemService{{Name: "db", Container: lab.ContainerSpec{
		Env: []string{"A=b", "DB_PASSWORD=" + reference}}}}}
	s.AuditDatabase.At = "db:" + port
	db, err := System{Secrets: masked}.open(x, s.AuditDatabase, map[string]string{"db": "127.0.0.1:1"})
	if err == nil {
		err = errors.Join(db.PingContext(t.Context()), db.Close())
	}
	if err != nil {
		t.Errorf("with the password of the service: %v", err)
	}
	if _, err := (System{Secrets: masked}).open(x, s.AuditDatabase, nil); err == nil {
		t.Error("a database is asked that is no unit of the system")
	}
}

// TestNumbersAreTheSame in all notations, but whole numbers must have the same digits.
func TestNumbersAreTheSame(t *testing.T) {
	for pair, same := range map[[2]string]bool{
		{"12", "12.0"}: true, {"1000000", "1e+06"}: true, {"3.00", "3"}: true, {"tea", "tea"}: true,
		{"12", "13"}: false, {"tea", "milk"}: false, {"12", "tea"}: false,
		{"9007199254740993", "9007199254740992"}: false, {"100000000000000000002", "100000000000000000001"}: false,
	} {
		if sameValue(pair[0], pair[1]) != same {
			t.Errorf("%s and %s are the same: %t", pair[0], pair[1], !same)
		}
	}
}
