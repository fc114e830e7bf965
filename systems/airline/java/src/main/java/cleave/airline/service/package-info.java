/**
 * What each part of the airline decides, and the stores that it asks for. The parts know each other
 * by the ports of the domain only, so that the monolith joins them by plain calls and services by
 * HTTP.
 */
package cleave.airline.service;
