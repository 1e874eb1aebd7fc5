import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.utils.Exit;

/**
 * Apache Kafka's tools in one JVM: a start of the JVM costs more than most of them do.
 *
 * Commands are lines of JSON on standard input, each with the "id" of a run that the other side chooses:
 * {"id", "do": "run", "main": class, "arguments": [...], "stdin": text} starts a tool in a thread of its own,
 * {"id", "do": "stop"} does what Ctrl-C does (shutdown hooks), {"id", "do": "peek"} requests its output so far.
 * Answers are lines of JSON as well: {"id", "ended": true or false, "stdout", "stderr", "code"}; one with
 * "ended" comes when the tool ends by itself, exits, or was stopped.
 *
 * System.in, out and err pass on to the run that the thread, or the thread that made it, belongs to. What a
 * tool prints after it has called exit does not count: a process would have ended there.
 */
public final class ToolDriver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream ANSWERS = System.out;
    private static final Map<String, ToolRun> RUNS = new ConcurrentHashMap<>();

    private ToolDriver() { }

    public static void main(String[] arguments) throws IOException {
        BufferedReader commands =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setIn(new InputOfRun());
        System.setOut(new PrintStream(new OutputOfRun(false), true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(new OutputOfRun(true), true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((code, message) -> ToolRun.current().exit(code));
        Exit.setHaltProcedure((code, message) -> ToolRun.current().exit(code));
        Exit.setShutdownHookAdder((name, hook) -> ToolRun.current().addShutdownHook(hook));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            obey(JSON.readTree(line));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void obey(JsonNode command) throws IOException {
        String id = command.get("id").asText();
        switch (command.get("do").asText()) {
            case "run" -> {
                String[] arguments = JSON.convertValue(command.get("arguments"), String[].class);
                String main = command.get("main").asText();
                ToolRun run = new ToolRun(command.get("stdin").asText(), ended -> answer(id, ended, true));
                RUNS.put(id, run);
                run.start(main, arguments);
            }
            case "stop" -> {
                ToolRun run = RUNS.get(id);
                if (run != null) {
                    run.stop();
                }
            }
            case "peek" -> {
                ToolRun run = RUNS.get(id);
                if (run != null) {
                    answer(id, run, false);
                }
            }
            default -> throw new IllegalArgumentException(command.toString());
        }
    }

    private static void answer(String id, ToolRun run, boolean ended) {
        if (ended) {
            RUNS.remove(id);
        }
        ObjectNode answer = JSON.createObjectNode();
        answer.put("id", id).put("ended", ended).put("code", run.code());
        answer.put("stdout", run.output(false)).put("stderr", run.output(true));
        byte[] line = (answer + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (ANSWERS) {
            ANSWERS.write(line, 0, line.length);
            ANSWERS.flush();
        }
    }

    private static final class InputOfRun extends InputStream {
        @Override
        public int read() throws IOException {
            return ToolRun.current().input().read();
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            return ToolRun.current().input().read(target, offset, length);
        }

        @Override
        public int available() throws IOException {
            return ToolRun.current().input().available();
        }
    }

    private static final class OutputOfRun extends OutputStream {
        private final boolean isError;

        OutputOfRun(boolean isError) {
            this.isError = isError;
        }

        @Override
        public void write(int value) {
            write(new byte[] {(byte) value}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            ToolRun run = ToolRun.currentOrNull();
            if (run != null) {
                run.write(isError, bytes, offset, length);
            }
        }
    }
}
