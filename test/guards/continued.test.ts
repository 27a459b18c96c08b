import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startModel } from './start-model.ts';

/* A kept response has the values that its caller got back, so a guard that masks lets no request continue it. */

const upstream = await startModel(after);
upstream.says = (body) => `To ${/<EMAIL_\d>/.exec(body)?.[0]} now`;
const guard = { check: 'personal-data', kinds: ['email'] };
const model = (name: string) => ({ targets: [{ provider: 'openai', model: 'm' }], guards: [name] });
const gateway = await startGateway({ after } as TestContext, {
  providers: { openai: { type: 'openai', base_url: upstream.url, api_key: 'k' } },
  guards: {
    masks: { ...guard, action: 'mask' },
    lenient: { ...guard, action: 'mask', on_error: 'allow' },
    flags: { ...guard, action: 'flag' },
  },
  models: { masks: model('masks'), lenient: model('lenient'), flags: model('flags') },
});

for (const stream of [false, true]) {
  test(`what was given back in a kept response does not go to a model again: ${stream ? 'streamed' : 'whole'}`, async () => {
    const respond = async (name: string, more: object) => {
      const response = await gateway.fetch('/v1/responses', { json: { model: name, store: true, ...more } });
      return { status: response.status, text: await response.text(), guard: response.headers.get('x-culvert-guard') };
    };
    const first = await respond('masks', { input: 'Write to jo.doe@example.org', stream });
    assert.ok(first.status === 200 && first.text.includes('jo.doe@example.org'), first.text);
    const [, id = ''] = /"id": ?"(resp_[^"]+)"/.exec(first.text) ?? [];
    const items = await gateway.fetch(`/v1/responses/${id}/input_items`);
    const kept = await items.text();
    assert.ok(kept.includes('<EMAIL_1>') && !kept.includes('jo.doe'), kept);
    upstream.bodies.length = 0;
    const refused = await respond('masks', { input: 'Again?', previous_response_id: id, stream });
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /cannot read a part of this request, such as .*the turns of a kept response/);
    assert.equal(upstream.bodies.length, 0);
    const allowed = await respond('lenient', { input: 'Again?', previous_response_id: id, stream });
    assert.equal(allowed.status, 200, allowed.text);
    assert.match(allowed.guard ?? '', /; unscanned; scanned=\d\d%$/);
    const flagged = await respond('flags', { input: 'Again?', previous_response_id: id, stream });
    assert.ok(flagged.status === 200 && flagged.guard?.endsWith('; scanned=100%'), `${flagged.guard} ${flagged.text}`);
  });
}
