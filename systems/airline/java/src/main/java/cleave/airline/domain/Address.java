package cleave.airline.domain;

/** Where a customer lives. */
public record Address(String street, String city, String postcode, String country) {}
