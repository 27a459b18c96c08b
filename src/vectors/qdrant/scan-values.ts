import type { Clock } from '../../kernel/clock.ts';
import { FailureError, invalid } from '../../kernel/failure.ts';
import type { JsonValue } from '../../kernel/json.ts';
import { createTurns, type Turns } from '../../kernel/sharing/turns.ts';
import type { KeyPath } from '../filter/key-path.ts';
import { differentValues } from '../filter/reach.ts';
import type { PointId } from '../point.ts';
import { idKey, keyInPayload, type Partition, type QdrantCondition } from './partition.ts';
import type { Partitions } from './partitions.ts';
import { type AnswerRoom, answerBytesMax } from './qdrant-connection.ts';
import { listIn, objectIn, storedPoint } from './read-answers.ts';

/** How long one call may have points read for it, whatever it asks for. */
const readMsMax = 30_000;
/** Points of the first page; further ones have more or fewer, so that their answers are of this many bytes. */
const firstPagePoints = 100;
const pagePointsMax = 8_000;
const pageBytes = 4 * 1024 * 1024;
/** Pages grow so much at a time: the values of the next points may be longer. */
const pageGrowth = 10;

/** Concurrent scans, in one thread: each holds values of many points. */
const scansAtOnce = 4;
const scansWaitingMax = 256;

export function scanTurns(): Turns {
  return createTurns({ name: 'Orders and facets over Qdrant', places: scansAtOnce, waitingMax: scansWaitingMax });
}

/** Bounds on what one call may read from Qdrant, its own answer apart. */
export interface Reading {
  partitions: Partitions;
  room: AnswerRoom;
  /** Call it before each request. Throws a FailureError (400) when the call has taken too long. */
  goOn(): void;
  /** Runs a scan in its tenant's turn. The wait takes nothing from the call's time. */
  inTurn<T>(partition: Partition, scan: () => Promise<T>): Promise<T>;
}

export function createReading(partitions: Partitions, turns: Turns, clock: Pick<Clock, 'monotonicMs'>): Reading {
  let endMs = clock.monotonicMs() + readMsMax;
  return {
    partitions,
    room: { bytes: answerBytesMax },
    goOn() {
      if (clock.monotonicMs() < endMs) return;
      const message = `Points had to be read one by one, which took more than ${readMsMax / 1_000} s, the longest time of a call. Add a filter that leaves fewer points.`;
      throw new FailureError(invalid(null, message));
    },
    inTurn({ collection: { tenant } }, scan) {
      const startedMs = clock.monotonicMs();
      return turns.run(tenant, null, () => {
        endMs += clock.monotonicMs() - startedMs;
        return scan();
      });
    },
  };
}

/**
 * Goes through the matching points, in the order of Qdrant's ids: `visit` gets each with its different values of the
 * key. `filterOf` is called before each page, because the points so far may narrow it.
 */
export async function scanValues(
  { partitions, goOn }: Reading,
  partition: Partition,
  key: KeyPath,
  filterOf: () => QdrantCondition,
  visit: (id: PointId, values: readonly JsonValue[]) => void,
): Promise<void> {
  const want = { payload: true, vector: false } as const;
  let offset: unknown;
  let limit = firstPagePoints;
  do {
    goOn();
    const body = JSON.stringify({
      filter: filterOf(),
      limit,
      ...(offset !== undefined && { offset }),
      with_payload: [idKey, keyInPayload(selectable(key))],
      with_vector: false,
    });
    const room = { bytes: answerBytesMax };
    const page = objectIn(await partitions.ask(partition, '/points/scroll', body, 'read', room));
    for (const found of listIn(page.points)) {
      const { id, payload } = storedPoint(found, want, partition.collection);
      visit(id, differentValues(payload ?? null, key.steps));
    }
    const bytes = answerBytesMax - room.bytes;
    const fitting = Math.floor((limit * pageBytes) / Math.max(bytes, 1));
    limit = Math.max(1, Math.min(pagePointsMax, limit * pageGrowth, fitting));
    offset = page.next_page_offset ?? undefined;
  } while (offset !== undefined);
}

/** The beginning of a path that a selector of payloads can name, which knows no elements of arrays by their places. */
export function selectable({ steps }: KeyPath): string {
  const names: string[] = [];
  for (const step of steps) {
    if (step.kind !== 'key') break;
    names.push(`"${step.name}"`);
  }
  return names.join('.');
}
