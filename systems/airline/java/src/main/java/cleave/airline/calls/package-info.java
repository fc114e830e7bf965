/**
 * The ports of the domain as calls over gRPC, after api/airlinepb/airline.proto: asked with
 * grpc-java, answered on Jetty's HTTP/2, at the address at which the unit answers everything else.
 */
package cleave.airline.calls;
