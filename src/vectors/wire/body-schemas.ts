import type { JsonObject } from '../../kernel/json.ts';
import type { VectorVerb } from '../verbs.ts';
import { pointsTotalMax } from './read-query.ts';

/*
 * The bodies of the vector API as /openapi.json lists them: their fields and types. docs/vectors.md describes their
 * contents. The readers of this folder judge a body; src/vectors/wire/body-schemas.test.ts checks these against them.
 */

const text = { type: 'string' };
const truth = { type: 'boolean' };
const object = { type: 'object' };
const count = (description: string, maximum = pointsTotalMax) => ({
  type: 'integer',
  minimum: 1,
  maximum,
  description,
});
const list = (items: JsonObject, description: string) => ({ type: 'array', items, description });
const either = (...anyOf: JsonObject[]) => ({ anyOf });
const pointId = {
  anyOf: [
    { type: 'integer', minimum: 0 },
    { type: 'string', description: 'A UUID.' },
  ],
};
const numbers = { type: 'array', items: { type: 'number' } };
/** A vector to store: numbers, a text to embed, rows of a multivector, a sparse one, or several by name. */
const vector = either(numbers, text, { type: 'array', items: numbers }, object);

const filter = {
  type: 'object',
  properties: {
    must: list(object, 'All of these conditions.'),
    should: list(object, 'One of these.'),
    must_not: list(object, 'None of these.'),
  },
};
const want = {
  with_payload: either(truth, { type: 'array', items: text }, object),
  with_vector: either(truth, { type: 'array', items: text }),
};
const model = { ...text, description: 'Embedding model of the texts. Default: that of the collection.' };
const point = { type: 'object', properties: { id: pointId, vector, payload: object }, required: ['id'] };
const upsert = {
  points: list(point, 'Whole points. Without `vector` the text of the payload is embedded.'),
  batch: { ...object, description: '`ids`, `vectors` and `payloads` as columns, instead of `points`.' },
  model,
};
const selection = { points: list(pointId, 'These.'), filter };
const payload = { payload: object, key: { ...text, description: 'Path below which it is set.' }, ...selection };
const compared = either(numbers, pointId, text, object);

const shared = { filter, ...want, score_threshold: { type: 'number' }, using: text, model };
const page = { limit: count('Default: 10.'), offset: { type: 'integer', minimum: 0 } };
const rerank = {
  type: 'object',
  properties: { model: text, query: text, text_key: text, top_n: count('As many as are found.') },
  required: ['model'],
};
const group = {
  group_by: { ...text, description: 'Key of the payload.' },
  group_size: count('Default: 3.'),
  limit: count('Number of groups. Default: 10.'),
  with_lookup: either(text, object),
};
const queryFields = {
  search: { vector: either(numbers, text, object), text: { ...text, description: 'Instead of `vector`.' } },
  recommend: {
    positive: list(compared, 'Near to these.'),
    negative: list(compared, 'Far from these.'),
    strategy: { type: 'string', enum: ['average_vector', 'best_score', 'sum_scores'] },
  },
  query: {
    query: either(numbers, pointId, text, object),
    text: { ...text, description: 'Instead of `query`.' },
    prefetch: either(object, { type: 'array', items: object }),
  },
};
const searches = { searches: list(object, 'Bodies of single calls.') };
const settings = {
  vectors: { ...object, description: '`size` and `distance`, or both by name.' },
  sparse_vectors: object,
  hnsw_config: object,
  quantization_config: object,
  optimizers_config: object,
  metadata: object,
};
const created = {
  vector_size: { type: 'integer', minimum: 1 },
  distance: { type: 'string', enum: ['Cosine', 'Dot', 'Euclid', 'Manhattan'] },
  embedding_model: { ...text, description: 'Model that embeds the texts of the collection. It decides the size.' },
  ...settings,
};
const matrix = {
  sample: { type: 'integer', minimum: 2, maximum: 1_000 },
  limit: count('Neighbours of each.', 1_000),
  using: text,
  filter,
};

const bodies: Partial<Record<VectorVerb, { fields: JsonObject; required?: string[] }>> = {
  'create-collection': { fields: { name: text, ...created }, required: ['name'] },
  'put-collection': { fields: created },
  'update-collection': { fields: settings },
  'change-aliases': {
    fields: { actions: list(object, 'One of create_alias, delete_alias, rename_alias each.') },
    required: ['actions'],
  },
  'create-index': {
    fields: { field_name: text, field_schema: either(text, object) },
    required: ['field_name', 'field_schema'],
  },
  'upsert-points': { fields: upsert },
  'post-points': { fields: { ...upsert, ids: list(pointId, 'To read them.'), ...want } },
  'delete-points': { fields: selection },
  'set-payload': { fields: payload, required: ['payload'] },
  'overwrite-payload': { fields: { payload: object, ...selection }, required: ['payload'] },
  'delete-payload': { fields: { keys: list(text, 'Paths.'), ...selection }, required: ['keys'] },
  'clear-payload': { fields: selection },
  'update-vectors': {
    fields: { points: list({ type: 'object', properties: { id: pointId, vector } }, 'Those that exist.'), model },
    required: ['points'],
  },
  'delete-vectors': { fields: { vector: list(text, 'Names.'), ...selection }, required: ['vector'] },
  'batch-points': {
    fields: { operations: list(object, 'In this order: upsert, delete, set_payload, …'), model },
    required: ['operations'],
  },
  'search-points': { fields: { ...queryFields.search, ...shared, ...page, rerank } },
  'recommend-points': { fields: { ...queryFields.recommend, ...shared, ...page, rerank } },
  'query-points': { fields: { ...queryFields.query, ...shared, ...page, rerank } },
  'search-batch': { fields: { ...searches, model }, required: ['searches'] },
  'recommend-batch': { fields: { ...searches, model }, required: ['searches'] },
  'query-batch': { fields: { ...searches, model }, required: ['searches'] },
  'search-groups': { fields: { ...queryFields.search, ...shared, ...group }, required: ['group_by'] },
  'query-groups': { fields: { ...queryFields.query, ...shared, ...group }, required: ['group_by'] },
  'matrix-pairs': { fields: matrix },
  'matrix-offsets': { fields: matrix },
  'scroll-points': { fields: { filter, ...want, limit: page.limit, offset: pointId, order_by: either(text, object) } },
  'count-points': { fields: { filter, exact: truth } },
  'facet-points': { fields: { key: text, limit: page.limit, filter, exact: truth }, required: ['key'] },
};

export function vectorBodySchema(verb: VectorVerb): JsonObject {
  const { fields, required } = bodies[verb] ?? { fields: {} };
  return { type: 'object', properties: fields, ...(required !== undefined && { required }) };
}
