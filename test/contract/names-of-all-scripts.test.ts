import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';

/* Hindi, Thai and Tamil write vowels as marks, and files of a Mac have marks for accents: letters alone were not enough. */

const names = ['हिन्दी टीम', 'ทีมวิจัย', 'தமிழ்', 'Müller'.normalize('NFD'), 'محمد العربي'];

test('keys, their tags and operators have names of any script, and keys of such names keep vectors', async (t) => {
  const gateway = await startGateway(t, { accounts: { team: {} } });
  const headers = { authorization: `Bearer ${adminKey}` };
  for (const name of names) {
    const made = await gateway.fetch('/admin/v1/keys', { headers, json: { account: 'team', name, tags: [name] } });
    const key = (await made.json()) as { key: string; name: string; tags: string[] };
    assert.deepEqual([made.status, key.name, key.tags], [201, name, [name]], JSON.stringify(key));
    const operator = await gateway.fetch('/admin/v1/operators', { headers, json: { name, role: 'viewer' } });
    assert.equal(operator.status, 201, await operator.text());
    const own = { authorization: `Bearer ${key.key}` };
    const json = { name: 'docs', vector_size: 2 };
    assert.equal((await gateway.fetch('/v1/vectors/collections', { headers: own, json })).status, 200);
    const tenants = await gateway.fetch('/admin/v1/vectors/tenants', { headers });
    assert.ok((await tenants.text()).includes(`team/${name}`));
  }
  const refused = await gateway.fetch('/admin/v1/keys', { headers, json: { account: 'team', name: 'a\u202eb' } });
  assert.equal(refused.status, 400, 'a mark that turns the text around is no letter');
});
