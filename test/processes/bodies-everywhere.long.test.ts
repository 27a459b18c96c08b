import assert from 'node:assert/strict';
import { adminKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask, chat, overBoth, startProcesses } from './start-processes.ts';

overBoth('bodies that one worker has in memory are shown by every worker', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, over, upstream.url, { telemetry: { log: { bodies: ['dev/test'] } } });
  const asked: string[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    const question = `Question ${turn}`;
    const messages = [{ role: 'user', content: question }];
    const { status, text } = await ask(gateway.url, '/v1/chat/completions', { ...chat, messages });
    assert.equal(status, 200, text);
    asked.push(question);
  }
  const admin = async (path: string, body?: object) => {
    const { status, text } = await ask(gateway.url, `/admin/v1${path}`, body, adminKey);
    assert.equal(status, 200, text);
    return JSON.parse(text);
  };
  const { data } = (await admin('/requests')) as { data: { id: string }[] };
  assert.equal(data.length, asked.length);
  // Connections go to the workers in turn, so each is asked for bodies of both.
  const shown = new Set<string>();
  for (const { id } of data) {
    for (let turn = 0; turn < 2; turn += 1) {
      const { bodies, bodies_note: note } = (await admin(`/requests/${id}`)) as {
        bodies: { request: string } | null;
        bodies_note: string | null;
      };
      assert.ok(bodies !== null, String(note));
      shown.add(JSON.parse(bodies.request).messages[0].content);
    }
  }
  assert.deepEqual([...shown].sort(), asked);
});
