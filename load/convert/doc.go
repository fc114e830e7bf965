// Package convert makes scenarios from what people already have: recordings of
// a browser (HAR 1.2), descriptions of an interface (OpenAPI 3, Swagger 2), test
// plans of JMeter (.jmx), commands of curl, collections of Postman, access logs
// and scripts of k6.
//
// Nothing is dropped silently: whatever of the input has no counterpart in a
// scenario, or only one that behaves differently, is a Note of the Conversion
// that says where it stood, what it was and why it is not there. What it sends
// is the input's; nothing is fetched, no reference outside the document is
// followed, and no expression of the input is evaluated, but for scripts of k6: one
// iteration of them runs, bounded, with modules that write down what they send.
//
// It does not play scenarios and does not judge whether a converted one makes
// sense for its target.
//
// Entry points: ReadFile, Read, Conversion.YAML.
package convert
