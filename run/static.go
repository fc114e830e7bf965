package run

import (
	"bytes"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// Reasons why parts of the static cost are unknown.
const (
	tablesUnknown  = "the system does not say which tables and queues it makes"
	filesUnknown   = "the system runs already, and its files are not known"
	codeUnknown    = "the sources are not Cleave's, or were not counted"
	imagesUnknown  = "no unit program was put into an image"
	imageUnknown   = "Docker on this host does not know the size of "
	processUnknown = "no process was metered of unit "
)

// staticCost counts units, images, code and other costs of a layout that do not depend on the load.
func (s Services) staticCost(at setting, played Played) *lab.StaticCost {
	layout := at.layout
	c := &lab.StaticCost{Code: layout.Code, Unknown: map[string]string{}}
	units := slices.DeleteFunc(slices.Clone(layout.Units),
		func(u lab.UnitSpec) bool { return u.Role == lab.RoleGenerator || u.Standby || u.Finishes })
	for _, spec := range layout.Services {
		if server := s[spec.Name].Server; server != nil {
			units = append(units, *server)
		}
	}
	c.Units = len(units)
	if at.variant.External.RunsAlready() {
		c.Unknown["processes"] = filesUnknown
		c.Unknown["configuration_lines"] = filesUnknown
	} else {
		lines := configurationLines(units, layout.FileLines)
		c.ConfigurationLines = &lines
		if count, uncounted := processesOf(units, played.Used.Processes); uncounted == "" {
			c.Processes = &count
		} else {
			c.Unknown["processes"] = processUnknown + uncounted
		}
	}
	if tables, queues, known := holdings(layout.Services); known && at.variant.External == nil {
		c.Tables = &tables
		c.Queues = &queues
	} else {
		c.Unknown["tables"] = tablesUnknown
		c.Unknown["queues"] = tablesUnknown
	}
	var images []lab.ProgramImage
	if played.Platform != nil {
		images = played.Platform.Images
	}
	var unknown string
	if c.Images, unknown = imagesOf(units, images); unknown != "" {
		c.Unknown["images"] = unknown
	}
	if len(c.Code) == 0 {
		c.Unknown["code"] = codeUnknown
	}
	return c
}

// imagesOf selects the images of units among the known ones, which have a size. If units run images of the
// user, it returns these. Otherwise all known images are of our unit programs, and it returns all. If the
// size of one of the user's images is unknown, it returns no image, since their sum would lack it, and the
// reason.
func imagesOf(units []lab.UnitSpec, known []lab.ProgramImage) (images []lab.ProgramImage, unknown string) {
	userImages := map[string]bool{} // whether the size of each is known
	for _, unit := range units {
		if unit.Image != "" {
			userImages[unit.Image] = false
		}
	}
	isOurs := len(userImages) == 0
	for _, image := range known {
		if _, used := userImages[image.Program]; used || isOurs { // the others belong to other variants
			images = append(images, image)
			userImages[image.Program] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(userImages)) {
		if !userImages[name] {
			return nil, imageUnknown + name
		}
	}
	if len(images) == 0 {
		return nil, imagesUnknown
	}
	return images, ""
}

// holdings counts the tables and queues of a system; known is false if it does not declare them for a
// service.
func holdings(services []lab.ServiceSpec) (tables, queues int, known bool) {
	for _, spec := range services {
		if spec.Holds == nil {
			return 0, 0, false
		}
		tables, queues = tables+len(spec.Holds.Tables), queues+len(spec.Holds.Queues)
	}
	return tables, queues, true
}

// processesOf counts the processes of units: one for each of ours, and the metered ones of foreign units.
// uncounted names a unit without a metered process.
func processesOf(units []lab.UnitSpec, found []lab.ProcessUsage) (count int, uncounted string) {
	for _, unit := range units {
		if !unit.Foreign {
			count++
			continue
		}
		own := 0
		for _, p := range found {
			if p.Unit == unit.Name {
				own += p.Processes
			}
		}
		if own == 0 {
			return 0, unit.Name
		}
		count += own
	}
	return count, ""
}

// configurationLines counts the arguments, environment variables and lines of files that configure units; the
// units of a role count once. If the user has written files, it returns their number of lines, inFiles.
func configurationLines(units []lab.UnitSpec, inFiles int) (lines int) {
	if inFiles > 0 {
		return inFiles
	}
	var counted []string
	for _, unit := range units {
		if slices.Contains(counted, unit.Role) {
			continue
		}
		counted = append(counted, unit.Role)
		lines += len(unit.Args) + len(unit.Env)
		if c := unit.Container; c != nil {
			lines += len(c.Command) + len(c.Env)
		}
		for _, text := range unit.Files {
			lines += linesOf(text)
		}
	}
	return lines
}

// linesOf counts the lines of a configuration file that are neither blank nor a comment.
func linesOf(text []byte) (lines int) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			lines++
		}
	}
	return lines
}
