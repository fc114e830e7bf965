package cleave.airline.domain;

/** Another unit, behind the ports of its part. */
public interface Other extends Sessions, Customers, Flights {}
