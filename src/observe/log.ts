import { type Logger, pino } from 'pino';
import { LineOutput } from './line-output.ts';

export type Log = Logger;

export interface LogOptions {
  level: string;
  /** `pretty` for people at a terminal, `json` for machines. */
  form: 'pretty' | 'json';
}

const batchBytes = 65_536;
const waitingBytesMax = 8 * 1024 * 1024;

/** The log on standard output: one line a request at `info`, written by batches; never secrets, bodies of named keys alone. */
export async function createLog(options: LogOptions): Promise<{ log: Log; flush(): void }> {
  const destination = new LineOutput({ fd: 1, batchBytes: options.form === 'json' ? batchBytes : 0, waitingBytesMax });
  // A sink that is gone (closed pipe, full disk) must not take requests down with it (F31, F60).
  const settings = { level: options.level, base: null, timestamp };
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
    flush: () => destination.flushSync(),
  };
}

/** Pino's number of `info`. */
const infoLevel = 30;

/**
 * Writes lines at `info` whose fields are JSON members already, as `log.info` would: one string made in one piece,
 * where pino joins some forty that the destination must flatten.
 */
export function lineWriter(log: Log, message: string): (members: string) => void {
  const stream = (log as unknown as Record<symbol, { write(line: string): void }>)[pino.symbols.streamSym]!;
  const end = `,"msg":${JSON.stringify(message)}}\n`;
  return (members) => {
    if (log.isLevelEnabled('info')) stream.write(`{"level":${infoLevel},"time":"${isoNow()}",${members}${end}`);
  };
}

let second = '';
let secondStartsMs = 0;

/** The time of a line, as pino wants it. */
export function timestamp(): string {
  return `,"time":"${isoNow()}"`;
}

/** `2026-01-02T03:04:05.678Z`; all but the milliseconds is kept for as long as the second lasts. */
export function isoNow(): string {
  const nowMs = Date.now();
  const ms = nowMs - secondStartsMs;
  if (ms < 0 || ms >= 1_000) {
    secondStartsMs = nowMs - (nowMs % 1_000);
    second = new Date(secondStartsMs).toISOString().slice(0, 20);
    return isoNow();
  }
  return `${second}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`;
}
