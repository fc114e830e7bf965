package external

import (
	"strings"

	"github.com/cleave-lab/cleave/inputfile"
)

// fileLines returns the number of lines of the compose file, with the files it includes, or of the manifests;
// 0 if the system has neither, or the compose file cannot be read.
func (d *Definition) fileLines() (lines int, err error) {
	switch {
	case d.composeFile != "":
		file, err := readCompose(d.composeFile)
		if err != nil { // the compose command can include more than this package
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

// linesOf returns the number of lines of a YAML file without blank lines, comments and separators of
// documents.
func linesOf(text string) (lines int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	return lines
}
