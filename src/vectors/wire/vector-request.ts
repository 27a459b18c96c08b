import type { JsonObject } from '../../kernel/json.ts';
import type { CollectionSpec, PayloadType } from '../collection.ts';
import type { SettingsChange } from '../collection-settings.ts';
import type { Filter } from '../filter/filter.ts';
import type { PointId, Want } from '../point.ts';
import type {
  AliasChange,
  FacetQuery,
  GroupQuery,
  NeighbourQuery,
  PointQuery,
  ScrollQuery,
  WriteOperation,
} from '../vector-store.ts';
import type { GroupLookup } from './group-lookups.ts';
import type { Rerank } from './read-rerank.ts';

/** A checked call. `form` has what differs between the two vocabularies, or in the answer alone. */
export type VectorRequest =
  | { kind: 'list' }
  /** `spec.size` is 0 until the embedding model has given it. `contract` answers with the collection, `qdrant` true. */
  | { kind: 'create'; spec: CollectionSpec; form: 'contract' | 'qdrant' }
  | { kind: 'inspect'; collection: string }
  | { kind: 'update'; collection: string; change: SettingsChange }
  | { kind: 'drop'; collection: string }
  | { kind: 'exists'; collection: string }
  | { kind: 'aliases'; collection: string | null }
  | { kind: 'change-aliases'; changes: readonly AliasChange[] }
  | {
      kind: 'index';
      collection: string;
      key: string;
      type: PayloadType | null;
      params?: JsonObject;
      acknowledge: Acknowledge;
    }
  | {
      kind: 'write';
      collection: string;
      operations: readonly WriteOperation[];
      form: 'one' | 'batch';
      acknowledge: Acknowledge;
    }
  | { kind: 'get'; collection: string; id: PointId; want: Want }
  | { kind: 'retrieve'; collection: string; ids: readonly PointId[]; want: Want }
  /** `search` answers the list itself, `query` an object with it. */
  | { kind: 'query'; collection: string; query: PointQuery; rerank: Rerank | null; form: QueryForm }
  | { kind: 'queries'; collection: string; queries: readonly PointQuery[]; form: QueryForm }
  | { kind: 'groups'; collection: string; query: GroupQuery; lookup: GroupLookup | null }
  | { kind: 'matrix'; collection: string; matrix: NeighbourQuery; form: 'pairs' | 'offsets' }
  | { kind: 'scroll'; collection: string; query: ScrollQuery }
  | { kind: 'count'; collection: string; filter: Filter | null }
  | { kind: 'facet'; collection: string; query: FacetQuery };

export type QueryForm = 'search' | 'query';

/** The answer to a write: `acknowledged` with `wait=false`. It is durable by then nevertheless. */
export type Acknowledge = 'completed' | 'acknowledged';
