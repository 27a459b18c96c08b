import { type Logger, pino } from 'pino';

export type Log = Logger;

export interface LogOptions {
  level: string;
  /** `pretty` for people at a terminal, `json` for machines. */
  form: 'pretty' | 'json';
}

/** The log on standard output: one line a request at `info`, written by batches; never bodies or secrets. */
export async function createLog(options: LogOptions): Promise<{ log: Log; flush(): void }> {
  const destination = pino.destination({ fd: 1, sync: false, minLength: options.form === 'json' ? 4_096 : 0 });
  // A sink that is gone (closed pipe, full disk) must not take requests down with it (F31, F60).
  destination.on('error', () => undefined);
  const settings = { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const log =
    options.form === 'json'
      ? pino(settings, destination)
      : pino(
          settings,
          (await import('pino-pretty')).PinoPretty({ colorize: true, ignore: 'pid,hostname', destination: 1 }),
        );
  // A line must not wait for its batch to fill on a quiet server.
  const timer = setInterval(() => destination.flush(), 1_000);
  timer.unref();
  return {
    log,
    flush() {
      try {
        destination.flushSync();
      } catch {
        // Nothing was ever written, or the sink is gone.
      }
    },
  };
}
