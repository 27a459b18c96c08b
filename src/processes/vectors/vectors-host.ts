import type { Duplex } from 'node:stream';
import type { Config } from '../../config/schema.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Link } from '../../kernel/threads/link.ts';
import type { Log } from '../../observe/log.ts';
import type { BodyMemory } from '../../vectors/body-memory.ts';
import { asTexts } from '../../vectors/page-texts.ts';
import type { Prepared, VectorCall } from '../../vectors/vector-engine.ts';
import type { Page } from '../../vectors/vector-store.ts';
import { createVectorWorkers, type VectorWorkers } from '../../vectors/worker-pool.ts';
import { createByteLink } from '../byte-link.ts';
import type { VectorsAskers, VectorsOffers } from './vectors-offers.ts';

/** Bodies above this are copied into memory that threads share: to give each its own costs a collection. */
const sharedBodyBytes = 64 * 1024;

const interrupted: Failure = { kind: 'overloaded', message: 'The vector store was interrupted. Retry it.' };

/** The embedded vectors of the data folder `dataDir`, for all workers. */
export function openVectorsHost(
  { memory, workers, limits, search_threads: searchThreads }: Config['vectors'],
  dataDir: string,
  log: Log,
): VectorsHost {
  const engine = createVectorWorkers({
    driver: { kind: 'embedded', dataDir, memoryBytes: memory, searchThreads },
    workers,
    limits: { collectionsPerAccount: limits.collections, pointsPerCall: limits.points_per_call },
    onStoredBytes: (bytes) => host.stored(bytes),
    onTrouble: (message) => log.error(message),
  });
  const host = new VectorsHost(engine);
  engine.takeUpImages();
  return host;
}

/** The embedded vectors of a server with several processes, in its primary. */
class VectorsHost {
  readonly #engine: VectorWorkers;
  readonly #links = new Set<Link<VectorsAskers>>();

  /** `engine` tells `stored` what it writes. */
  constructor(engine: VectorWorkers) {
    this.#engine = engine;
  }

  /** Serves one worker, until its end of the stream is closed. What it had begun is dropped then. */
  serve(stream: Duplex): void {
    const prepared = new Map<number, Prepared>();
    const link: Link<VectorsAskers> = createByteLink(
      stream,
      this.#offers(prepared, () => link),
      () => {
        this.#links.delete(link);
        for (const one of prepared.values()) one.drop();
        prepared.clear();
      },
    );
    this.#links.add(link);
  }

  /** Each worker knows how much room the disk has left. */
  stored(bytes: number): void {
    for (const link of this.#links) link.notify('stored', bytes);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  #offers(prepared: Map<number, Prepared>, link: () => Link<VectorsAskers>): VectorsOffers {
    const [engine, links] = [this.#engine, this.#links];
    let last = 0;
    const taken = (number: number) => {
      const one = prepared.get(number);
      prepared.delete(number);
      return one;
    };
    const paid = (numbers: readonly number[]) => {
      for (const number of numbers) void taken(number)?.run(null, async () => interrupted);
    };
    return {
      async prepare(call, paidBefore) {
        paid(paidBefore);
        const one = await withSharedBody(engine.bodyMemory, call, engine.prepare);
        if (one.kind !== 'prepared') return one;
        // Its worker died meanwhile: nobody is left to run or drop it.
        if (!links.has(link())) one.drop();
        last += 1;
        prepared.set(last, one);
        const { kind, texts, rerank, effect, ran } = one;
        return { kind, texts, rerank, effect, ran, number: last };
      },
      async run(number, embedded) {
        const one = taken(number);
        return one === undefined ? interrupted : one.run(embedded, (found) => link().ask('rank', number, found));
      },
      paid,
      drop: (number) => taken(number)?.drop(),
      storedBytes: engine.storedBytes,
      trouble: engine.trouble,
      async store(method, args) {
        const result: unknown = await Reflect.apply(engine.store[method], engine.store, args);
        return method === 'scroll' ? asTexts(result as Page) : result;
      },
    };
  }
}

async function withSharedBody<Result>(
  memory: BodyMemory,
  call: VectorCall,
  use: (call: VectorCall) => Promise<Result>,
): Promise<Result> {
  const { length } = call.body;
  if (length <= sharedBodyBytes) return use(call);
  const shared = memory.take(length);
  const body = Buffer.from(shared, 0, length);
  body.set(call.body);
  try {
    return await use({ ...call, body });
  } finally {
    memory.give(shared);
  }
}
