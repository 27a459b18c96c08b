import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createSealer } from './seal.ts';

const secret = 'a-secret-of-at-least-thirty-two-bytes';

test('what is sealed opens with the same secret, purpose and context', () => {
  const { seal, open } = createSealer([secret], 'replies');
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), fc.string(), (plain, context) => {
      assert.deepEqual(createSealer([secret], 'replies').open(seal(plain, context), context), Buffer.from(plain));
    }),
  );
  assert.equal(open(seal(Buffer.from('x'), 'a'), 'b'), null);
});

test('another secret or purpose opens nothing', () => {
  const sealed = createSealer([secret], 'replies').seal(Buffer.from('hello'), '');
  assert.equal(createSealer([`${secret}!`], 'replies').open(sealed, ''), null);
  assert.equal(createSealer([secret], 'credentials').open(sealed, ''), null);
});

test('a changed, cut or lengthened seal opens to nothing and never throws', () => {
  const { seal, open } = createSealer([secret], 'replies');
  const sealed = seal(Buffer.from('hello'), 'here');
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at]! ^= 1;
    assert.equal(open(changed, 'here'), null, `byte ${at}`);
    assert.equal(open(sealed.subarray(0, at), 'here'), null, `cut at ${at}`);
  }
  assert.equal(open(Buffer.concat([sealed, Buffer.of(0)]), 'here'), null);
});

test('the same bytes are sealed differently each time', () => {
  const { seal } = createSealer([secret], 'replies');
  assert.notDeepEqual(seal(Buffer.from('hello'), ''), seal(Buffer.from('hello'), ''));
});

test('S9 an empty or short secret seals nothing', () => {
  for (const short of ['', 'x', 'x'.repeat(31)]) {
    assert.throws(() => createSealer([short], 'replies'), /too short; it needs at least 32/);
  }
  createSealer(['x'.repeat(32)], 'replies');
});
