import { lossComment } from '../../formats/neutral/loss.ts';
import { fault } from '../../formats/neutral/outcome.ts';
import type { Clock } from '../../kernel/clock.ts';
import { costHeaders, headerSafe } from '../spine/answer.ts';
import type { Trials } from '../spine/endpoint.ts';
import type { Job } from '../spine/job.ts';
import type { AttemptSink, Failed } from '../spine/sink.ts';
import { withLosses } from '../spine/steps/changed-headers.ts';
import type { LiveAnswer } from './live-answer.ts';

const tooLate: Failed = {
  failure: { kind: 'overloaded', message: 'The answer did not end within the time that this request allows.' },
  headers: [],
};

/** Gives a caller the events of a stream under way, and its end, whatever that is. */
export async function joinStream(
  { write }: Trials,
  job: Job,
  live: LiveAnswer,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<void> {
  if (write === undefined) throw new Error(`nothing writes the kept events of ${job.endpoint}`);
  const { client, progress } = job;
  const answerHeaders = ['x-culvert-provider', headerSafe(live.provider), 'x-culvert-model', headerSafe(live.model)];
  const headers = [...answerHeaders, 'x-culvert-attempts', '0', ...costHeaders(job), 'x-culvert-cache', 'hit; age=0'];
  let isLate = false;
  const failed = () => {
    if (client.cutFor !== null) return { failure: client.cutFor, headers: [] };
    return live.ended ?? (isLate ? tooLate : null);
  };
  const sink = write(lastSink(job, withLosses(headers, live.endpoint === job.endpoint ? live.losses : []), failed));
  progress.cacheAgeMs = 0;
  progress.delivered = 'partial';
  progress.firstTokenMs = clock.monotonicMs() - job.startedMs;
  const waits = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    isLate = true;
    waits.resolve();
  }, job.deadlineMs - clock.monotonicMs());
  client.onDisconnect(waits.resolve);
  try {
    sink.start({ resume() {}, stop() {} });
    sink.content();
    for (let taken = 0; !client.disconnected && !isLate; ) {
      const next = live.events.slice(taken);
      taken += next.length;
      if (next.length > 0 && sink.chunk(next) === 'behind') {
        const drained = Promise.withResolvers<void>();
        client.onDrain(drained.resolve);
        await Promise.race([drained.promise, waits.promise]);
      } else if (taken === live.events.length) {
        if (live.ended !== undefined) break;
        await Promise.race([live.changed(), waits.promise]);
      }
    }
  } finally {
    clearTimeout(timer);
  }
  await sink.end(failed() === null ? null : fault('truncated', 'the stream that it joined ended'));
  if (live.ended === null) progress.savedUsd = live.usd ?? 0;
  if (job.sink.finished !== undefined) await job.sink.finished;
}

/** Takes what is written for the caller. `failed`: why the stream ended; null: well. */
function lastSink(
  { sink, progress, client }: Job,
  headers: readonly string[],
  failed: () => Failed | null,
): AttemptSink {
  return {
    start() {},
    content() {
      sink.start('events', headers);
      return true;
    },
    chunk: (chunk) => (typeof chunk === 'string' || Buffer.isBuffer(chunk) ? sink.chunk(chunk) : 'ready'),
    lose: (losses) => void sink.chunk(lossComment(losses)),
    end(found, mark) {
      const why = failed();
      progress.status = 200;
      progress.class = client.disconnected ? 'aborted' : (why?.failure.kind ?? 'ok');
      if (why === null && !client.disconnected) progress.delivered = 'whole';
      sink.end(why === null ? null : { failure: why.failure, headers: [], mark });
      return found;
    },
  };
}
