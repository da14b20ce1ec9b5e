package io.github.beamensembles;

import java.io.ByteArrayInputStream;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads certificates and keys in PEM files, with one sentence for a file that holds neither. */
final class Pem {

  private static final Pattern CERTIFICATE =
      Pattern.compile("-----BEGIN CERTIFICATE-----([^-]*)(-----END CERTIFICATE-----)?");
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN ([A-Z ]*)PRIVATE KEY-----([^-]*)-----END");
  private static final byte[] SIGNED = {1, 2, 3};

  private Pem() {}

  /** The certificates in a file, at least one. */
  static List<X509Certificate> certificates(Setting file) {
    Matcher blocks = CERTIFICATE.matcher(file.read());
    List<X509Certificate> found = new ArrayList<>();
    while (blocks.find()) {
      found.add(certificate(file, blocks.group(1)));
    }
    if (found.isEmpty()) {
      throw file.wrong(
          "holds no certificate in PEM form; it must have a block that begins with"
              + " '-----BEGIN CERTIFICATE-----'");
    }
    return found;
  }

  private static X509Certificate certificate(Setting file, String block) {
    try {
      byte[] der = Base64.getMimeDecoder().decode(block);
      return (X509Certificate)
          CertificateFactory.getInstance("X.509")
              .generateCertificate(new ByteArrayInputStream(der));
    } catch (CertificateException | IllegalArgumentException e) {
      throw new EnsembleException(file + " holds a malformed certificate; replace the file", e);
    }
  }

  /** The private key in a file, which must be that of a certificate. */
  static PrivateKey key(Setting file, Setting certificateFile, X509Certificate certificate) {
    Matcher block = KEY.matcher(file.read());
    if (!block.find()) {
      throw file.wrong(
          "holds no private key in PEM form; it must have a block that begins with"
              + " '-----BEGIN PRIVATE KEY-----'");
    }
    if (block.group(1).equals("ENCRYPTED ") || block.group(2).contains("ENCRYPTED")) {
      throw file.wrong(
          "holds an encrypted private key; decrypt it with 'openssl pkey', and protect the file"
              + " instead");
    }
    if (!block.group(1).isEmpty()) {
      throw file.wrong(
          "holds a private key that is not in PKCS #8 form; convert it with"
              + " 'openssl pkcs8 -topk8 -nocrypt'");
    }
    PrivateKey key = privateKey(file, block.group(2), certificate.getPublicKey().getAlgorithm());
    if (!fit(key, certificate.getPublicKey())) {
      throw file.wrong(
          "does not hold the private key of the certificate in '"
              + certificateFile.path()
              + "'; use the key that the certificate was made with");
    }
    return key;
  }

  /** Any key of another kind than the certificate's is malformed to a factory of that kind. */
  private static PrivateKey privateKey(Setting file, String block, String algorithm) {
    try {
      byte[] der = Base64.getMimeDecoder().decode(block);
      return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(der));
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw new EnsembleException(
          file + " holds no private key for a certificate of kind " + algorithm + "; replace it",
          e);
    }
  }

  private static boolean fit(PrivateKey key, PublicKey publicKey) {
    String kind = publicKey.getAlgorithm();
    String algorithm =
        switch (kind) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> kind;
        };
    try {
      Signature signature = Signature.getInstance(algorithm);
      signature.initSign(key);
      signature.update(SIGNED);
      byte[] signed = signature.sign();
      signature.initVerify(publicKey);
      signature.update(SIGNED);
      return signature.verify(signed);
    } catch (GeneralSecurityException e) {
      return false;
    }
  }
}
