import type { Clock } from '../../kernel/clock.ts';
import { FailureError, invalid } from '../../kernel/failure.ts';
import type { JsonValue } from '../../kernel/json.ts';
import type { KeyPath } from '../filter/key-path.ts';
import { differentValues } from '../filter/reach.ts';
import type { PointId } from '../point.ts';
import { type AnswerRoom, answerBytesMax } from './connection.ts';
import { idKey, keyInPayload, type Partition, type QdrantCondition } from './partition.ts';
import type { Partitions } from './partitions.ts';
import { listIn, objectIn, storedPoint } from './read-answers.ts';

/** How long one call may have points read for it, whatever it asks for. */
const readMsMax = 30_000;
/** Points of the first page; further ones have more or fewer, so that their answers are of this many bytes. */
const firstPagePoints = 1_000;
const pagePointsMax = 8_000;
const pageBytes = 4 * 1024 * 1024;

/** What one call may read of Qdrant besides its own answer. */
export interface Reading {
  partitions: Partitions;
  /** For what is answered. */
  room: AnswerRoom;
  /** To be called before each request. Throws a FailureError (400) when the call has taken too long. */
  goOn(): void;
}

export function createReading(partitions: Partitions, clock: Pick<Clock, 'monotonicMs'>): Reading {
  const endMs = clock.monotonicMs() + readMsMax;
  return {
    partitions,
    room: { bytes: answerBytesMax },
    goOn() {
      if (clock.monotonicMs() < endMs) return;
      const message = `Points had to be read one by one, which took more than ${readMsMax / 1_000} s, as long as a call may. Add a filter that leaves fewer points.`;
      throw new FailureError(invalid(null, message));
    },
  };
}

/**
 * Goes through the points that pass, in the order of Qdrant's ids: `visit` is given each with its different values of
 * the key. `filterOf` is asked before each page, since what was seen may say that less is wanted.
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
    limit = Math.max(1, Math.min(pagePointsMax, Math.round((limit * pageBytes) / Math.max(bytes, 1))));
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
