import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { chromiumMissing } from '../chromium.ts';
import { startGateway, testProcesses, workersKnow } from '../start-gateway.ts';
import { closedPort } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { openPage, settled } from './open-page.ts';

suite('the overview', { skip: chromiumMissing }, () => {
  test('says what is wrong right now, and each sentence leads to where more of it is shown', async (t) => {
    const upstream = await startUpstream();
    after(() => upstream.close());
    const provider = (url: string) => ({ type: 'openai', base_url: `${url}/v1`, api_key: 'upstream-secret' });
    const gateway = await startGateway(t, {
      providers: { well: provider(upstream.url), gone: provider(`http://127.0.0.1:${await closedPort()}`) },
      models: { smart: { targets: ['well/mock/ok'] }, lost: { targets: ['gone/mock/ok'] } },
      plans: { default: { windows: { '5h': 10 }, rpm: 'off' } },
      // More than any disk has: it counts as full.
      storage: { reserve: '900000gb' },
    });
    const ask = async (model: string) => {
      const json = { model, messages: [{ role: 'user', content: 'Hello' }] };
      await (await gateway.fetch('/v1/chat/completions', { json })).text();
    };
    // Each worker finds it dead, or hears it of the other.
    for (let at = 0; at < 4 * testProcesses; at += 1) await ask('lost');
    for (let at = 0; at < 9; at += 1) await ask('smart');
    await workersKnow();
    const page = await openPage(t, gateway, '/dashboard');
    // Before each stands how bad it is, for screen readers.
    const sentences = [
      [/Disk: .* are refused\.$/, 'Settings'],
      [/The provider gone is down/, 'gone'],
      [/The model lost has no healthy target\.$/, 'lost'],
      [/dev has used 90% of its 5-hour window/, 'dev'],
    ] as const;
    for (const [sentence, title] of sentences) {
      await page.goto('/dashboard');
      await settled(page);
      await page.getByRole('link', { name: sentence }).click();
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
      assert.equal(await page.getByRole('alert').count(), 0);
    }
    await page.goto('/dashboard/settings?tab=doctor');
    await page.getByRole('link', { name: 'provider gone' }).click();
    await page.getByRole('heading', { level: 1, name: 'gone', exact: true }).waitFor();
  });
});
