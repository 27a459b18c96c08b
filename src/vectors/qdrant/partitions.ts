import { FailureError, invalid } from '../../kernel/failure.ts';
import type { PointId, StoredPoint, Want } from '../point.ts';
import type { VectorRegistry } from '../registry.ts';
import { noCollection } from '../vector-refusals.ts';
import { type Partition, partitionOf } from './partition.ts';
import { createPhysicalCollections, type PhysicalCollections } from './physical-collections.ts';
import { type AnswerRoom, type Connection, QdrantRefused } from './qdrant-connection.ts';
import { listIn, numberIn, objectIn, selectorOf, storedPoint } from './read-answers.ts';

/** Points of one look whether they exist. */
const cachedMax = 1_000;

/** The callers' collections as parts of Qdrant's: opened by name, and asked. */
export class Partitions {
  readonly physical: PhysicalCollections;
  readonly #connection: Connection;
  readonly #registry: VectorRegistry;

  constructor(connection: Connection, registry: VectorRegistry) {
    this.physical = createPhysicalCollections(connection);
    this.#connection = connection;
    this.#registry = registry;
  }

  /** Throws a FailureError (404) for an unknown collection. */
  async open(tenant: string, name: string): Promise<Partition> {
    const collection = await this.#registry.find(tenant, name);
    if (collection === null) throw noCollection(name);
    return partitionOf(collection);
  }

  /** Throws a FailureError in words that hold no names of the physical collection's. */
  async ask(
    partition: Partition,
    path: string,
    body: string,
    use: 'read' | 'write',
    room?: AnswerRoom,
  ): Promise<unknown> {
    try {
      return await this.#connection.ask({
        tenant: partition.collection.tenant,
        method: 'POST',
        path: `/collections/${partition.physical}${path}`,
        body,
        use,
        ...(room !== undefined && { room }),
      });
    } catch (error) {
      throw error instanceof QdrantRefused ? await this.#inCallersWords(partition, error) : error;
    }
  }

  /** Qdrant's complaint about a call that was found right here, without the names that things have there. */
  async #inCallersWords(partition: Partition, { status, message }: QdrantRefused): Promise<FailureError> {
    if (status === 404 && !(await this.physical.exists(partition.physical))) {
      const why = `its Qdrant collection ${partition.physical} is missing`;
      return new FailureError({
        kind: 'overloaded',
        message: `The vector store cannot serve this collection: ${why}.`,
      });
    }
    if (status === 413) return new FailureError(invalid(null, 'The call is larger than Qdrant accepts. Split it.'));
    const shown = message.replaceAll(partition.collection.generation, '…').replaceAll(/\bp\.(?=["\w])/g, '');
    return new FailureError(invalid(null, `Qdrant refused the call: ${shown}`));
  }

  /** Ids among `ids` that no point has. */
  async missing(partition: Partition, ids: readonly PointId[]): Promise<readonly PointId[]> {
    const there = new Set<PointId>();
    for (let from = 0; from < ids.length; from += cachedMax) {
      const points = await this.lookUp(partition, ids.slice(from, from + cachedMax), { payload: false, vector: false });
      for (const point of points) there.add(point.id);
    }
    return ids.filter((id) => !there.has(id));
  }

  /** In Qdrant's order; unknown ids are left out. */
  async lookUp(partition: Partition, ids: readonly PointId[], want: Want, room?: AnswerRoom): Promise<StoredPoint[]> {
    const body = JSON.stringify({ ids: ids.map(partition.pointIdOf), ...selectorOf(want) });
    return listIn(await this.ask(partition, '/points', body, 'read', room)).map((point) =>
      storedPoint(point, want, partition.collection),
    );
  }

  async countOf(partition: Partition, filter: unknown): Promise<number> {
    const body = JSON.stringify({ filter, exact: true });
    return numberIn(objectIn(await this.ask(partition, '/points/count', body, 'read')).count);
  }
}
