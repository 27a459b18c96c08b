import assert from 'node:assert/strict';
import { workersKnow } from '../../start-gateway.ts';
import type { FeatureId } from './features.ts';
import type { Check, Place } from './place.ts';
import type { Exchange } from './rig.ts';
import { upstreamFormats } from './upstreams.ts';

/** Callers' view of failing providers. */
export const failureChecks = {
  errors: checkErrors,

  async 'error-midway'({ another, delivery, caller }: Place) {
    const exchange = await another()({ say: 'Hello' }, 'error=1;code=server_error;message=The engine broke.');
    assert.equal(exchange.clean, false, 'no clean end');
    assert.equal(exchange.status, delivery === 'stream' ? 200 : 502);
    assert.match(exchange.error!.message, /The engine broke\./);
    noSecrets(exchange);
    if (delivery === 'stream') assert.match(exchange.text, /Mock/, 'what came before it is there');
    if (delivery === 'stream' && caller === 'openai-responses') assert.equal(exchange.error!.code, 'server_error');
  },

  async cut({ another, delivery }: Place) {
    for (const spec of ['cut', 'eof', 'fin=3events']) {
      const exchange = await another()({ say: 'Hello' }, spec);
      assert.equal(exchange.clean, false, `${spec}: no clean end`);
      assert.ok(exchange.error, `${spec}: an error, in the format's own way`);
      // Before the first content another attempt could have replaced it, so it is a plain error.
      if (delivery !== 'stream') assert.equal(exchange.status, 502);
      noSecrets(exchange);
    }
  },
} satisfies Partial<Record<FeatureId, Check>>;

async function checkErrors({ another, caller, upstream }: Place): Promise<void> {
  const ask = { say: 'Hello' };
  const google = caller === 'gemini';
  const { overloaded, tooLong } = upstreamFormats[upstream];

  const refused = await another()(ask, 'status=400;message=Nobody can answer that.');
  assert.equal(refused.status, 400);
  assert.match(refused.error!.message, /Nobody can answer that\./);
  assert.equal(refused.error!.type, google ? 'INVALID_ARGUMENT' : 'invalid_request_error');
  assert.equal(refused.headers.get('x-should-retry'), 'false');

  const long = await another()(ask, tooLong);
  assert.equal(long.status, 400);
  if (caller === 'anthropic-messages') assert.match(long.error!.message, /^prompt is too long/);
  assert.equal(long.error!.code, google ? 400 : 'context_length_exceeded');

  const busy = await another()(ask, overloaded);
  assert.deepEqual([busy.status, busy.error!.type], [502, google ? 'UNAVAILABLE' : 'upstream_error']);
  assert.equal(busy.headers.get('x-should-retry'), 'true');

  // The provider's own limit, which SDKs know by its status, and people by whose it is.
  const cooled = another();
  const limited = await cooled(ask, 'status=429;retry-after=7');
  await workersKnow();
  const cooling = await cooled(ask, 'ok');
  assert.equal(cooling.sent, null, 'the provider is left alone');
  for (const { status, error, headers } of [limited, cooling]) {
    assert.deepEqual([status, error!.type], [429, google ? 'RESOURCE_EXHAUSTED' : 'rate_limit_error']);
    assert.equal(error!.code, caller === 'openai-responses' ? 'rate_limit_exceeded' : 429);
    assert.equal(headers.get('x-culvert-limited-by'), 'upstream');
    assert.match(headers.get('retry-after')!, /^[67]$/);
  }

  const wrongKey = await another()(ask, 'echo-auth');
  assert.deepEqual([wrongKey.status, wrongKey.error!.type], [502, google ? 'UNAVAILABLE' : 'upstream_error']);
  for (const exchange of [refused, long, busy, limited, cooling, wrongKey]) noSecrets(exchange);
}

function noSecrets({ text }: Exchange): void {
  assert.doesNotMatch(text, /upstream-secret|127\.0\.0\.1/);
}
