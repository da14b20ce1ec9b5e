package io.github.beamensembles;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A service that this program started for itself. It ends with the program, however that ends: it
 * watches its standard input, which closes then.
 */
final class ServiceProcess {

  private static final Logger LOG = LoggerFactory.getLogger(ServiceProcess.class);
  private static final Pattern READY = Pattern.compile("beam-ensembles \\S+ listening on (\\S+)");
  private static final Duration STOP = Duration.ofSeconds(5);
  private static final int LAST_LINES = 5;

  private static final Map<List<String>, ServiceProcess> RUNNING = new ConcurrentHashMap<>();

  private final Process process;
  private final CompletableFuture<String> ready = new CompletableFuture<>();
  private final Deque<String> lastLines = new ArrayDeque<>();

  private ServiceProcess(Process process) {
    this.process = process;
  }

  /** The address of the service that {@code command} starts, which is started once a program. */
  static String addressOf(List<String> command, Duration patience) {
    return shared(command, patience).address();
  }

  /** The service that {@code command} starts, which is started once a program. */
  static ServiceProcess shared(List<String> command, Duration patience) {
    return RUNNING.compute(
        command, (it, old) -> old != null && old.isAlive() ? old : start(it, patience));
  }

  /** Starts a service and waits until it listens. */
  static ServiceProcess start(List<String> command, Duration patience) {
    LOG.info("Starting a beam-ensembles service: {}", String.join(" ", command));
    ServiceProcess service;
    try {
      service = new ServiceProcess(new ProcessBuilder(command).start());
    } catch (IOException e) {
      throw new EnsembleException(
          "the beam-ensembles service cannot be started with "
              + ServiceCommand.chosen(System.getenv(), command)
              + ": "
              + e.getMessage(),
          e);
    }
    Thread errors = service.follow(service.process.getErrorStream(), service::heardError);
    service.follow(service.process.getInputStream(), service::heard);
    Runtime.getRuntime().addShutdownHook(new Thread(service::stop));
    service.await(patience, errors);
    return service;
  }

  String address() {
    return ready.join();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Lets the service end by itself, for a while. */
  void stop() {
    process.destroy();
    try {
      if (!process.waitFor(STOP.toMillis(), TimeUnit.MILLISECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  private void await(Duration patience, Thread errors) {
    try {
      CompletableFuture.anyOf(ready, process.onExit())
          .get(patience.toMillis(), TimeUnit.MILLISECONDS);
      if (!ready.isDone()) {
        errors.join(STOP.toMillis());
        throw failed("ended with exit code " + process.exitValue());
      }
    } catch (TimeoutException e) {
      stop();
      throw failed("did not listen within " + seconds(patience) + "; allow more with withTimeouts");
    } catch (ExecutionException e) {
      throw new IllegalStateException("neither stage fails", e);
    } catch (InterruptedException e) {
      stop();
      Thread.currentThread().interrupt();
      throw failed("was interrupted while starting");
    }
  }

  /** Shows a time in seconds. */
  static String seconds(Duration time) {
    return BigDecimal.valueOf(time.toMillis(), 3).stripTrailingZeros().toPlainString() + " s";
  }

  private EnsembleException failed(String how) {
    synchronized (lastLines) {
      String said = lastLines.isEmpty() ? "" : ": " + String.join("; ", lastLines);
      return new EnsembleException("the beam-ensembles service " + how + said);
    }
  }

  private void heard(String line) {
    Matcher matcher = READY.matcher(line);
    if (matcher.find()) {
      ready.complete(matcher.group(1));
    }
  }

  private void heardError(String line) {
    LOG.info("service: {}", line);
    synchronized (lastLines) {
      lastLines.addLast(line.strip());
      if (lastLines.size() > LAST_LINES) {
        lastLines.removeFirst();
      }
    }
  }

  /** Reads a stream to its end, so that the service never waits for a full pipe. */
  private Thread follow(InputStream stream, Consumer<String> listener) {
    Thread thread = new Thread(() -> readLines(stream, listener), "beam-ensembles-service");
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private static void readLines(InputStream stream, Consumer<String> listener) {
    InputStreamReader reader = new InputStreamReader(stream, StandardCharsets.UTF_8);
    try (BufferedReader lines = new BufferedReader(reader)) {
      lines.lines().forEach(listener);
    } catch (IOException | UncheckedIOException e) {
      LOG.debug("The service's output ended", e);
    }
  }
}
