import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Tests of Qdrant's own in a checkout of theirs. Nothing of them is kept here. */
export interface Suite {
  name: 'openapi' | 'congruence';
  /** From the checkout's root. */
  folder: string;
  /** Where the tests look for the gateway and its key, besides `watch_answers.py`. */
  environment(at: { url: string; key: string; checkout: string }): Record<string, string>;
}

const suites: readonly Suite[] = [
  {
    name: 'openapi',
    folder: 'tests/openapi',
    environment: ({ url, key, checkout }) => ({
      QDRANT_HOST: url,
      QDRANT_HOST_HEADERS: JSON.stringify({ 'api-key': key }),
      OPENAPI_FILE: join(checkout, 'docs/redoc/master/openapi.json'),
    }),
  },
  { name: 'congruence', folder: 'tests/congruence_tests', environment: () => ({}) },
];

/** The suite that the checkout has; null when it is neither qdrant/qdrant nor qdrant/qdrant-client. */
export function suiteIn(checkout: string): Suite | null {
  return suites.find(({ folder }) => existsSync(join(checkout, folder))) ?? null;
}
