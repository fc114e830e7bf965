// Package convert makes scenarios from what people already have: recordings of
// a browser (HAR 1.2), descriptions of an interface (OpenAPI 3, Swagger 2) and
// test plans of JMeter (.jmx).
//
// Nothing is dropped silently: whatever of the input has no counterpart in a
// scenario, or only one that behaves differently, is a Note of the Conversion
// that says where it stood, what it was and why it is not there. What it sends
// is the input's; nothing is fetched, no reference outside the document is
// followed, and no expression of the input is evaluated.
//
// It does not play scenarios and does not judge whether a converted one makes
// sense for its target.
//
// Entry points: ReadFile, Convert, Conversion.YAML.
package convert
