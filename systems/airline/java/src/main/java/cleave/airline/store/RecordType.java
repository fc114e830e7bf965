package cleave.airline.store;

import java.nio.ByteBuffer;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import org.h2.mvstore.DataUtils;
import org.h2.mvstore.WriteBuffer;
import org.h2.mvstore.type.BasicDataType;
import org.h2.mvstore.type.StringDataType;

/** How records of one class lie in the file: their fields one after the other. */
final class RecordType<T extends Record> extends BasicDataType<T> {
  // About what the record itself and its strings' headers take, for the size of the cache.
  private static final int OVERHEAD = 200;

  private final T[] none;
  private final ToIntFunction<T> length;
  private final BiConsumer<WriteBuffer, T> write;
  private final Function<ByteBuffer, T> read;

  /**
   * @param none an empty array; the store makes arrays of its class
   * @param length about how many characters a record has
   */
  RecordType(
      T[] none,
      ToIntFunction<T> length,
      BiConsumer<WriteBuffer, T> write,
      Function<ByteBuffer, T> read) {
    this.none = none;
    this.length = length;
    this.write = write;
    this.read = read;
  }

  @Override
  public int getMemory(T value) {
    return OVERHEAD + 2 * length.applyAsInt(value);
  }

  @Override
  public void write(WriteBuffer buffer, T value) {
    write.accept(buffer, value);
  }

  @Override
  public T read(ByteBuffer buffer) {
    return read.apply(buffer);
  }

  @Override
  public T[] createStorage(int size) {
    return java.util.Arrays.copyOf(none, size);
  }

  static void put(WriteBuffer buffer, String... texts) {
    for (String text : texts) {
      StringDataType.INSTANCE.write(buffer, text);
    }
  }

  static String text(ByteBuffer buffer) {
    return StringDataType.INSTANCE.read(buffer);
  }

  static int number(ByteBuffer buffer) {
    return DataUtils.readVarInt(buffer);
  }
}
