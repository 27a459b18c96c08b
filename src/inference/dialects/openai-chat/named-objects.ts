import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import {
  type BodyObjects,
  findNamed,
  type GivenId,
  memberKinds,
  type NamedObject,
  type NamingRules,
} from '../named-objects.ts';

/**
 * Where a request names files, stores and earlier spoken answers (`messages[].audio.id`) that a provider keeps. A voice
 * is none: `GET /v1/audio/voices` lists them for everybody.
 */
const rules: NamingRules = {
  members: memberKinds({
    file_id: 'id',
    file_ids: 'id',
    vector_store_ids: 'id',
    // Of xAI, of Mistral.
    collection_ids: 'id',
    library_ids: 'id',
    container_id: 'id',
    comparison_response_id: 'id',
    audio: 'holder',
    metadata: 'opaque',
    parameters: 'opaque',
    schema: 'opaque',
    logit_bias: 'opaque',
  }),
  // For another gateway, which asks Google or in the Responses format.
  top: memberKinds({ previous_response_id: 'id', cached_content: 'id' }),
};

/** By what Azure reads a source when the caller sends the secret along. All else is an identity of the operator's. */
const secretsOfCallers: ReadonlySet<JsonValue | undefined> = new Set([
  'api_key',
  'access_token',
  'connection_string',
  'encoded_api_key',
  'key_and_key_id',
  'username_and_password',
]);

export function objectsIn(body: JsonObject): BodyObjects {
  const { modalities } = body;
  const speaks = Array.isArray(modalities) && modalities.includes('audio');
  const found = findNamed(body, rules);
  for (const name in body) {
    if (name.length === 12 && /^data_sources$/iu.test(name)) found.named.push(...azureSources(name, body[name]));
  }
  return Object.assign(found, { answerGives: speaks ? 'objects' : 'nothing' } as const);
}

/** Of Azure: what is read by the resource's own identity is the operator's, whoever names it. */
function azureSources(name: string, sources: JsonValue | undefined): NamedObject[] {
  return (Array.isArray(sources) ? sources : []).flatMap((source, at): NamedObject[] => {
    const parameters = isObject(source) && isObject(source.parameters) ? source.parameters : {};
    const { authentication, index_name: index, database_name: database } = parameters;
    const by = isObject(authentication) ? authentication.type : undefined;
    if (secretsOfCallers.has(by)) return [];
    const id = [index, database].find((name) => typeof name === 'string') ?? 'data_sources';
    return [{ id: String(id), field: `${name}[${at}]`, use: 'reference' }];
  });
}

/** Spoken answers of a whole answer or a chunk. */
export function idsGivenIn({ choices }: JsonObject): GivenId[] {
  const given: GivenId[] = [];
  for (const choice of Array.isArray(choices) ? (choices as JsonObject[]) : []) {
    const said = (choice?.message ?? choice?.delta) as JsonObject | null | undefined;
    const id = (said?.audio as JsonObject | null | undefined)?.id;
    if (typeof id === 'string') given.push({ id, nameable: 'always' });
  }
  return given;
}
