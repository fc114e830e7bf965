package containers

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// imageOf makes an image of programs of this host with everything that they need, for nodes that do not have
// this host's folders: the files of their Debian packages and of packages of the same source, the libraries
// that these are linked with, and what scripts call. beside are paths of further programs of ours. It returns
// what Image returns.
func imageOf(programs []string, beside ...string) (config, layer []byte, err error) {
	files, err := closure(programs)
	if err != nil {
		return nil, nil, fmt.Errorf("make an image of %s: %w", strings.Join(programs, ", "), err)
	}
	users := []byte("root:x:0:0:root:/:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n")
	groups := []byte("root:x:0:\nnogroup:x:65534:\n")
	return imageWith(strings.Join(programs, ", "), nil, beside, func(archive *tar.Writer) error {
		err := errors.Join(writeAs(archive, "etc/passwd", 0o644, users),
			writeAs(archive, "etc/group", 0o644, groups))
		for _, path := range files {
			err = errors.Join(err, writeFile(archive, path))
		}
		return err
	})
}

// closure returns the sorted paths, below /usr and /etc, of all files that programs need.
func closure(programs []string) ([]string, error) {
	packages := []string{"tzdata"} // for programs that know time zones
	for _, program := range programs {
		target, err := filepath.EvalSymlinks(program)
		if err != nil {
			return nil, err
		}
		owner, err := output("dpkg-query", "--search", target)
		if err != nil { // some packages still list their files below /bin, which is a link now
			owner, err = output("dpkg-query", "--search", strings.TrimPrefix(target, "/usr"))
		}
		if err != nil {
			return nil, fmt.Errorf("%s is of no Debian package, so what it needs is not known: deploy it in another "+
				"way", program)
		}
		name, _, _ := strings.Cut(owner, ":")
		packages = append(packages, name)
		if text, err := os.ReadFile(target); err == nil && bytes.HasPrefix(text, []byte("#!")) {
			packages = append(packages, "dash", "coreutils", "sed", "grep") // what scripts call
		}
	}
	related, err := sameSource(packages)
	if err != nil {
		return nil, err
	}
	listed, err := output("dpkg-query", append([]string{"--listfiles"}, related...)...)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	var linked []string // programs and libraries
	for path := range strings.Lines(listed) {
		path = inUsr(strings.TrimSpace(path))
		if !belongsInImage(path) {
			continue
		}
		info, err := os.Lstat(path)
		if err != nil || info.IsDir() {
			continue
		}
		found[path] = true
		if info.Mode().IsRegular() && isELF(path) {
			linked = append(linked, path)
		}
	}
	libraries, err := librariesOf(linked)
	for _, path := range libraries {
		found[path] = true
	}
	return slices.Sorted(maps.Keys(found)), err
}

// sameSource returns the installed packages that were built of the same sources: a program is often split
// into several packages that do not name each other.
func sameSource(packages []string) ([]string, error) {
	all, err := output("dpkg-query", "--show", "--showformat",
		"${binary:Package} ${Package} ${source:Package} ${db:Status-Status}\n")
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for line := range strings.Lines(all) {
		if row := strings.Fields(line); len(row) == 4 {
			rows = append(rows, row)
		}
	}
	sources := map[string]bool{}
	for _, row := range rows {
		if slices.Contains(packages, row[1]) {
			sources[row[2]] = true
		}
	}
	var related []string
	for _, row := range rows {
		if sources[row[2]] && row[3] == "installed" {
			related = append(related, row[0])
		}
	}
	return related, nil
}

// libraryLine matches a line of ldd with a library.
var libraryLine = regexp.MustCompile(`(?m)^\s+(?:\S+ => )?(/\S+) \(0x`)

// librariesOf returns the paths of the libraries that programs and libraries are linked with, and of the
// loader.
func librariesOf(linked []string) ([]string, error) {
	if len(linked) == 0 {
		return nil, nil
	}
	listed, err := exec.Command("ldd", linked...).Output() // it fails if one of them is static
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return nil, err
	}
	var all []string
	for _, match := range libraryLine.FindAllStringSubmatch(string(listed), -1) {
		if path := inUsr(match[1]); !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all, nil
}

// inUsr returns the path below /usr of a file that is reached through one of the links /bin, /lib, /lib64 and
// /sbin, and any other path as it is.
func inUsr(path string) string {
	for _, folder := range []string{"/bin/", "/lib/", "/lib64/", "/sbin/"} {
		if strings.HasPrefix(path, folder) {
			return "/usr" + path
		}
	}
	return path
}

// belongsInImage reports whether a file is below /usr or /etc and is neither documentation nor translation.
func belongsInImage(path string) bool {
	if !strings.HasPrefix(path, "/usr/") && !strings.HasPrefix(path, "/etc/") {
		return false
	}
	return !slices.ContainsFunc([]string{"doc", "man", "locale", "info", "lintian", "bug"},
		func(folder string) bool { return strings.HasPrefix(path, "/usr/share/"+folder+"/") })
}

// isELF reports whether a file is a compiled program or a library.
func isELF(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // only read
	magic := make([]byte, 4)
	_, err = io.ReadFull(file, magic)
	return err == nil && string(magic) == "\x7fELF"
}

// output runs a program and returns what it prints.
func output(program string, args ...string) (string, error) {
	text, err := exec.Command(program, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return string(text), nil
}

// writeAs writes a file with a mode to the archive.
func writeAs(archive *tar.Writer, path string, mode int64, text []byte) error {
	err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: mode,
		Size: int64(len(text))})
	if err == nil {
		_, err = archive.Write(text)
	}
	return err
}

// writeFile writes a file of this host, or a link, to the archive at its path. It replaces links to
// libraries by the libraries, whose files may be left out otherwise, and leaves out files that not every
// user may read.
func writeFile(archive *tar.Writer, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(path, "/")
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(path)
		target, missing := os.Stat(path)
		// A link to a library becomes a copy of it. Other links stay links.
		leadsToFile := missing == nil && !target.IsDir()
		isLibrary := leadsToFile && strings.Contains(filepath.Base(path), ".so")
		if err != nil || !isLibrary {
			return errors.Join(err, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name,
				Linkname: to, Mode: 0o777}))
		}
		info = target
	}
	mode := info.Mode()
	isReadable := mode&0o004 != 0
	if !mode.IsRegular() || !isReadable {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return writeAs(archive, name, int64(mode.Perm()), text)
}
