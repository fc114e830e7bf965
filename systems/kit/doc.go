// Package kit holds what systems are built from: a catalogue of architectures and knobs, the
// placement of components in units, and units of the system's own program. It knows no system,
// no transport and no deployment.
//
// Package hosting, below it, is what a unit does besides its business, and front what all public
// interfaces have.
//
// Entry points: Catalogue, Place, Unit.
package kit
