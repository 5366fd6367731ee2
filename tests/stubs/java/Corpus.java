import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;

/** Decodes the messages of the corpus with the Java stubs, and prints each as JSON. */
public final class Corpus {
  private static final String PACKAGE = "roster.v1.";

  public static void main(String[] arguments) throws Exception {
    var json = JsonFormat.printer().omittingInsignificantWhitespace();
    var out = new PrintStream(System.out, true, UTF_8);
    for (JsonElement entry : JsonParser.parseString(Files.readString(Path.of(arguments[0]))).getAsJsonArray()) {
      var type = entry.getAsJsonObject().get("type").getAsString();
      var binary = entry.getAsJsonObject().get("binary").getAsString();
      var message = read(type, Base64.getDecoder().decode(binary));
      var again = Base64.getEncoder().encodeToString(message.toByteArray());
      out.printf("{\"binary\": \"%s\", \"json\": %s}\n", again, json.print(message));
    }
  }

  /** Returns a message of a type such as roster.v1.Error.Detail. */
  private static Message read(String type, byte[] binary) throws ReflectiveOperationException {
    var nested = type.substring(PACKAGE.length()).replace('.', '$');
    var parse = Class.forName(PACKAGE + nested).getMethod("parseFrom", byte[].class);
    return (Message) parse.invoke(null, binary);
  }
}
