import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startProcess, temporaryFolder } from '../start-process.ts';

const userKey = /sk-cv-(?!admin)[A-Za-z0-9]{12}-[A-Za-z0-9]{43}/;

/** What a newcomer meets within minutes of a first start, without a file. */
describe('first minutes', { concurrency: true }, () => {
  test("a first start's own key has no limits: 90 requests at once pass, and usage says that none is set", async (t) => {
    const gateway = await startProcess(t, { cwd: temporaryFolder(t) });
    await gateway.said(/curl .*\n(.*\n){3}/);
    const headers = {
      authorization: `Bearer ${userKey.exec(gateway.stdout())![0]}`,
      'content-type': 'application/json',
    };
    const body = JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'Hi' }] });
    const ask = () => fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body });
    const answers = await Promise.all(Array.from({ length: 90 }, ask));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(answers[0]!.headers.get('x-ratelimit-limit-requests'), null);
    const usage = await (await fetch(`${gateway.url}/v1/usage`, { headers })).json();
    const { rpm, windows } = usage as { rpm: { allowed: null }; windows: Record<string, { allowed: null }> };
    const allowed = [rpm, ...Object.values(windows)].map((limit) => limit.allowed);
    assert.deepEqual([...new Set(allowed)], [null]);
    await gateway.stop();
    const lines = gateway
      .stdout()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { level: string; msg: string });
    assert.equal(lines.filter(({ level, msg }) => level === 'info' && msg === 'request').length, 90);
    assert.deepEqual(
      lines.filter(({ level }) => !/^[a-z]+$/.test(level)),
      [],
    );
  });
});
