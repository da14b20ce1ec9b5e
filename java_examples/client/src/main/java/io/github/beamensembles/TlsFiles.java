package io.github.beamensembles;

import java.util.Optional;

/**
 * What a caller says of TLS.
 *
 * @param ca the certificate authorities, or {@link Security#SYSTEM_CA}
 * @param certificate the client's certificate
 * @param key its private key
 */
record TlsFiles(Optional<String> ca, Optional<String> certificate, Optional<String> key) {}
