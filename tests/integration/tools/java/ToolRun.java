import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/** One run of a tool: its thread, its streams, its shutdown hooks, its exit code. */
final class ToolRun {
    private static final InheritableThreadLocal<ToolRun> CURRENT = new InheritableThreadLocal<>();
    private static final long PATIENCE_MS = 10_000;
    private static final int CODE_OF_SIGINT = 130;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private final InputStream input;
    private final Consumer<ToolRun> atEnd;
    private final List<Runnable> hooks = new CopyOnWriteArrayList<>();
    private Thread thread;
    private volatile boolean stopped = false;
    private boolean exiting = false;
    private boolean frozen = false;
    private int code = 0;

    ToolRun(String input, Consumer<ToolRun> atEnd) {
        this.input = new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8));
        this.atEnd = atEnd;
    }

    static ToolRun currentOrNull() {
        return CURRENT.get();
    }

    static ToolRun current() {
        ToolRun run = CURRENT.get();
        if (run == null) {
            throw new IllegalStateException("this thread belongs to no tool");
        }
        return run;
    }

    void start(String main, String[] arguments) {
        thread = new Thread(() -> {
            CURRENT.set(this);
            end(call(main, arguments));
        }, "main");
        thread.setDaemon(true);
        thread.start();
    }

    /** The exit code; an exception of main is printed as the JVM prints it. */
    private int call(String main, String[] arguments) {
        try {
            Class.forName(main).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return 0;
        } catch (InvocationTargetException wrapped) {
            if (!(wrapped.getCause() instanceof Ended)) {
                System.err.print("Exception in thread \"main\" ");
                wrapped.getCause().printStackTrace();
            }
        } catch (ReflectiveOperationException error) {
            error.printStackTrace();
        }
        return 1;
    }

    /** For the tool itself, from any of its threads: never returns. */
    void exit(int status) {
        end(status);
        throw new Ended();
    }

    /** Ctrl-C. */
    void stop() {
        stopped = true;
        Thread stopper = new Thread(() -> {
            CURRENT.set(this);
            runHooks();
            try {
                thread.join(PATIENCE_MS);
            } catch (InterruptedException impossible) {
                throw new IllegalStateException(impossible);
            }
            thread.interrupt();
            end(CODE_OF_SIGINT);
        }, "stopper");
        stopper.setDaemon(true);
        stopper.start();
    }

    /** The first end counts; the hooks may still print. */
    private void end(int status) {
        synchronized (this) {
            if (exiting) {
                return;
            }
            exiting = true;
        }
        runHooks();
        synchronized (this) {
            frozen = true;
            code = stopped ? CODE_OF_SIGINT : status;
        }
        atEnd.accept(this);
    }

    private void runHooks() {
        for (Runnable hook : hooks) {
            hooks.remove(hook);
            Thread runner = new Thread(hook, "shutdown-hook");
            runner.setDaemon(true);
            runner.start();
            try {
                runner.join(PATIENCE_MS);
            } catch (InterruptedException late) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    void addShutdownHook(Runnable hook) {
        hooks.add(hook);
    }

    InputStream input() {
        return input;
    }

    synchronized void write(boolean isError, byte[] bytes, int offset, int length) {
        if (!frozen) {
            (isError ? err : out).write(bytes, offset, length);
        }
    }

    synchronized String output(boolean isError) {
        return (isError ? err : out).toString(StandardCharsets.UTF_8);
    }

    synchronized int code() {
        return code;
    }

    /** Unwinds the thread of a tool that has called exit, so that it closes its clients on the way. */
    private static final class Ended extends Error {
        private static final long serialVersionUID = 1L;

        Ended() {
            super("exit", null, false, false);
        }
    }
}
