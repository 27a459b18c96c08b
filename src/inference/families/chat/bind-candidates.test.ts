import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GivenObject } from '../../../books/auth/provider-object-store.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import { bindCandidates, type KnownObject } from './bind-candidates.ts';

const candidates = ['a', 'b'].map((provider) => ({
  target: { id: `${provider}/m`, provider, credentials: [{ id: `${provider}#0` }] },
})) as unknown as RouteCandidate[];

function givenAt(credential: string, field: string): KnownObject {
  const tenantRow = { credential, target: `${credential[0]}/m` } as unknown as GivenObject;
  return { named: { id: 'x', field, use: 'reference' }, tenantRow, others: [], sharedAt: new Set() };
}

function messageOf(...objects: KnownObject[]): string {
  const bound = bindCandidates('m', objects, candidates);
  return bound.kind === 'invalid-request' ? bound.message : bound.kind;
}

test('a refusal says whether one object is out of reach, or two are at different credentials', () => {
  assert.match(messageOf(givenAt('c#0', 'file_id')), /'file_id' names are at a provider that does not serve .* 'm'/);
  assert.match(
    messageOf(givenAt('a#0', 'file_id'), givenAt('b#0', 'file_id')),
    /'file_id' names are at a provider that does not serve/,
  );
  assert.match(
    messageOf(givenAt('a#0', 'file_id'), givenAt('b#0', 'previous_response_id')),
    /'previous_response_id' and 'file_id' name belong to different credentials/,
  );
  assert.equal(messageOf(givenAt('a#0', 'file_id'), givenAt('a#0', 'previous_response_id')), 'bound');
});
