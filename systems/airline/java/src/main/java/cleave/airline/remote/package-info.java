/** The ports of the domain as calls to other units, by HTTP and JSON. */
package cleave.airline.remote;
