import { setTimeout as pause } from 'node:timers/promises';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { encodeGet } from '../../../formats/providers/encode.ts';
import type { ProviderConnection } from '../../../formats/providers/provider-connection.ts';
import { isObject, type JsonObject, parsedJson } from '../../../kernel/json.ts';
import { wholeAnswer } from '../../../upstream/transport/whole-answer.ts';
import type { AttemptParts } from '../job.ts';

/** A job that a service has taken, and asks us to look at until it has ended. */
export interface PolledJob {
  connection: ProviderConnection;
  /** Id of the credential that began it. */
  credential: string;
  /** Address of its state. */
  url: URL;
  /** True if its answer says that it still runs. */
  runs(state: JsonObject): boolean;
}

const connectTimeoutMs = 3_000;
const answerTimeoutMs = 30_000;
const answerBytesMax = 32 * 1024 * 1024;
const firstPauseMs = 250;
const pauseMaxMs = 3_000;
/** Looks in a row that may fail: the job itself goes on. */
const missesMax = 4;

/**
 * State with which a job ended, as its service reported it. A Fault if the deadline passes or `signal` is aborted, or
 * if the service does not report any more.
 */
export async function endOfJob(
  { transport, clock }: AttemptParts,
  { connection, credential, url, runs }: PolledJob,
  { deadlineMs, signal }: { deadlineMs: number; signal: AbortSignal },
): Promise<Buffer | Fault> {
  let pauseMs = firstPauseMs;
  let misses = 0;
  for (;;) {
    if (clock.monotonicMs() + pauseMs >= deadlineMs) return fault('deadline', 'the deadline passed');
    try {
      await pause(pauseMs, undefined, { signal });
    } catch {
      return fault('cancelled', 'stopped');
    }
    pauseMs = Math.min(pauseMaxMs, Math.round(pauseMs * 1.5));
    const address = encodeGet(connection, url.pathname + url.search, connection.credentials.get(credential));
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]);
    const request = { ...address, origin: url.origin, method: 'GET', body: null } as const;
    const bounds = { connectTimeoutMs, bytesMax: answerBytesMax, deadline };
    const answered = await wholeAnswer(transport, request, bounds).catch(() => null);
    if (signal.aborted) return fault('cancelled', 'stopped');
    const state = answered === null ? undefined : parsedJson(answered.bytes.toString('utf8'));
    if (answered !== null && answered.status < 300 && isObject(state)) {
      if (!runs(state)) return answered.bytes;
      misses = 0;
      continue;
    }
    misses += 1;
    if (misses < missesMax && (answered === null || answered.status >= 500 || answered.status === 429)) continue;
    const how = answered === null ? 'did not answer' : `answered ${answered.status}`;
    return fault('transient', `${how} when it was asked for its job`, answered?.status ?? null);
  }
}
