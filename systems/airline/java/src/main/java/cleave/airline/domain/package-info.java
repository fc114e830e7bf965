/**
 * The vocabulary of the airline: what is stored and sent, why something is refused, and the ports
 * through which one part asks another. It knows neither HTTP nor storage.
 */
package cleave.airline.domain;
