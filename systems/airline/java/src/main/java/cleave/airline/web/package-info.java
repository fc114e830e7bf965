/**
 * The airline over HTTP: resources for the public operations and for those between units, the order
 * of checks, problems as documents, and the server. It decides nothing itself.
 */
package cleave.airline.web;
