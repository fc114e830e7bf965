// Package kit holds what systems are built from: a catalogue of architectures and knobs, the knobs
// that systems share, the placement of components in units, and units of the system's own program.
// It knows no system, no transport and no deployment.
//
// Package hosting runs a unit with its components, front serves the public interface, and lines
// holds the number of lines of code of each package. "Add a system" in DESIGN.md has the steps to
// a new system; systems/social uses all of these packages.
//
// Entry points: Catalogue, Place, Unit.
package kit
