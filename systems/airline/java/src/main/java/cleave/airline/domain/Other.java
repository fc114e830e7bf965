package cleave.airline.domain;

/** Another unit, asked through the ports of the part that it has. */
public interface Other extends Sessions, Customers, Flights {}
