package external

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// composed parses a system file in a folder with compose files, for the compose command.
func composed(t *testing.T, files map[string]string, address string) (Definition, error) {
	t.Helper()
	return parseBeside(projectFolder(t, files),
		"name: x\nurl: "+address+"\ncompose: compose.yaml\ndeployment: compose")
}

func TestIncludedComposeFilesArePartOfTheText(t *testing.T) {
	d, err := composed(t, map[string]string{
		"compose.yaml": "name: include\ninclude: [web.yaml, db.yaml]",
		"web.yaml":     "name: shop\nservices: {web: {image: nginx, ports: [\"127.0.0.1:8080:80\"]}}",
		"db.yaml":      "include: [volumes.yaml]\nservices: {db: {image: postgres, volumes: [\"data:/data\"]}}",
		"volumes.yaml": "volumes: {data: {}}",
	}, "http://127.0.0.1:8080/")
	testset.Must(t, err)
	names, err := serviceNames(d.Compose)
	if err != nil || strings.Join(names, " ") != "db web" || strings.Contains(d.Compose.Text, "include:") ||
		!strings.Contains(d.Compose.Text, "data: {}") {
		t.Errorf("services %v, %v, of\n%s", names, err, d.Compose.Text)
	}
}

// TestServicesOfAllDocumentsAreUnits: the compose command merges the documents of a file.
func TestServicesOfAllDocumentsAreUnits(t *testing.T) {
	d, err := composed(t, map[string]string{"compose.yaml": "services: {web: {image: nginx, ports: " +
		"[\"127.0.0.1:8080:80\"]}}\n---\nservices: {db: {image: postgres}}"}, "http://127.0.0.1:8080/")
	testset.Must(t, err)
	if names, err := serviceNames(d.Compose); err != nil || strings.Join(names, " ") != "db web" {
		t.Errorf("services %v, %v", names, err)
	}
}

func TestComposeFilesThatCannotBeComparedAreRefused(t *testing.T) {
	const web = "services: {web: {image: nginx, ports: [\"8080:80\"]}}"
	for name, c := range map[string]struct {
		files   map[string]string
		message string
	}{
		"empty":       {map[string]string{"compose.yaml": ""}, "compose file: it has no services"},
		"no services": {map[string]string{"compose.yaml": "volumes: {}"}, "compose file: it has no services"},
		"no YAML":     {map[string]string{"compose.yaml": "services: ["}, "compose: yaml: line 1"},
		"a text": {map[string]string{"compose.yaml": "password=hunter2"},
			"it is no set of keys such as services"},
		"generator": {map[string]string{"compose.yaml": "services: {generator: {image: x, ports: [\"8080:1\"]}}"},
			"its service generator has the name of what loads it"},
		"included twice": {map[string]string{"compose.yaml": "include: [a.yaml]", "a.yaml": "include: [a.yaml]"},
			"a.yaml is included twice"},
		"included file is missing": {map[string]string{"compose.yaml": "include: [a.yaml]"}, "include: open"},
		"included from elsewhere": {map[string]string{"compose.yaml": "include: [a/b.yaml]", "a/b.yaml": web},
			"a/b.yaml lies in another folder"},
		"included with settings": {map[string]string{"compose.yaml": "include: [{path: a.yaml}]", "a.yaml": web},
			"only a list of files is read"},
		"several documents include": {map[string]string{"compose.yaml": "include: [a.yaml]\n---\n" + web,
			"a.yaml": "volumes: {}"}, "a file of several YAML documents cannot include others"},
		"several documents are included": {map[string]string{"compose.yaml": "include: [a.yaml]",
			"a.yaml": web + "\n---\nvolumes: {}"}, "a file of several YAML documents cannot include others"},
		"two of one name": {map[string]string{"compose.yaml": "include: [a.yaml]\n" + web, "a.yaml": web},
			"a.yaml: services has web, and so has the file that includes it"},
	} {
		if _, err := composed(t, c.files, "http://127.0.0.1:8080/"); err == nil ||
			!strings.Contains(err.Error(), c.message) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want %q", name, err, c.message)
		}
	}
}

// TestPublishedPorts: a file is refused only if none of its services can have the URL.
func TestPublishedPorts(t *testing.T) {
	t.Setenv("PORT", "8080")
	for entry, published := range map[string]bool{
		`ports: ["8080:80"]`: true, `ports: ["127.0.0.1:8080:80/tcp"]`: true, `ports: ["8000-8090:8000-8090"]`: true,
		`ports: ["8000-8090:80"]`: true, `ports: [{published: 8080, target: 80}]`: true,
		`ports: [{published: "8080", target: 80}]`: true, `ports: ["${PORT}:80"]`: true, `network_mode: host`: true,
		`extends: {service: web}, ports: ["8080:80"]`: true, `key_of_tomorrow: 1`: true, `ports: ["[::1]:8080:80"]`: true,
		`ports: ["8080:80/udp"]`: false, `ports: ["8080"]`: false, `ports: [8080]`: false, `expose: [8080]`: false,
		`ports: ["80:8080"]`: false, `ports: [{target: 8080}]`: false, `working_dir: /`: false,
	} {
		files := map[string]string{"compose.yaml": "services:\n  web: {image: nginx}\n  it: {image: it, " + entry +
			"}"}
		_, err := composed(t, files, "http://127.0.0.1:8080/")
		refused := err != nil && strings.Contains(err.Error(), "no service of the compose file publishes it")
		if refused == published || err != nil && !refused {
			t.Errorf("%s: error %v, published: %t", entry, err, published)
		}
		if _, err := composed(t, files, "http://172.28.0.10:8080/"); err != nil {
			t.Errorf("%s at an address of its own: %v", entry, err)
		}
	}
}
