import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { importOpenRouter } from '../../src/cli/import/import-openrouter.ts';
import { importPortkey } from '../../src/cli/import/import-portkey.ts';
import { importAccounts } from '../../src/cli/import/litellm-accounts.ts';
import { type LiteLlmRows, liteLlmTables } from '../../src/cli/import/litellm-database.ts';
import { Notes } from '../../src/cli/import/notes.ts';
import { importedText } from '../../src/cli/import/write-imported.ts';
import { checkConfigText } from '../../src/config/check.ts';
import { formatProblem } from '../../src/config/problem.ts';

/* Whatever such files hold, an import refuses it in a sentence or writes a file that the check takes. */

const odd = fc.constantFrom<unknown>(
  null,
  '',
  0,
  -1,
  1e300,
  true,
  [],
  {},
  [1],
  { a: 1 },
  '${',
  `$${'{X}'}`,
  'é\n#',
  '*',
);
const text = (...some: readonly string[]) => fc.oneof({ weight: 5, arbitrary: fc.constantFrom<unknown>(...some) }, odd);
const number = fc.oneof(fc.nat(100), fc.double({ min: 0, max: 1e9, noNaN: true }), odd);
const some = (of: Record<string, fc.Arbitrary<unknown>>) => fc.record(of, { requiredKeys: [] });
const names = text('a', 'b', 'toString', '__proto__', 'x y', 'n'.repeat(300), 'openai-1', '@azure-2', 'é');

const { config } = fc.letrec<{ config: unknown }>((tie) => ({
  config: some({
    name: names,
    strategy: some({
      mode: text('fallback', 'loadbalance', 'conditional', 'single'),
      default: names,
      conditions: fc.oneof(
        fc.array(
          some({
            // biome-ignore lint/suspicious/noThenProperty: Portkey's word
            then: names,
            query: some({
              'params.model': fc.oneof(names, some({ $eq: names, $in: fc.array(names), $regex: text('^gpt-', '(') })),
              'metadata.plan': names,
            }),
          }),
        ),
        odd,
      ),
    }),
    targets: fc.oneof({ maxDepth: 3 }, odd, fc.array(tie('config'), { maxLength: 3 })),
    provider: text('openai', 'azure-openai', 'bedrock', 'vertex-ai', 'ollama', '@azure-2', 'nobody', 'constructor'),
    virtual_key: names,
    api_key: text('k', 'in clear'),
    weight: number,
    retry: fc.oneof(some({ attempts: number }), odd),
    request_timeout: number,
    custom_host: text('https://a.example/v1', 'ftp://x', 'https://u:p@x'),
    resource_name: text('team', 'a/b?c#d'),
    override_params: fc.oneof(some({ model: text('gpt-5', '@openai-1/gpt', 'a*b'), temperature: number, x: odd }), odd),
    aws_region: text('us-east-1', 'NOWHERE'),
    aws_access_key_id: text('A'),
    vertex_service_account_json: fc.oneof(fc.constant({ type: 'service_account' }), odd),
  }),
}));
const keyOf = some({
  slug: names,
  object: fc.constant('virtual-key'),
  ai_provider_name: text('openai', 'bedrock', 'x'),
  rate_limits: fc.oneof(
    fc.array(some({ type: fc.constant('requests'), unit: fc.constant('rpm'), value: number })),
    odd,
  ),
  model_config: fc.oneof(some({ deploymentId: names, resourceName: names }), odd),
});
const portkey = fc.oneof(
  config,
  fc.record({ data: fc.array(fc.oneof(fc.record({ slug: names, config: fc.oneof(config, odd) }), keyOf)) }),
  fc.dictionary(fc.string(), config),
);

const preferences = fc.oneof(some({ order: fc.array(names), sort: names, x: odd }), odd);
const models = fc.oneof(fc.array(names, { maxLength: 4 }), odd);
const request = some({ model: names, models, provider: preferences, temperature: number, slug: names });
const openRouter = fc.oneof(
  request,
  fc.array(fc.oneof(request, some({ model: names, model_permaslug: names, variant: names }))),
  fc.record({
    data: fc.array(
      fc.record({
        hash: fc.oneof(
          fc.nat().map((number) => number.toString(16).padStart(64, '0')),
          names,
        ),
        label: names,
        limit: number,
        limit_reset: text('daily', 'monthly', 'never'),
        expires_at: text('2099-01-01T00:00:00Z', '2001-01-01', 'never'),
      }),
    ),
  }),
  fc.record({ data: some({ slug: names, designated_version: some({ config: request, system_prompt: names }) }) }),
  fc.record({
    provider: fc.record({
      openrouter: some({
        models: fc.dictionary(fc.string(), some({ options: request })),
        options: some({ apiKey: names, headers: fc.dictionary(fc.constantFrom('X-Title', 'Cookie'), names) }),
      }),
    }),
  }),
);

const standIns = {
  secret: 'a-secret-of-the-test',
  url: 'https://a.example',
  text: 'text',
  arn: 'arn:aws:iam::000000000000:role/r',
};

for (const [gateway, shape, convert] of [
  ['portkey', portkey, importPortkey],
  ['openrouter', openRouter, importOpenRouter],
] as const) {
  test(`any file of ${gateway} is refused in a sentence, or becomes one that the check takes`, () => {
    fc.assert(
      fc.property(shape as fc.Arbitrary<unknown>, (value) => {
        const result = convert([{ name: 'some.json', text: JSON.stringify(value) }]);
        if (!result.ok) return assert.match(result.message, /^[a-z]/);
        const { variables } = result.imported;
        const env = Object.fromEntries([...variables].map(([name, kind]) => [name, standIns[kind]]));
        const checked = checkConfigText(importedText(result.imported, 'some.json', gateway), 'culvert.yaml', env);
        assert.ok(checked.ok, checked.ok ? '' : checked.errors.map(formatProblem).join('\n'));
      }),
    );
  });
}

const rowOf = (own: Record<string, fc.Arbitrary<unknown>>) =>
  fc.array(
    some({
      ...own,
      models: fc.oneof(fc.array(fc.constantFrom('a', 'all-proxy-models', 'no-default-models', '${', ''))),
      max_budget: number,
      budget_duration: text('30d', '1h', '1mo', 'weekly', '0d', '9999999d'),
      budget_limits: fc.oneof(fc.array(some({ max_budget: number, budget_duration: text('1d', '5h') })), odd),
      tpm_limit: number,
      rpm_limit: number,
      max_parallel_requests: number,
      blocked: fc.constantFrom(true, false, null),
      metadata: fc.oneof(some({ tags: fc.constant(['x']) }), odd),
      expires: text('2099-01-01T00:00:00', '2099-01-01T00:00:00+00:00', '2001-01-01', 'never'),
    }) as fc.Arbitrary<Record<string, unknown>>,
    { maxLength: 5 },
  );

test('any rows of LiteLLM’s database become accounts, plans and keys that the check takes', () => {
  const ids = text('t1', 't2', 'u1', 'litellm-dashboard');
  let token = 0;
  const tables = fc.record({
    LiteLLM_TeamTable: rowOf({ team_id: ids, team_alias: names, organization_id: ids }),
    LiteLLM_UserTable: rowOf({ user_id: ids, user_email: names, user_role: names }),
    LiteLLM_VerificationToken: rowOf({
      key_alias: names,
      key_name: names,
      team_id: ids,
      user_id: ids,
      budget_id: ids,
      organization_id: ids,
      project_id: ids,
    }),
    LiteLLM_BudgetTable: rowOf({ budget_id: ids, allowed_models: names }),
    LiteLLM_OrganizationTable: rowOf({ organization_id: ids, organization_alias: names, budget_id: ids }),
    LiteLLM_ProjectTable: rowOf({ project_id: ids, project_alias: names, budget_id: ids }),
    LiteLLM_TeamMembership: rowOf({ user_id: ids, team_id: ids, budget_id: ids }),
    LiteLLM_TagTable: rowOf({ tag_name: text('x', 'y'), budget_id: ids }),
    LiteLLM_DeprecatedVerificationToken: fc.array(
      some({
        revoke_at: text('2099-01-01T00:00:00', '2001-01-01', 'never'),
      }) as fc.Arbitrary<Record<string, unknown>>,
      { maxLength: 3 },
    ),
  });
  fc.assert(
    fc.property(tables, (rows) => {
      for (const row of [...rows.LiteLLM_VerificationToken, ...rows.LiteLLM_DeprecatedVerificationToken]) {
        token += 1;
        row.token = token.toString(16).padStart(64, '0');
        row.active_token_id = rows.LiteLLM_VerificationToken[0]?.token;
      }
      const empty = Object.fromEntries(liteLlmTables.map((name) => [name, []])) as object;
      const found = { tables: { ...empty, ...rows }, others: [], sealed: false } as unknown as LiteLlmRows;
      const people = importAccounts(found, new Map(), new Notes(() => null), Date.UTC(2026, 0));
      const imported = {
        config: { providers: { p: { type: 'openai', api_key: 'k' } }, models: { a: { targets: ['p/a'] } }, ...people },
        variables: new Map(),
        notes: [],
      };
      const checked = checkConfigText(importedText(imported, 'database', 'litellm'), 'culvert.yaml', {});
      assert.ok(checked.ok, checked.ok ? '' : checked.errors.map(formatProblem).join('\n'));
    }),
  );
});
