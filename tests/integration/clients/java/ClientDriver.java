import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client, driven by lines on standard input: words separated by tabs, the last line of every answer is "ok" or "error ...".
 * Bytes are written in base64, null as "-". Clients are kept by their settings until "close", so that they live through a restart of the broker.
 */
public final class ClientDriver {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
    private final Map<String, KafkaConsumer<byte[], byte[]>> consumers = new HashMap<>();
    private final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    private final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private final GroupCommands members = new GroupCommands(out);
    private final TransactionCommands transactions = new TransactionCommands(out);

    public static void main(String[] arguments) throws Exception {
        new ClientDriver().run();
    }

    private void run() throws Exception {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            List<String> more = new ArrayList<>();
            for (int left = Integer.parseInt(words[1]); left > 0; left--) {
                more.add(in.readLine());
            }
            if (words[0].equals("member")) {
                members.answer(words[2], words[3], List.of(words).subList(4, words.length));
                continue;
            }
            if (words[0].equals("transaction")) {
                transactions.answer(words[2], words[3], List.of(words).subList(4, words.length), more);
                continue;
            }
            try {
                answer(words, more);
                out.println("ok");
            } catch (Exception error) {
                out.println(textOf(error));
            }
            out.flush();
        }
        close();
    }

    static String textOf(Exception error) {
        Throwable cause = error.getCause() == null ? error : error.getCause();
        return "error " + cause.getClass().getSimpleName() + ": " + String.valueOf(cause.getMessage()).replace('\n', ' ');
    }

    /** words: command, number of lines that follow, settings, arguments of the command. */
    private void answer(String[] words, List<String> lines) throws Exception {
        switch (words[0]) {
            case "produce" -> produce(words[2], words[3], lines);
            case "consume" -> consume(words[2], new TopicPartition(words[3], Integer.parseInt(words[4])), Long.parseLong(words[5]), Integer.parseInt(words[6]));
            case "offset-for-time" -> offsetForTime(words[2], new TopicPartition(words[3], Integer.parseInt(words[4])), Long.parseLong(words[5]));
            case "admin" -> administer(words[2], words[3]);
            case "groups" -> GroupAdmin.answer(properties(words[2]), words[3], List.of(words).subList(4, words.length), out);
            case "close" -> close();
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private void produce(String settings, String topic, List<String> lines) throws Exception {
        KafkaProducer<byte[], byte[]> producer = producers.computeIfAbsent(settings, this::newProducer);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (String line : lines) {
            sent.add(producer.send(recordOf(topic, line)));
        }
        for (Future<RecordMetadata> each : sent) {
            out.println(each.get(PATIENCE.toSeconds(), TimeUnit.SECONDS).offset());
        }
    }

    static ProducerRecord<byte[], byte[]> recordOf(String topic, String line) {
        String[] words = line.split("\t", -1);
        long timestamp = Long.parseLong(words[1]);
        ProducerRecord<byte[], byte[]> record =
            new ProducerRecord<>(topic, Integer.valueOf(words[0]), timestamp < 0 ? null : timestamp, bytes(words[2]), bytes(words[3]));
        for (int at = 4; at + 1 < words.length; at += 2) {
            record.headers().add(words[at], bytes(words[at + 1]));
        }
        return record;
    }

    private void consume(String settings, TopicPartition partition, long offset, int count) {
        KafkaConsumer<byte[], byte[]> consumer = consumers.computeIfAbsent(settings, this::newConsumer);
        consumer.assign(List.of(partition));
        consumer.seek(partition, offset);
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        int left = count;
        while (left > 0 && System.nanoTime() < deadline) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(PATIENCE)) {
                if (left-- > 0) {
                    print(record);
                }
            }
        }
        if (left > 0) {
            throw new IllegalStateException("only " + (count - left) + " of " + count + " messages came");
        }
    }

    private void print(ConsumerRecord<byte[], byte[]> record) {
        out.println(lineOf(record));
    }

    static String lineOf(ConsumerRecord<byte[], byte[]> record) {
        StringBuilder line = new StringBuilder();
        line.append(record.partition()).append('\t').append(record.offset()).append('\t').append(record.timestamp());
        line.append('\t').append(text(record.key())).append('\t').append(text(record.value()));
        for (Header header : record.headers()) {
            line.append('\t').append(header.key()).append('\t').append(text(header.value()));
        }
        return line.toString();
    }

    private void offsetForTime(String settings, TopicPartition partition, long timestamp) {
        KafkaConsumer<byte[], byte[]> consumer = consumers.computeIfAbsent(settings, this::newConsumer);
        OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, timestamp), PATIENCE).get(partition);
        out.println(found == null ? "-" : found.offset());
    }

    /** A topic's life with the Admin client; one line for each thing learnt. Its records are of 1970, and are kept. */
    private void administer(String settings, String topic) throws Exception {
        try (Admin admin = Admin.create(properties(settings))) {
            admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1).configs(Map.of("retention.ms", "8000000000000")))).all().get();
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
            TopicDescription description = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            out.println("partitions\t" + description.partitions().size());
            out.println("nodes\t" + admin.describeCluster().nodes().get().size());

            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            AlterConfigOp change = new AlterConfigOp(new ConfigEntry("retention.ms", "9000000000000"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
            ConfigEntry entry = admin.describeConfigs(List.of(resource)).all().get().get(resource).get("retention.ms");
            out.println("retention.ms\t" + entry.value() + "\t" + entry.source());

            produce(settings, topic, List.of("0\t1000\t-\tYQ==", "0\t3000\t-\tYg==", "0\t2000\t-\tYw=="));
            TopicPartition first = new TopicPartition(topic, 0);
            for (OffsetSpec spec : List.of(OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.maxTimestamp(), OffsetSpec.forTimestamp(1500))) {
                out.println(spec.getClass().getSimpleName() + "\t" + admin.listOffsets(Map.of(first, spec)).partitionResult(first).get().offset());
            }
            out.println("low watermark\t" + admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(2))).all().get());
            int node = admin.describeCluster().nodes().get().iterator().next().id();
            boolean isListed = admin.describeLogDirs(List.of(node)).allDescriptions().get().get(node).values().stream()
                .anyMatch(directory -> directory.replicaInfos().containsKey(first));
            out.println("in a log directory\t" + isListed);
            out.println("producers\t" + admin.describeProducers(List.of(first)).partitionResult(first).get().activeProducers().size());
            admin.deleteTopics(List.of(topic)).all().get();
            out.println("still there\t" + admin.listTopics().names().get().contains(topic));
        }
    }

    private void close() {
        producers.values().forEach(producer -> producer.close(Duration.ZERO));
        producers.clear();
        consumers.values().forEach(KafkaConsumer::close);
        consumers.clear();
    }

    private KafkaProducer<byte[], byte[]> newProducer(String settings) {
        return new KafkaProducer<>(properties(settings), new ByteArraySerializer(), new ByteArraySerializer());
    }

    private KafkaConsumer<byte[], byte[]> newConsumer(String settings) {
        return new KafkaConsumer<>(properties(settings), new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static Properties properties(String settings) {
        Properties properties = new Properties();
        for (String setting : settings.split(";")) {
            int equals = setting.indexOf('=');
            properties.put(setting.substring(0, equals), setting.substring(equals + 1));
        }
        return properties;
    }

    private static byte[] bytes(String text) {
        return text.equals("-") ? null : Base64.getDecoder().decode(text);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? "-" : Base64.getEncoder().encodeToString(bytes);
    }
}
