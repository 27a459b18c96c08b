import type { JsonObject } from '../../../kernel/json.ts';
import { type BodyObjects, findNamed, type MemberKinds, memberKinds, type NamingRules } from '../named-objects.ts';

/** As Google's reference spells them; its servers take `cached_content` as well. */
const named: MemberKinds = {
  cachedContent: 'id',
  fileUri: 'file-uri',
  fileSearchStoreNames: 'id',
  datastore: 'id',
  dataStore: 'id',
  engine: 'id',
  ragCorpus: 'id',
  ragCorpora: 'id',
  ragFileIds: 'id',
  // Of Google's Secret Manager, where the operator keeps them.
  apiKeySecret: 'id',
  apiKeySecretVersion: 'id',
  credentialSecret: 'id',
  args: 'opaque',
  response: 'opaque',
  parameters: 'opaque',
  parametersJsonSchema: 'opaque',
  responseSchema: 'opaque',
  responseJsonSchema: 'opaque',
  labels: 'opaque',
};

/** Where a request names caches, files and stores that Google keeps. */
const rules: NamingRules = {
  members: memberKinds({
    ...named,
    ...Object.fromEntries(Object.entries(named).map(([name, kind]) => [inSnakeCase(name), kind])),
  }),
};

/** `body` as it was written, in either spelling. Its answers give out nothing that can be named. */
export function objectsIn(body: JsonObject): BodyObjects {
  return Object.assign(findNamed(body, rules), { answerGives: 'nothing' } as const);
}

function inSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
