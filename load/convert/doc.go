// Package convert makes scenarios from existing files: recordings of a browser (HAR 1.2), API
// descriptions (OpenAPI 3, Swagger 2), test plans of JMeter (.jmx), curl commands, Postman collections,
// access logs and k6 scripts.
//
// Nothing is dropped silently: everything in the input that has no counterpart in a scenario, or only one
// that behaves differently, becomes a Note of the Conversion. The note says where it stood, what it was
// and why it is missing. The package fetches nothing, follows no reference outside the document, and
// evaluates no expression of the input, with one exception: it runs one iteration of a k6 script, within
// limits, with modules that record what the script would send.
//
// It does not play scenarios and does not judge whether a converted one makes
// sense for its target.
//
// Entry points: ReadFile, Read, Conversion.YAML.
package convert
