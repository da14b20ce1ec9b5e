package io.github.beamensembles;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.apache.beam.sdk.schemas.Schema.FieldType;

/** What changed its signature between the versions of Beam that this library works with. */
final class FieldTypes {

  /** Returns {@code Boolean} before Beam 2.73, and {@code boolean} from then on. */
  private static final Method NULLABLE = nullable();

  private FieldTypes() {}

  static boolean isNullable(FieldType type) {
    try {
      return (Boolean) NULLABLE.invoke(type);
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Method nullable() {
    try {
      return FieldType.class.getMethod("getNullable");
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException("this version of Beam is not supported", e);
    }
  }
}
