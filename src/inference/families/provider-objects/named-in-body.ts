import {
  findNamed,
  memberKinds,
  type NamedObject,
  type NamingRules,
  usualMembers,
} from '../../../formats/dialects/named-objects.ts';
import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { folded } from '../../../kernel/parse-object.ts';
import type { UpstreamUpload } from '../../../upstream/transport/upstream-call.ts';
import { formUpload, type SendableFile } from '../../spine/upload-body.ts';

/** A request's body: an object, or the parts of a form. */
export type ObjectBody = { json: JsonObject } | { form: ObjectForm };

export interface ObjectForm {
  fields: readonly { name: string; value: string }[];
  files: readonly { name: string; fileName: string; mediaType: string | null; file: SendableFile }[];
}

/** Places where bodies name objects. Content of conversations and schemas is the caller's. */
const rules: NamingRules = {
  members: memberKinds({
    ...usualMembers,
    training_file: 'id',
    validation_file: 'id',
    vector_store_ids: 'id',
    container: 'id',
    skill_id: 'id',
    previous_response_id: 'id',
    // Of a run: `{ type: 'file_id', id }`.
    source: 'holder',
    item_schema: 'opaque',
    parameters: 'opaque',
    item: 'opaque',
    sample: 'opaque',
  }),
};

const idFields = new Set([...rules.members.idsIn, 'ID', 'SOURCE'].map(folded));

/** Every id that a body names. */
export function namedIn(body: ObjectBody): NamedObject[] {
  if ('form' in body) {
    return body.form.fields.flatMap(({ name, value }) =>
      idFields.has(folded(name.replace(/\[\d*\]/g, ''))) ? [{ id: value, field: name, use: 'reference' as const }] : [],
    );
  }
  return [...findNamed(body.json, rules), ...tunedModels('', body.json)];
}

/** Models that were fine-tuned belong to who has them made; all others go by a public name. */
function tunedModels(path: string, value: JsonValue | undefined): NamedObject[] {
  if (typeof value !== 'object' || value === null) return [];
  const isTuned = !Array.isArray(value) && typeof value.model === 'string' && value.model.startsWith('ft:');
  const here: NamedObject[] = isTuned ? [{ id: String(value.model), field: `${path}model`, use: 'reference' }] : [];
  return [...here, ...Object.entries(value).flatMap(([name, inner]) => tunedModels(`${path}${name}.`, inner))];
}

/** Sources of an eval that cover what all callers of the operator's account have stored. */
const sharedSources: ReadonlySet<string> = new Set(['stored_completions', 'logs', 'responses'].map(folded));
const placesOfSources = new Set(['data_source', 'data_source_config', 'source', 'input_messages'].map(folded));

/** A 400 for a body that would read objects of other callers without naming them; null: it does not. */
export function readsOthers(body: JsonObject): Failure | null {
  for (const [name, value] of Object.entries(body)) {
    if (!placesOfSources.has(folded(name)) || !isObject(value)) continue;
    const type = Object.entries(value).find(([member]) => folded(member) === 'type')?.[1];
    if (typeof type === 'string' && sharedSources.has(folded(type))) {
      const message = `'${name}' of the type '${type.slice(0, 40)}' reads what every key here has stored at the provider. Send the rows in a file, or as 'file_content'.`;
      return invalid(name, message);
    }
    const inner = readsOthers(value);
    if (inner !== null) return inner;
  }
  return null;
}

/** The body as it is sent, with other ids in the places of some; `contentType`: of a form, its own. */
export function sentBody(
  body: ObjectBody,
  idsThere: ReadonlyMap<string, string>,
): { sent: string | UpstreamUpload; contentType: string } {
  if ('form' in body) {
    // Written anew, so that the provider reads no other fields than those that were looked at.
    const fields = body.form.fields.map(({ name, value }) => ({ name, value: idsThere.get(value) ?? value }));
    const files = body.form.files.map(({ mediaType, ...file }) => ({
      ...file,
      mime: mediaType ?? 'application/octet-stream',
    }));
    const sent = formUpload(fields, files);
    return { sent, contentType: sent.contentType };
  }
  return { sent: JSON.stringify(withIds(body.json, idsThere)), contentType: 'application/json' };
}

function withIds(value: JsonValue, ids: ReadonlyMap<string, string>): JsonValue {
  if (ids.size === 0) return value;
  if (typeof value === 'string') return ids.get(value) ?? value;
  if (Array.isArray(value)) return value.map((one) => withIds(one, ids));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withIds(inner ?? null, ids)]));
}
