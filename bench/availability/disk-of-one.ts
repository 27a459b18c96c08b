import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { chatOnce } from '../../test/faults/gateway-process.ts';
import { mountSmallDisk } from '../../test/faults/small-disk.ts';
import { noLimits } from '../../test/start-gateway.ts';
import { judged, type Row, told } from '../rows.ts';
import { ask, type Ground, takerKey } from './ground.ts';

const mb = 1024 * 1024;
const writers = 4;
const pointsABatch = 100;
const payloadBytes = 40_000;
const chats = 200;
/** Bounds the disk, should a tested bound not hold. */
const writtenMaxMb = 4_096;

interface Written {
  mb: number;
  seconds: number;
  /** Of the first refusal; null: none. */
  refusal: { status: number; text: string } | null;
}

/** S31: one key writes points with large payloads, on several connections, as fast as they are taken. */
async function writePoints(url: string): Promise<Written> {
  const path = '/v1/vectors/collections/docs';
  const made = await ask(url, takerKey, 'PUT', path, { vectors: { size: 4, distance: 'Cosine' } });
  if (made.status !== 200) throw new Error(made.text);
  const payload = JSON.stringify({ text: 'x'.repeat(payloadBytes) });
  let batches = 0;
  let taken = 0;
  let refusal: Written['refusal'] = null;
  const startedMs = performance.now();
  const bytesOf = (count: number) => (count * pointsABatch * payloadBytes) / mb;
  const write = async () => {
    while (refusal === null && bytesOf(taken) < writtenMaxMb) {
      const first = 1 + batches++ * pointsABatch;
      const points = Array.from(
        { length: pointsABatch },
        (_, i) => `{"id":${first + i},"vector":[1,2,3,${first + i}],"payload":${payload}}`,
      );
      const { status, text } = await ask(url, takerKey, 'PUT', `${path}/points`, `{"points":[${points.join(',')}]}`);
      if (status === 200) taken += 1;
      else refusal ??= { status, text };
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  return { mb: bytesOf(taken), seconds: (performance.now() - startedMs) / 1_000, refusal };
}

/** Storage that a plan allows, for one key that writes. */
export async function storage(ground: Ground): Promise<Row[]> {
  const plans = { default: { ...noLimits.default, storage: '1gb' } };
  const { url } = await ground.start({ ...ground.chatOver('ok'), plans });
  const written = await writePoints(url);
  return [
    judged('one key writes vectors, a plan of 1,024 MB: taken before it is refused', [written.mb], {
      // Writers that came at once are measured together.
      atMost: 1_024 + bytesMbOf(writers),
      unit: ' MB',
      digits: 0,
    }),
    told(
      '… refused with; pace',
      `${refusalOf(written)}; ${((written.mb * 60) / written.seconds / 1_024).toFixed(0)} GB a minute`,
    ),
  ];
}

/** Part of a disk that is reserved for the ledger, whatever plans say. */
export async function reserve(ground: Ground): Promise<Row[]> {
  const disk = mountSmallDisk(ground, 256);
  if (disk === null) return [told('the reserve of a disk', 'no file system can be mounted here (needs root)')];
  const plans = { default: { ...noLimits.default, storage: 'off' } };
  const section = { data_dir: join(disk, 'data'), reserve: '64mb' };
  const { url } = await ground.start({ ...ground.chatOver('ok'), plans, storage: section });
  const written = await writePoints(url);
  const { bavail, bsize } = statfsSync(disk);
  let answered = 0;
  for (let i = 0; i < chats; i += 1) if ((await chatOnce(url)).status === 200) answered += 1;
  return [
    judged('… without such a plan, a disk of 256 MB and a reserve of 64: left of it', [(bavail * bsize) / mb], {
      atLeast: 64 - bytesMbOf(writers),
      unit: ' MB',
      digits: 0,
    }),
    told('… refused with', refusalOf(written)),
    judged(`… chats answered then, of ${chats}`, [(answered / chats) * 100], { atLeast: 100, unit: ' %', digits: 1 }),
  ];
}

function bytesMbOf(batches: number): number {
  return Math.ceil((batches * pointsABatch * (payloadBytes + 1_000)) / mb);
}

function refusalOf({ refusal }: Written): string {
  if (refusal === null) return 'never';
  const { error } = JSON.parse(refusal.text) as { error: { type: string; limit?: string } };
  return `${refusal.status} ${error.limit ?? error.type}`;
}
