import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importAccounts } from '../../src/cli/import/litellm-accounts.ts';
import { type LiteLlmRows, liteLlmTables, rowsMax } from '../../src/cli/import/litellm-database.ts';
import { Notes } from '../../src/cli/import/notes.ts';

/* Rows of LiteLLM's database become accounts and plans. */

type Tables = LiteLlmRows['tables'];

function imported(tables: Partial<Tables>, others: LiteLlmRows['others'] = []) {
  const none = Object.fromEntries(liteLlmTables.map((table) => [table, []])) as unknown as Tables;
  const notes = new Notes(() => null);
  const groups = new Map([
    ['quick', ['fast']],
    ['small', ['fast']],
  ]);
  const config = importAccounts({ tables: { ...none, ...tables }, others, sealed: false }, groups, notes, 0);
  return { config, notes: notes.list().map(({ path, message }) => `${path}: ${message}`) };
}

test('a team may use the models that it names, those of a group, or all', () => {
  const { config } = imported({
    LiteLLM_TeamTable: [
      { team_id: '1', team_alias: 'named', models: ['gpt-4o', 'fast'] },
      { team_id: '2', team_alias: 'all', models: ['gpt-4o', 'all-proxy-models'], tpm_limit: 5 },
      { team_id: '3', team_alias: 'open', models: [] },
    ],
  });
  assert.deepEqual(config, {
    plans: {
      named: { rpm: 'off', models: ['gpt-4o', 'quick', 'small'] },
      all: { rpm: 'off', tpm: 5 },
      unlimited: { rpm: 'off' },
    },
    default_plan: 'unlimited',
    accounts: { named: { plan: 'named' }, all: { plan: 'all' }, open: {} },
  });
});

test('tables without a counterpart are noted, with their rows that limit somebody', () => {
  const { config, notes } = imported(
    {
      LiteLLM_EndUserTable: [{ user_id: 'a', budget_id: 'b' }, { user_id: 'c', blocked: true }, { user_id: 'd' }],
      LiteLLM_UserTable: [
        { user_id: 'root', user_role: 'proxy_admin', max_budget: 1 },
        { user_id: 'limited', max_budget: 5 },
        { user_id: 'free' },
      ],
    },
    [{ table: 'LiteLLM_MCPServerTable', rows: 2 }],
  );
  assert.deepEqual(config, {});
  for (const [line, pattern] of [
    /^LiteLLM_EndUserTable: 2 not carried over: accounts\.NAME\.budgets bounds what an end user spends/,
    /^LiteLLM_UserTable: 1 not carried over: people who administer log in as operators/,
    /^LiteLLM_UserTable: 1 not carried over: these people have limits, but no key/,
    /^LiteLLM_MCPServerTable: .*mcp-servers adds MCP servers/,
  ].entries())
    assert.match(notes[line] ?? '', pattern, notes.join('\n'));
  assert.equal(notes.length, 4);
});

test('a table of which the import reads only the oldest rows is noted', () => {
  const users = (count: number) => Array.from({ length: count }, (_, user) => ({ user_id: `${user}` }));
  assert.deepEqual(imported({ LiteLLM_EndUserTable: users(rowsMax - 1) }).notes, []);
  assert.deepEqual(imported({ LiteLLM_EndUserTable: users(rowsMax) }).notes, [
    'LiteLLM_EndUserTable: only its 10000 oldest rows are read',
  ]);
});

test('the end of a key is a time of UTC, unless it says its zone', () => {
  const tokens = ['2099-01-01T00:00:00', '2099-01-01T00:00:00Z', '2099-01-01T00:00:00+02:00'].map((expires, at) => {
    return { token: `${at}`.repeat(64), key_alias: `k${at}`, expires };
  });
  assert.deepEqual(
    imported({ LiteLLM_VerificationToken: tokens }).config.keys?.map(({ expires }) => expires),
    ['2099-01-01T00:00:00Z', '2099-01-01T00:00:00Z', '2099-01-01T00:00:00+02:00'],
  );
});
