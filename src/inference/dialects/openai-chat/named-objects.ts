import type { JsonObject } from '../../../kernel/json.ts';
import { type BodyObjects, findNamed, type GivenId, type NamingRules } from '../named-objects.ts';

/** Where a request names files, earlier spoken answers (`messages[].audio.id`) and voices that OpenAI keeps. */
const rules: NamingRules = {
  members: new Map([
    ['file_id', 'id'],
    ['file_ids', 'id'],
    ['vector_store_ids', 'id'],
    ['container_id', 'id'],
    ['audio', 'holder'],
    ['voice', 'holder'],
    ['metadata', 'opaque'],
    ['parameters', 'opaque'],
    ['schema', 'opaque'],
    ['logit_bias', 'opaque'],
  ]),
};

export function objectsIn(body: JsonObject): BodyObjects {
  const { modalities } = body;
  const speaks = Array.isArray(modalities) && modalities.includes('audio');
  return Object.assign(findNamed(body, rules), { answerGives: speaks ? 'objects' : 'nothing' } as const);
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
