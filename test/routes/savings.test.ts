import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type { AgreementReply } from '../../src/admin/observed/agreement.ts';
import type { SavingsReply } from '../../src/admin/observed/savings.ts';
import { agreementText, savingsText } from '../../src/cli/commands/routes.ts';
import { callAdmin } from '../call-admin.ts';
import { adminKey, otherKey, startGateway, testKey } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { until } from '../until.ts';
import { startJudged } from './start-judged.ts';

/* Issue 31 §2.8: a rule that observes says what it would have saved, and a judge whether the answers are as good. */

const upstream = await startJudged({ after });
const classes = [
  { model: 'small', examples: ['Say hello to the team', 'Translate hello into French', 'Write a short greeting'] },
  { model: 'large', examples: ['Prove the theorem about primes', 'Prove that the series converges', 'Find the proof'] },
];
const classify = { embedding_model: 'culvert-lexical-1024', classes, deadline: '10s' };
const gateway = await startGateway({ after } as TestContext, {
  telemetry: { log: { bodies: ['dev/test'] } },
  accounts: { dev: {}, other: {} },
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: {
    small: { targets: [{ provider: 'up', model: 'small', price: { input: 1, output: 1 } }] },
    large: { targets: [{ provider: 'up', model: 'large', price: { input: 10, output: 20 } }] },
    free: { targets: ['up/free'] },
    judge: { targets: ['up/judge'] },
  },
  routes: { look: { when: 'model in ["large", "free"]', classify: { ...classify, observe: true } } },
});

async function ask(content: string, { model = 'large', key = testKey, path = '/v1/chat/completions' } = {}) {
  const json = { model, max_tokens: 50, messages: [{ role: 'user', content }] };
  const response = await gateway.fetch(path, { json, headers: { authorization: `Bearer ${key}` } });
  assert.equal(response.status, 200, await response.text());
}

const savings = async (query = '') =>
  (await callAdmin<SavingsReply>(gateway, 'GET', `/routes/look/savings${query}`)).body;
const agreement = async (body: object) =>
  (await callAdmin<AgreementReply>(gateway, 'POST', '/routes/look/agreement', { judge: 'judge', ...body })).body;

// Each answer uses 100 tokens in and 10 out.
const largeUsd = (100 * 10 + 10 * 20) / 1e6;
const smallUsd = (100 + 10) / 1e6;

test('savings are the difference by the tokens of the records, by class, and name what has no price', async () => {
  await ask('Say hello to the whole team');
  await ask('Write a short greeting for the team', { path: '/v1/messages' });
  await ask('Prove that the series of primes converges');
  await ask('Say hello to the new team', { model: 'free' });
  await ask('Say hello to my team', { key: otherKey });
  await until('all are in the ledger', async () => (await savings()).requests === 5);
  const all = await savings();
  const { requests, priced, same, unpriced, unanswered } = all;
  assert.deepEqual([requests, priced, same, unpriced, unanswered, all.next_cursor], [5, 4, 1, 1, 0, null]);
  assert.ok(Math.abs(all.was_usd - 4 * largeUsd) < 1e-9, String(all.was_usd));
  assert.ok(Math.abs(all.would_usd - (largeUsd + 3 * smallUsd)) < 1e-9, String(all.would_usd));
  assert.ok(Math.abs(all.saved_usd - 3 * (largeUsd - smallUsd)) < 1e-9, String(all.saved_usd));
  assert.deepEqual(
    all.classes.map(({ model, would, priced, same }) => ({ model, would, priced, same })),
    [
      { model: 'small', would: ['small'], priced: 3, same: 0 },
      { model: 'large', would: ['large'], priced: 1, same: 1 },
    ],
  );
  assert.equal((await savings('?account=other')).requests, 1);
  assert.equal((await savings('?to=2020-01-01T00:00:00Z&from=2019-01-01T00:00:00Z')).requests, 0);
  assert.equal((await callAdmin(gateway, 'GET', '/routes/nobody/savings')).status, 404);
});

test('a judge compares kept requests in both orders, and what cannot be compared is counted', async () => {
  upstream.answers = { small: 'A poor answer', large: 'A fine answer', free: 'A fine answer' };
  const found = await agreement({});
  // Three of the key whose bodies are kept would have gone elsewhere; the other key's body is not kept.
  const { compared, better, equal, worse, not_kept, failed, unclear } = found;
  assert.deepEqual({ compared, better, equal, worse }, { compared: 3, better: 0, equal: 0, worse: 3 });
  assert.deepEqual([found.agreement, not_kept, failed, unclear, found.next_cursor], [0, 1, 0, 0, null]);
  assert.deepEqual(found.classes, [{ model: 'small', compared: 3, better: 0, equal: 0, worse: 3 }]);
  // Each was asked once again, and each pair was judged twice, with the places changed.
  assert.equal(upstream.judged.length, 6);
  assert.deepEqual(new Set(upstream.judged.map(({ first }) => first)).size, 2);

  upstream.answers = { ...upstream.answers, small: 'An excellent answer' };
  assert.equal((await agreement({})).better, 3);
  upstream.answers = { ...upstream.answers, small: 'A fine answer' };
  const same = await agreement({});
  assert.deepEqual([same.equal, same.agreement], [3, 1]);
  upstream.answers = { ...upstream.answers, small: 'A biased answer' };
  assert.equal((await agreement({})).equal, 3, 'a judge that prefers a place decides nothing');
  upstream.answers = { ...upstream.answers, small: 'An odd answer' };
  assert.equal((await agreement({})).unclear, 3);
});

test('a comparison is bounded, goes on from its cursor, and is in the audit', async () => {
  upstream.answers = { small: 'A poor answer', large: 'A fine answer', free: 'A fine answer' };
  const seen: string[] = [];
  let cursor: string | null | undefined;
  for (let calls = 0; cursor !== null; calls += 1) {
    assert.ok(calls < 20);
    const next: AgreementReply = await agreement({ limit: 1, ...(cursor !== undefined && { cursor }) });
    assert.ok(next.requests.length <= 1);
    seen.push(...next.requests.map(({ request }) => request));
    cursor = next.next_cursor;
  }
  assert.equal(new Set(seen).size, 3);
  assert.equal(seen.length, 3);
  const { body } = await callAdmin<{ data: { subject: string }[] }>(gateway, 'GET', '/audit?action=route.compare');
  assert.equal(body.data[0]?.subject, 'look');
  const unknown = await callAdmin<{ error: { message: string } }>(gateway, 'POST', '/routes/look/agreement', {
    judge: 'nobody',
  });
  assert.equal(unknown.status, 404);
  const { body: usage } = await callAdmin<{ data: { group: string }[] }>(gateway, 'GET', '/usage?group_by=account');
  assert.ok(
    usage.data.some(({ group }) => group === '(server)'),
    JSON.stringify(usage.data),
  );
});

test('the command shows both', async (t) => {
  const run = async (command: string[]) => {
    const env = { CULVERT_ADMIN_KEY: adminKey };
    const ran = await runCommand([...command, '--url', gateway.url], { cwd: temporaryFolder(t), env });
    assert.equal(ran.code, 0, ran.stderr);
    return ran.stdout;
  };
  const both = JSON.parse(await run(['routes', 'savings', 'look', '--judge', 'judge', '--limit', '2']));
  const { agreement, ...sums } = both as SavingsReply & { agreement: AgreementReply };
  assert.equal(agreement.compared, 2);
  const text = savingsText(sums);
  assert.match(text, /small.*\n.*large/s);
  assert.match(text, /would have saved \$0\.00327 of \$0\.0048/);
  assert.match(text, /1 without a price/);
  assert.doesNotMatch(text, /no model answered/);
  assert.match(savingsText({ ...sums, unanswered: 3 }), /3 that no model answered are left out\./);
  assert.match(
    agreementText(agreement),
    /2 compared by 'judge': 0% are equal or better \(0 better, 0 equal, 2 worse\)/,
  );
  const none = { judge: 'j', compared: 0, better: 0, equal: 0, worse: 0, agreement: null };
  const left = { unclear: 1, failed: 0, not_kept: 2, not_allowed: 0 };
  assert.equal(
    agreementText({ ...agreement, ...none, ...left }),
    `0 compared by 'j' (0 better, 0 equal, 0 worse).
1 left out: the judge did not decide.
2 left out: without a whole body on this server.`,
  );
  assert.equal(savingsText({ ...sums, requests: 0 }), "Rule 'look' observed no request in this time.");
});
