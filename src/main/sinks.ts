import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { shownBodies } from '../admin/requests.ts';
import { type Batch, createRecordDelivery, type RecordDelivery } from '../books/metering/record-delivery.ts';
import type { RecordOrder, RecordStore } from '../books/metering/record-store.ts';
import type { Config, SinkConfig } from '../config/schema.ts';
import type { RecentBodies } from '../inference/endpoints/recent-bodies.ts';
import type { Clock } from '../kernel/clock.ts';
import { OpenedOnce } from '../kernel/opened-once.ts';
import type { Post } from '../kernel/web/post.ts';
import { webhookHeaders } from '../kernel/web/webhook-headers.ts';
import type { Bucket } from '../stores/s3/bucket.ts';
import { type BucketParts, bucketOpener } from './buckets.ts';

const jsonLines = 'application/x-ndjson';
const postTimeoutMs = 10_000;
const putTimeoutMs = 15_000;

/** The records for sinks that the ledger writes with each of its records; undefined when there are no sinks. */
export function orderFor(
  { telemetry: { sinks } }: Config,
  bodies: Pick<RecentBodies, 'find'>,
): RecordOrder | undefined {
  if (sinks.length === 0) return undefined;
  const needsBodies = sinks.some((sink) => sink.bodies);
  return {
    bodiesOf(requestId) {
      const found = needsBodies ? bodies.find(requestId) : null;
      return found === null ? null : JSON.stringify(shownBodies(found));
    },
  };
}

/** The sender of records to `telemetry.sinks`, known to the ledger and not yet started. */
export async function openSinks(
  parts: BucketParts & {
    config: Config;
    store: RecordStore;
    post: Post;
    clock: Clock;
    onTrouble(message: string): void;
  },
): Promise<RecordDelivery> {
  const { config, store, clock, onTrouble } = parts;
  const { sinks } = config.telemetry;
  if (sinks.length > 0) await store.begin(sinks.map(({ name }) => name));
  const buckets: OpenedOnce<Bucket>[] = [];
  const sending = sinks.map((sink) => ({
    name: sink.name,
    bodies: sink.bodies,
    batchRecordsMax: sink.batch_records,
    batchBytesMax: sink.batch_size,
    everyMs: sink.every,
    send: senderTo(sink, parts, (bucket) => buckets.push(bucket)),
  }));
  const delivery = createRecordDelivery({ store, sinks: sending, clock, onTrouble });
  return {
    ...delivery,
    async stop() {
      await delivery.stop();
      for (const bucket of buckets) await (await bucket.close())?.close();
    },
  };
}

function senderTo(
  sink: SinkConfig,
  parts: Parameters<typeof openSinks>[0],
  needs: (bucket: OpenedOnce<Bucket>) => void,
): (batch: Batch) => Promise<void> {
  const { config, post, clock } = parts;
  const { webhook, secret, folder, s3 } = sink;
  if (webhook !== undefined) {
    return async ({ firstId, records, lines }) => {
      // Another number of records under the first id is another batch.
      const message = { id: `${firstId}_${records}`, body: lines };
      const headers = { ...webhookHeaders(message, secret!, clock.wallMs()), 'content-type': jsonLines };
      const status = await post(webhook, headers, lines, postTimeoutMs);
      // The path of a webhook is often a secret.
      if (status < 200 || status > 299) throw new Error(`${new URL(webhook).host} answers ${status}`);
    };
  }
  if (folder !== undefined) return (batch) => writeFile(folder, batch);
  const place = { ...parts, timeoutMs: putTimeoutMs };
  const bucket = new OpenedOnce(bucketOpener(s3!, config.storage.s3, `telemetry.sinks ${sink.name}`, place));
  needs(bucket);
  return async (batch) => {
    await (await bucket.open()).put(placeOf(batch), Buffer.from(batch.lines), jsonLines);
  };
}

/** The same for a batch that is sent again: it replaces the earlier file. */
function placeOf({ atMs, firstId }: Batch): string {
  return `${new Date(atMs).toISOString().slice(0, 10)}/${firstId}.jsonl`;
}

/** Whole and on the disk, or absent: a reader of the folder never sees half a line. */
async function writeFile(folder: string, batch: Batch): Promise<void> {
  const path = join(folder, placeOf(batch));
  await mkdir(join(path, '..'), { recursive: true });
  const file = await open(`${path}.part`, 'w', 0o640);
  try {
    await file.writeFile(batch.lines);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.part`, path);
}
