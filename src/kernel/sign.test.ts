import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSigner } from './sign.ts';

const secret = 'a secret of more than thirty-two bytes';

test('what was signed is known again, by every server that has the secret, for that purpose alone', () => {
  const signature = createSigner([secret], 'links').sign('a');
  assert.match(signature, /^[\w-]{43}$/);
  assert.equal(createSigner([secret], 'links').isSigned('a', signature), true);
  assert.equal(createSigner([secret], 'links').isSigned('b', signature), false);
  assert.equal(createSigner([secret], 'other').isSigned('a', signature), false);
  assert.equal(createSigner([`${secret}!`], 'links').isSigned('a', signature), false);
});

test('no other signature passes, whatever its length or letters', () => {
  const signer = createSigner([secret], 'links');
  const signature = signer.sign('a');
  for (const forged of ['', 'x', signature.slice(0, -1), `${signature}AAAA`, '!'.repeat(43), 'A'.repeat(43)]) {
    assert.equal(signer.isSigned('a', forged), false, forged);
  }
});

test('a secret that could be guessed signs nothing (faults.md S9)', () => {
  assert.throws(() => createSigner(['short'], 'links'), /too short/);
});
