import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Base } from './door.ts';

/** Another gateway whose tests speak to a running server. Nothing of them is kept here. */
export interface Peer {
  name: string;
  /** What a folder of it has, for people. */
  looksFor: string;
  /** The port that its tests have written into them; null where the environment gives them an address. */
  port: number | null;
  /** Paths that its tests put before the vendors' own. */
  bases: readonly Base[];
  /** Keys that its tests have written into them. */
  keys: readonly string[];
  /** Tests of it in a folder, which is a checkout or a part of one; none where the folder is something else. */
  suites(folder: string): Suite[];
  environment(at: { url: string; key: string }): Record<string, string>;
}

export interface Suite {
  runner: 'pytest' | 'vitest';
  /** Where the runner starts. */
  cwd: string;
  /** Relative to `cwd`; the runner's own choice where there are none. */
  files: readonly string[];
}

/** Environment variables in which Bifrost's tests look for a key of each provider: no key, no test of it. */
const bifrostKeys = [
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'LITELLM_API_KEY',
  'COHERE_API_KEY',
  'XAI_API_KEY',
  'AZURE_API_KEY',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
];

const bifrost: Peer = {
  name: 'Bifrost',
  looksFor: 'tests/integrations/python/tests/utils/config_loader.py or tests/integrations/typescript/vitest.config.ts',
  port: null,
  bases: [
    // Azure's clients add `/openai/…` to it themselves.
    { from: '/openai/openai', to: '/openai' },
    ...['genai', 'litellm', 'langchain', 'pydanticai', 'bedrock', 'cohere', 'genai_passthrough'].map((name) => ({
      from: `/${name}`,
      to: '',
    })),
    { from: '/anthropic_passthrough', to: '/anthropic' },
  ],
  // Bifrost takes any key, and some files set one for the whole process.
  keys: ['dummy-*'],
  suites(folder) {
    const python = partIn(folder, 'tests/integrations/python', 'tests/utils/config_loader.py');
    const typescript = partIn(folder, 'tests/integrations/typescript', 'vitest.config.ts');
    return [
      ...(python === null ? [] : [{ runner: 'pytest' as const, cwd: python, files: ['tests'] }]),
      ...(typescript === null ? [] : [{ runner: 'vitest' as const, cwd: typescript, files: [] }]),
    ];
  },
  environment: ({ url, key }) => ({
    BIFROST_BASE_URL: url,
    ...Object.fromEntries(bifrostKeys.map((name) => [name, key])),
  }),
};

const namesProxy = /(?:0\.0\.0\.0|localhost|127\.0\.0\.1):4000/;

/** Folders of LiteLLM's tests that speak to no server, and scripts that call one when they are read. */
const unitTests = /^(?:test_litellm|\w*unit_\w*|local_testing|llm_translation|litellm_utils_tests|old_proxy_tests)\//;

const litellm: Peer = {
  name: 'LiteLLM',
  looksFor: 'test_openai_endpoints.py, otel_tests or pass_through_tests in tests/',
  port: 4000,
  bases: [],
  keys: ['sk-1234'],
  suites(folder) {
    const tests = ['test_openai_endpoints.py', 'otel_tests', 'pass_through_tests']
      .map((mark) => partIn(folder, 'tests', mark))
      .find((part) => part !== null);
    if (tests === undefined || tests === null) return [];
    const files = globSync('**/test_*.py', { cwd: tests })
      .filter((file) => !unitTests.test(file) && namesProxy.test(readFileSync(join(tests, file), 'utf8')))
      .sort();
    // As their own runs do: from the checkout, whose `litellm` they import.
    const named = files.map((file) => join(basename(tests), file));
    return files.length === 0 ? [] : [{ runner: 'pytest', cwd: dirname(tests), files: named }];
  },
  environment: ({ key }) => ({ OPENAI_API_KEY: key, ANTHROPIC_API_KEY: key }),
};

export const peers: readonly Peer[] = [bifrost, litellm];

/** `path` of a checkout in a folder that is the checkout, or lies on the way to that path; null without `mark` in it. */
function partIn(folder: string, path: string, mark: string): string | null {
  const names = path.split('/');
  const parts = names.map((_, at) => join(folder, ...names.slice(at))).concat(folder);
  return parts.find((part) => existsSync(join(part, mark))) ?? null;
}
