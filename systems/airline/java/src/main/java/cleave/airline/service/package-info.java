/**
 * The rules of each part of the airline, and the stores that it needs. The parts know each other by
 * the ports of the domain only: the monolith connects them by plain calls, services by HTTP or
 * gRPC.
 */
package cleave.airline.service;
