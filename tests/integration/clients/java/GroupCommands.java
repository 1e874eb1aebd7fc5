import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Members of groups, each with a name and a thread of its own: "member", number of lines, name, command, arguments.
 * Every line of an answer begins with "@name" and a tab, and those of one answer stay together. Partitions are written topic:number.
 */
final class GroupCommands {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Map<String, Member> members = new HashMap<>();
    private final PrintStream out;

    GroupCommands(PrintStream out) {
        this.out = out;
    }

    void answer(String name, String command, List<String> words) {
        members.computeIfAbsent(name, Member::new).submit(command, words);
        if (command.equals("close")) {
            members.remove(name).thread.shutdown();
        }
    }

    private final class Member implements ConsumerRebalanceListener {
        private final String name;
        private final ExecutorService thread = Executors.newSingleThreadExecutor();
        private KafkaConsumer<byte[], byte[]> consumer;
        private boolean isNew;
        private boolean commitsWhenRevoked;
        private final List<String> heard = new ArrayList<>();

        Member(String name) {
            this.name = name;
        }

        void submit(String command, List<String> words) {
            thread.submit(() -> {
                List<String> lines = new ArrayList<>();
                String end = "ok";
                try {
                    answer(command, words, lines);
                } catch (Exception error) {
                    end = ClientDriver.textOf(error);
                }
                heard.addAll(lines);
                heard.add(end);
                synchronized (out) {
                    heard.forEach(line -> out.println("@" + name + "\t" + line));
                    out.flush();
                }
                heard.clear();
            });
        }

        private void open(Properties properties, boolean commits) {
            consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            isNew = "consumer".equals(properties.get("group.protocol"));
            commitsWhenRevoked = commits;
        }

        private void answer(String command, List<String> words, List<String> lines) {
            switch (command) {
                case "open" -> open(ClientDriver.properties(words.get(0)), words.get(1).equals("true"));
                case "subscribe" -> subscribe(words);
                case "assign" -> consumer.assign(partitions(words));
                case "poll" -> poll(Duration.ofMillis(Long.parseLong(words.get(0))), lines);
                case "commit" -> commit(words);
                case "commit-async" -> lines.add(commitAsync());
                case "committed" -> committed(partitions(words), lines);
                case "position" -> lines.add(String.valueOf(consumer.position(partition(words.get(0)), PATIENCE)));
                case "seek" -> consumer.seek(partition(words.get(0)), Long.parseLong(words.get(1)));
                case "seek-to-beginning" -> consumer.seekToBeginning(partitions(words));
                case "seek-to-end" -> consumer.seekToEnd(partitions(words));
                case "offset-for-time" -> offsetForTime(partition(words.get(0)), Long.parseLong(words.get(1)), lines);
                case "pause" -> consumer.pause(partitions(words));
                case "resume" -> consumer.resume(partitions(words));
                case "membership" -> lines.add(membership(consumer.groupMetadata()));
                case "close" -> consumer.close();
                default -> throw new IllegalArgumentException(command);
            }
        }

        private void subscribe(List<String> topics) {
            String first = topics.get(0);
            if (!first.startsWith("^")) {
                consumer.subscribe(topics, this);
            } else if (isNew) {
                consumer.subscribe(new SubscriptionPattern(first), this);
            } else {
                consumer.subscribe(Pattern.compile(first), this);
            }
        }

        private void poll(Duration time, List<String> lines) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(time)) {
                lines.add("got\t" + ClientDriver.lineOf(record));
            }
            lines.add("owns\t" + text(consumer.assignment()));
        }

        private void commit(List<String> words) {
            if (words.isEmpty()) {
                consumer.commitSync(PATIENCE);
                return;
            }
            consumer.commitSync(offsets(words), PATIENCE);
        }

        /** The callback comes in a later call of the consumer; a commit of nothing, waited for, is the shortest. */
        private String commitAsync() {
            String[] result = new String[1];
            consumer.commitAsync((offsets, error) -> result[0] = error == null ? "done" : error.toString().replace('\n', ' '));
            consumer.commitSync(Map.of(), PATIENCE);
            return String.valueOf(result[0]);
        }

        private void committed(Collection<TopicPartition> wanted, List<String> lines) {
            Map<TopicPartition, OffsetAndMetadata> found = consumer.committed(Set.copyOf(wanted), PATIENCE);
            for (TopicPartition each : wanted) {
                OffsetAndMetadata known = found.get(each);
                lines.add(text(List.of(each)) + "\t" + (known == null ? "-\t" : known.offset() + "\t" + known.metadata()));
            }
        }

        private String membership(ConsumerGroupMetadata found) {
            return found.groupId() + "\t" + found.generationId() + "\t" + found.memberId() + "\t" + found.groupInstanceId().orElse("");
        }

        private void offsetForTime(TopicPartition partition, long time, List<String> lines) {
            OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, time), PATIENCE).get(partition);
            lines.add(found == null ? "-" : String.valueOf(found.offset()));
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            heard.add("assigned\t" + text(partitions));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            if (commitsWhenRevoked) {
                consumer.commitSync(PATIENCE);
            }
            heard.add("revoked\t" + text(partitions));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            heard.add("lost\t" + text(partitions));
        }
    }

    /** Words topic:number=offset=metadata. */
    static Map<TopicPartition, OffsetAndMetadata> offsets(List<String> words) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (String word : words) {
            String[] parts = word.split("=", 3);
            offsets.put(partition(parts[0]), new OffsetAndMetadata(Long.parseLong(parts[1]), parts[2]));
        }
        return offsets;
    }

    private static TopicPartition partition(String word) {
        int colon = word.lastIndexOf(':');
        return new TopicPartition(word.substring(0, colon), Integer.parseInt(word.substring(colon + 1)));
    }

    private static List<TopicPartition> partitions(List<String> words) {
        return words.stream().map(GroupCommands::partition).toList();
    }

    private static String text(Collection<TopicPartition> partitions) {
        return partitions.stream().map(each -> each.topic() + ":" + each.partition()).collect(Collectors.joining(" "));
    }
}
