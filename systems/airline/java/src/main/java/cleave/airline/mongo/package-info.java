/**
 * The stores on a server of MongoDB's protocol, which all units share. Only this package knows its
 * driver. The documents are those of the other languages.
 */
package cleave.airline.mongo;
