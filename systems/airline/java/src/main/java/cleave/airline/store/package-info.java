/**
 * The embedded store: H2's MVStore, maps of records in a file of this process. Only this package
 * knows it.
 */
package cleave.airline.store;
