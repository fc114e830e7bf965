package external

import (
	"strings"

	"github.com/cleave-lab/cleave/inputfile"
)

// fileLines counts the lines of the compose file, with what it includes, or of the manifests; 0: there are
// none.
func (d *Definition) fileLines() (lines int, err error) {
	switch {
	case d.composeFile != "":
		file, err := readCompose(d.composeFile)
		if err != nil { // compose can include what we cannot
			return 0, nil
		}
		return linesOf(file.Text), nil
	case d.manifests == "":
		return 0, nil
	}
	files, err := manifestFiles(d.manifests)
	for _, path := range files {
		text, err := inputfile.Read(path, maxManifests)
		if err != nil {
			return 0, err
		}
		lines += linesOf(string(text))
	}
	return lines, err
}

// linesOf counts the lines of a YAML file that are neither blank nor comments nor between two documents.
func linesOf(text string) (lines int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	return lines
}
