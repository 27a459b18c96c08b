import { isMulti, isSparse, type PointBatch, type PointId, type VectorBatch, type VectorValue } from '../point.ts';
import type { Selection, UpdateCondition, WriteOperation } from '../vector-store.ts';
import { generationKey, idKey, keyInPayload, type Partition, payloadKey } from './partition.ts';
import { idsFilter, writeFilter } from './write-filter.ts';

/** Largest body of one request: Qdrant takes 32 MB unless configured otherwise. */
const requestBytesMax = 16 * 1024 * 1024;
/** Ids in one condition. */
const idsInFilterMax = 1_000;

/**
 * Bodies of `points/batch`, to be sent one after another: all operations in order, as JSON text. A call that is larger
 * than one request is several, each of which is done or not on its own.
 */
export function* writeOperations(partition: Partition, operations: readonly WriteOperation[]): Generator<string> {
  let texts: string[] = [];
  let bytes = 0;
  for (const operation of operations) {
    for (const text of operationTexts(partition, operation)) {
      if (texts.length > 0 && bytes + text.length > requestBytesMax) {
        yield `{"operations":[${texts.join(',')}]}`;
        texts = [];
        bytes = 0;
      }
      texts.push(text);
      bytes += text.length;
    }
  }
  if (texts.length > 0) yield `{"operations":[${texts.join(',')}]}`;
}

function* operationTexts(partition: Partition, operation: WriteOperation): Generator<string> {
  switch (operation.kind) {
    case 'upsert':
      for (const points of inPieces(pointTexts(partition, operation.points))) {
        yield `{"upsert":{"points":[${points}]${conditionText(partition, operation)}}}`;
      }
      return;
    case 'update-vectors': {
      const texts = operation.ids.flatMap((id, at) => {
        const vector = vectorText(operation, at);
        return vector === '{}' ? [] : `{"id":"${partition.pointIdOf(id)}","vector":${vector}}`;
      });
      for (const points of inPieces(texts))
        yield `{"update_vectors":{"points":[${points}]${conditionText(partition, operation)}}}`;
      return;
    }
    case 'delete-vectors':
      for (const filter of filtersOf(partition, operation.which)) {
        yield `{"delete_vectors":{"vector":${JSON.stringify(operation.names)},"filter":${filter}}}`;
      }
      return;
    case 'delete':
      if ('ids' in operation.which) {
        yield JSON.stringify({ delete: { points: operation.which.ids.map(partition.pointIdOf) } });
      } else yield JSON.stringify({ delete: { filter: writeFilter(partition, operation.which.filter) } });
      return;
    case 'set-payload': {
      const key = operation.key === null ? payloadKey : keyInPayload(operation.key);
      for (const filter of filtersOf(partition, operation.which)) {
        yield `{"set_payload":{"payload":${operation.payload},"key":${JSON.stringify(key)},"filter":${filter}}}`;
      }
      return;
    }
    case 'overwrite-payload':
      // The top level is merged, so that the member is replaced whole and its neighbours stay.
      for (const filter of filtersOf(partition, operation.which)) {
        yield `{"set_payload":{"payload":{"${payloadKey}":${operation.payload}},"filter":${filter}}}`;
      }
      return;
    case 'delete-payload':
    case 'clear-payload': {
      const keys = operation.kind === 'clear-payload' ? [payloadKey] : operation.keys.map(keyInPayload);
      for (const filter of filtersOf(partition, operation.which)) {
        yield `{"delete_payload":{"keys":${JSON.stringify(keys)},"filter":${filter}}}`;
      }
      return;
    }
  }
}

function conditionText(partition: Partition, { updateFilter, updateMode }: UpdateCondition): string {
  const filter =
    updateFilter === undefined ? '' : `,"update_filter":${JSON.stringify(writeFilter(partition, updateFilter))}`;
  return updateMode === undefined ? filter : `${filter},"update_mode":"${updateMode}"`;
}

/** By filter also where ids are given: of a list of ids, Qdrant refuses one that it does not have. */
function* filtersOf(partition: Partition, which: Selection): Generator<string> {
  if ('filter' in which) {
    yield JSON.stringify(writeFilter(partition, which.filter));
    return;
  }
  for (let from = 0; from < which.ids.length; from += idsInFilterMax) {
    const ids = which.ids.slice(from, from + idsInFilterMax).map(partition.pointIdOf);
    yield JSON.stringify(idsFilter(partition, ids));
  }
}

function* pointTexts(partition: Partition, points: PointBatch): Generator<string> {
  const generation = JSON.stringify(partition.collection.generation);
  for (const [at, id] of points.ids.entries()) {
    const payload = points.payloads[at] ?? null;
    const payloadMember = payload === null ? '' : `,"${payloadKey}":${payload}`;
    const whole = `{"${generationKey}":${generation},"${idKey}":${idText(id)}${payloadMember}}`;
    yield `{"id":"${partition.pointIdOf(id)}","vector":${vectorText(points, at)},"payload":${whole}}`;
  }
}

function idText(id: PointId): string {
  return typeof id === 'number' ? String(id) : `"${id}"`;
}

/** Texts joined by commas, each piece no longer than a request may be unless one text is. */
function* inPieces(texts: Iterable<string>): Generator<string> {
  let piece: string[] = [];
  let bytes = 0;
  for (const text of texts) {
    if (piece.length > 0 && bytes + text.length > requestBytesMax) {
      yield piece.join(',');
      piece = [];
      bytes = 0;
    }
    piece.push(text);
    bytes += text.length;
  }
  if (piece.length > 0) yield piece.join(',');
}

/** Digits that name every float32: more of them would make requests twice as long. */
const float32Digits = 9;

function vectorText({ ids, vectors, without, named = [] }: VectorBatch, at: number): string {
  const size = vectors.length / ids.length;
  const unnamed = size === 0 || without?.has(at) ? null : floatsText(vectors.subarray(at * size, (at + 1) * size));
  const texts = named.flatMap(({ name, values }) => {
    const value = values[at] ?? null;
    return value === null ? [] : `${JSON.stringify(name)}:${valueText(value)}`;
  });
  if (texts.length === 0) return unnamed ?? '{}';
  return `{${[...(unnamed === null ? [] : [`"":${unnamed}`]), ...texts].join(',')}}`;
}

export function valueText(value: VectorValue): string {
  if (isSparse(value)) return `{"indices":[${value.indices.join(',')}],"values":${floatsText(value.values)}}`;
  if (!isMulti(value)) return floatsText(value);
  const size = value.numbers.length / value.rows;
  const rows = Array.from({ length: value.rows }, (_, i) => value.numbers.subarray(i * size, (i + 1) * size));
  // Qdrant takes two rows for a sparse vector's indices and values where the first has integers alone.
  return `[${rows.map(floatsText).join(',')}]`.replace(/^\[\[(\d+)(?=[,\]])/, '[[$1.0');
}

/** A vector as JSON. */
function floatsText(vector: Float32Array): string {
  const texts = Array.from(vector, (value) =>
    Number.isInteger(value) ? String(value) : value.toPrecision(float32Digits),
  );
  return `[${texts.join(',')}]`;
}
