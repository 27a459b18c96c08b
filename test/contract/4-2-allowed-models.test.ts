import assert from 'node:assert/strict';
import { test } from 'node:test';
import { servePlans } from './plan-gateway.ts';
import { alwaysThere, asked, type ErrorBody } from './served.ts';

const target = (model: string) => ({ targets: [{ provider: 'up1', model }] });
const { ask, chat, status, upstream } = await servePlans(
  {
    free: { models: ['small', '*-embedding*'] },
    all: {},
  },
  {
    models: {
      small: { ...target('mock/status=500'), fallbacks: ['large'] },
      large: target('mock/ok'),
      'alpha-embedding-small': { type: 'embedding', ...target('mock/ok') },
    },
  },
);

/** Those of the contract that the plan's pattern fits stand behind the configured ones. */
const ofFree = ['small', 'alpha-embedding-small', 'alpha-embedding', 'beta-embeddings-v5'];
const allowedToFree = new RegExp(`Allowed models: ${ofFree.join(', ')}\\.$`);

const named = async (plan: string) => {
  const { data } = (await (await ask(plan, '/v1/models')).json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
};

test('§4.2, §7 "If the model is not allowed on the caller\'s plan … the error lists the allowed models"', async () => {
  const response = await chat('free', { model: 'large' });
  const { error } = (await response.json()) as ErrorBody;
  assert.deepEqual([response.status, error.type, error.code, error.param], [403, 'permission_error', 403, 'model']);
  assert.match(error.message, /'large' is not part of your plan or key/);
  assert.match(error.message, allowedToFree);
});

test('design §6: an unknown model is 404 and lists the same, with the nearest spelling', async () => {
  const response = await chat('free', { model: 'smal' });
  const { error } = (await response.json()) as ErrorBody;
  assert.equal(response.status, 404);
  assert.match(error.message, /Did you mean 'small'\?/);
  assert.match(error.message, allowedToFree);
});

test('design §6: GET /v1/models is filtered by the plan, and an entry outside it is 403', async () => {
  assert.deepEqual(await named('free'), ofFree);
  const configured = ['chat', 'small', 'large', 'alpha-embedding-small'];
  const others = alwaysThere.filter((id) => !configured.includes(id));
  assert.deepEqual(await named('all'), [...configured, ...others]);
  const response = await ask('free', '/v1/models/large');
  assert.equal(response.status, 403);
  await response.text();
});

test("design §11: an operator's fallbacks may leave the plan's models; a caller's own list is checked alias by alias", async () => {
  assert.equal(await status('free', { model: 'small' }), 200);
  const before = asked(upstream).length;
  const response = await chat('free', { model: 'small', models: ['large'] });
  const { error } = (await response.json()) as ErrorBody;
  assert.equal(response.status, 403);
  assert.match(error.message, /'large'/);
  assert.equal(asked(upstream).length, before, 'nothing was sent');
});
