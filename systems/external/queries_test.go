package external

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestMistakesInQueriesNameTheirLines, with a suggestion if there is one.
func TestMistakesInQueriesNameTheirLines(t *testing.T) {
	text := `schema: cleave-system/1
name: shop
url: http://127.0.0.1:1/
audit:
  databases:
    shop: {driver: oracle, at: "db", name: shop, user: me}
    other:
      driver: mariadb
      at: db:3306
      name: a
      user: b
      password: hunter2
      password_of: A
  queries:
    - {rule: a, in: shp, sql: SELECT 1, equals: 1}
    - {rule: " ", in: shop, sql: SELECT 1, counts: buy, no_rows: true}
    - rule: c
      in: shop
      sql: SELECT 1
      equals: [1, 2]
      within: 11m
    - {rule: d, in: shop, sql: SELECT 1}
`
	_, err := Parse("shop.yaml", []byte(text))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("it says %v", err)
	}
	for _, want := range []string{
		`shop.yaml:6: audit.databases.shop.driver: it is "oracle", expected postgres, mysql or mariadb`,
		`shop.yaml:6: audit.databases.shop.at: it is "db", expected a service of the system, or 127.0.0.1, and a port`,
		"shop.yaml:7: audit.databases.other: give one of password, password_file and password_of",
		"shop.yaml:7: audit.databases.other: no query asks it",
		"shop.yaml:12: audit.databases.other.password: a system file holds no password",
		`shop.yaml:15: audit.queries[0].in: there is no database "shp" in audit.databases (did you mean "shop"?)`,
		"shop.yaml:16: audit.queries[1]: rule says what must hold",
		"shop.yaml:16: audit.queries[1]: give one of equals, counts and no_rows",
		"shop.yaml:20: audit.queries[2].equals: expected a number, a text",
		"shop.yaml:21: audit.queries[2].within: it is 11m0s, expected at most 10m0s",
		"shop.yaml:22: audit.queries[3]: give one of equals, counts and no_rows",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q:\n%v", want, err)
		}
	}
}

// TestDatabasesAreLocated in each deployment, or refused. Long because it is a table.
func TestDatabasesAreLocated(t *testing.T) {
	path := projectFolder(t, map[string]string{"compose.yaml": `name: shop
services:
  web: {image: web, ports: ["8080:80"]}
  db: {image: postgres, container_name: store, environment: {POSTGRES_PASSWORD: a}, ports: ["15432:5432"]}
  hidden: {image: postgres}
  worker: {image: worker, ports: ["80:1"]}
`})
	const file, command = "compose: compose.yaml\nurl: http://web:80/", "command: [server, '{port}']"
	for _, c := range []struct{ system, at, more, deployment, want, refused string }{
		{file, "db:5432", "", "", "db:5432", ""},
		{file, "store:5432", "", lab.DockerBridge, "db:5432", ""},
		{file, "127.0.0.1:15432", "password_of: POSTGRES_PASSWORD", "", "db:5432", ""},
		{file, "127.0.0.1:8080", "", "", "web:80", ""}, // and not the worker, which publishes a port 80
		{file, "hidden:5432", "", "", "hidden:5432", ""},
		{file, "127.0.0.1:5432", "", "", "", "system shop: audit.databases.shop: at: no service publishes port " +
			"5432 of this host, but 15432, 8080, 80: name the service"},
		{file, "dbs:5432", "", "", "", "there is no service dbs: the system has db, hidden, web"},
		{file, "db:5432", "password_of: NONE", "", "", "the service db has no variable NONE"},
		{file, "db:5432", "", lab.Kubernetes, "", "on kubernetes this host does not reach db:5432: audit it " +
			"with a command"},
		{file, "127.0.0.1:15432", "", kindCompose, "127.0.0.1:15432", ""},
		{file, "db:5432", "", kindCompose, "", `the compose command reaches db:5432 by a port of this host only`},
		{command, "127.0.0.1:5432", "", "", "127.0.0.1:5432", ""},
		{command, "system:5432", "", lab.DockerBridge, "system:5432", ""},
		{command, "db.example.com:5432", "", "", "", "db.example.com:5432 is not on this host: give 127.0.0.1 " +
			"and a port, or system and a port of its container"},
		{command, "localhost:5432", "password_of: NONE", "", "", "neither env nor env_file of the system has"},
		{"url: http://127.0.0.1:1/", "system:5432", "", "", "", "system:5432 is not on this host: give 127.0.0.1"},
	} {
		text := "name: shop\n" + c.system + "\naudit:\n  databases:\n    shop:\n      driver: postgres\n" +
			"      at: " + c.at + "\n      name: shop\n      user: me\n      " + c.more +
			"\n  queries:\n  - {rule: a, in: shop, sql: SELECT 1, equals: 1}\n"
		d, err := parseBeside(path, text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var deployments []string
		if c.deployment != "" {
			deployments = []string{c.deployment}
		}
		all, err := d.In(deployments)
		switch {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s at %s: %v, want %q", c.system, c.at, err, c.refused)
			}
		case err != nil || all[0].Audit.Databases["shop"].At != c.want:
			t.Errorf("%s at %s: it is at %+v (%v)", c.system, c.at, all[0].Audit, err)
		case strings.HasPrefix(c.at, "hidden"):
			for _, s := range all[0].Services {
				if s.Name == "hidden" && s.Port != 5432 {
					t.Errorf("this host has no address of %s: its port is %d", s.Name, s.Port)
				}
			}
		}
	}
}
