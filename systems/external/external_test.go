package external

import (
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
)

// handedIn holds the reports of a trial's units: that of the generator alone.
var handedIn = []lab.UnitReport{{Unit: "generator"}}

func parse(t *testing.T, text string) Definition {
	t.Helper()
	d, err := Parse(filepath.Join(t.TempDir(), "system.yaml"),
		[]byte("schema: cleave-system/1\nname: it\n"+text))
	testset.Must(t, err)
	return d
}

func at(factor string, level float64) lab.Point {
	return lab.Point{Name: "here", Levels: map[string]float64{factor: level}}
}

func layout(t *testing.T, d Definition, p lab.Point) (lab.Layout, lab.LoadJob) {
	t.Helper()
	var g loadedtest.Generator
	system := System{Generator: &g, Load: lab.Load{Duration: 3, Cores: []int{1}},
		Secrets: secret.NewVault(os.LookupEnv)}
	l, err := system.Layout(lab.Variant{Name: d.Name, External: &d.ExternalSystem}, p, 7)
	testset.Must(t, err)
	return l, g.Job
}

func TestLayouts(t *testing.T) {
	for name, test := range map[string]struct {
		text         string
		units, binds []string
		target, unit string
		prepare      int
	}{
		"runs already": {"url: http://127.0.0.1:8080/", []string{"generator"}, nil, "http://127.0.0.1:8080/", "",
			0},
		"chosen port": {"command: ./server {port}", []string{"system", "generator"}, nil, "http://127.0.0.1:80/",
			"system", 0},
		"port by env": {"command: ./server\nenv: {PORT: '{port}'}", []string{"system", "generator"}, nil,
			"http://127.0.0.1:80/", "system", 0},
		"fixed port": {"command: ./server\nurl: http://localhost:8123/x", []string{"system", "generator"},
			[]string{"localhost:8123"}, "http://localhost:8123/x", "", 0},
		"port of scheme": {"command: ./server\nurl: https://127.0.0.1/", []string{"system", "generator"},
			[]string{"127.0.0.1:443"}, "https://127.0.0.1/", "", 0},
		"image": {"image: nginx:1.27\nport: 80", []string{"system", "generator"}, nil, "http://127.0.0.1:80/",
			"system", 0},
		"image with command": {"image: nginx\ncommand: --port {port}\nurl: http://127.0.0.1:{port}/x",
			[]string{"system", "generator"}, nil, "http://127.0.0.1:80/x", "system", 0},
		"with reset": {"command: ./server {port}\nreset: [./reset, all]", []string{"system", "generator"}, nil,
			"http://127.0.0.1:80/", "system", 1},
	} {
		t.Run(name, func(t *testing.T) {
			l, job := layout(t, parse(t, test.text), at(lab.FactorRate, 50))
			var units []string
			for _, u := range l.Units {
				units = append(units, u.Name)
			}
			if !slices.Equal(units, test.units) || l.Lead != "generator" ||
				!slices.Equal(l.Units[0].Binds, test.binds) || len(l.Prepare) != test.prepare {
				t.Errorf("layout %+v", l)
			}
			if job.Target != test.target || job.Unit != test.unit || job.Rate != 50 || job.Seed != 7 ||
				job.Duration != 3 || job.Ready.Timeout != 30 {
				t.Errorf("job %+v, want target %q and unit %q", job, test.target, test.unit)
			}
			generator := l.Units[len(l.Units)-1]
			if peers := generator.Peers; (len(peers) == 1) != (test.unit != "") || generator.Foreign ||
				!slices.Equal(generator.Cores, []int{1}) {
				t.Errorf("generator %+v", generator)
			}
			if len(units) == 2 && (!l.Units[0].Foreign || l.Units[0].Listens != (test.unit != "")) {
				t.Errorf("system %+v", l.Units[0])
			}
		})
	}
}

func TestServicesOfAComposeFileBecomeUnits(t *testing.T) {
	path := projectFolder(t, map[string]string{
		"compose.yaml": "services: {web: {image: web, network_mode: host}, db: {image: db}}"})
	d, err := parseBeside(path, "name: it\nurl: http://127.0.0.1:8080/\ncompose: compose.yaml")
	testset.Must(t, err)
	l, _ := layout(t, d, at(lab.FactorUsers, 3))
	for i, name := range []string{"db", "web"} {
		u := l.Units[i]
		if u.Name != name || u.Role != name || u.Compose == nil ||
			!strings.Contains(u.Compose.Text, "image: web") || u.Compose.Dir != filepath.Dir(path) {
			t.Errorf("unit %+v, want the service %s with the text of the compose file", u, name)
		}
	}
	if uses := l.Units[2].Uses; len(l.Units) != 3 || len(uses) != 2 || uses[1].To != "web" {
		t.Errorf("the generator uses %+v", uses)
	}
	for text, message := range map[string]string{"services: {generator: {image: web}}": "give it another one",
		"volumes: {}": "no services", "services: [": "compose file"} {
		d.Compose = &lab.Compose{Text: text}
		_, err := System{Generator: &loadedtest.Generator{}}.Layout(lab.Variant{Name: "it",
			External: &d.ExternalSystem}, at(lab.FactorUsers, 3), 1)
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("Layout of %q: %v, want it to say %q", text, err, message)
		}
	}
}

func TestPointsSayWhatTheLoadIs(t *testing.T) {
	d := parse(t, "url: http://127.0.0.1:8080/")
	for name, test := range map[string]struct {
		point lab.Point
		want  lab.LoadJob
		fails bool
	}{
		"rate":  {at(lab.FactorRate, 12.5), lab.LoadJob{Rate: 12.5}, false},
		"users": {at(lab.FactorUsers, 4), lab.LoadJob{Users: 4}, false},
		"search": {at(lab.FactorSearchFrom, 100),
			lab.LoadJob{Rate: 100, Search: true, Variant: "theirs"}, false},
		"scenario's": {lab.Point{Name: "scenario"}, lab.LoadJob{}, false},
		"no rate":    {at(lab.FactorRate, 0), lab.LoadJob{}, true},
		"unknown":    {at("workers", 5), lab.LoadJob{}, true},
		"two of these": {lab.Point{Levels: map[string]float64{lab.FactorRate: 1, lab.FactorUsers: 1}},
			lab.LoadJob{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var g loadedtest.Generator
			system := System{Generator: &g, Load: lab.Load{Objective: "p99<1s"}}
			_, err := system.Layout(lab.Variant{Name: "theirs", External: &d.ExternalSystem}, test.point, 1)
			job := g.Job
			if (err != nil) != test.fails || job.Search && job.Variant != test.want.Variant ||
				job.Rate != test.want.Rate || job.Users != test.want.Users || job.Search != test.want.Search {
				t.Errorf("job %+v, %v; want %+v", job, err, test.want)
			}
		})
	}
}

func TestAudits(t *testing.T) {
	good := lab.LoadReport{Offered: 100, Achieved: 100, Duration: 1, Sent: 100, OK: 100}
	with := func(change func(r *lab.LoadReport)) lab.LoadReport {
		r := good
		change(&r)
		return r
	}
	for name, test := range map[string]struct {
		report  lab.LoadReport
		want    lab.AuditVerdict
		message string
	}{
		"good":        {good, lab.AuditValid, ""},
		"closed loop": {with(func(r *lab.LoadReport) { r.Offered = 0 }), lab.AuditValid, ""},
		"some errors": {with(func(r *lab.LoadReport) {
			r.OK = 60
			r.Errors = map[string]int64{"timeout": 40}
		}),
			lab.AuditValid, ""},
		"rate missed": {with(func(r *lab.LoadReport) { r.Achieved, r.Unsent = 98, 2 }), lab.AuditValid, ""},
		"client limited": {with(func(r *lab.LoadReport) {
			r.Achieved = 50
			r.Limited = []string{"own CPU 99 %"}
		}),
			lab.AuditUnknown,
			"the generator, not the system, was the limit: own CPU 99 %"},
		"nothing sent": {with(func(r *lab.LoadReport) { r.Sent, r.OK = 0, 0 }), lab.AuditUnknown,
			"no operation was sent"},
		"nothing right": {with(func(r *lab.LoadReport) {
			r.OK = 0
			r.Errors = map[string]int64{"reset": 10, "wrong": 90}
		}), lab.AuditInvalid, "none of 100 operations succeeded: 10 reset, 90 wrong"},
		"nothing right, and why": {with(func(r *lab.LoadReport) {
			r.OK = 0
			r.Remarks = []string{"status 503 came with: full"}
		}), lab.AuditInvalid, "status 503 came with: full"},
	} {
		t.Run(name, func(t *testing.T) {
			system := System{Generator: &loadedtest.Generator{Report: test.report}}
			audit := system.Audit(lab.Variant{}, at(lab.FactorRate, 100), handedIn)
			if said := strings.Join(audit.Problems, "; "); audit.Verdict != test.want ||
				!strings.Contains(said, test.message) || (test.message == "") != (said == "") {
				t.Errorf("audit %+v, want %s with %q", audit, test.want, test.message)
			}
		})
	}
	if audit := (System{Generator: &loadedtest.Generator{}}).Audit(lab.Variant{}, at(lab.FactorRate, 1),
		nil); audit.Verdict != lab.AuditUnknown {
		t.Errorf("audit without a report is %s, want unknown", audit.Verdict)
	}
	beyond := with(func(r *lab.LoadReport) { r.Achieved = 10 })
	if audit := (System{Generator: &loadedtest.Generator{Report: beyond}}).Audit(lab.Variant{},
		at(lab.FactorSearchFrom, 1), handedIn); audit.Verdict != lab.AuditValid {
		t.Errorf("audit of a search is %s, want valid: probes beyond the capacity are part of it", audit.Verdict)
	}
}

func TestMeasuresLeaveTheGeneratorOut(t *testing.T) {
	report := lab.LoadReport{Sent: 1000, OK: 1000,
		Measures: []lab.Measure{{Quantity: lab.ResponseTime, Quantile: 0.99, Value: 0.002},
			{Quantity: lab.Goodput, Value: 100}, {Quantity: lab.Capacity, Value: 900},
			{Quantity: lab.ServiceTime, Quantile: 0.5, Value: 1}}}
	metered := lab.Metered{
		Total: lab.Usage{CPUSeconds: 5, PeakMemoryBytes: 9e6},
		Roles: map[string]lab.Usage{"system": {Units: 1, CPUSeconds: 2, PeakMemoryBytes: 4e6},
			"generator": {Units: 1, CPUSeconds: 3, PeakMemoryBytes: 5e6}},
	}
	system := System{Generator: &loadedtest.Generator{Report: report}}
	for name, test := range map[string]struct {
		metered lab.Metered
		point   lab.Point
		want    map[string]float64
	}{
		"a command": {metered, at(lab.FactorRate, 100),
			map[string]float64{"response_time_p99": 0.002, "goodput": 100,
				"error_share": 0, "service_time_p50": 1, "cpu_per_operation": 0.002, "system_peak_memory": 4e6}},
		"a URL": {lab.Metered{Roles: map[string]lab.Usage{"generator": {Units: 1, CPUSeconds: 3}}},
			at(lab.FactorRate, 100), map[string]float64{"response_time_p99": 0.002, "goodput": 100, "error_share": 0,
				"service_time_p50": 1}},
		"no CPU time": {lab.Metered{Roles: map[string]lab.Usage{"system": {Units: 1,
			Unavailable: map[string]string{"cpu_seconds": "?", "peak_memory_bytes": "?"}}}},
			at(lab.FactorRate, 100), map[string]float64{"response_time_p99": 0.002, "goodput": 100, "error_share": 0,
				"service_time_p50": 1}},
		"a search": {metered, at(lab.FactorSearchFrom, 100), map[string]float64{"capacity": 900}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := system.Measure(t.Context(), lab.Variant{}, test.point, test.metered,
				lab.Leftover{Reports: handedIn})
			if err != nil || !maps.EqualFunc(got.Values, test.want,
				func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }) {
				t.Errorf("Measure = %v, %v; want %v", got.Values, err, test.want)
			}
		})
	}
	if _, err := system.Measure(t.Context(), lab.Variant{}, at(lab.FactorRate, 1),
		metered, lab.Leftover{}); err == nil {
		t.Error("Measure without a report passes")
	}
}

func TestMetricsSayWhatTheyAre(t *testing.T) {
	for _, m := range metrics(true, true, true) {
		if m.Kind == "" || m.Quantity == "" || m.Source == "" {
			t.Errorf("metric %s does not say what it is: %+v", m.Name, m)
		}
	}
}

func TestTheHeadlineDependsOnTheLoad(t *testing.T) {
	scenarios := lab.Point{Name: "scenario"}
	client := len(loaded.ClientMetrics())
	for name, test := range map[string]struct {
		points []lab.Point
		first  string
		number int
	}{
		"open": {[]lab.Point{at(lab.FactorRate, 1), at(lab.FactorRate, 2)},
			"response_time_p99", 11 + client},
		"open and search": {[]lab.Point{at(lab.FactorRate, 1), at(lab.FactorSearchFrom, 1)},
			"response_time_p99", 12 + client},
		"scenario's own": {[]lab.Point{scenarios}, "response_time_p99", 11 + client},
		"closed":         {[]lab.Point{at(lab.FactorUsers, 1)}, "goodput", 11 + client},
		"search":         {[]lab.Point{at(lab.FactorSearchFrom, 1)}, "capacity", 1},
	} {
		metrics := Metrics(test.points)
		if metrics[0].Name != test.first || len(metrics) != test.number {
			t.Errorf("%s: %+v, want %d metrics, %s first", name, metrics, test.number, test.first)
		}
	}
}

// TestMistakesInSystemFilesAreNamed with their lines. Long because it is a table.
func TestMistakesInSystemFilesAreNamed(t *testing.T) {
	const schema = "schema: cleave-system/1\n"
	const here = schema + "name: x\nurl: http://127.0.0.1:1/\n"
	for name, test := range map[string]struct{ text, message string }{
		"empty":           {"", "the file is empty"},
		"unknown key":     {here + "ports: 7", `:4: the system has no key "ports" (did you mean "port"?)`},
		"key of ready":    {here + "ready: {paht: /}", `:4: ready has no key "paht" (did you mean "path"?)`},
		"port of nothing": {here + "port: 7", "port is the one that an image listens on"},
		"image's port":    {schema + "name: x\nimage: nginx", "port is missing: which one does nginx listen on?"},
		"high port":       {schema + "name: x\nimage: nginx\nport: 65536", "port is 65536"},
		"image's name":    {schema + "name: x\nimage: ../containers/x\nport: 1", `image is "../containers/x"`},
		"image's reset": {schema + "name: x\nimage: nginx\nport: 80\nreset: ./x",
			"reset is a program of this host"},
		"image's url": {schema + "name: x\nimage: nginx\nport: 80\nurl: http://127.0.0.1:80/",
			"in neither"},
		"image, compose": {schema + "name: x\nimage: nginx\nport: 80\ncompose: system.yaml",
			"only one of them"},
		"other schema":          {"schema: cleave-system/9\nname: x\nurl: http://127.0.0.1/", `schema is "cleave-system/9"`},
		"bad name":              {schema + "name: My Server\nurl: http://127.0.0.1/", `name is "My Server"`},
		"audit of another host": {here + "audit: {requests: [{get: //example.org/stock}]}", `get is "//example.org/stock"`},
		"no url":                {schema + "name: x\ncommand: ./server", "url is missing"},
		"no host":               {schema + "name: x\nurl: /index.html", "expected http://"},
		"port in url": {schema + "name: x\nurl: 'http://127.0.0.1:{port}/'\ncommand: ./server",
			"in neither"},
		"port in command": {here + "command: './server {port}'", "in neither"},
		"two kinds":       {here + "command: ./server\ncompose: system.yaml", "only one of them"},
		"no compose file": {here + "compose: none.yaml", "none.yaml: no such file"},
		"open quote":      {here + "command: ./server 'x", "inside quotes"},
		"negative core":   {here + "cores: [-1]", "cores has -1"},
		"no variable":     {here + "env: {A=B: c}", `env has the name "A=B"`},
		"ready path":      {here + "ready: {path: health}", `ready.path is "health"`},
		"braces in a list": {here + "command: [server, 127.0.0.1:{port}]",
			"system.yaml:4: this is no YAML: put the text with {port} in quotes"},
		"braces in an item": {here + "command:\n- server\n- {port}",
			"system.yaml:6: command[1] is a set of keys, expected a text (in quotes, where it begins with [ or {)"},
		"braces in the environment": {here + "env: {PORT: {port}}",
			"system.yaml:4: env.PORT is a set of keys, expected a text (in quotes, where it begins with [ or {)"},
		"a text": {"user=anna\npassword=hunter2",
			"system.yaml:1: this is a text, expected keys with values"},
		"a word for cores": {here + "cores: all of them", `system.yaml:4: cores is "all of them", expected a list`},
		"tag":              {schema + "name: !x x\nurl: http://127.0.0.1/", "system.yaml:2: the tag !x"},
		"anchor":           {schema + "name: &x x\nurl: http://127.0.0.1/", "system.yaml:2: anchors"},
		"two documents":    {here + "---\na: b", "more than one document"},
		"large core":       {here + "cores: [9999]", "cores has 9999"},
		"endless timeout":  {here + "ready: {timeout: 2562047h}", "at most 24h"},
		"ready timeout": {here + "ready: {timeout: soon}",
			`system.yaml:4: ready.timeout is "soon", expected a time such as 30s`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("system.yaml", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.message) ||
				!strings.Contains(err.Error(), "system.yaml") {
				t.Errorf("Parse: %v, want it to name the file and say %q", err, test.message)
			}
		})
	}
	_, err := Parse("system.yaml", []byte("schema: x\nname: X Y"))
	if err == nil || strings.Count(err.Error(), "system.yaml: ") != 3 {
		t.Errorf("Parse: %v, want all three mistakes", err)
	}
}

// TestPasswordsOfURLsAreNotShown in the mistakes that refuse them, wherever the URL is written.
func TestPasswordsOfURLsAreNotShown(t *testing.T) {
	const services = "services: {web: {image: web, ports: [80]}}"
	const file = "schema: cleave-system/1\nname: x\nready: {log: ready}\nurl: "
	for _, address := range []string{"http://me:geheim@127.0.0.1/?x=1", "http://me:geheim@127.0.0.1:x/",
		"http://me:geheim/%zz@h/", "http://geheim@h/"} {
		_, inline := Inline(address)
		_, inFile := Parse("system.yaml", []byte(file+"'"+address+"'"))
		_, compose := ofCompose(t, services, address)
		for place, err := range map[string]error{"the command line": inline, "a file": inFile, "compose": compose} {
			if err == nil || strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), "as a header") {
				t.Errorf("%s on %s: %v", address, place, err)
			}
		}
	}
}

func TestInline(t *testing.T) {
	for text, want := range map[string]Definition{
		"http://127.0.0.1:8080/": {Name: "127.0.0.1-8080",
			ExternalSystem: lab.ExternalSystem{URL: "http://127.0.0.1:8080/"}},
		"http://[::1]:80/":       {Name: "1-80", ExternalSystem: lab.ExternalSystem{URL: "http://[::1]:80/"}},
		"a=http://localhost:1/x": {Name: "a", ExternalSystem: lab.ExternalSystem{URL: "http://localhost:1/x"}},
		"new=./new --port {port} 'a b'": {Name: "new", ExternalSystem: lab.ExternalSystem{
			URL: "http://127.0.0.1:{port}/", Command: []string{"./new", "--port", "{port}", "a b"}}},
	} {
		d, err := Inline(text)
		if err != nil || d.Name != want.Name || d.URL != want.URL || !slices.Equal(d.Command, want.Command) ||
			d.Ready.Timeout == 0 {
			t.Errorf("Inline(%q) = %+v, %v; want %+v", text, d, err, want)
		}
	}
	for text, message := range map[string]string{
		"a=http://127.0.0.1:8080/find?q=1": "--path '/find?q=1', and http://127.0.0.1:8080 here",
		"./server":                         "no file, no URL and not name=COMMAND",
		"a=":                               "no command behind",
		"a=./server":                       "put {port} into the command",
		"A B=./x {port}":                   `name is "A B"`,
		"a='./x {port}":                    "inside quotes",
		"ftp://127.0.0.1":                  "expected http://",
	} {
		if _, err := Inline(text); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("Inline(%q): %v, want it to say %q", text, err, message)
		}
	}
}

func TestAVariantWithoutADefinitionIsRefused(t *testing.T) {
	_, err := System{Generator: &loadedtest.Generator{}}.Layout(lab.Variant{Name: "a"}, at(lab.FactorRate, 1), 1)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("Layout: %v", err)
	}
}
