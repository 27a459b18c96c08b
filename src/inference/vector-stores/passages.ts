import { type Principal, serverPrincipal } from '../../books/auth/principal.ts';
import type { StoreRow } from '../../books/metering/vector-store-rows.ts';
import { type Failure, FailureError, isFailure } from '../../kernel/failure.ts';
import { uuidOf } from '../../kernel/ids.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { VectorVerb } from '../../vectors/verbs.ts';
import { askVectors } from '../families/vectors/ask-vectors.ts';
import type { VectorEndpoint } from '../families/vectors/endpoint.ts';
import type { ServeServices } from '../spine/answer-cache.ts';
import type { TextPiece } from './cut-text.ts';
import type { FileAttributes, StoreFile } from './store-facts.ts';

/** A caller, and the request or work whose rows in the ledger name it. */
export interface StoreCaller {
  principal: Principal;
  requestId: string;
}

type FileHere = Pick<StoreFile, 'id' | 'store' | 'file' | 'name' | 'attributes'>;

/** Store of a tenant, and the work whose rows in the ledger name what is done in it. */
export interface StoreOf extends Pick<StoreRow, 'id' | 'tenant'> {
  requestId: string;
}

/**
 * The passages of vector stores: points of a collection that has the store's id. What embeds texts is a call that the
 * owner could make, at the same cost. Removing passages and changing attributes costs nothing: no limit may leave
 * passages of a file that failed or is gone. Rejects with FailureErrors, except for `put`.
 */
export interface Passages {
  make(owner: StoreCaller, store: string, model: string): Promise<void>;
  /** Also where it is gone. */
  drop(store: StoreOf): Promise<void>;
  /** Embeds and adds pieces of a file, the first of them its piece `at`. */
  put(owner: StoreCaller, file: FileHere, at: number, pieces: readonly TextPiece[]): Promise<Failure | null>;
  /** Removes the passages of these attachments. */
  removeAttachments(store: StoreOf, ids: readonly string[]): Promise<void>;
  /** Removes the passages of all attachments of the file, except for one. */
  removeFile(store: StoreOf, file: string, except: string | null): Promise<void>;
  setAttributes(store: StoreOf, id: string, attributes: FileAttributes | null): Promise<void>;
  /** Text of the file, in its pieces without what they repeat. While it is not read, that of its earlier attachment. */
  content(owner: StoreCaller, file: FileHere & Pick<StoreFile, 'status'>): Promise<string[]>;
  search(owner: StoreCaller, store: string, search: PassageSearch): Promise<FoundPassage[]>;
}

export interface PassageSearch {
  query: string;
  /** In the words of the vector API; null: none. */
  filter: JsonObject | null;
  resultsMax: number;
  /** Null: any. */
  scoreMin: number | null;
}

export interface FoundPassage {
  file: string;
  name: string;
  text: string;
  score: number;
  attributes: FileAttributes | null;
}

const piecesMax = 100_000;

type Ask = (
  owner: StoreCaller,
  verb: VectorVerb,
  store: string,
  body: JsonObject | null,
) => Promise<{ result: unknown } | Failure>;

export function createPassages(services: ServeServices, endpoint: VectorEndpoint): Passages {
  const ask: Ask = ({ principal, requestId }, verb, store, body) => {
    const params: Record<string, string> = verb === 'create-collection' ? {} : { collection: store };
    const owner = { principal, of: requestId, tag: 'vector store' };
    return askVectors(services, endpoint, { owner, verb, params, body, route: 'vector store' });
  };
  return { ...changesOf(ask), ...readsOf(ask) };
}

async function done(answering: ReturnType<Ask>): Promise<unknown> {
  const answer = await answering;
  if (isFailure(answer)) throw new FailureError(answer);
  return answer.result;
}

/** A store names its model by another field than other calls. */
function ofEmbeddingModel(failure: Failure): Failure {
  const { kind } = failure;
  const isModel =
    kind === 'model-unknown' ||
    kind === 'model-not-in-plan' ||
    (kind === 'invalid-request' && failure.param === 'model');
  return isModel ? { ...failure, param: 'embedding_model' } : failure;
}

/** The same where the collection may be gone. */
async function doneIfThere(answering: ReturnType<Ask>): Promise<void> {
  const answer = await answering;
  if (isFailure(answer) && answer.kind !== 'not-found') throw new FailureError(answer);
}

const conditionOf = (id: string) => ({ key: 'entry', match: { value: id } });

function changesOf(ask: Ask) {
  const asServer = ({ id, tenant, requestId }: StoreOf, verb: VectorVerb, body: JsonObject | null) =>
    ask({ principal: { ...serverPrincipal, tenant }, requestId }, verb, id, body);
  return {
    drop: (store) => doneIfThere(asServer(store, 'delete-collection', null)),
    async make(owner, store, model) {
      const making = ask(owner, 'create-collection', store, { name: store, embedding_model: model });
      await done(making.then((made) => (isFailure(made) ? ofEmbeddingModel(made) : made)));
    },
    async put(owner, file, at, pieces) {
      const points = pieces.map(({ text, repeats }, index) => ({
        id: uuidOf('culvert vector store', `${file.id}\n${at + index}`),
        payload: {
          text,
          file_id: file.file,
          filename: file.name,
          attributes: { ...file.attributes },
          entry: file.id,
          piece: at + index,
          repeats,
        },
      }));
      const answer = await ask(owner, 'upsert-points', file.store, { points });
      return isFailure(answer) ? answer : null;
    },
    async removeAttachments(store, ids) {
      const filter = { must: [{ key: 'entry', match: { any: [...ids] } }] };
      await doneIfThere(asServer(store, 'delete-points', { filter }));
    },
    async removeFile(store, file, except) {
      const must = [{ key: 'file_id', match: { value: file } }];
      const filter = { must, ...(except !== null && { must_not: [conditionOf(except)] }) };
      await doneIfThere(asServer(store, 'delete-points', { filter }));
    },
    async setAttributes(store, id, attributes) {
      const body = { payload: { attributes: { ...attributes } }, filter: { must: [conditionOf(id)] } };
      await done(asServer(store, 'set-payload', body));
    },
  } satisfies Partial<Passages>;
}

function readsOf(ask: Ask) {
  return {
    async content(owner, file) {
      const must = [{ key: 'file_id', match: { value: file.file } }];
      const ofEarlier = { must, must_not: [conditionOf(file.id)] };
      const filter = file.status === 'completed' ? { must: [conditionOf(file.id)] } : ofEarlier;
      const body = { filter, limit: piecesMax, with_payload: ['text', 'piece', 'repeats'] };
      const { points } = (await done(ask(owner, 'scroll-points', file.store, body))) as {
        points: readonly { payload?: JsonObject | null }[];
      };
      const pieces = points.map(({ payload }) => payload).filter(isPiece);
      pieces.sort((one, other) => one.piece - other.piece);
      return pieces.map(({ text, repeats }) => text.slice(repeats));
    },
    async search(owner, store, { query, filter, resultsMax, scoreMin }) {
      const body = {
        text: query,
        limit: resultsMax,
        with_payload: true,
        ...(filter !== null && { filter }),
        ...(scoreMin !== null && { score_threshold: scoreMin }),
      };
      const found = (await done(ask(owner, 'search-points', store, body))) as readonly FoundPoint[];
      return found.flatMap(({ score, payload }) => {
        if (!isPassage(payload)) return [];
        const { text, file_id: file, filename: name, attributes } = payload;
        return [{ file, name, text, score, attributes }];
      });
    },
  } satisfies Partial<Passages>;
}

type Piece = { text: string; piece: number; repeats: number };

interface FoundPoint {
  score: number;
  payload?: JsonObject | null;
}

type Passage = { text: string; file_id: string; filename: string; attributes: FileAttributes };

/* The collection is its owner's, who may write other points into it by the vector API: they are no passages. */

function isPiece(payload: JsonObject | null | undefined): payload is Piece {
  return typeof payload?.text === 'string' && [payload.piece, payload.repeats].every(Number.isInteger);
}

function isPassage(payload: JsonObject | null | undefined): payload is Passage {
  const { text, file_id: file, filename: name, attributes } = payload ?? {};
  return [text, file, name].every((one) => typeof one === 'string') && isObject(attributes);
}
