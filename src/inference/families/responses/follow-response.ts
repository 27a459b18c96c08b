import { setTimeout as pause } from 'node:timers/promises';
import type { StreamMark } from '../../../formats/dialects/dialect.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { NamedRuns } from '../../../kernel/sharing/shared-runs.ts';
import type { Delivery, HeaderList } from '../../spine/sink.ts';
import { type BackgroundRun, sequenceOf } from './background-run.ts';
import { hasEnded } from './response-states.ts';
import type { StoredResponses } from './stored-responses.ts';

/** How often a response that runs in another process is asked for. */
const lookIntervalMs = 500;

/** Streams a run's frames whose number is above `after`, those that were and those to come. Resolves at its end. */
export function followRun(run: BackgroundRun, client: Delivery, after: number, headers: HeaderList): Promise<void> {
  return new Promise((resolve) => {
    client.start('events', headers);
    let last = after;
    let hasEnd = false;
    const stop = run.follow({
      frame(text) {
        const sequence = sequenceOf(text);
        if (sequence <= after) return;
        last = sequence;
        hasEnd = endOfResponse.test(text);
        client.chunk(text);
      },
      end() {
        if (run.frames === null && !hasEnd) client.chunk(lastFrame(run.response, last));
        client.end(null);
        resolve();
      },
    });
    client.onDisconnect(() => {
      stop();
      endCut(client, { id: run.id, sequence: last + 1 });
      resolve();
    });
  });
}

/** The frame behind which none comes. */
const endOfResponse = /^event: response\.(?:completed|incomplete|failed|cancelled)\n/;

/**
 * The same of a response that is kept, or runs in another process: one of another server gives its frames at its end.
 * Nothing where it was deleted meanwhile.
 */
export async function followStored(
  responses: StoredResponses,
  { framesOfRun }: NamedRuns,
  { tenant, id }: { tenant: string; id: string },
  client: Delivery,
  after: number,
  headers: HeaderList,
): Promise<void> {
  client.start('events', headers);
  let last = after;
  const send = (frame: string) => {
    const sequence = sequenceOf(frame);
    if (sequence <= last) return;
    last = sequence;
    client.chunk(frame);
  };
  let found = await responses.find(tenant, id);
  while (found !== null && !hasEnded(found.status) && !client.disconnected) {
    const frames = await framesOfRun(tenant, id, last);
    for (const frame of frames) send(frame);
    if (frames.length === 0) await pause(lookIntervalMs);
    found = await responses.find(tenant, id);
  }
  for (const frame of found?.frames()?.split(/(?<=\n\n)/) ?? []) send(frame);
  if (found !== null && found.frames() === null) send(lastFrame(found.response, last));
  endCut(client, { id, sequence: last + 1 });
  client.end(null);
}

/** The end of a stream that this server cut off; its caller reads why. */
function endCut(client: Delivery, mark: StreamMark): void {
  if (client.cutFor !== null) client.end({ failure: client.cutFor, headers: [], mark });
}

/** The end alone, where the frames before it were not kept. */
function lastFrame(response: JsonObject, after: number): string {
  const type = `response.${String(response.status)}`;
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: after + 1, response })}\n\n`;
}
