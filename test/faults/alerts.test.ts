import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { NoticesReply } from '../../src/admin/notices.ts';
import type { AlertMessage } from '../../src/books/metering/notices/alert-message.ts';
import { webhookHeaders } from '../../src/kernel/web/webhook-headers.ts';
import { listening } from '../listening.ts';
import { adminKey, overUpstreams, startGateway, testProcesses } from '../start-gateway.ts';
import { startMail } from '../start-mail.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { closedPort, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask } from './books-balance.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { fillDisk, mountSmallDisk } from './small-disk.ts';

const secret = 'a secret of thirty-two bytes or more';

interface Post {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Gets webhooks, of Slack too, and answers as Slack does. */
async function startHooks(t: TestContext) {
  const posts: Post[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    posts.push({ path: request.url!, headers: request.headers, body: String(Buffer.concat(chunks)) });
    response.end('ok');
  });
  const url = await listening(t, server);
  const at = (path: string) => posts.filter((post) => post.path === path).map(({ body }) => JSON.parse(body));
  return {
    url,
    posts,
    slack: () => at('/slack').map(({ text }) => String(text)),
    teams: () => at('/teams'),
    alerts: () => at('/hook') as AlertMessage[],
  };
}

// All at once: each mostly waits.
describe('alerts', { concurrency: true }, () => {
  test('metadata of the SAML login that cannot be read is told, though it is a warning', async (t) => {
    const hooks = await startHooks(t);
    const saml = { idp: { metadata_url: `${hooks.url}/no-metadata` }, roles: [{ group: 'root', role: 'owner' }] };
    await startGateway(t, {
      server: { public_url: 'https://culvert.example.org' },
      dashboard: { saml },
      telemetry: { alerts: { every: '1s', to: [{ name: 'hook', webhook: `${hooks.url}/hook`, secret }] } },
    });
    const told = () => hooks.alerts().flatMap(({ data }) => data.raised.filter(({ name }) => name === 'saml metadata'));
    await until('it was told', () => told().length > 0, 20_000);
    assert.equal(told()[0]?.severity, 'warning');
    assert.match(told()[0]?.text ?? '', /^The metadata of the SAML identity provider cannot be read: /);
    // Each worker asks for it once, and each look does not ask again.
    assert.ok(hooks.posts.filter(({ path }) => path === '/no-metadata').length <= testProcesses);
  });

  test('a provider that is down is told once to Slack, by mail and to a webhook, and so is its end', async (t) => {
    const [hooks, mail] = [await startHooks(t), await startMail(t, 1)];
    const port = await closedPort();
    const gateway = await startGateway(t, {
      ...overUpstreams(`http://127.0.0.1:${port}`),
      server: { smtp: mail.smtp },
      telemetry: {
        alerts: {
          every: '1s',
          to: [
            { name: 'chat', slack: `${hooks.url}/slack` },
            { name: 'team', teams: `${hooks.url}/teams` },
            { name: 'hook', webhook: `${hooks.url}/hook`, secret },
            { name: 'mail', email: ['ops@example.org', 'boss@example.org'] },
          ],
        },
      },
    });
    // One worker at least has three in a row.
    for (let at = 0; at < 4 * testProcesses; at += 1) await ask(gateway.url);
    const places = [hooks.slack, hooks.teams, hooks.alerts, () => mail.mails];
    await until('all were told', () => places.every((told) => told().length > 0));
    const [told] = hooks.alerts();
    const provider = told!.data.raised.find(({ name }) => name === 'provider up1')!;
    assert.equal(provider.severity, 'problem');
    assert.match(provider.text, /^The provider up1 is down: unreachable/);
    assert.deepEqual(told!.data.resolved, []);
    assert.match(hooks.slack()[0]!, /:red_circle: \*The provider up1 is down: unreachable.*\*\nTest it/);
    const [{ type, attachments }] = hooks.teams();
    assert.deepEqual([type, attachments[0].contentType], ['message', 'application/vnd.microsoft.card.adaptive']);
    const [block] = attachments[0].content.body;
    assert.match(block.inlines[0].text, /^Problem: The provider up1 is down: unreachable/);
    assert.match(block.inlines[1].text, /^\nTest it/);
    const { headers, body } = hooks.posts.find(({ path }) => path === '/hook')!;
    const signed = webhookHeaders(
      { id: String(headers['webhook-id']), body },
      secret,
      Number(headers['webhook-timestamp']) * 1_000,
    );
    assert.equal(headers['webhook-signature'], signed['webhook-signature']);
    const [letter] = mail.mails;
    assert.deepEqual([letter!.from, letter!.to], ['culvert@example.org', ['ops@example.org', 'boss@example.org']]);
    assert.match(letter!.text, /Subject: Culvert: Problem: The provider up1 is down: unreachable/);
    assert.match(letter!.text, /Message-ID: <msg_\w{24}@culvert>/);
    assert.match(letter!.text, /Problem: The model chat has no healthy target\./);
    assert.equal(mail.tries(), 2, 'what the server refused for now came again');
    const history = async (query = '') => {
      const headers = { authorization: `Bearer ${adminKey}` };
      const answer = await fetch(`${gateway.url}/admin/v1/notices?${query}`, { headers });
      return (await answer.json()) as NoticesReply;
    };
    const arrived = async () => (await history()).data.filter(({ state }) => state === 'delivered');
    await until('the history has all four', async () => (await arrived()).length >= 4);
    const rows = (await arrived()).filter(({ subject }) => subject.startsWith('Problem: The provider up1 is down'));
    assert.deepEqual(rows.map(({ receiver, tries }) => [receiver, tries]).toSorted(), [
      ['chat', 1],
      ['hook', 1],
      ['mail', 2],
      ['team', 1],
    ]);
    assert.deepEqual((await history('kind=quota')).data, []);
    const seen = [];
    for (let query = 'kind=alerts&limit=1'; query !== ''; ) {
      const { data, next_cursor } = await history(query);
      seen.push(...data);
      query = next_cursor === null ? '' : `kind=alerts&limit=1&cursor=${next_cursor}`;
    }
    const all = (await history('kind=alerts')).data;
    assert.deepEqual(
      seen.map(({ id }) => id),
      all.map(({ id }) => id),
      'page by page',
    );

    // It stays down: nobody is notified again.
    for (let at = 0; at < 2; at += 1) await ask(gateway.url);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    assert.equal(hooks.alerts().length, 1);

    const upstream = await startUpstream({ port });
    t.after(() => upstream.close());
    await until('it serves again', async () => (await ask(gateway.url)).status === 200);
    const over = () => hooks.alerts().flatMap(({ data }) => data.resolved);
    await until('its end was told', () => over().some(({ name }) => name === 'provider up1'));
    await until('to Slack too', () =>
      hooks.slack().some((text) => /green_circle: Resolved: The provider up1 is down/.test(text)),
    );
    await until('to Teams too', () => /Resolved: The provider up1 is down/.test(JSON.stringify(hooks.teams())));
    await until('by mail too', () => mail.mails.some(({ text }) => /Subject: Culvert: Resolved: The /.test(text)));
    assert.equal(
      hooks
        .alerts()
        .flatMap(({ data }) => data.raised)
        .filter(({ name }) => name === 'provider up1').length,
      1,
    );
  });

  test('a test message goes to every receiver, and each says whether it came', async (t) => {
    const [hooks, mail] = [await startHooks(t), await startMail(t, 1)];
    const gateway = await startGateway(t, {
      server: { smtp: mail.smtp },
      telemetry: {
        alerts: {
          to: [
            { name: 'chat', slack: `${hooks.url}/slack` },
            { name: 'mail', email: ['ops@example.org'] },
            { name: 'pager', webhook: `${hooks.url}/hook`, secret },
            { name: 'gone', webhook: `http://127.0.0.1:${await closedPort()}/path-secret`, secret },
          ],
        },
      },
    });
    const tried = async () => {
      const headers = { authorization: `Bearer ${adminKey}` };
      const answer = await fetch(`${gateway.url}/admin/v1/alerts/test`, { method: 'POST', headers });
      assert.equal(answer.status, 200);
      return (await answer.json()) as { ok: boolean; data: { name: string; ok: boolean; message: string | null }[] };
    };
    const first = await tried();
    assert.equal(first.ok, false);
    assert.deepEqual(
      first.data.map(({ name, ok }) => [name, ok]),
      [
        ['chat', true],
        ['mail', false],
        ['pager', true],
        ['gone', false],
      ],
    );
    assert.match(first.data[1]!.message!, /4\d\d/, "the mail server's own words");
    assert.doesNotMatch(JSON.stringify(first), /path-secret|p@ss/);
    assert.match(hooks.slack()[0]!, /This is a test/);
    assert.equal(hooks.alerts()[0]!.data.raised[0]!.name, 'test');
    assert.equal((await tried()).data[1]!.ok, true);
    assert.match(mail.mails[0]!.text, /Subject: Culvert: Warning: This is a test/);
  });

  test('a budget is told at 80 % and when it is spent, and failing requests by their rate', async (t) => {
    const hooks = await startHooks(t);
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const config = {
      ...overUpstreams(upstream.url),
      // A request of the test's upstream has 9 and 5 tokens.
      models: {
        chat: { targets: [{ provider: 'up1', model: 'mock/ok', price: { input: 100_000, output: 100_000 } }] },
      },
      plans: { default: { windows: 'off', rpm: 'off', budget: { month: 14 } } },
      telemetry: {
        log: { level: 'silent' },
        alerts: { every: '1s', to: [{ name: 'hook', webhook: `${hooks.url}/hook`, secret }] },
      },
    };
    const gateway = await startGateway(t, config);
    const told = () =>
      hooks.alerts().flatMap(({ data }) => data.raised.map(({ name, severity }) => `${severity} ${name}`));
    for (let at = 0; at < 9; at += 1) assert.equal((await ask(gateway.url)).status, 200);
    await until('80 % is told', () => told().length > 0);
    assert.deepEqual(told(), ['warning budget dev month']);
    assert.match(
      hooks.alerts()[0]!.data.raised[0]!.text,
      /^dev has used 90% of the budget of its 30-day window \(\$12\.60 of \$14\.00/,
    );
    while ((await ask(gateway.url)).status === 200);
    await until('its end is told', () => told().length > 1);
    assert.deepEqual(told(), ['warning budget dev month', 'problem budget dev month']);

    await gateway.reload({
      ...config,
      plans: { default: { windows: 'off', rpm: 'off' } },
      models: { chat: { targets: ['up1/mock/status=500'] } },
    });
    for (let at = 0; at < 25; at += 1) await ask(gateway.url);
    await until('the rate is told', () => told().some((one) => one === 'warning error rate'));
  });

  test('a disk without room is told', async (t) => {
    const hooks = await startHooks(t);
    await startGateway(t, {
      storage: { reserve: '1000000gb' },
      telemetry: { alerts: { every: '1s', to: [{ name: 'chat', slack: `${hooks.url}/slack` }] } },
    });
    await until('it is told', () => hooks.slack().length > 0);
    assert.match(hooks.slack()[0]!, /:red_circle: \*Disk: .* are free for the data folder, so .* are refused\.\*/);
  });

  test('what was told is not told again after kill -9, and what is over by then is told after the next start', async (t) => {
    const hooks = await startHooks(t);
    const port = await closedPort();
    const config = {
      ...overUpstreams(`http://127.0.0.1:${port}`),
      storage: { data_dir: join(temporaryFolder(t), 'data') },
      telemetry: { alerts: { every: '1s', to: [{ name: 'hook', webhook: `${hooks.url}/hook`, secret }] } },
    };
    const first = await startGatewayProcess(t, config);
    // Each process judges by its own requests.
    await until('it is told', async () => {
      await ask(first.url);
      return hooks.alerts().length > 0;
    });
    const ended = once(first.process, 'exit');
    first.process.kill('SIGKILL');
    await ended;
    const upstream = await startUpstream({ port });
    t.after(() => upstream.close());
    const again = await startGatewayProcess(t, config);
    assert.equal((await ask(again.url)).status, 200);
    const over = () => hooks.alerts().flatMap(({ data }) => data.resolved.map(({ name }) => name));
    await until('its end is told', () => over().includes('provider up1'));
    assert.equal(
      hooks
        .alerts()
        .flatMap(({ data }) => data.raised)
        .filter(({ name }) => name === 'provider up1').length,
      1,
    );
  });

  test('F74 PostgreSQL is gone: every request is 503, one alert arrives from memory, and its end once it is back', {
    skip: postgresMissing,
  }, async (t) => {
    const [hooks, upstream, postgres] = [await startHooks(t), await startUpstream(), await startPostgres(t)];
    t.after(() => upstream.close());
    const database = postgres.newDatabase();
    const to = [{ name: 'hook', webhook: `${hooks.url}/hook`, secret }];
    const gateway = await startGateway(t, {
      ...overUpstreams(upstream.url),
      storage: { database, secret },
      telemetry: { alerts: { every: '1s', to } },
    });
    assert.equal((await ask(gateway.url)).status, 200);
    const named = (kind: 'raised' | 'resolved') =>
      hooks.alerts().flatMap(({ data }) => data[kind].filter(({ name }) => name === 'database'));
    await postgres.stop('SIGKILL');
    await until('the alert arrived', () => named('raised').length > 0);
    assert.equal((await ask(gateway.url)).status, 503);
    await postgres.restart();
    await until('its end arrived', () => named('resolved').length > 0);
    assert.equal(named('raised').length, 1);
    assert.equal(named('resolved').length, 1);
    for (const { headers } of hooks.posts) assert.match(String(headers['webhook-id']), /^msg_/);
  });

  test('F74 the disk of SQLite is full: one alert arrives from memory, and its end once there is room', async (t) => {
    const disk = mountSmallDisk(t, 24);
    if (disk === null) return t.skip('no file system can be mounted here (needs root)');
    const [hooks, upstream] = [await startHooks(t), await startUpstream()];
    t.after(() => upstream.close());
    const to = [{ name: 'hook', webhook: `${hooks.url}/hook`, secret }];
    const gateway = await startGateway(t, {
      ...overUpstreams(upstream.url),
      storage: { data_dir: join(disk, 'data'), reserve: '1b' },
      telemetry: { alerts: { every: '1s', to } },
    });
    assert.equal((await ask(gateway.url)).status, 200);
    const named = (kind: 'raised' | 'resolved') =>
      hooks.alerts().flatMap(({ data }) => data[kind].filter(({ name }) => name === 'database'));
    const makeRoom = fillDisk(disk);
    // Free space within existing files may still take a few.
    for (let tries = 0; (await ask(gateway.url)).status === 200; tries++) assert.ok(tries < 2_000);
    await until('the alert arrived', () => named('raised').length > 0);
    makeRoom();
    await until('its end arrived', () => named('resolved').length > 0);
    assert.equal((await ask(gateway.url)).status, 200);
    // Each worker sends it from its memory: a receiver that remembers ids takes one of them.
    const raises = hooks.posts.filter(({ body }) => /"raised":\[\{[^\]]*"name":"database"/.test(body));
    assert.equal(new Set(raises.map(({ headers }) => headers['webhook-id'])).size, 1);
    assert.ok(raises.length <= testProcesses, `${raises.length} of them`);
    assert.equal(named('resolved').length, 1);
  });
});
