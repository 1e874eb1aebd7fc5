import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Transactional producers, each with a name and a thread of its own; commands and answers are like those of GroupCommands. */
final class TransactionCommands {
    private static final long PATIENCE_SECONDS = 60;

    private final Map<String, Producer> producers = new HashMap<>();
    private final PrintStream out;

    TransactionCommands(PrintStream out) {
        this.out = out;
    }

    void answer(String name, String command, List<String> words, List<String> lines) {
        producers.computeIfAbsent(name, Producer::new).submit(command, words, lines);
        if (command.equals("abandon")) {
            producers.remove(name).thread.shutdown();
        }
    }

    private final class Producer {
        private final String name;
        private final ExecutorService thread = Executors.newSingleThreadExecutor();
        private KafkaProducer<byte[], byte[]> producer;

        Producer(String name) {
            this.name = name;
        }

        void submit(String command, List<String> words, List<String> lines) {
            thread.submit(() -> {
                String end = "ok";
                try {
                    answer(command, words, lines);
                } catch (Exception error) {
                    end = ClientDriver.textOf(error);
                }
                say(end);
            });
        }

        private void say(String line) {
            synchronized (out) {
                out.println("@" + name + "\t" + line);
                out.flush();
            }
        }

        private void answer(String command, List<String> words, List<String> lines) throws Exception {
            switch (command) {
                case "open" -> producer = new KafkaProducer<>(ClientDriver.properties(words.get(0)), new ByteArraySerializer(), new ByteArraySerializer());
                case "init" -> producer.initTransactions();
                case "init-two-phase" -> say(TwoPhase.init(producer, Boolean.parseBoolean(words.get(0))));
                case "prepare" -> say(TwoPhase.prepare(producer));
                case "begin" -> producer.beginTransaction();
                case "send" -> send(words.get(0), lines);
                case "send-offsets" -> sendOffsets(words);
                case "commit" -> producer.commitTransaction();
                case "abort" -> producer.abortTransaction();
                case "abandon" -> producer.close(Duration.ZERO); // with any patience it would abort
                default -> throw new IllegalArgumentException(command);
            }
        }

        private void send(String topic, List<String> lines) throws Exception {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (String line : lines) {
                sent.add(producer.send(ClientDriver.recordOf(topic, line)));
            }
            for (Future<RecordMetadata> each : sent) {
                each.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            }
        }

        /** words: group, generation, member, instance, offsets. The consumer is a client of its own, and its metadata come as text. */
        @SuppressWarnings("removal")
        private void sendOffsets(List<String> words) {
            Optional<String> instance = Optional.of(words.get(3)).filter(each -> !each.isEmpty());
            ConsumerGroupMetadata group = new ConsumerGroupMetadata(words.get(0), Integer.parseInt(words.get(1)), words.get(2), instance);
            Map<TopicPartition, OffsetAndMetadata> offsets = GroupCommands.offsets(words.subList(4, words.size()));
            producer.sendOffsetsToTransaction(offsets, group);
        }
    }
}
