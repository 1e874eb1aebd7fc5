import java.io.PrintStream;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;

/** What the Admin client does with groups: "groups", number of lines, settings, command, arguments; words of a line are separated by tabs. */
final class GroupAdmin {
    private GroupAdmin() { }

    static void answer(Properties properties, String command, List<String> words, PrintStream out) throws Exception {
        try (Admin admin = Admin.create(properties)) {
            switch (command) {
                case "list" -> list(admin, words, out);
                case "describe" -> describe(admin, words, out);
                case "offsets" -> offsets(admin, words, out);
                case "alter" -> admin.alterConsumerGroupOffsets(words.get(0), offsetsOf(words)).all().get();
                case "delete-offsets" -> admin.deleteConsumerGroupOffsets(words.get(0), offsetsOf(words).keySet()).all().get();
                case "delete" -> admin.deleteConsumerGroups(words).all().get();
                case "remove" -> remove(admin, words);
                default -> throw new IllegalArgumentException(command);
            }
        }
    }

    /** Arguments: types, each of them optional. */
    private static void list(Admin admin, List<String> types, PrintStream out) throws Exception {
        Set<GroupType> wanted = types.stream().map(GroupType::parse).collect(Collectors.toSet());
        for (GroupListing group : admin.listGroups(new ListGroupsOptions().withTypes(wanted)).all().get()) {
            String state = group.groupState().map(Object::toString).orElse("-");
            out.println(String.join("\t", group.groupId(), group.type().map(Object::toString).orElse("-"), group.protocol(), state));
        }
    }

    private static void describe(Admin admin, List<String> groups, PrintStream out) throws Exception {
        for (ConsumerGroupDescription group : admin.describeConsumerGroups(groups).all().get().values()) {
            out.println(String.join("\t", "group", group.groupId(), group.type().toString(), group.groupState().toString(), group.partitionAssignor()));
            for (MemberDescription member : group.members()) {
                String partitions = member.assignment().topicPartitions().stream().map(TopicPartition::toString).sorted().collect(Collectors.joining(" "));
                String upgraded = member.upgraded().map(String::valueOf).orElse("-");
                out.println(String.join("\t", "member", member.clientId(), member.host(), member.groupInstanceId().orElse("-"), upgraded, partitions));
            }
        }
    }

    private static void offsets(Admin admin, List<String> groups, PrintStream out) throws Exception {
        Map<String, ListConsumerGroupOffsetsSpec> specs = new HashMap<>();
        groups.forEach(group -> specs.put(group, new ListConsumerGroupOffsetsSpec()));
        Map<String, Map<TopicPartition, OffsetAndMetadata>> found = admin.listConsumerGroupOffsets(specs).all().get();
        for (String group : groups) {
            found.get(group).forEach((partition, known) ->
                out.println(String.join("\t", group, partition.topic(), String.valueOf(partition.partition()), String.valueOf(known.offset()), known.metadata())));
        }
    }

    private static void remove(Admin admin, List<String> words) throws Exception {
        Set<MemberToRemove> members = new HashSet<>();
        words.subList(1, words.size()).forEach(instance -> members.add(new MemberToRemove(instance)));
        RemoveMembersFromConsumerGroupOptions options =
            members.isEmpty() ? new RemoveMembersFromConsumerGroupOptions() : new RemoveMembersFromConsumerGroupOptions(members);
        admin.removeMembersFromConsumerGroup(words.get(0), options).all().get();
    }

    /** From topic:partition=offset=metadata, the first word being the group. */
    private static Map<TopicPartition, OffsetAndMetadata> offsetsOf(List<String> words) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (String word : words.subList(1, words.size())) {
            String[] parts = word.split("=", 3);
            int colon = parts[0].lastIndexOf(':');
            TopicPartition partition = new TopicPartition(parts[0].substring(0, colon), Integer.parseInt(parts[0].substring(colon + 1)));
            offsets.put(partition, new OffsetAndMetadata(Long.parseLong(parts[1]), parts[2]));
        }
        return offsets;
    }
}
