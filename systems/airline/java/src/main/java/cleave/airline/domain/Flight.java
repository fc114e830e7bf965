package cleave.airline.domain;

/**
 * One flight on one day.
 *
 * @param id FROM-TO-YYYYMMDD-k
 * @param departs RFC 3339, UTC; nothing is computed with it, so it stays a text
 * @param minutes in the air
 * @param price cents
 */
public record Flight(String id, String from, String to, String departs, int minutes, int price) {}
