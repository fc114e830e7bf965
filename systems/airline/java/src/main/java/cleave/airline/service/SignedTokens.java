package cleave.airline.service;

import cleave.airline.domain.Session;
import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSSigner;
import com.nimbusds.jose.JWSVerifier;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.crypto.MACVerifier;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import java.text.ParseException;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Date;
import java.util.Optional;

/**
 * Tokens that are JWTs (HS256), which every part checks by itself with the shared key. They live
 * until they expire: nobody is asked, so nobody can end them.
 */
public final class SignedTokens implements Tokens {
  private final JWSSigner signer;
  private final JWSVerifier verifier;
  private final Duration life;
  private final Clock clock;
  private final RandomId ids = new RandomId();

  /** The key has 32 bytes. */
  public SignedTokens(byte[] key, Duration life, Clock clock) throws JOSEException {
    this.signer = new MACSigner(key);
    this.verifier = new MACVerifier(key);
    this.life = life;
    this.clock = clock;
  }

  @Override
  public Issued issue(String login) {
    Instant expires = clock.instant().plus(life).truncatedTo(ChronoUnit.SECONDS);
    JWTClaimsSet claims =
        new JWTClaimsSet.Builder()
            .subject(login)
            .expirationTime(Date.from(expires))
            .jwtID(ids.next())
            .build();
    SignedJWT token = new SignedJWT(new JWSHeader(JWSAlgorithm.HS256), claims);
    try {
      token.sign(signer);
    } catch (JOSEException e) {
      throw new IllegalStateException("a token for " + login + " could not be signed", e);
    }
    return new Issued(token.serialize(), new Session(login, expires));
  }

  @Override
  public Optional<Session> find(String token) {
    try {
      SignedJWT signed = SignedJWT.parse(token);
      if (!JWSAlgorithm.HS256.equals(signed.getHeader().getAlgorithm())
          || !signed.verify(verifier)) {
        return Optional.empty();
      }
      JWTClaimsSet claims = signed.getJWTClaimsSet();
      if (claims.getSubject() == null || claims.getExpirationTime() == null) {
        return Optional.empty();
      }
      Session session = new Session(claims.getSubject(), claims.getExpirationTime().toInstant());
      return Optional.of(session).filter(s -> clock.instant().isBefore(s.expires()));
    } catch (ParseException | JOSEException e) {
      return Optional.empty(); // what cannot be read is no session, whatever is wrong with it
    }
  }

  @Override
  public void revoke(String token) {
    // It expires; see the class comment.
  }
}
