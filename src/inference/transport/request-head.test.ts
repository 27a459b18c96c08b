import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { requestHead } from './request-head.ts';

/** With what becomes CR, LF or NUL once it is written as latin1. */
const text = fc.string({
  unit: fc.constantFrom(...'ab: ;/?#\r\n\0\t\v\x7f\x85\xa0\xe9č\u010a\u0100\u2028\ud800'),
  maxLength: 6,
});

test('S23 whatever path and headers hold, a request is one line each as it goes over the wire, or is not written', () => {
  fc.assert(
    fc.property(text, fc.array(fc.tuple(text, text), { maxLength: 3 }), fc.nat(9), (path, pairs, bodyBytes) => {
      const headers = pairs.flatMap(([name, value]) => [`x${name}`, value]);
      const head = requestHead({ method: 'POST', path: `/${path}`, host: 'a.test', headers, bodyBytes });
      if (head === null) return;
      const written = Buffer.from(head, 'latin1').toString('latin1');
      assert.equal(written, head);
      const [first, host, connection, ...lines] = written.split(/\r\n|\r|\n/);
      assert.deepEqual([first, host, connection], [`POST /${path} HTTP/1.1`, 'host: a.test', 'connection: keep-alive']);
      const given = pairs.map(([name, value]) => `x${name}: ${value}`);
      assert.deepEqual(lines, [...given, 'accept-encoding: identity', `content-length: ${bodyBytes}`, '', '']);
      assert.equal(first!.split(' ').length, 3);
    }),
  );
});

test('a list of headers that cannot be written stays so, and one that can is the same again', () => {
  const facts = { method: 'GET', path: '/', host: 'a.test', bodyBytes: null } as const;
  const bad = ['x', 'a\r\nb: c'];
  const good = ['x', 'é'];
  for (let i = 0; i < 2; i++) {
    assert.equal(requestHead({ ...facts, headers: bad }), null);
    assert.match(requestHead({ ...facts, headers: good })!, /\r\nx: é\r\n.*identity\r\n\r\n$/s);
  }
});
