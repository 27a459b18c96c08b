import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { NoticesReply } from '../../src/admin/notices.ts';
import type { StatementMessage } from '../../src/admin/statements/statement-message.ts';
import { webhookHeaders } from '../../src/kernel/web/webhook-headers.ts';
import { writePast } from '../browser/past.ts';
import { listening } from '../listening.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startMail } from '../start-mail.ts';
import { closedPort, temporaryFolder } from '../start-process.ts';
import { until } from '../until.ts';

const secret = 'a secret of thirty-two bytes or more';
const time_zone = 'Europe/Berlin';
const accounts = { atlas: { name: 'Atlas & Sons' }, northwind: {}, lumen: {}, 'maria.jensen': {} };

async function startWebhook(t: TestContext) {
  const posts: { headers: Record<string, string | string[] | undefined>; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    posts.push({ headers: request.headers, body: String(Buffer.concat(chunks)) });
    response.end();
  });
  return { url: await listening(t, server), posts };
}

test('the statement of the last month goes to mail and webhooks once, each with its accounts, and is closed', async (t) => {
  const [mail, hook, folder] = [await startMail(t, 1), await startWebhook(t), temporaryFolder(t)];
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  await writePast(dataDir, { days: 62, perDay: 4 });
  const config = {
    storage: { data_dir: dataDir },
    accounts,
    server: { smtp: mail.smtp },
    telemetry: {
      statements: {
        time_zone,
        to: [
          { name: 'finance', email: ['finance@example.org', 'boss@example.org'] },
          { name: 'atlas', accounts: ['atlas'], webhook: `${hook.url}/statements`, secret },
          { name: 'gone', webhook: `http://127.0.0.1:${await closedPort()}/path-secret`, secret },
        ],
      },
    },
  };
  const start = () => startGateway(t, config);
  const gateway = await start();
  const admin = async <Reply>(path: string) => {
    const answer = await fetch(`${gateway.url}/admin/v1${path}`, { headers: { authorization: `Bearer ${adminKey}` } });
    assert.equal(answer.status, 200, path);
    return (await answer.json()) as Reply;
  };
  await until('both have arrived', () => mail.mails.length > 0 && hook.posts.length > 0, 20_000);
  const { closed_by, ...message } = await (async () => {
    const [{ headers, body }] = hook.posts as [(typeof hook.posts)[0]];
    const atMs = Number(headers['webhook-timestamp']) * 1_000;
    const signed = webhookHeaders({ id: String(headers['webhook-id']), body }, secret, atMs);
    assert.equal(headers['webhook-signature'], signed['webhook-signature']);
    return (JSON.parse(body) as StatementMessage).data;
  })();
  assert.deepEqual([message.status, message.time_zone, closed_by], ['closed', time_zone, 'statements']);
  const of = `month=${message.month}&time_zone=${time_zone}`;
  const ofAtlas = await admin<StatementMessage['data']>(`/statements?${of}&account=atlas`);
  assert.deepEqual({ ...message, closed_by }, ofAtlas);
  assert.deepEqual(
    message.data.map(({ account }) => account),
    ['atlas'],
  );

  const all = await admin<StatementMessage['data']>(`/statements?${of}`);
  assert.ok(all.totals.cost_usd > ofAtlas.totals.cost_usd);
  const [letter] = mail.mails;
  assert.deepEqual(letter!.to, ['finance@example.org', 'boss@example.org']);
  const usd = (amount: number) => `$${amount.toFixed(2)}`;
  assert.ok(letter!.text.includes(`Subject: Culvert: Statement ${message.month} of ${all.data.length} accounts`));
  assert.ok(letter!.text.includes(`Atlas & Sons (atlas): ${usd(ofAtlas.totals.cost_usd)}, `), letter!.text);
  assert.match(letter!.text, new RegExp(`filename="?statement-${message.month}\\.csv`));
  assert.match(letter!.text, new RegExp(`filename="?statement-${message.month}\\.html`));
  assert.equal(mail.tries(), 2, 'what the mail server refused for now came again');

  const { data } = await admin<NoticesReply>('/notices?kind=statement');
  const stateOf = (receiver: string) => data.find((one) => one.receiver === receiver);
  assert.equal(data.length, 3);
  assert.match(String(stateOf('gone')?.reason), /^127\.0\.0\.1:\d+ /);
  assert.doesNotMatch(JSON.stringify(data), /path-secret/);
  assert.match(String(stateOf('atlas')?.subject), /^Statement \d{4}-\d\d of Atlas & Sons: \$\d/);
  assert.deepEqual((await admin<NoticesReply>('/notices?kind=quota')).data, []);
  const audit = await admin<{ data: { action: string; actor: string }[] }>('/audit');
  assert.ok(audit.data.some(({ action, actor }) => action === 'statement.close' && actor === 'statements'));

  await gateway.close(0);
  const again = await start();
  // A new receiver gets what it lacks, and nobody else gets anything.
  const seen = [mail.mails.length, hook.posts.length];
  await again.close(0);
  const two = await startGateway(t, {
    ...config,
    telemetry: {
      statements: { time_zone, to: [...config.telemetry.statements.to, { name: 'late', webhook: hook.url, secret }] },
    },
  });
  await until('the new receiver has it', () => hook.posts.length > seen[1]!, 20_000);
  assert.deepEqual([mail.mails.length, hook.posts.length], [seen[0], seen[1]! + 1]);
  await two.close(0);
});

test('receivers of statements are checked as alerts are, and the mail server has moved', async (t) => {
  const gateway = await startGateway(t, {});
  const checked = async (text: string) => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/yaml' };
    const answer = await fetch(`${gateway.url}/admin/v1/config/check`, { method: 'POST', headers, body: text });
    return JSON.stringify(await answer.json());
  };
  assert.match(
    await checked('telemetry: { statements: { to: [{ name: a, email: [a@example.org] }] } }'),
    /statements\.to\[0\]\.email.*mail needs server\.smtp/,
  );
  assert.match(
    await checked('telemetry: { statements: { to: [{ name: a }] } }'),
    /a receiver has one of email and webhook/,
  );
  assert.match(
    await checked('telemetry: { alerts: { smtp: { url: "smtp://h", from: a@example.org } } }'),
    /unknown key; it is server\.smtp now/,
  );
});
