package io.github.beamensembles;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.SecureRandom;
import java.security.Signature;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.List;

/**
 * A certificate authority, and the certificates that it signs, as PEM files in a folder. Java makes
 * no certificates by itself, so their parts are written here, as RFC 5280 has them.
 */
final class Authority {

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyMMddHHmmss'Z'").withZone(ZoneOffset.UTC);
  private static final byte[] ECDSA_SHA256 = object(0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02);
  private static final byte[] COMMON_NAME = object(0x55, 0x04, 0x03);
  private static final byte[] ALTERNATIVE_NAMES = object(0x55, 0x1D, 0x11);
  private static final byte[] BASIC_CONSTRAINTS = object(0x55, 0x1D, 0x13);
  private static final byte[] YES = der(0x01, new byte[] {-1});

  /**
   * The files of a certificate and of its key.
   *
   * @param certificate the certificate
   * @param key the private key
   */
  record Pair(Path certificate, Path key) {}

  private final Path folder;
  private final KeyPair keys;
  private final String name;
  private final Path file;

  Authority(Path folder, String name) throws GeneralSecurityException, IOException {
    this.folder = folder;
    this.name = name;
    this.keys = newKeys();
    byte[] constraints = sequence(BASIC_CONSTRAINTS, YES, der(0x04, sequence(YES)));
    this.file = write(name, Duration.ofHours(1), keys, constraints).certificate();
  }

  /** The certificate of the authority itself. */
  String file() {
    return file.toString();
  }

  /** Signs a certificate for IPv4 addresses and names of hosts; a negative lifetime has expired. */
  Pair issue(String owner, Duration lifetime, String... hosts)
      throws GeneralSecurityException, IOException {
    byte[][] names = List.of(hosts).stream().map(Authority::generalName).toArray(byte[][]::new);
    byte[] extension = sequence(ALTERNATIVE_NAMES, der(0x04, sequence(names)));
    return write(owner, lifetime, newKeys(), extension);
  }

  private Pair write(String owner, Duration lifetime, KeyPair own, byte[] extension)
      throws GeneralSecurityException, IOException {
    Instant now = Instant.now();
    byte[] signed =
        sequence(
            der(0xA0, der(0x02, new byte[] {2})),
            der(0x02, new BigInteger(63, new SecureRandom()).toByteArray()),
            sequence(ECDSA_SHA256),
            subject(name),
            sequence(time(now.minus(Duration.ofDays(1))), time(now.plus(lifetime))),
            subject(owner),
            own.getPublic().getEncoded(),
            der(0xA3, sequence(extension)));
    Signature signature = Signature.getInstance("SHA256withECDSA");
    signature.initSign(keys.getPrivate());
    signature.update(signed);
    byte[] bits = joined(new byte[] {0}, signature.sign());
    byte[] certificate = sequence(signed, sequence(ECDSA_SHA256), der(0x03, bits));
    return new Pair(
        pem(folder.resolve(owner + ".pem"), "CERTIFICATE", certificate),
        pem(folder.resolve(owner + ".key"), "PRIVATE KEY", own.getPrivate().getEncoded()));
  }

  private static KeyPair newKeys() throws GeneralSecurityException {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(256);
    return generator.generateKeyPair();
  }

  private static Path pem(Path path, String kind, byte[] der) throws IOException {
    String text = Base64.getMimeEncoder().encodeToString(der);
    return Files.writeString(
        path, "-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n");
  }

  private static byte[] generalName(String host) {
    if (!host.matches("[\\d.]+")) {
      return der(0x82, host.getBytes(StandardCharsets.US_ASCII));
    }
    byte[] address = new byte[4];
    String[] numbers = host.split("\\.");
    for (int i = 0; i < address.length; i++) {
      address[i] = (byte) Integer.parseInt(numbers[i]);
    }
    return der(0x87, address);
  }

  private static byte[] subject(String name) {
    byte[] text = der(0x0C, name.getBytes(StandardCharsets.UTF_8));
    return sequence(der(0x31, sequence(COMMON_NAME, text)));
  }

  private static byte[] time(Instant when) {
    return der(0x17, TIME.format(when).getBytes(StandardCharsets.US_ASCII));
  }

  private static byte[] object(int... parts) {
    byte[] bytes = new byte[parts.length];
    for (int i = 0; i < parts.length; i++) {
      bytes[i] = (byte) parts[i];
    }
    return der(0x06, bytes);
  }

  private static byte[] sequence(byte[]... parts) {
    return der(0x30, joined(parts));
  }

  private static byte[] der(int tag, byte[] content) {
    int length = content.length;
    if (length < 128) {
      return joined(new byte[] {(byte) tag, (byte) length}, content);
    }
    byte[] head =
        length < 256
            ? new byte[] {(byte) tag, (byte) 0x81, (byte) length}
            : new byte[] {(byte) tag, (byte) 0x82, (byte) (length >> 8), (byte) length};
    return joined(head, content);
  }

  private static byte[] joined(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }
}
