import java.lang.reflect.Field;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.internals.Sender;
import org.apache.kafka.clients.producer.internals.TransactionManager;
import org.apache.kafka.clients.producer.internals.TransactionalRequestResult;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.InitProducerIdRequest;

/**
 * Two-phase commit (KIP-939) with what the Java client 4.3 has inside. It understands the broker's answers, but never asks for it,
 * has no methods for it, and takes a transaction that it has kept for an empty one. An engine that wants it now goes this way too.
 */
final class TwoPhase {
    private static final long PATIENCE_SECONDS = 60;
    private static final short VERSION = 6;

    private TwoPhase() {
    }

    /** Begin, and keep what is prepared or abort it; the producer id and epoch of what was kept. */
    static String init(KafkaProducer<?, ?> producer, boolean keeps) throws Exception {
        TransactionManager manager = (TransactionManager) field(producer, "transactionManager");
        TransactionalRequestResult result;
        synchronized (manager) { // meanwhile the sender takes nothing out of the queue
            result = manager.initializeTransactions(keeps);
            InitProducerIdRequest.Builder request = (InitProducerIdRequest.Builder) field(enqueued(manager), "builder");
            request.data.setEnable2Pc(true).setKeepPreparedTxn(keeps);
            Field newest = AbstractRequest.Builder.class.getDeclaredField("latestAllowedVersion");
            newest.setAccessible(true);
            newest.setShort(request, VERSION); // which is not final: the client stops at the one before
        }
        ((Sender) field(producer, "sender")).wakeup();
        result.await(PATIENCE_SECONDS, TimeUnit.SECONDS, "nobody answers");
        manager.maybeUpdateTransactionV2Enabled(true);
        if (manager.isPrepared()) {
            open(manager, "transactionStarted").set(manager, true);
        }
        return state(manager);
    }

    /** All is sent, and nothing more will be; the producer id and epoch that the outside coordinator writes down. */
    static String prepare(KafkaProducer<?, ?> producer) throws Exception {
        producer.flush();
        TransactionManager manager = (TransactionManager) field(producer, "transactionManager");
        manager.prepareTransaction();
        return state(manager);
    }

    private static String state(TransactionManager manager) {
        return manager.preparedTransactionState().producerId + ":" + manager.preparedTransactionState().epoch;
    }

    private static Object enqueued(TransactionManager manager) throws Exception {
        for (Object handler : (Queue<?>) field(manager, "pendingRequests")) {
            if (handler.getClass().getSimpleName().equals("InitProducerIdHandler")) {
                return handler;
            }
        }
        throw new IllegalStateException("InitProducerId is not to be sent");
    }

    private static Object field(Object owner, String name) throws Exception {
        return open(owner, name).get(owner);
    }

    private static Field open(Object owner, String name) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
